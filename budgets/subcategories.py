"""Parts of a category that may have a line of their own, and which part a row of cost belongs to: at most one.

The stage that an allocation rule gave decides first; then whether the cost is a hidden cause of computing; then the
task. What belongs to no part, or to one without a line, stays on the line of the category.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core.vocabulary import Category, TaskType


@dataclass(frozen=True)
class Subcategory:
    """A part of a category: the usage categories, tasks and stages that it takes."""

    key: str
    parent: Category
    label: str | Promise
    tasks: tuple[TaskType, ...] = ()
    stages: tuple[str, ...] = ()
    is_hidden: bool = False


SUBCATEGORIES = {
    each.key: each
    for each in (
        Subcategory(
            "training",
            Category.COMPUTE,
            _("Training compute"),
            tasks=(
                TaskType.PRETRAIN,
                TaskType.CONTINUED_PRETRAIN,
                TaskType.ABLATION,
                TaskType.FINETUNE,
                TaskType.EVALUATION,
            ),
        ),
        Subcategory(
            "inference", Category.COMPUTE, _("Inference compute"), tasks=(TaskType.INFERENCE, TaskType.VECTOR_STORE)
        ),
        Subcategory("retries", Category.COMPUTE, _("Retries and rollback"), stages=("retry", "rollback")),
        Subcategory("experiments", Category.COMPUTE, _("Experiments"), stages=("experiment", "ablation", "search")),
        Subcategory("spares", Category.COMPUTE, _("Spares and idle"), stages=("spare", "idle")),
        Subcategory("hidden", Category.COMPUTE, _("Other hidden causes"), is_hidden=True),
        Subcategory(
            "data_engineering",
            Category.DATA,
            _("Data engineering"),
            stages=("data_engineering", "cleaning", "deduplication", "quality", "mixing"),
        ),
        Subcategory(
            "data_assets",
            Category.DATA,
            _("Data assets"),
            stages=("data_assets", "collection", "licence", "governance"),
        ),
        Subcategory("annotation", Category.DATA, _("Annotation"), stages=("annotation",)),
        Subcategory("corpora", Category.STORAGE, _("Corpora"), stages=("corpus", "raw_data", "data_set")),
        Subcategory("checkpoints", Category.STORAGE, _("Checkpoints and logs"), stages=("checkpoint", "log")),
        Subcategory("vectors", Category.STORAGE, _("Vectors and indexes"), stages=("vector", "index")),
    )
}


def choices(category: str = "") -> list[tuple[str, str | Promise]]:
    """The parts as choices of a field; of one category, or all."""
    return [(each.key, each.label) for each in SUBCATEGORIES.values() if not category or each.parent == category]


def subcategory_of(category: str, task_type: str, stage: str = "") -> str:
    """The part that a row of cost belongs to; nothing where none takes it. `part_in_sql` says the same."""
    parent = Category.COMPUTE if category == Category.HIDDEN else category
    own = [each for each in SUBCATEGORIES.values() if each.parent == parent]
    for each in own:
        if stage and stage in each.stages:
            return each.key
    for each in own:
        if category == Category.HIDDEN and each.is_hidden:
            return each.key
    for each in own:
        if category != Category.HIDDEN and task_type in each.tasks:
            return each.key
    return ""


def part_in_sql(used: str) -> str:
    """`subcategory_of` of a row of the rollup, as a CASE over its columns."""
    parent = f"CASE {used}.category WHEN 'hidden' THEN 'compute' ELSE {used}.category END"
    cases = [
        f"WHEN {used}.stage IN ({_listed(each.stages)}) AND {parent} = '{each.parent}' THEN '{each.key}'"
        for each in SUBCATEGORIES.values()
        if each.stages
    ]
    cases += [f"WHEN {used}.category = 'hidden' THEN '{each.key}'" for each in SUBCATEGORIES.values() if each.is_hidden]
    cases += [
        f"WHEN {used}.category = '{each.parent}' AND {used}.task_type IN ({_listed(each.tasks)}) THEN '{each.key}'"
        for each in SUBCATEGORIES.values()
        if each.tasks
    ]
    return f"CASE {' '.join(cases)} ELSE '' END"


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f"'{word}'" for word in words)
