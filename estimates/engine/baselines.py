"""What an input is when the plan leaves it to history: the organisation's own figures, else published ones.

Published figures are summaries (median, spread, number of runs) of public documents; each names what it was made from.
`PAID` figures are utilisations of paid hours, 6 · N · D ÷ (hours · dense peak): stalls, restarts and attention that
the 6 · N · D leaves out are in them, so that neither the failure model nor attention is applied on top.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from estimates.engine.continued import RUNS, published_share
from estimates.engine.messages import gettext_noop
from estimates.engine.plan import Plan
from estimates.engine.recorded import Recorded, family, pooled, speaking_for
from estimates.engine.sampling import Z_10, Range
from estimates.engine.values import Pert, Point, Quantiles

_ = gettext_noop


@dataclass(frozen=True)
class Known:
    """A figure from history: its spread, where it comes from, from how many cases, over what period."""

    value: Range
    source: str
    cases: int = 0
    period: str = ""
    scope: str = ""
    """`predecessor`, `team` or `organisation` for what was measured here; empty for published figures."""
    ids: tuple[int, ...] = ()
    """The recorded rows it was made of."""


@dataclass(frozen=True)
class History:
    """The organisation's own figures by path of the plan; published ones fill the gaps.

    `recorded` are all rows that may speak; `of` makes the history of one plan. `asked` remembers every path that a
    figure was looked for under, found or not.
    """

    known: Mapping[str, Known] = field(default_factory=dict)
    recorded: tuple[Recorded, ...] = ()
    asked: set[str] = field(default_factory=set, compare=False)

    def of(self, plan: Plan) -> History:
        """What history says of one plan: the rows that are closest to it."""
        if not self.recorded:
            return History(self.known)
        found = {path: _known(path, rows, plan) for path, rows in speaking_for(plan, self.recorded).items()}
        return History({**self.known, **found}, self.recorded)

    def value(self, path: str, plan: Plan) -> Known | None:
        return self.own(path) or published(path, plan, succeeds=self.knows_predecessor(plan))

    def knows_predecessor(self, plan: Plan) -> bool:
        """Whether anything was recorded of the project that the plan names as its predecessor."""
        name = plan.text("predecessor")
        if not name:
            return False
        self.asked.add("predecessor")
        return any(row.project == name for row in self.recorded)

    def own(self, path: str) -> Known | None:
        """Only what the organisation itself measured."""
        self.asked.add(path)
        return self.known.get(path)

    def residual(self, plan: Plan) -> Known:
        return self.own("model_error.sigma") or published_residual(plan)


def _known(path: str, rows: Sequence[Recorded], plan: Plan) -> Known:
    """Rows that agree in whose they are, as one figure."""
    scope = "predecessor" if rows[0].project and rows[0].project == plan.text("predecessor") else rows[0].scope
    known = published(path, plan, succeeds=scope == "predecessor")
    return Known(
        value=pooled(rows, known.value if known else None),
        source="; ".join(dict.fromkeys(row.source for row in rows)),
        cases=sum(row.runs for row in rows),
        period=f"{min(row.since for row in rows)} – {max(row.until for row in rows)}",
        scope=scope,
        ids=tuple(row.id for row in rows),
    )


SIGMA_OF_PAID = 0.34
"""A median error of 23 % when each run is predicted from the others of its group, as a standard deviation."""


def _paid(median: float, cases: int, source: str, sigma: float = SIGMA_OF_PAID) -> Known:
    low, high = median * math.exp(-Z_10 * sigma), median * math.exp(Z_10 * sigma)
    return Known(Quantiles(low, median, high), source, cases)


ONE_MACHINE = _paid(
    0.46,
    5,
    _(
        "Published training runs, at most 8 accelerators (llm.c, nanoGPT, nanochat and one more): "
        "median 0.46 of paid hours, 5 runs"
    ),
)
MIXTURE = _paid(
    0.217,
    8,
    _("Published training runs, mixtures of experts on H100, H800 and TPU: median 0.217 of paid hours, 8 runs"),
)
PAID_MFU = {
    ("ampere", "small"): _paid(
        0.324,
        13,
        _("Published training runs, dense models below 6B on A100 and A800: median 0.324 of paid hours, 13 runs"),
    ),
    ("ampere", "large"): _paid(
        0.347,
        26,
        _("Published training runs, dense models from 6B on A100 and A800: median 0.347 of paid hours, 26 runs"),
    ),
    ("hopper", "small"): _paid(
        0.227,
        4,
        _("Published training runs, dense models below 6B on H100 and H800: median 0.227 of paid hours, 4 runs"),
    ),
    ("hopper", "large"): _paid(
        0.282,
        13,
        _("Published training runs, dense models from 6B on H100 and H800: median 0.282 of paid hours, 13 runs"),
    ),
    ("tpu", "small"): _paid(
        0.303, 4, _("Published training runs, dense models on TPU: median 0.303 of paid hours, 4 runs")
    ),
    ("tpu", "large"): _paid(
        0.303, 4, _("Published training runs, dense models on TPU: median 0.303 of paid hours, 4 runs")
    ),
}
TUNING = _paid(
    0.205,
    4,
    _("Published training runs, full fine-tuning, none of them read at its source: median 0.205 of paid hours, 4 runs"),
)
UNLIKE_ANY = _paid(
    0.282,
    13,
    _(
        "Published training runs, dense models from 6B on H100 and H800 (no published run on this accelerator): "
        "median 0.282 of paid hours, 13 runs"
    ),
    0.45,
)
SMALL_BELOW = 6e9
MIXTURE_ABOVE = 1.5
MACHINE = 8

MTBF = {
    "ampere": Known(
        Quantiles(9_600, 29_500, 137_000),
        _(
            "A100: GLM-130B logs, 8 failures of 768 cards in 60 days; OPT-175B logbook, 105 of 992 in 56 days; "
            "the width also from figures that were not read at their source, and are not quoted"
        ),
        2,
    ),
    "hopper": Known(
        Quantiles(4_800, 45_000, 50_700),
        _(
            "H100: Llama 3, 419 unexpected failures of 16,384 cards in 54 days; "
            "the width also from figures that were not read at their source, and are not quoted"
        ),
        1,
    ),
}
ANY_MTBF = Known(
    Quantiles(12_700, 40_000, 137_000),
    _("Published failure rates per 1,000 node-days: GLM-130B 1.4, Llama 3 3.8, OPT-175B 15"),
    3,
)

EXPERIMENTS = {
    "pretrain": Pert(0.1, 0.4, 1.0),
    "continued_pretrain": Pert(0.05, 0.25, 1.0),
    "finetune": Pert(0.2, 0.5, 1.0),
    "ablation": Pert(0.1, 0.4, 1.0),
}
AFTER_A_PREDECESSOR = Pert(0.05, 0.2, 1.0)
NO_HISTORY = _("No history: experiments often add up to the size of the main run, so the range reaches 1.0")

FIXED: Mapping[str, Known] = {
    "reliability.goodput": Known(
        Quantiles(0.67, 0.90, 0.97),
        _(
            "Goodput: Llama 3 above 0.90; OPT-175B 0.59, 33 ideal days of 56; "
            "the width also from figures that were not read at their source, and are not quoted"
        ),
        2,
    ),
    "reliability.rollback_share": Known(
        Pert(0.0, 0.01, 0.05),
        _("Our range, from none to about twenty rewinds in a run; no figure was read at its source"),
    ),
    "compute.own.life_hours": Known(
        Pert(26_298, 43_830, 52_596), _("Three to six years; depreciation periods in filings of cloud operators")
    ),
    "compute.own.occupancy": Known(Pert(0.5, 0.7, 0.9), _("Our assumption; replace it by your own")),
    "compute.own.pue": Known(
        Pert(1.08, 1.15, 1.58),
        _(
            "PUE: 1.1 used for LLaMA by Meta; "
            "the width also from figures that were not read at their source, and are not quoted"
        ),
        1,
    ),
    "compute.carbon_kg_per_kwh": Known(
        Pert(0.2, 0.45, 0.6), _("Averages of national grids; the world lies near 0.45 kg per kWh")
    ),
    "inference.forward_mfu": Known(
        Pert(0.2, 0.35, 0.6), _("Our assumption: reading a prompt reaches 0.2 to 0.6 of the dense peak")
    ),
    "inference.bandwidth_share": Known(
        Pert(0.4, 0.6, 0.8), _("Our assumption: decoding reaches 0.4 to 0.8 of the memory bandwidth")
    ),
    "data.share_of_base": Known(
        published_share(), _("Published continued pretraining, tokens against those of the base"), len(RUNS)
    ),
    "network.interconnect_share": Known(Point(0.0), _("The price of rent, and capital per accelerator, hold it")),
}


def _published_mtbf(accelerator: str) -> Known:
    return MTBF.get(family(accelerator), ANY_MTBF)


def published_mtbf(accelerator: str) -> float:
    """The median of the published accelerator-hours between failures of a kind of card, by its short name."""
    return _published_mtbf(accelerator).value.typical


def published(path: str, plan: Plan, *, succeeds: bool = False) -> Known | None:
    """The published figure for an input of this plan; `succeeds` where its predecessor is a finished project."""
    if path in ("compute.paid_mfu", "compute.mfu"):
        return published_paid_mfu(plan)
    if path == "reliability.accelerator_mtbf_hours":
        return _published_mtbf(plan.text("compute.accelerator") or "")
    if path == "experiments.ratio":
        ratio = AFTER_A_PREDECESSOR if succeeds else EXPERIMENTS.get(plan.task)
        return Known(ratio, NO_HISTORY) if ratio else None
    return FIXED.get(path)


def published_paid_mfu(plan: Plan) -> Known:
    """By kind of model, accelerator and size of the cluster."""
    return published_paid_mfu_of(plan, plan.text("compute.accelerator") or "")


def published_paid_mfu_of(plan: Plan, slug: str) -> Known:
    """The same for an accelerator by name, such as that of a pool."""
    total = plan.number("model.parameters")
    active = plan.number("model.active_parameters") or total
    count = plan.number("compute.count")
    if plan.task == "finetune":
        return TUNING
    if count is not None and count <= MACHINE:
        return ONE_MACHINE
    if total and active and total > MIXTURE_ABOVE * active:
        return MIXTURE
    size = "small" if active and active < SMALL_BELOW else "large"
    return PAID_MFU.get((family(slug), size), UNLIKE_ANY)


RESIDUALS = {
    "compute.tokens_per_second_per_accelerator": Known(
        Point(0.01), _("Hours published beside a measured throughput agree within 1 %")
    ),
    "compute.tflops_per_accelerator": Known(
        Point(0.05), _("Runs of which achieved hardware TFLOPS and hours are both published: OPT-175B within 3 %")
    ),
    "compute.paid_mfu": Known(Point(0.0), _("Within the range of the paid utilisation itself")),
    "compute.mfu": Known(
        Point(0.08), _("Runs with published MFU and measured hours, attention in the authors' convention")
    ),
}


def published_residual(plan: Plan) -> Known:
    """How far published hours lie from estimates made this way, as σ of the logarithm."""
    if any(isinstance(pool.get("mfu"), Range) for pool in plan.rows("compute.pools")):
        return RESIDUALS["compute.mfu"]
    for path, known in RESIDUALS.items():
        if path in plan.given and isinstance(plan.inputs.get(path), Range):
            return known
    return RESIDUALS["compute.paid_mfu"]
