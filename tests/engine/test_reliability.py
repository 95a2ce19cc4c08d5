"""Failures, checkpoints and what is kept, worked out by hand; closed forms of published examples."""

from __future__ import annotations

import math

import pytest

from estimates.engine.reliability import checkpoint_first_order_hours, checkpoint_optimum_hours
from tests.engine.makers import estimated, p50, pretrain

FAILING = {"accelerator_mtbf_hours": 6400, "checkpoint_stall_hours": 0.02, "restart_hours": 0.5, "rollback_share": 0}
"""On 64 cards a failure every 100 hours."""


def quantity(name: str, **changes: object) -> float:
    return p50(estimated(pretrain(**changes), samples=2), name)


@pytest.mark.parametrize(
    ("stall_seconds", "mtbf_hours", "young_minutes", "daly_minutes", "overhead"),
    [
        (300, 3.09, 43.1, 39.8, 0.232),
        (30, 3.09, 13.6, 13.3, 0.073),
        (60, 1.80, 14.7, 14.0, 0.136),
        (60, 7.90, 30.8, 30.1, 0.065),
        (30, 0.23, 3.7, 3.4, 0.269),
    ],
)
def test_intervals_and_first_order_losses_of_the_worked_vectors(
    stall_seconds: float, mtbf_hours: float, young_minutes: float, daly_minutes: float, overhead: float
) -> None:
    stall = stall_seconds / 3600
    young = checkpoint_first_order_hours(stall, mtbf_hours)

    assert young * 60 == pytest.approx(young_minutes, abs=0.06)
    assert checkpoint_optimum_hours(young, stall, mtbf_hours) * 60 == pytest.approx(daly_minutes, abs=0.06)
    assert stall / young + young / (2 * mtbf_hours) == pytest.approx(overhead, abs=0.001)


def test_the_interval_is_the_optimum_unless_the_acceptable_loss_is_shorter() -> None:
    # √(2 · 0.02 · 100) = 2; 2 · (1 + √0.0001 ÷ 3 + 0.0001 ÷ 9) − 0.02
    optimum = 2 * (1 + 0.01 / 3 + 0.0001 / 9) - 0.02

    assert quantity("checkpoint_interval_hours", reliability=FAILING) == pytest.approx(optimum)
    capped = {**FAILING, "acceptable_loss_hours": 1}
    assert quantity("checkpoint_interval_hours", reliability=capped) == 1
    assert estimated(pretrain(reliability=capped))["comparisons"]["checkpoint"]["binds"] == "acceptable_loss"
    given = {**FAILING, "checkpoint_interval_hours": 5}
    assert quantity("checkpoint_interval_hours", reliability=given) == 5
    assert estimated(pretrain(reliability=given))["comparisons"]["checkpoint"]["binds"] == "plan"


def test_goodput_is_dalys_expected_run_time() -> None:
    given = {**FAILING, "checkpoint_interval_hours": 2}

    wall = 100 * math.exp(0.5 / 100) * (math.exp(2.02 / 100) - 1)
    assert quantity("goodput", reliability=given) == pytest.approx(2 / wall)
    assert quantity("goodput", reliability={**given, "rollback_share": 0.1}) == pytest.approx(2 / wall * 0.9)


def test_rollback_and_failures_are_hidden_costs_of_their_own() -> None:
    answered = estimated(pretrain(reliability={**FAILING, "rollback_share": 0.2, "checkpoint_interval_hours": 2}))

    kept = 10_000 / 3
    with_failures = kept / p50(answered, "machine_goodput")
    assert p50(answered, "retries_cost") == pytest.approx((with_failures - kept) * 2)
    assert p50(answered, "rollback_cost") == pytest.approx((with_failures / 0.8 - with_failures) * 2)
    factors = answered["redundancy"]["factors"]
    product = math.prod(factor["value"] for factor in factors.values())
    assert product == pytest.approx(answered["redundancy"]["factor"])


def test_preemptions_add_to_the_failures_of_the_cluster() -> None:
    spot = pretrain(reliability=FAILING, compute__spot={"preemptions_per_1000_hours": 10})

    assert p50(estimated(spot), "failures_per_hour") == pytest.approx(0.01 + 0.01)


def test_failures_that_do_not_heal_wait_for_a_person() -> None:
    slow = {**FAILING, "auto_recovery_share": 0.5, "detection_hours": 0.25}

    assert quantity("recovery_hours", reliability=slow) == pytest.approx(0.5 + 0.25 + 0.5 * 4)


def test_spares_are_paid_while_the_run_lasts() -> None:
    answered = estimated(pretrain(reliability={"goodput": 1.0, "spare_count": 2}))

    assert p50(answered, "idle_cost") == pytest.approx(10_000 / 3 / 64 * 2 * 2)
    assert p50(answered, "redundancy_factor") == pytest.approx(66 / 64)


def test_a_plan_that_loses_half_its_time_at_the_medians_has_no_hours() -> None:
    answered = estimated(pretrain(compute__count=100_000, reliability={"accelerator_mtbf_hours": 5000}))

    assert answered["feasible"] is False
    assert answered["quantities"]["accelerator_hours"]["p50"] is None
    assert answered["cost"]["total"]["mean"] is None
    assert answered["probability"]["infeasible"] == 1


def test_samples_that_are_infeasible_are_capped_and_counted() -> None:
    # recovery of 0.1 h and M = mtbf ÷ 20,000: above a half from about 4,000 hours down
    mtbf = {"low": 2_500, "mode": 10_000, "high": 40_000}
    answered = estimated(pretrain(compute__count=20_000, reliability={"accelerator_mtbf_hours": mtbf}))

    assert answered["feasible"] is True
    assert 0 < answered["probability"]["infeasible"] < 0.5
    assert answered["quantities"]["machine_goodput"]["p10"] >= 0.5


def test_labour_at_interruptions_is_paid_at_the_rate_of_who_recovers() -> None:
    people = [{"role": "research engineer", "fte": 1, "months": 1, "monthly_rate": 16_000}]
    answered = estimated(pretrain(reliability=FAILING, people=people))

    hours = p50(answered, "interruptions") * 4 * (1 - 0.8)
    assert p50(answered, "recovery_labour_cost") == pytest.approx(hours * 100)


def test_published_closed_forms_of_hours_and_money_are_met() -> None:
    def days(parameters: float, tokens: float, count: int, tflops: float) -> float:
        achieved = {"value": tflops, "counts": "hardware", "attention": "none"}
        compute = {
            "peak_tflops": 312,
            "count": count,
            "tflops_per_accelerator": achieved,
            "price_per_accelerator_hour": 1,
        }
        return quantity("elapsed_days", model={"parameters": parameters}, data={"tokens": tokens}, compute=compute)

    assert days(175e9, 300e9, 1024, 140) == pytest.approx(33.9, abs=0.05)
    assert days(1.008e12, 450e9, 3072, 163) == pytest.approx(83.9, abs=0.05)
    assert days(13e9, 300e9, 256, 45) == pytest.approx(31.35, abs=0.02)


def test_seven_quarters_of_a_second_for_each_of_286_102_steps_is_135_hours_and_1_891_dollars() -> None:
    # llm.c 774M: 524,288 tokens a step of 1.7 s on 8 cards, 14 dollars an hour for the machine
    compute = {
        "count": 8,
        "tokens_per_second_per_accelerator": 524_288 / 1.7 / 8,
        "price_per_accelerator_hour": 14 / 8,
    }
    answered = estimated(pretrain(model={"parameters": 774e6}, data={"tokens": 286_102 * 524_288}, compute=compute))

    assert p50(answered, "elapsed_hours") == pytest.approx(135.1, abs=0.1)
    assert p50(answered, "compute_cost") == pytest.approx(1_891, abs=1)


def test_deepseek_v3_costs_its_hours_times_two_dollars() -> None:
    compute = {
        "peak_tflops": 989,
        "count": 2048,
        "mfu": {"value": 0.389, "attention": "causal"},
        "price_per_accelerator_hour": 2,
    }
    model = {"parameters": 37e9, "layers": 61, "attention_width": 20480, "sequence_length": 4096}
    answered = estimated(pretrain(model=model, data={"tokens": 14.8e12}, compute=compute))

    hours = p50(answered, "ideal_accelerator_hours")
    assert hours == pytest.approx(2.664e6, rel=0.03)
    assert answered["cost"]["by_cause"]["compute"]["mean"] == pytest.approx(hours * 2)
    # full attention against causal: 432 ÷ 385 TFLOPS
    full = {**compute, "mfu": {"value": 0.389, "attention": "full"}}
    other = estimated(pretrain(model=model, data={"tokens": 14.8e12}, compute=full))
    assert p50(other, "counted_flops") / p50(answered, "counted_flops") == pytest.approx(1.121, abs=0.001)
