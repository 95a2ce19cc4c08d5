"""Figures that are left to history: published ones stand in, and the answer says so."""

from __future__ import annotations

from typing import Any

import pytest

from estimates.engine import baselines
from estimates.engine.baselines import History, Known
from estimates.engine.recorded import Recorded, pooled, weighted_median
from estimates.engine.sampling import quantile
from estimates.engine.values import Pert, Point, Quantiles
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


PUBLISHED_MFU = (*baselines.PAID_MFU.values(), baselines.ONE_MACHINE, baselines.MIXTURE, baselines.TUNING)


@pytest.mark.parametrize("known", PUBLISHED_MFU, ids=lambda known: known.source)
def test_the_sentence_about_published_runs_says_the_figures_it_stands_for(known: Known) -> None:
    assert f"median {quantile(known.value, 0.5):.3g} of paid hours" in known.source
    assert f", {known.cases} runs" in known.source or "none of them read" in known.source


def test_the_figure_of_ones_own_history_wins_and_is_named() -> None:
    # 10,000 ÷ 3 hours, and half as much again for experiments
    known = History({"experiments.ratio": Known(Quantiles(0.49, 0.5, 0.51), "our past runs", 7, "2024-2026")})

    answered = estimated(pretrain(experiments={"ratio": "baseline"}), baseline=known)

    told = next(item for item in answered["assumptions"] if item["input"] == "experiments.ratio")
    assert told["source"] == "our past runs"
    assert answered["quantities"]["experiment_accelerator_hours"]["p50"] == pytest.approx(5000 / 3, rel=1e-3)


def recorded(path: str, value: float | tuple[float, float, float], number: int = 1, **facts: Any) -> Recorded:
    low, mode, high = value if isinstance(value, tuple) else (value, value, value)
    columns = {"runs": 1, "since": "2026-01-01", "until": "2026-03-31", "source": f"look back {number}"}
    return Recorded(number, path, low, mode, high, **{**columns, **facts})


def answered_with(*rows: Recorded, **changes: Any) -> dict[str, Any]:
    return estimated(pretrain(**changes), baseline=History(recorded=rows), samples=200)


def figure_used(answered: dict[str, Any], path: str) -> dict[str, Any]:
    return next(item for item in answered["baselines"] if item["what"] == path)


RATIO = {"experiments": {"ratio": "baseline"}}


def test_the_median_of_runs_counts_each_row_as_often_as_it_has_runs() -> None:
    assert weighted_median([(0.2, 1), (0.4, 1), (0.9, 5)]) == 0.9
    assert weighted_median([(0.4, 1), (0.2, 1)]) == pytest.approx(0.3)
    assert weighted_median([(0.4, 3), (0.2, 1)]) == 0.4


def test_several_figures_reach_from_the_lowest_to_the_highest() -> None:
    rows = [recorded("goodput", (0.8, 0.9, 0.95)), recorded("goodput", 0.7), recorded("goodput", 0.92)]

    assert pooled(rows, None) == Pert(0.7, 0.9, 0.95)


def test_a_single_figure_has_the_width_of_the_published_one() -> None:
    published = Quantiles(0.2, 0.4, 0.8)

    ratio = pooled([recorded("experiments.ratio", 2.0)], Quantiles(0.5, 1.0, 3.0))
    share = pooled([recorded("compute.paid_mfu", 0.5)], published)

    assert ratio == Pert(pytest.approx(1.0), pytest.approx(2.0), pytest.approx(6.0))
    # odds of 0.2, 0.4 and 0.8 are 1/4, 2/3 and 4; half and half is 1, so each times 3/2: 3/8, 1 and 6
    assert share == Pert(pytest.approx(3 / 11), pytest.approx(0.5), pytest.approx(6 / 7))
    assert pooled([recorded("rest_factor", 1.2)], None) == Point(1.2)


def test_figures_of_the_team_speak_before_those_of_the_organisation() -> None:
    rows = (
        recorded("experiments.ratio", (0.2, 0.3, 0.4), 1, scope="organisation", runs=9),
        recorded("experiments.ratio", (0.6, 0.7, 0.8), 2, runs=2),
    )

    both, alone = answered_with(*rows, **RATIO), answered_with(rows[0], **RATIO)

    used = figure_used(both, "experiments.ratio")
    assert (used["scope"], used["runs"], used["ids"], used["source"]) == ("team", 2, [2], "look back 2")
    assert used["period"] == "2026-01-01 – 2026-03-31"
    assert used["p50"] == pytest.approx(0.7)
    assert figure_used(alone, "experiments.ratio")["scope"] == "organisation"


def test_a_figure_of_another_task_or_of_other_accelerators_does_not_speak() -> None:
    rows = (
        recorded("compute.paid_mfu", 0.11, 1, task="finetune"),
        recorded("compute.paid_mfu", 0.12, 2, family="ampere"),
        recorded("compute.paid_mfu", 0.33, 3, task="pretrain", family="hopper"),
        recorded("compute.paid_mfu", 0.14, 4),
    )

    used = figure_used(answered_with(*rows, compute__mfu="baseline"), "compute.paid_mfu")

    assert used["ids"] == [3]
    assert used["p50"] == pytest.approx(0.33, abs=0.01)


def test_a_predecessors_figures_speak_first_whatever_its_task() -> None:
    rows = (
        recorded("experiments.ratio", (0.6, 0.7, 0.8), 1, task="pretrain", project="another"),
        recorded("experiments.ratio", (0.1, 0.2, 0.3), 2, task="continued_pretrain", project="base-1"),
    )

    used = figure_used(answered_with(*rows, predecessor="base-1", **RATIO), "experiments.ratio")

    assert (used["scope"], used["ids"]) == ("predecessor", [2])


def ratio_assumed(answered: dict[str, Any]) -> float:
    return next(item["p50"] for item in answered["assumptions"] if item["input"] == "experiments.ratio")


def test_only_a_predecessor_that_is_recorded_makes_experiments_fewer() -> None:
    of_it = recorded("compute.mfu", 0.4, project="base-1")
    of_another = recorded("compute.mfu", 0.4, project="base-2")

    alone = answered_with(**RATIO)
    named = answered_with(predecessor="base-1", **RATIO)
    wrongly_named = answered_with(of_another, predecessor="base-1", **RATIO)
    succeeding = answered_with(of_it, predecessor="base-1", **RATIO)

    assert ratio_assumed(named) == ratio_assumed(wrongly_named) == ratio_assumed(alone)
    assert ratio_assumed(succeeding) < ratio_assumed(alone)
    assert "predecessor_unknown" in codes(named) & codes(wrongly_named)
    assert "base-1" in next(item["message"] for item in named["warnings"] if item["code"] == "predecessor_unknown")
    assert "predecessor_unknown" not in codes(succeeding) | codes(alone)


def test_a_draft_remembers_that_it_looked_for_its_predecessor() -> None:
    assert "predecessor" in answered_with(predecessor="base-1")["baseline_keys"]
    assert "predecessor" not in answered_with()["baseline_keys"]


def test_a_predecessors_goodput_is_the_default_of_its_successor_and_a_figure_of_the_plan_wins() -> None:
    rows = (recorded("reliability.goodput", (0.79, 0.8, 0.81), project="base-1"),)
    inherits = {"predecessor": "base-1", "reliability": {}}

    silent = answered_with(*rows, **inherits)
    without = answered_with(*rows, reliability={})
    typed = answered_with(*rows, predecessor="base-1", reliability={"accelerator_mtbf_hours": 1e9})

    assert silent["quantities"]["goodput"]["p50"] == pytest.approx(0.8, abs=1e-3)
    told = next(item for item in silent["assumptions"] if item["input"] == "reliability.goodput")
    assert (told["origin"], told["source"]) == ("baseline", "look back 1")
    assert without["quantities"]["goodput"]["p50"] > 0.95
    assert typed["quantities"]["goodput"]["p50"] > 0.95


def test_a_predecessors_rollback_is_the_default_beside_failures_that_the_plan_states() -> None:
    rows = (recorded("reliability.rollback_share", (0.19, 0.2, 0.21), project="base-1"),)

    answered = answered_with(*rows, predecessor="base-1", reliability={"accelerator_mtbf_hours": 1e9})

    assert answered["quantities"]["rollback_factor"]["p50"] == pytest.approx(1.25, rel=1e-3)


def test_a_measured_mfu_of_running_steps_is_used_with_the_model_of_failures() -> None:
    rows = (recorded("compute.mfu", (0.499, 0.5, 0.501)),)

    answered = answered_with(*rows, compute__mfu="baseline")

    # 6e21 FLOP at 500 TFLOPS, nothing lost
    assert answered["quantities"]["accelerator_hours"]["p50"] == pytest.approx(10_000 / 3, rel=1e-3)
    told = next(item for item in answered["assumptions"] if item["input"] == "compute.mfu")
    assert (told["origin"], told["source"]) == ("baseline", "look back 1")


def codes(answered: dict[str, Any]) -> set[str]:
    return {warning["code"] for warning in answered["warnings"]}


def test_a_redundancy_below_what_the_team_measured_is_told_with_its_figure() -> None:
    rows = (recorded("redundancy_factor", (1.5, 1.8, 2.2), runs=4),)

    below = answered_with(*rows)
    borne_out = answered_with(*rows, experiments={"ratio": 0.8})

    said = next(warning for warning in below["warnings"] if warning["code"] == "redundancy_below_history")
    assert said["value"] == 1.0
    assert "1.8" in said["message"]
    assert "redundancy_below_history" not in codes(borne_out)


def test_a_typed_ratio_is_by_feeling_until_history_bears_it_out() -> None:
    rows = (recorded("experiments.ratio", (0.3, 0.5, 0.7), runs=5),)
    far, near = {"experiments": {"ratio": 0.1}}, {"experiments": {"ratio": 0.5}}

    assert "redundancy_by_feeling" in codes(answered_with(**near))
    assert "redundancy_by_feeling" in codes(answered_with(*rows, **far))
    assert "redundancy_by_feeling" not in codes(answered_with(*rows, **near))
    basis = answered_with(*rows, **near)["redundancy"]["factors"]["experiment_factor"]
    assert (basis["basis"], basis["history"]["cases"]) == ("history", 5)


def test_members_of_a_life_have_each_the_history_of_its_own_task() -> None:
    member = {"compute": {**pretrain()["compute"], "mfu": "baseline"}, "data": {"tokens": 1e12}}
    document = {
        "name": "life",
        "task": "life",
        "model": {"parameters": 1e9},
        "members": [
            {"name": "base", "task": "pretrain", **member},
            {"name": "more", "task": "continued_pretrain", **member},
        ],
    }
    rows = tuple(
        recorded("compute.paid_mfu", value, number, task=task)
        for number, (task, value) in enumerate([("pretrain", 0.4), ("continued_pretrain", 0.2)], start=1)
    )

    answered = estimated(document, baseline=History(recorded=rows), samples=50)

    assert [figure_used(member, "compute.paid_mfu")["ids"] for member in answered["members"]] == [[1], [2]]
    assert sorted(item["ids"] for item in answered["baselines"]) == [[1], [2]]
