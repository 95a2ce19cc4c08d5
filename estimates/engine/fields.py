"""Every key of the plan document, declared once: the source of the parser, the JSON Schema, the form and the docs.

To add a key, add it to the table of its subject in `field_tables/` and run `python -m estimates.engine.schema`.
"""

from __future__ import annotations

from collections.abc import Mapping

from estimates.engine.field_kinds import Field, Table, Words
from estimates.engine.field_tables.compute import COMPUTE
from estimates.engine.field_tables.goal import DATA, GOAL, TASKS
from estimates.engine.field_tables.keeping import NETWORK, OPERATIONS, PEOPLE, STORAGE
from estimates.engine.field_tables.model import MODEL, OBJECTIVE
from estimates.engine.field_tables.own import OWN
from estimates.engine.field_tables.running import EVALUATION, EXPERIMENTS, RELIABILITY, TUNING
from estimates.engine.field_tables.serving import SERVING
from estimates.engine.field_tables.vectors import EMBEDDING

SECTIONS: Mapping[str, Words] = {
    "goal": Words("Goal", "目标"),
    "model": Words("Model", "模型"),
    "data": Words("Data", "数据"),
    "compute": Words("Compute", "算力"),
    "own": Words("Own hardware", "自建硬件"),
    "reliability": Words("Failures and checkpoints", "故障与检查点"),
    "experiments": Words("Experiments before the run", "正式训练前的实验"),
    "evaluation": Words("Evaluation", "评测"),
    "finetune": Words("Fine-tuning", "微调"),
    "inference": Words("Inference", "推理服务"),
    "vectors": Words("Vectors", "向量存储"),
    "storage": Words("Storage", "存储"),
    "network": Words("Network", "网络"),
    "people": Words("People and platform", "人力与平台"),
}
"""Parts of the form, in order."""

_ALL = (
    *GOAL,
    *MODEL,
    *OBJECTIVE,
    *DATA,
    *COMPUTE,
    *OWN,
    *RELIABILITY,
    *EXPERIMENTS,
    *EVALUATION,
    *TUNING,
    *SERVING,
    *EMBEDDING,
    *STORAGE,
    *NETWORK,
    *PEOPLE,
    *OPERATIONS,
)

FIELDS: Mapping[str, Field] = {entry.path: entry for entry in _ALL if isinstance(entry, Field)}
TABLES: Mapping[str, Table] = {entry.path: entry for entry in _ALL if isinstance(entry, Table)}

MAY_BE_OFF: Mapping[str, Words] = {
    "reliability": Words("no failures, no checkpoints", "不考虑故障与检查点"),
    "experiments": Words("no experiments", "不做实验"),
    "model_error": Words("no error of the method", "不考虑方法误差"),
}
"""Sections for which the word `none` is accepted, and what it means."""

ALIASES: Mapping[str, str] = {"goodput": "reliability.goodput", "training_flops": "model.training_flops"}
"""Keys at the top of the document that are another place's."""

RUNG_SECTIONS = ("model", "data", "compute")
"""A rung of the ladder may be written as a small plan, with these sections; their keys are the rung's own."""

TASK_NAMES = tuple(TASKS)


def columns(path: str) -> dict[str, Field]:
    """The fields of a row of a table, by key."""
    start = f"{path}.*."
    return {field.key: field for field in FIELDS.values() if field.path.startswith(start)}
