"""Every warning on a plan that has the fault, and its silence on one that has not."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from estimates.engine.baselines import History, Known
from estimates.engine.books import PriceBook
from estimates.engine.values import Point, Quantiles
from estimates.engine.warning_texts import TEXTS
from estimates.engine.warnings import RULES
from tests.engine.makers import PRICES, STORAGE, changed, estimated, pretrain, price

RUNG = {"parameters": 1e8, "tokens": 2e9}
FINETUNE = {"task": "finetune", "finetune": {"strategy": "lora", "adapter_parameters": 1e7, "label_quality": 0.95}}
SERVICE = {
    "task": "inference",
    "compute__mfu": 0.4,
    "inference": {
        "kind": "encoder",
        "requests_per_day": 1e6,
        "input_tokens": 500,
        "events": [{"name": "sale", "factor": 3, "hours": 10}],
    },
}
LAYERS = {"parameters": 1e9, "layers": 24, "hidden_size": 2048, "sequence_length": 4096}
FAILING = {"accelerator_mtbf_hours": 50_000}
POOLS = [
    {"accelerator": "h100-sxm-80gb", "count": 8, "mfu": 0.4},
    {"accelerator": "a100-sxm-80gb", "memory_gb": 40, "count": 8, "mfu": 0.4},
]
WIDE = {"parameters": 8e9, "layers": 50, "hidden_size": 10_000, "sequence_length": 3000}
"""128 GB of state, 8 a card on 16 of them, and 51 GB of activations: 59 GB, between 40 and 80."""
OWN = {"capital": 30_000, "life_hours": 43_830, "occupancy": 0.8, "pue": 1.2, "electricity_price": 0.1}


def serving(**changes: Any) -> dict[str, Any]:
    return changed(pretrain(**SERVICE), **changes)


WITH_AND_WITHOUT: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "undertrained": (pretrain(data__tokens=9e9), pretrain(data__tokens=20e9)),
    "overtrained": (pretrain(data__tokens=1.1e12), pretrain(data__tokens=9e11)),
    "no_acceptance": (pretrain(), pretrain(acceptance={"metric": "MMLU", "at_least": 0.6})),
    "no_justification": (pretrain(), pretrain(justification="Data of a domain that no model has seen.")),
    "reuse_is_cheaper": (pretrain(), pretrain(data__reusable_for_projects=1000)),
    "predecessor_unknown": (pretrain(predecessor="nothing-of-that-name"), pretrain()),
    "no_ladder": (pretrain(data__tokens=1e13), pretrain(data__tokens=1e13, experiments=[RUNG])),
    "experiments_missing": (pretrain(), pretrain(experiments={"ratio": 0.3})),
    "interval_far_from_optimum": (
        pretrain(reliability={**FAILING, "checkpoint_interval_hours": 10}),
        pretrain(reliability={**FAILING, "checkpoint_interval_hours": 2.5}),
    ),
    "all_checkpoints_kept": (
        pretrain(reliability={**FAILING, "checkpoint_interval_hours": 1}, storage__keep_last=1000),
        pretrain(reliability={**FAILING, "checkpoint_interval_hours": 1}),
    ),
    "too_few_checkpoints": (
        pretrain(reliability=FAILING, storage__keep_last=1),
        pretrain(reliability=FAILING, storage__keep_last=2),
    ),
    "checkpoint_size_unknown": (
        pretrain(model={"training_flops": 6e21}, data={}),
        pretrain(model={"training_flops": 6e21, "parameters": 1e9}, data={}),
    ),
    "pool_does_not_fit": (
        pretrain(compute={"pools": POOLS}, model=WIDE),
        pretrain(compute={"pools": POOLS[:1]}, model=WIDE),
    ),
    "restore_untested": (
        pretrain(reliability={"accelerator_mtbf_hours": 500}),
        pretrain(reliability={"accelerator_mtbf_hours": 500, "restore_tested": True}),
    ),
    "does_not_fit": (
        pretrain(model__parameters=70e9, compute__count=8),
        pretrain(model__parameters=7e9, compute__count=8),
    ),
    # 52.08 hours are 2.17 days
    "misses_deadline": (pretrain(deadline="2027-01-03"), pretrain(deadline="2027-01-04")),
    "infeasible": (
        pretrain(compute__count=100_000, reliability={"accelerator_mtbf_hours": 5000}),
        pretrain(compute__count=1000, reliability={"accelerator_mtbf_hours": 5000}),
    ),
    "compliance_missing": (pretrain(), pretrain(data__compliance_cost=1)),
    "single_supplier": (pretrain(), pretrain(compute__second_source="another cloud")),
    "no_lead_time": (pretrain(), pretrain(compute__lead_time_days=30)),
    "past_refresh": (
        pretrain(compute__mode="own", compute__own={**OWN, "life_hours": 70_000}),
        pretrain(compute__mode="own", compute__own=OWN),
    ),
    "peak_held_all_day": (serving(inference__elastic=False), serving(inference__elastic=True)),
    "one_peak_only": (serving(inference__events=[]), serving()),
    "below_peak_or_service_level": (serving(inference__latency_ms=0.1), serving(inference__latency_ms=10_000)),
    "full_finetune_avoidable": (
        pretrain(**{**FINETUNE, "finetune": {"strategy": "full", "label_quality": 0.9}}),
        pretrain(**FINETUNE),
    ),
    "label_quality_unknown": (
        pretrain(**{**FINETUNE, "finetune": {"strategy": "lora", "adapter_parameters": 1e7}}),
        pretrain(**FINETUNE),
    ),
    "tokens_before_quality": (
        pretrain(data__low_quality_share=0.2),
        pretrain(data__low_quality_share=0.05),
    ),
    "duplicate_share_high": (pretrain(data__duplicate_share=0.2), pretrain(data__duplicate_share=0.1)),
    "mfu_far_below_published": (pretrain(compute__mfu=0.05), pretrain(compute__mfu=0.3)),
    "mfu_convention": (
        pretrain(model=LAYERS, compute__mfu=0.4),
        pretrain(model=LAYERS, compute__mfu={"value": 0.4, "attention": "causal"}),
    ),
    "above_peak": (
        pretrain(
            compute={"peak_tflops": 312, "count": 8, "tflops_per_accelerator": 400, "price_per_accelerator_hour": 1}
        ),
        pretrain(
            compute={"peak_tflops": 312, "count": 8, "tflops_per_accelerator": 140, "price_per_accelerator_hour": 1}
        ),
    ),
    "experiment_repeated": (
        pretrain(experiments=[RUNG, {**RUNG, "name": "again"}]),
        pretrain(experiments=[RUNG, {**RUNG, "tokens": 3e9}]),
    ),
}


def codes(answered: dict[str, Any]) -> set[str]:
    return {warning["code"] for warning in answered["warnings"]}


@pytest.mark.parametrize("code", WITH_AND_WITHOUT)
def test_the_warning_is_given_where_the_fault_is_and_only_there(code: str) -> None:
    faulty, sound = WITH_AND_WITHOUT[code]

    assert code in codes(estimated(faulty, samples=50))
    assert code not in codes(estimated(sound, samples=50))


def test_the_pool_that_is_too_small_is_named_with_what_it_lacks() -> None:
    answered = estimated(pretrain(compute={"pools": POOLS}, model=WIDE), samples=50)

    found = next(warning for warning in answered["warnings"] if warning["code"] == "pool_does_not_fit")
    # 16 · 8e9 bytes over 16 cards, and 34 · 3000 · 10,000 · 50 bytes
    assert found["value"] == pytest.approx(8 + 51)
    assert "59 GB" in found["message"] and "pool a100-sxm-80gb have 40 GB" in found["message"]
    assert "does_not_fit" not in codes(answered)


def test_checkpoints_without_a_size_are_counted_and_told_what_lacks() -> None:
    storage = {"keep_last": 3, "keep_milestones": 2}
    answered = estimated(pretrain(model={"training_flops": 6e21}, data={}, storage=storage), samples=50)

    found = next(warning for warning in answered["warnings"] if warning["code"] == "checkpoint_size_unknown")
    assert found["value"] == 5.0
    assert "model.parameters" in found["message"] and "model.parameters" in found["message_zh"]
    nothing_kept = pretrain(model={"training_flops": 6e21}, data={}, storage={"keep_last": 0, "keep_milestones": 0})
    assert "checkpoint_size_unknown" not in codes(estimated(nothing_kept, samples=50))


def test_a_missing_price_is_warned_about() -> None:
    assert "price_missing" in codes(estimated(pretrain(), prices=PriceBook(STORAGE)))
    assert "price_missing" not in codes(estimated(pretrain()))


def test_a_price_that_nobody_verified_is_never_taken_silently() -> None:
    doubtful = [*STORAGE, price("accelerator", "h100-sxm-80gb", "2", mode="on_demand", verified=False)]

    answered = estimated(pretrain(), prices=PriceBook(doubtful))

    assert "price_unverified" in codes(answered)
    assert [row["verified"] for row in answered["prices"] if row["what"] == "Price on demand"] == [False]
    assert "price_unverified" not in codes(estimated(pretrain()))


def test_a_price_older_than_a_year_is_warned_about_with_its_age() -> None:
    answered = estimated(pretrain(), prices_on=date(2027, 7, 1))

    ages = [warning["value"] for warning in answered["warnings"] if warning["code"] == "price_old"]
    assert ages == [395.0]
    assert "price_old" not in codes(estimated(pretrain()))


def test_redundancy_below_what_past_runs_needed_is_called_out() -> None:
    history = History({"redundancy_factor": Known(Quantiles(1.3, 1.5, 1.9), "our past runs", 7, "2024-2026")})

    assert "redundancy_below_history" in codes(estimated(pretrain(), baseline=history))
    enough = pretrain(experiments={"ratio": 0.5})
    assert "redundancy_below_history" not in codes(estimated(enough, baseline=history))


def test_redundancy_that_is_typed_in_stands_beside_history_as_felt() -> None:
    felt = estimated(pretrain(experiments={"ratio": 0.5}))
    known = History({"experiments.ratio": Known(Quantiles(0.2, 0.4, 0.6), "our past runs", 7, "2024-2026")})
    measured = estimated(pretrain(experiments={"ratio": "baseline"}), baseline=known)

    assert "redundancy_by_feeling" in codes(felt)
    assert felt["redundancy"]["factors"]["experiment_factor"]["basis"] == "by feeling"
    assert "redundancy_by_feeling" not in codes(measured)
    history = measured["redundancy"]["factors"]["experiment_factor"]["history"]
    assert (history["cases"], history["period"]) == (7, "2024-2026")


@pytest.mark.parametrize(
    ("changes", "factor", "basis"),
    [
        ({"experiments": "none"}, "experiment_factor", "by feeling"),
        ({"experiments": [{"accelerator_hours": 100}]}, "experiment_factor", "model"),
        ({"reliability": "none"}, "retry_factor", "by feeling"),
        ({"reliability": {"accelerator_mtbf_hours": 1_000_000}}, "retry_factor", "by feeling"),
        ({"reliability": {}}, "retry_factor", "published"),
    ],
)
def test_a_factor_says_what_it_stands_on(changes: dict, factor: str, basis: str) -> None:
    assert estimated(pretrain(**changes))["redundancy"]["factors"][factor]["basis"] == basis


def test_no_more_than_all_the_time_is_lost() -> None:
    document = pretrain(reliability={"accelerator_mtbf_hours": 8, "restart_hours": 1, "detection_hours": 9})
    lost = [warning for warning in estimated(document)["warnings"] if warning["code"] == "infeasible"]

    assert lost[0]["value"] > 1
    assert lost[0]["message"].startswith("At this size 100% of the time is lost")


def test_a_cut_of_compliance_below_what_was_spent_before_is_called_out() -> None:
    history = History({"data.compliance_cost": Known(Point(20_000.0), "our past projects", 3)})

    cut = estimated(pretrain(data__compliance_cost=5_000), baseline=history)

    assert [warning["value"] for warning in cut["warnings"] if warning["code"] == "protected_cost_cut"] == [0.75]
    kept = estimated(pretrain(data__compliance_cost=20_000), baseline=history)
    assert "protected_cost_cut" not in codes(kept)


def test_every_code_has_a_rule_and_sentences_in_both_languages() -> None:
    assert set(RULES) == set(TEXTS)
    tested = {
        *WITH_AND_WITHOUT,
        "price_missing",
        "price_unverified",
        "price_old",
        "redundancy_below_history",
        "redundancy_by_feeling",
        "protected_cost_cut",
    }
    assert tested == set(TEXTS)
    assert all(english and chinese for english, chinese in TEXTS.values())


def test_a_warning_says_its_number_in_both_languages() -> None:
    found = estimated(pretrain(data__tokens=9e9))["warnings"]

    warning = next(item for item in found if item["code"] == "undertrained")
    assert warning["value"] == 9.0
    assert "9 tokens per parameter" in warning["message"]
    assert "9 个 token" in warning["message_zh"]


def test_prices_of_the_tests_are_all_verified() -> None:
    assert all(row.verified and row.amount > Decimal(0) for row in PRICES.rows)
