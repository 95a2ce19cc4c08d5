"""Operations of a plan, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from estimates.engine.plan import PlanRefused
from tests.engine.makers import estimated, p50, pretrain

LAYERS = {"parameters": 1e9, "layers": 10, "hidden_size": 1000, "sequence_length": 2000}


def quantity(name: str, **changes: object) -> float:
    return p50(estimated(pretrain(**changes), samples=2), name)


def test_training_takes_six_operations_per_parameter_and_token() -> None:
    assert quantity("training_flops", data__epochs=2) == 1.2e22


def test_a_mixture_of_experts_counts_its_active_parameters() -> None:
    assert quantity("training_flops", model={"parameters": 1e10, "active_parameters": 1e9}) == 6e21


def test_stages_of_growth_add_up() -> None:
    stages = [{"parameters": 1e8, "tokens": 1e11}, {"parameters": 1e9, "tokens": 2e11}]

    assert quantity("training_flops", model={"stages": stages}, data={}) == pytest.approx(6e19 + 1.2e21)
    assert quantity("paid_tokens", model={"stages": stages}, data={}) == 3e11
    assert quantity("wasted_tokens", model={"stages": stages}, data={"duplicate_share": 0.1}) == pytest.approx(3e10)


def test_a_teacher_adds_two_operations_per_parameter_and_token() -> None:
    assert quantity("training_flops", model={"parameters": 1e9, "teacher_parameters": 1e10}) == 6e21 + 2e22


def test_stated_operations_win() -> None:
    assert quantity("training_flops", model={"training_flops": 4.05e22}) == 4.05e22


@pytest.mark.parametrize(("convention", "expected"), [("full", 2.4e8), ("causal", 1.2e8), ("none", 0.0)])
def test_attention_counts_as_the_convention_says(convention: str, expected: float) -> None:
    # 12 · 10 layers · 1000 wide · 2000 tokens = 2.4e8 per token
    mfu = {"value": 0.5, "attention": convention}

    assert quantity("attention_flops", model=LAYERS, compute__mfu=mfu) == pytest.approx(expected * 1e12)


def test_the_attention_of_stages_is_that_of_the_model_smaller_with_their_parameters() -> None:
    stages = [{"parameters": 1.25e8, "tokens": 1e11}, {"parameters": 1e9, "tokens": 2e11}]
    grown = {"model": {**LAYERS, "stages": stages}, "data": {}, "compute__mfu": {"value": 0.5, "attention": "causal"}}

    # an eighth of the parameters, a quarter of layers · width: half of 2.4e8 · (0.25 · 1e11 + 2e11)
    assert quantity("attention_flops", **grown) == pytest.approx(1.2e8 * 2.25e11)
    assert quantity("ideal_accelerator_hours", **grown) == pytest.approx((7.5e19 + 1.2e21 + 2.7e19) / 5e14 / 3600)


def test_stages_that_say_their_shape_are_taken_at_their_word() -> None:
    stages = [
        {"parameters": 1e8, "tokens": 1e11, "layers": 5, "hidden_size": 400},
        {"parameters": 1e9, "tokens": 2e11, "layers": 10, "hidden_size": 1000},
    ]
    model = {"sequence_length": 2000, "stages": stages}

    # 12 · 2000 · (5 · 400 · 1e11 + 10 · 1000 · 2e11)
    assert quantity("attention_flops", model=model, data={}, compute__mfu=0.5) == pytest.approx(24_000 * 2.2e15)


def test_a_stage_without_a_shape_beside_one_that_has_it_is_refused() -> None:
    stages = [{"parameters": 1e8, "tokens": 1e11}, {"parameters": 1e9, "tokens": 2e11, "layers": 10}]

    with pytest.raises(PlanRefused) as refused:
        quantity("attention_flops", model={**LAYERS, "stages": stages}, data={})

    lacking = {"model.stages.0.layers", "model.stages.0.hidden_size", "model.stages.1.hidden_size"}
    assert {fault.path for fault in refused.value.faults} == lacking


def test_a_sliding_window_shortens_the_context_of_its_layers() -> None:
    windowed = {**LAYERS, "attention_window": {"tokens": 500, "share_of_layers": 0.75}}

    # 0.75 · 500 + 0.25 · 2000
    assert quantity("attention_context", model=windowed) == 875


def test_a_figure_that_counts_recomputation_means_a_third_more_operations() -> None:
    mfu = {"value": 0.5, "attention": "none", "counts": "hardware"}

    assert quantity("ideal_accelerator_hours", compute__mfu=mfu) == pytest.approx(10_000 / 3 * 4 / 3)
    assert quantity("mfu", compute__mfu=mfu) == pytest.approx(0.375)


def test_a_peak_at_another_precision_is_the_one_the_figure_is_held_against() -> None:
    cards = {"accelerator": "h100-sxm-80gb", "count": 64, "precision": "fp8"}
    mfu = {"value": 0.4, "attention": "none", "peak_precision": "bf16"}

    assert quantity("peak_flops_per_second", compute={**cards, "mfu": mfu}) == 989e12
    assert quantity("peak_flops_per_second", compute={**cards, "mfu": 0.2}) == 1979e12


def test_hours_from_measured_throughput_need_no_peak() -> None:
    compute = {"count": 8, "tokens_per_second_per_accelerator": 10_000, "price_per_accelerator_hour": 2}

    assert quantity("ideal_accelerator_hours", compute=compute) == pytest.approx(1e12 / 1e4 / 3600)


def test_achieved_speed_gives_hours_in_its_own_convention() -> None:
    achieved = {"value": 500, "attention": "none"}
    compute = {"count": 8, "peak_tflops": 1000, "tflops_per_accelerator": achieved, "price_per_accelerator_hour": 2}

    assert quantity("ideal_accelerator_hours", compute=compute) == pytest.approx(10_000 / 3)


def test_a_utilisation_of_paid_hours_gives_paid_hours_and_shows_the_running_one() -> None:
    changes = {
        "compute": {"count": 64, "peak_tflops": 1000, "paid_mfu": 0.4, "price_per_accelerator_hour": 2},
        "reliability": {"goodput": 0.8},
    }

    assert quantity("accelerator_hours", **changes) == pytest.approx(6e21 / 4e14 / 3600)
    assert quantity("ideal_accelerator_hours", **changes) == pytest.approx(6e21 / 4e14 / 3600 * 0.8)
    assert quantity("mfu", **changes) == pytest.approx(0.5)


def test_wasted_tokens_lower_the_data_efficiency_and_have_a_price() -> None:
    changes = {"data__duplicate_share": 0.1, "data__low_quality_share": 0.1, "data__measured_gain": 1.5}

    assert quantity("wasted_tokens", **changes) == pytest.approx(2e11)
    assert quantity("data_efficiency", **changes) == pytest.approx(0.8 * 1.5)
    assert quantity("wasted_cost", **changes) == pytest.approx(0.2 * 10_000 / 3 * 2)


def test_only_masked_tokens_teach() -> None:
    assert quantity("teaching_tokens", objective={"kind": "masked", "signal_share": 0.3}) == pytest.approx(3e11)


def test_fifteen_in_a_hundred_tokens_are_masked_where_the_plan_does_not_say() -> None:
    answered = estimated(pretrain(objective={"kind": "masked"}))

    assert p50(answered, "teaching_tokens") == pytest.approx(1.5e11)
    assert any("1810.04805" in assumed["source"] for assumed in answered["assumptions"])


def tuned(strategy: str, **finetune: float) -> dict:
    return {"task": "finetune", "data": {"tokens": 1e9, "epochs": 3}, "finetune": {"strategy": strategy, **finetune}}


def test_full_lora_and_head_stand_beside_each_other() -> None:
    changes = tuned("full", adapter_parameters=1e7, head_parameters=1e6)

    assert quantity("full_training_flops", **changes) == pytest.approx(6e9 * 3e9)
    assert quantity("lora_training_flops", **changes) == pytest.approx((4e9 + 6e7) * 3e9)
    assert quantity("head_only_training_flops", **changes) == pytest.approx((2e9 + 6e6) * 3e9)
    rows = estimated(pretrain(**changes))["comparisons"]["finetune"]["strategies"]
    assert rows["lora"]["training_flops"] == pytest.approx((4e9 + 6e7) * 3e9)
    assert rows["head_only"]["compute_money"] < rows["lora"]["compute_money"] < rows["full"]["compute_money"]


def test_cached_features_run_the_trunk_once() -> None:
    changes = tuned("head_only", head_parameters=1e6, cache_features=True)

    assert quantity("training_flops", **changes) == pytest.approx(2e9 * 1e9 + 6e6 * 3e9)


def test_evaluation_is_a_forward_pass_each_time() -> None:
    changes = {"evaluation": {"tokens": 1e9, "times": 5}}

    assert quantity("evaluation_flops", **changes) == 2e9 * 5e9
    assert quantity("evaluation_accelerator_hours", **changes) == pytest.approx(1e19 / 5e14 / 3600)


def test_a_plan_of_evaluation_alone_costs_its_forward_passes() -> None:
    document = pretrain(task="evaluation", evaluation={"tokens": 1e9, "times": 5})

    assert p50(estimated(document), "compute_cost") == pytest.approx(1e19 / 5e14 / 3600 * 2)


def test_a_ladder_adds_up_rung_by_rung() -> None:
    rungs = [
        {"parameters": 1e8, "tokens": 2e9, "runs": 10},
        {"parameters": 5e8, "tokens": 1e10, "mfu": 0.25},
        {"accelerator_hours": 100, "runs": 2},
    ]
    answered = estimated(pretrain(experiments=rungs), samples=2)

    first, second = 6e8 * 2e10 / 5e14 / 3600, 3e9 * 1e10 / 2.5e14 / 3600
    assert p50(answered, "experiment_accelerator_hours") == pytest.approx(first + second + 200)
    assert p50(answered, "experiments_cost") == pytest.approx((first + second + 200) * 2)
    shares = [rung["running_share_of_main_run"] for rung in answered["ladder"]]
    main = 10_000 / 3
    assert shares == pytest.approx([first / main, (first + second) / main, (first + second + 200) / main])


def test_rungs_at_the_mfu_of_the_plan_count_recomputation_as_the_run_does() -> None:
    rungs = [{"parameters": 1e8, "tokens": 1e11}, {"parameters": 1e8, "tokens": 1e11, "accelerator_hours": 7}]
    mfu = {"value": 0.5, "attention": "none", "counts": "hardware"}

    answered = estimated(pretrain(experiments=rungs, compute__mfu=mfu), samples=2)

    # 6e19 FLOP at 500 TFLOPS are 33.33 hours, a third more with recomputation; the second rung is known
    assert p50(answered, "ideal_accelerator_hours") == pytest.approx(10_000 / 3 * 4 / 3)
    assert p50(answered, "experiment_accelerator_hours") == pytest.approx(100 / 3 * 4 / 3 + 7)


@pytest.mark.parametrize(
    ("speed", "achieved"),
    [
        # the run has 1e9 parameters: 6e9 FLOP a token, 50,000 tokens a second
        ({"tokens_per_second_per_accelerator": 50_000}, 3e14),
        ({"tflops_per_accelerator": {"value": 300, "counts": "model", "attention": "none"}}, 3e14),
    ],
)
def test_a_rung_without_an_mfu_does_as_many_operations_a_second_as_was_measured(
    speed: dict[str, Any], achieved: float
) -> None:
    rungs = [{"parameters": 1e8, "tokens": 1e11}, {"parameters": 1e8, "tokens": 1e11, "mfu": 0.2}]
    compute = {key: value for key, value in pretrain()["compute"].items() if key != "mfu"} | speed

    answered = estimated(pretrain(experiments=rungs, compute=compute), samples=2)

    # 6 · 1e8 · 1e11 = 6e19 FLOP: at 300 TFLOPS 55.56 hours, at 0.2 · 1000 TFLOPS 83.33
    assert [rung["accelerator_hours"] for rung in answered["ladder"]] == pytest.approx([55.5556, 83.3333], rel=1e-5)
    assert p50(answered, "experiment_accelerator_hours") == pytest.approx(6e19 / achieved / 3600 + 6e19 / 2e14 / 3600)


def test_a_measured_speed_of_recomputed_operations_counts_those_of_a_rung_too() -> None:
    compute = {key: value for key, value in pretrain()["compute"].items() if key != "mfu"}
    compute["tflops_per_accelerator"] = {"value": 400, "counts": "hardware", "attention": "none"}

    answered = estimated(pretrain(experiments=[{"parameters": 1e8, "tokens": 1e11}], compute=compute), samples=2)

    # 6e19 · 4/3 = 8e19 FLOP at 400 TFLOPS
    assert p50(answered, "experiment_accelerator_hours") == pytest.approx(8e19 / 4e14 / 3600)


def test_an_ablation_timed_by_tokens_a_second_says_which_run_they_were_measured_on() -> None:
    document = pretrain(task="ablation", experiments=[{"parameters": 1e8, "tokens": 1e11}])
    document["compute"] = {**document["compute"], "tokens_per_second_per_accelerator": 50_000}
    del document["compute"]["mfu"], document["data"]

    with pytest.raises(PlanRefused) as refused:
        estimated(document, samples=2)

    assert [fault.path for fault in refused.value.faults] == ["data.tokens"]


def test_an_ablation_pays_for_its_rungs_and_not_for_the_run_they_prepare() -> None:
    document = pretrain(task="ablation", experiments=[{"parameters": 1e8, "tokens": 2e10}])

    answered = estimated(document)

    assert answered["cost"]["by_subcategory"]["hidden.experiments"]["mean"] == pytest.approx(1.2e19 / 5e14 / 3600 * 2)
    assert answered["cost"]["by_cause"]["compute"]["mean"] == 0


def test_experiments_left_to_history_are_a_range_that_reaches_the_main_run() -> None:
    document = pretrain(experiments={"ratio": "baseline"})

    ratio = next(item for item in estimated(document)["assumptions"] if item["input"] == "experiments.ratio")
    assert ratio["p10"] < ratio["p50"] < ratio["p90"] < 1.0
    assert "history" in ratio["source"]
