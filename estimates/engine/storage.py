"""Storage: the corpus, checkpoints by grade of retention, artefacts and logs, over the time they are kept."""

from __future__ import annotations

import numpy as np

from core.vocabulary import Category
from estimates.engine.conditions import BUILDING, every, gives, has_rows, has_word, is_task, lacks
from estimates.engine.graph import Place, cost, quantity
from estimates.engine.sampling import Array

GB = 1e9
GB_PER_TB = 1000.0
HOURS_PER_DAY = 24.0
WEIGHT_BYTES = 2.0
ARCHIVE_MONTHS = 12.0
MIXED_ADAM = "Mixed-precision Adam: 4 master + 4 + 4 moments + 2 weights (Rajbhandari et al. 2020, arXiv:1910.02054)"

building = is_task(*BUILDING)
WARM = Place(Category.STORAGE, Category.STORAGE, "recurring", "storage_month_share")
COLD = WARM.but(spread="archive_month_share")


@quantity("hour", "Hours in warm storage", "热存储时长")
def warm_hours(project_hours: Array, storage__archive_after_days: Array) -> Array:
    """While the run lasts, and until the archive takes over."""
    return project_hours + storage__archive_after_days * HOURS_PER_DAY


@quantity("month", "Months in warm storage", "热存储月数")
def warm_months(warm_hours: Array, hours_per_month: float) -> Array:
    """The same in months."""
    return warm_hours / hours_per_month


@quantity("month", "Months in the archive that are counted", "计入估算的归档月数")
def archive_months() -> float:
    """Our assumption: one year. What is kept longer is another budget's."""
    return ARCHIVE_MONTHS


@quantity("hour", "Hours in the archive that are counted", "计入估算的归档时长")
def archive_hours(archive_months: float, hours_per_month: float) -> float:
    """The same in hours."""
    return archive_months * hours_per_month


@quantity("GB", "Raw data, all copies", "原始数据（含副本）")
def raw_corpus_gb(data__raw_tb: Array, storage__corpus_replicas: Array) -> Array:
    """The raw lake."""
    return data__raw_tb * GB_PER_TB * storage__corpus_replicas


@quantity("GB", "Clean data, all copies", "清洗后数据（含副本）")
def clean_corpus_gb(data__clean_tb: Array, storage__corpus_replicas: Array) -> Array:
    """The set that is trained on."""
    return data__clean_tb * GB_PER_TB * storage__corpus_replicas


@quantity("GB * month", "Warm storage of the corpus", "语料热存储量")
def corpus_gb_months(raw_corpus_gb: Array, clean_corpus_gb: Array, warm_months: Array) -> Array:
    """Raw and clean, until the archive takes over."""
    return (raw_corpus_gb + clean_corpus_gb) * warm_months


@quantity("GB * month", "Archived corpus", "语料归档量")
def archived_corpus_gb_months(raw_corpus_gb: Array, clean_corpus_gb: Array, archive_months: float) -> Array:
    """Raw and clean, afterwards."""
    return (raw_corpus_gb + clean_corpus_gb) * archive_months


@quantity("parameter", "Parameters that are trained", "被训练的参数量", when=building)
def trained_parameters(model__parameters: Array) -> Array:
    """All of the model, active or not."""
    return model__parameters


@trained_parameters.variant(when=every(is_task("finetune"), has_word("finetune.strategy", "lora")))
def trained_adapter(finetune__adapter_parameters: Array) -> Array:
    """The adapter: frozen weights are those of the base, and stored once with it."""
    return finetune__adapter_parameters


@trained_parameters.variant(when=every(is_task("finetune"), has_word("finetune.strategy", "head_only")))
def trained_head(finetune__head_parameters: Array) -> Array:
    """The head: frozen weights are those of the base, and stored once with it."""
    return finetune__head_parameters


@trained_parameters.variant(when=every(has_rows("model.stages"), lacks("model.parameters")))
def trained_last_stage(model__stages__parameters: Array) -> Array:
    """A model that grows: as large as it becomes."""
    return model__stages__parameters.max(axis=0)


@quantity("GB", "Size of a checkpoint", "单个检查点大小", source=MIXED_ADAM, when=building)
def checkpoint_gb(trained_parameters: Array, storage__checkpoint_bytes_per_parameter: Array) -> Array:
    """Weights and the state of the optimiser, of what is trained."""
    return trained_parameters * storage__checkpoint_bytes_per_parameter / GB


@quantity("byte / parameter", "Bytes of a stored weight", "存储每权重字节", when=building)
def stored_weight_bytes() -> float:
    """In 16 bits."""
    return WEIGHT_BYTES


@quantity("GB", "Size of the weights", "模型权重大小", when=building)
def weights_gb(trained_parameters: Array, stored_weight_bytes: float) -> Array:
    """Without the state of the optimiser."""
    return trained_parameters * stored_weight_bytes / GB


@quantity("1", "Checkpoints kept for good", "长期保留的检查点数", when=building)
def kept_checkpoints(
    storage__keep_milestones: Array,
    elapsed_hours: Array | float = 0.0,
    storage__keep_every_hours: Array | float = np.inf,
) -> Array:
    """Milestones, and one at each interval of retention."""
    return storage__keep_milestones + np.floor(elapsed_hours / storage__keep_every_hours)


@quantity("GB * month", "Warm storage of the last checkpoints", "最近检查点热存储量", when=building)
def last_checkpoint_gb_months(checkpoint_gb: Array, storage__keep_last: Array, warm_months: Array) -> Array:
    """The last few are there all the time; older ones are deleted."""
    return checkpoint_gb * storage__keep_last * warm_months


@quantity("month", "Mean months of a kept checkpoint in warm storage", "检查点平均热存储月数", when=building)
def mean_kept_months(elapsed_hours: Array, storage__archive_after_days: Array, hours_per_month: float) -> Array:
    """Written evenly over the run, kept until the archive takes over."""
    return (elapsed_hours / 2.0 + storage__archive_after_days * HOURS_PER_DAY) / hours_per_month


@quantity("month", "Mean months of a kept checkpoint as a full one", "检查点平均完整保留月数", when=building)
def mean_full_months(mean_kept_months: Array) -> Array:
    """It stays whole until the archive takes over."""
    return mean_kept_months


@mean_full_months.variant(when=building)
def months_until_weights_only(
    elapsed_hours: Array,
    storage__archive_after_days: Array,
    storage__weights_only_after_days: Array,
    hours_per_month: float,
) -> Array:
    """The mean of min(age, limit) over ages spread evenly between the archive delay and that plus the run."""
    shortest = storage__archive_after_days * HOURS_PER_DAY
    limit = storage__weights_only_after_days * HOURS_PER_DAY
    within = np.clip(limit - shortest, elapsed_hours * 0.0, elapsed_hours)
    younger = np.minimum(limit, shortest)
    spread = np.where(elapsed_hours > elapsed_hours * 0.0, within / elapsed_hours, 0.0)
    return (younger + within - within * spread / 2.0) / hours_per_month


@quantity("GB * month", "Warm storage of kept checkpoints", "长期检查点热存储量", when=building)
def kept_checkpoint_gb_months(
    kept_checkpoints: Array, checkpoint_gb: Array, weights_gb: Array, mean_full_months: Array, mean_kept_months: Array
) -> Array:
    """Whole at first, weights only later."""
    whole = checkpoint_gb * mean_full_months
    slim = weights_gb * (mean_kept_months - mean_full_months)
    return kept_checkpoints * (whole + slim)


@quantity("GB * month", "Archived checkpoints", "检查点归档量", when=building)
def archived_checkpoint_gb_months(kept_checkpoints: Array, checkpoint_gb: Array, archive_months: float) -> Array:
    """Milestones, whole."""
    return kept_checkpoints * checkpoint_gb * archive_months


@archived_checkpoint_gb_months.variant(when=every(building, gives("storage.weights_only_after_days")))
def archived_weights_gb_months(kept_checkpoints: Array, weights_gb: Array, archive_months: float) -> Array:
    """Milestones that are archived as weights only."""
    return kept_checkpoints * weights_gb * archive_months


@quantity("GB * month", "Warm storage of artefacts", "实验产物热存储量")
def artefact_gb_months(storage__artefact_tb: Array, warm_months: Array) -> Array:
    """Intermediate results of experiments, until the archive takes over; then they are deleted."""
    return storage__artefact_tb * GB_PER_TB * warm_months


@quantity("GB * month", "Storage of logs and traces", "日志与追踪存储量")
def log_gb_months(
    storage__log_gb_per_day: Array,
    project_hours: Array,
    storage__log_retention_days: Array,
    hours_per_month: float,
) -> Array:
    """What a day writes is kept for the days of retention."""
    written = storage__log_gb_per_day * project_hours / HOURS_PER_DAY
    return written * storage__log_retention_days * HOURS_PER_DAY / hours_per_month


@cost("Corpus", "语料存储", WARM, part="corpus")
def corpus_storage_cost(corpus_gb_months: Array, price_hot_storage: Array) -> Array:
    """Raw lake and clean set in warm storage."""
    return corpus_gb_months * price_hot_storage


@cost("Archived corpus", "语料归档", COLD, part="corpus")
def corpus_archive_cost(archived_corpus_gb_months: Array, price_archive_storage: Array) -> Array:
    """Raw lake and clean set in the archive."""
    return archived_corpus_gb_months * price_archive_storage


@cost("Checkpoints", "检查点存储", WARM, part="checkpoints")
def checkpoint_storage_cost(
    last_checkpoint_gb_months: Array, kept_checkpoint_gb_months: Array, price_hot_storage: Array
) -> Array:
    """The last few, and those kept for good."""
    return (last_checkpoint_gb_months + kept_checkpoint_gb_months) * price_hot_storage


@cost("Archived checkpoints", "检查点归档", COLD, part="checkpoints")
def checkpoint_archive_cost(archived_checkpoint_gb_months: Array, price_archive_storage: Array) -> Array:
    """Those kept for good, in the archive."""
    return archived_checkpoint_gb_months * price_archive_storage


@cost("Artefacts", "实验产物存储", WARM, part="artefacts")
def artefact_storage_cost(artefact_gb_months: Array, price_hot_storage: Array) -> Array:
    """Intermediate results of experiments."""
    return artefact_gb_months * price_hot_storage


@cost("Logs and traces", "日志与追踪存储", WARM, part="logs")
def log_storage_cost(log_gb_months: Array, price_hot_storage: Array) -> Array:
    """What monitoring writes, as long as it is kept."""
    return log_gb_months * price_hot_storage
