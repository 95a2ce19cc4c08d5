"""The closed lists of words of the field (design, section 2). Labels in both languages: `teams.labels`."""

from __future__ import annotations

from enum import StrEnum


class TaskType(StrEnum):
    """What a project or a plan does with accelerators."""

    PRETRAIN = "pretrain"
    CONTINUED_PRETRAIN = "continued_pretrain"
    ABLATION = "ablation"
    FINETUNE = "finetune"
    INFERENCE = "inference"
    VECTOR_STORE = "vector_store"
    EVALUATION = "evaluation"
    DATA_WORK = "data_work"
    OTHER = "other"


class Category(StrEnum):
    """Why money goes (by cause) and which budget line it falls on (by line)."""

    COMPUTE = "compute"
    DATA = "data"
    STORAGE = "storage"
    NETWORK = "network"
    POWER_FACILITY = "power_facility"
    PEOPLE_PLATFORM = "people_platform"
    HIDDEN = "hidden"
    CONTINGENCY = "contingency"


CAUSES = (
    Category.COMPUTE,
    Category.DATA,
    Category.STORAGE,
    Category.NETWORK,
    Category.POWER_FACILITY,
    Category.PEOPLE_PLATFORM,
    Category.HIDDEN,
)
"""The seven causes; an estimate's total is their sum."""

LINES = (
    Category.COMPUTE,
    Category.DATA,
    Category.STORAGE,
    Category.NETWORK,
    Category.POWER_FACILITY,
    Category.PEOPLE_PLATFORM,
    Category.CONTINGENCY,
)
"""What a meter can see, and contingency: the categories a budget line may have."""


class Basis(StrEnum):
    """Which cost a budget line counts."""

    EFFECTIVE = "effective"
    BILLED = "billed"


class ChargeCategory(StrEnum):
    """FOCUS charge categories."""

    USAGE = "Usage"
    PURCHASE = "Purchase"
    TAX = "Tax"
    CREDIT = "Credit"
    ADJUSTMENT = "Adjustment"
