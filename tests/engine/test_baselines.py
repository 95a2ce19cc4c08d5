"""Figures that are left to history: published ones stand in, and the answer says so."""

from __future__ import annotations

import pytest

from estimates.engine.baselines import History, Known
from estimates.engine.values import Quantiles
from tests.engine.makers import estimated, pretrain

LEFT_TO_HISTORY = {
    "compute.mfu": ({"compute__mfu": "baseline"}, "paid_mfu"),
    "experiments.ratio": ({"experiments": {"ratio": "baseline"}}, "experiments.ratio"),
    "reliability.goodput": ({"reliability": {"goodput": "baseline"}}, "reliability.goodput"),
    "reliability.accelerator_mtbf_hours": (
        {"reliability": {"accelerator_mtbf_hours": "baseline"}},
        "reliability.accelerator_mtbf_hours",
    ),
    "reliability.rollback_share": ({"reliability": {"rollback_share": "baseline"}}, "reliability.rollback_share"),
}
"""By path: a plan that leaves it to history, and the input that the answer says it assumed."""


@pytest.mark.parametrize("path", LEFT_TO_HISTORY)
def test_without_history_a_baseline_is_a_published_figure_and_is_told_as_an_assumption(path: str) -> None:
    changes, assumed = LEFT_TO_HISTORY[path]

    answered = estimated(pretrain(**changes))

    told = next(item for item in answered["assumptions"] if item["input"] == assumed)
    assert told["origin"] == "baseline"
    assert told["source"]
    assert told["p10"] < told["p50"] < told["p90"]
    assert answered["cost"]["total"]["mean"] > 0


def test_the_figure_of_ones_own_history_wins_and_is_named() -> None:
    # 10,000 ÷ 3 hours, and half as much again for experiments
    known = History({"experiments.ratio": Known(Quantiles(0.49, 0.5, 0.51), "our past runs", 7, "2024-2026")})

    answered = estimated(pretrain(experiments={"ratio": "baseline"}), baseline=known)

    told = next(item for item in answered["assumptions"] if item["input"] == "experiments.ratio")
    assert told["source"] == "our past runs"
    assert answered["quantities"]["experiment_accelerator_hours"]["p50"] == pytest.approx(5000 / 3, rel=1e-3)
