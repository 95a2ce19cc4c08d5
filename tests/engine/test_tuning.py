"""Fine-tuning in part, and rungs that are not built like the run they prepare, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.makers import estimated, p50, pretrain

SHAPED = {"parameters": 1e9, "layers": 10, "hidden_size": 1000, "sequence_length": 2000}
"""Attention of 2.4e8 operations a token in full, beside 6e9 of the parameters."""
FULL_ATTENTION = {"value": 0.5, "attention": "full"}


def tuning(strategy: str, **changes: Any) -> dict[str, Any]:
    facts = {"strategy": strategy, "adapter_parameters": 1e7, "head_parameters": 2e6}
    return pretrain(task="finetune", model=SHAPED, data__tokens=1e9, finetune=facts, **changes)


@pytest.mark.parametrize(("strategy", "gigabytes"), [("full", 14.0), ("lora", 0.14), ("head_only", 0.028)])
def test_a_checkpoint_holds_what_is_trained(strategy: str, gigabytes: float) -> None:
    assert p50(estimated(tuning(strategy)), "checkpoint_gb") == pytest.approx(gigabytes)


def test_a_model_that_grows_keeps_checkpoints_of_what_it_becomes() -> None:
    stages = [{"parameters": 1e8, "tokens": 1e11}, {"parameters": 1e9, "tokens": 1e11}]

    assert p50(estimated(pretrain(model={"stages": stages}, data={})), "checkpoint_gb") == pytest.approx(14)


def test_strategies_are_compared_with_the_attention_of_each() -> None:
    compared = estimated(tuning("lora", compute__mfu=FULL_ATTENTION, data__epochs=2))["comparisons"]["finetune"]

    # 2e9 tokens at 500 TFLOPS: 6e9, 4e9 + 6 · 1e7 and 2e9 + 6 · 2e6 a token, and attention of 2.4e8, as much, a third
    hours = {name: found["accelerator_hours"] for name, found in compared["strategies"].items()}
    of_a_flop = 2e9 / 5e14 / 3600
    assert hours == pytest.approx(
        {"full": 6.24e9 * of_a_flop, "lora": 4.30e9 * of_a_flop, "head_only": 2.092e9 * of_a_flop}, rel=1e-6
    )


def test_a_silent_rung_has_the_attention_of_the_model_smaller_with_its_parameters() -> None:
    rungs = [{"parameters": 1.25e8, "tokens": 1e11}, {"tokens": 1e10}]

    answered = estimated(pretrain(model=SHAPED, compute__mfu=FULL_ATTENTION, experiments=rungs))

    # an eighth of the parameters has a quarter of the attention: 7.5e8 + 6e7; the whole model 6e9 + 2.4e8
    hours = [8.1e8 * 1e11 / 5e14 / 3600, 6.24e9 * 1e10 / 5e14 / 3600]
    assert [rung["accelerator_hours"] for rung in answered["ladder"]] == pytest.approx(hours)


def test_a_rung_that_says_how_it_is_built_stands_beside_one_that_does_not() -> None:
    shape = {"layers": 5, "hidden_size": 400, "sequence_length": 1000}
    rungs = [{"parameters": 1e8, "tokens": 1e11, **shape}, {"parameters": 1.25e8, "tokens": 1e11}]

    answered = estimated(pretrain(model=SHAPED, compute__mfu=FULL_ATTENTION, experiments=rungs))

    # 6e8 + 12 · 5 · 400 · 1000
    hours = [6.24e8 * 1e11 / 5e14 / 3600, 8.1e8 * 1e11 / 5e14 / 3600]
    assert [rung["accelerator_hours"] for rung in answered["ladder"]] == pytest.approx(hours)


def test_rungs_of_a_fine_tuning_in_part_take_as_little_a_token() -> None:
    none = {"value": 0.5, "attention": "none"}

    answered = estimated(tuning("lora", compute__mfu=none, experiments=[{"tokens": 1e8}]))

    assert answered["ladder"][0]["accelerator_hours"] == pytest.approx((4e9 + 6e7) * 1e8 / 5e14 / 3600)


def test_a_rung_of_known_hours_counts_what_it_does_in_them() -> None:
    rungs = [{"accelerator_hours": 50, "runs": 2}, {"parameters": 1e8, "tokens": 1e10}]

    answered = estimated(pretrain(experiments=rungs))

    # 100 hours at 500 TFLOPS, and 6 · 1e8 · 1e10
    assert p50(answered, "experiment_flops") == pytest.approx(100 * 3600 * 5e14 + 6e18)


def test_rungs_of_a_distillation_run_the_teacher_too() -> None:
    model = {"parameters": 1e9, "teacher_parameters": 1e10}

    answered = estimated(pretrain(model=model, experiments=[{"parameters": 1e8, "tokens": 1e10}]))

    assert answered["ladder"][0]["accelerator_hours"] == pytest.approx((6e8 + 2e10) * 1e10 / 5e14 / 3600)
