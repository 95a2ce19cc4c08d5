"""Lines that most projects need, each watched as its kind of cost behaves. A page opens a set of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core.vocabulary import Category

from .models import Threshold

ACTUAL, COMMITTED, FORECAST = Threshold.Basis.ACTUAL, Threshold.Basis.COMMITTED, Threshold.Basis.FORECAST
Watch = tuple[str, Decimal, str]


def watch(basis: str, percent: int, quantile: str = "") -> Watch:
    return (basis, Decimal(percent) / 100, quantile)


DEFAULT_THRESHOLDS: tuple[Watch, ...] = (watch(ACTUAL, 80), watch(ACTUAL, 100), watch(FORECAST, 100, "p50"))
"""Of a new line: 80 % and 100 % of actual, 100 % of the forecast's median."""


@dataclass(frozen=True)
class Template:
    """One line of the set: what it is for, and where people are told."""

    key: str
    category: Category
    label: str | Promise
    subcategory: str = ""
    thresholds: Sequence[Watch] = DEFAULT_THRESHOLDS


TEMPLATES = {
    each.key: each
    for each in (
        Template(
            "training",
            Category.COMPUTE,
            _("Compute for training"),
            "training",
            # a run spends fast, and once it has begun it is costly to stop: told early, and of the upper end
            (
                watch(ACTUAL, 70),
                watch(ACTUAL, 90),
                watch(ACTUAL, 100),
                watch(FORECAST, 100, "p50"),
                watch(FORECAST, 110, "p90"),
            ),
        ),
        Template(
            "inference",
            Category.COMPUTE,
            _("Compute for inference"),
            "inference",
            # grows with requests: the forecast speaks before the money is spent
            (watch(ACTUAL, 80), watch(ACTUAL, 100), watch(FORECAST, 90, "p50"), watch(FORECAST, 100, "p90")),
        ),
        Template(
            "storage",
            Category.STORAGE,
            _("Storage"),
            # only ever grows until somebody deletes: room to clean up is needed
            thresholds=(watch(ACTUAL, 75), watch(ACTUAL, 90), watch(ACTUAL, 100), watch(FORECAST, 100, "p50")),
        ),
        Template("data_engineering", Category.DATA, _("Data engineering"), "data_engineering"),
        Template(
            "data_assets",
            Category.DATA,
            _("Data assets"),
            "data_assets",
            # licences and purchases come in lumps that are promised long before they are billed
            (watch(COMMITTED, 90), watch(ACTUAL, 90), watch(ACTUAL, 100)),
        ),
        Template("network", Category.NETWORK, _("Network and interconnect")),
        Template(
            "power",
            Category.POWER_FACILITY,
            _("Power and facility"),
            # nearly fixed: more than planned is news at once
            thresholds=(watch(ACTUAL, 90), watch(ACTUAL, 100), watch(FORECAST, 100, "p50")),
        ),
        Template(
            "people",
            Category.PEOPLE_PLATFORM,
            _("People and platform"),
            thresholds=(watch(ACTUAL, 90), watch(ACTUAL, 100), watch(FORECAST, 100, "p50")),
        ),
        Template("contingency", Category.CONTINGENCY, _("Contingency"), thresholds=()),
    )
}
