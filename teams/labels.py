"""The words of `core.vocabulary` as people read them, translatable."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from core.vocabulary import Basis, Category, ChargeCategory, TaskType

TASK_TYPES = {
    TaskType.PRETRAIN: _("Pretraining"),
    TaskType.CONTINUED_PRETRAIN: _("Continued pretraining"),
    TaskType.ABLATION: _("Ablation"),
    TaskType.FINETUNE: _("Fine-tuning"),
    TaskType.INFERENCE: _("Inference"),
    TaskType.VECTOR_STORE: _("Vector store"),
    TaskType.EVALUATION: _("Evaluation"),
    TaskType.DATA_WORK: _("Data work"),
    TaskType.OTHER: pgettext_lazy("task type", "Other"),
}

CATEGORIES = {
    Category.COMPUTE: _("Compute"),
    Category.DATA: pgettext_lazy("cost category", "Data"),
    Category.STORAGE: _("Storage"),
    Category.NETWORK: _("Network and interconnect"),
    Category.POWER_FACILITY: _("Power and facility"),
    Category.PEOPLE_PLATFORM: _("People and platform"),
    Category.HIDDEN: _("Hidden"),
    Category.CONTINGENCY: _("Contingency"),
}

BASES = {Basis.EFFECTIVE: _("Effective (amortised)"), Basis.BILLED: _("Billed")}

CHARGE_CATEGORIES = {
    ChargeCategory.USAGE: _("Usage"),
    ChargeCategory.PURCHASE: _("Purchase"),
    ChargeCategory.TAX: _("Tax"),
    ChargeCategory.CREDIT: _("Credit"),
    ChargeCategory.ADJUSTMENT: _("Adjustment"),
}


def choices(labels: dict) -> list[tuple[str, object]]:
    """Labels as the choices of a model or form field."""
    return [(str(word), label) for word, label in labels.items()]
