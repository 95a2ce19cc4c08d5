"""The engine against published runs and tables, read in place. Tuned to none of them."""

from __future__ import annotations

from statistics import median

import pytest

from tests.engine import truth, truth_page
from tests.engine.published import quantities, run_named
from tests.engine.truth import CERTAIN, SHOWN_APART, cluster
from tests.shared import shared


def test_the_page_of_published_runs_is_current() -> None:
    shared("truth/training_runs.csv")

    assert truth_page.PAGE.read_text(encoding="utf-8") == truth_page.page()


def test_figures_of_rows_that_nobody_read_are_not_quoted() -> None:
    text = truth_page.page()
    checks = [*truth.with_their_mfu("A"), *truth.with_their_mfu("T"), *truth.with_their_tflops()]
    hidden = [check for check in (*checks, *truth.without_an_mfu()) if not check.quotable]

    assert len(hidden) >= 25
    for check in hidden:
        lines = [line for line in text.splitlines() if line.startswith(f"| {check.name} ")]
        assert len(lines) == 1, check.name
        assert truth_page.hours(check.published) not in lines[0], check.name
        assert truth_page.hours(check.estimated) not in lines[0], check.name


def test_runs_with_a_published_mfu_and_independent_hours_are_met() -> None:
    errors = {check.name: check.error for check in truth.with_their_mfu("A") if check.name not in SHOWN_APART}

    assert len(errors) >= 4
    assert median(abs(error) for error in errors.values()) <= 0.08, errors
    assert max(abs(error) for error in errors.values()) <= 0.15, errors


def test_hours_with_known_repeats_or_calendar_windows_lie_above_the_estimate() -> None:
    apart = [check for check in truth.with_their_mfu("A") if check.name in SHOWN_APART]

    assert len(apart) == len(SHOWN_APART)
    assert all(check.error < 0 for check in apart)


def test_hours_told_by_third_parties_are_met_roughly() -> None:
    told = truth.with_their_mfu("T")

    assert told
    assert all(abs(check.error) <= 0.25 for check in told)


def test_achieved_tflops_that_count_recomputation_are_met_when_entered_as_such() -> None:
    *with_tflops, stated = truth.with_their_tflops()

    assert [check.name for check in with_tflops] == ["OPT-175B", "BloombergGPT-50B"]
    assert all(abs(check.error) <= 0.12 for check in with_tflops)
    assert stated.name == "T5-11B"
    assert abs(stated.error) <= 0.01


def test_without_an_mfu_the_band_holds_most_published_hours_and_is_no_wider_than_it_must_be() -> None:
    checks = truth.without_an_mfu()

    assert len(checks) >= 30
    assert 0.75 <= sum(check.held for check in checks) / len(checks) <= 0.90
    assert median(check.high / check.low for check in checks) < 2.5


def test_the_mfu_of_a_throughput_table_is_found_again_from_tokens_per_second() -> None:
    checks = truth.throughput()

    assert len(checks) >= 150
    assert [check.row for check in checks if abs(check.error) > truth.allowed(check)] == []


def test_full_and_lora_fine_tuning_ask_for_the_published_operations() -> None:
    checks = truth.tuning()

    assert len(checks) == 6
    assert all(abs(check.error) <= 0.035 for check in checks)


def test_the_closed_forms_are_met() -> None:
    assert [form for form in (*truth.closed_forms(), *truth.failures()) if not form.is_met] == []


def test_a_cluster_that_loses_more_than_half_its_time_is_infeasible() -> None:
    found = quantities(cluster(131_072, 0.23, 30, restart_hours=1 / 6))

    assert found["first_order_loss"]["p50"] == pytest.approx(0.994, abs=0.002)
    assert found["accelerator_hours"]["p50"] is None


@pytest.mark.parametrize(("count", "goodput"), [(500, 0.98), (2_000, 0.97), (16_000, 0.92)])
def test_with_the_defaults_goodput_falls_with_the_size_of_the_cluster(count: int, goodput: float) -> None:
    document = {**cluster(count, 1, 1, 0), "reliability": None}

    assert quantities(document)["goodput"]["p50"] == pytest.approx(goodput, abs=0.005)


def test_the_pretraining_of_deepseek_v3_comes_out_as_its_report_says() -> None:
    row = run_named("DeepSeek-V3")
    document = {
        "task": "pretrain",
        "model": {"parameters": 37e9, "layers": 61, "attention_width": 20480, "sequence_length": 4096},
        "data": {"tokens": 14.8e12},
        "compute": {"peak_tflops": 989, "count": 2048, "mfu": {"value": 0.389, "attention": "causal"}},
        "experiments": "none",
        **CERTAIN,
    }

    found = quantities(document)

    assert found["ideal_accelerator_hours"]["p50"] == pytest.approx(float(row["reported_gpu_hours"]), rel=0.03)
    assert found["accelerator_hours"]["p50"] == found["ideal_accelerator_hours"]["p50"]
