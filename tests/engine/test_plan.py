"""A plan that is right is understood: values, ranges, defaults, lists, short forms and life plans."""

from __future__ import annotations

from datetime import date

import pytest

from estimates.engine.plan import Plan, parse_plan
from estimates.engine.values import BASELINE, Pert, Point, Quantiles
from tests.engine.plans import small_plan

YAML = """
name: base-7b
task: pretrain
model: {parameters: 7B}
data:
  tokens: 2T        # two trillion
compute:
  accelerator: H100-SXM-80GB
  count: 256
  mfu: 40%
"""
JSON = (
    '{"name": "base-7b", "task": "pretrain", "model": {"parameters": 7e9}, "data": {"tokens": 2000000000000},'
    ' "compute": {"accelerator": "h100-sxm-80gb", "count": 256, "mfu": 0.40}}'
)


def test_yaml_json_and_parsed_json_are_the_same_plan() -> None:
    plans = [parse_plan(document) for document in (YAML, YAML.encode(), JSON, JSON.encode(), small_plan())]

    assert all(plan == plans[0] for plan in plans)
    assert plans[0].inputs["model.parameters"] == Point(7e9)
    assert plans[0].inputs["data.tokens"] == Point(2e12)
    assert plans[0].inputs["compute.mfu"] == Point(0.4)
    assert plans[0].words["compute.accelerator"] == "h100-sxm-80gb"


def test_the_normalised_document_has_what_was_given_and_nothing_else() -> None:
    document = parse_plan(YAML).document

    assert document == {
        "name": "base-7b",
        "task": "pretrain",
        "model": {"parameters": 7_000_000_000},
        "data": {"tokens": 2_000_000_000_000},
        "compute": {"accelerator": "h100-sxm-80gb", "count": 256, "mfu": 0.4},
    }


def test_given_paths_are_told_apart_from_defaults() -> None:
    plan = parse_plan(small_plan())

    assert "compute.mfu" in plan.given
    assert "storage.keep_last" not in plan.given
    assert plan.inputs["storage.keep_last"] == Point(5)
    assert plan.currency == "USD"
    assert "currency" not in plan.given


def test_null_means_not_given() -> None:
    assert parse_plan(small_plan(budget=None, reliability=None, data__epochs=None)) == parse_plan(small_plan())


def test_ranges_of_both_kinds_are_understood() -> None:
    plan = parse_plan(
        small_plan(
            compute__mfu={"low": "33%", "mode": 0.40, "high": 0.46},
            data__tokens={"p10": "1T", "p50": 2e12, "p90": 5e12},
        )
    )

    assert plan.inputs["compute.mfu"] == Pert(0.33, 0.40, 0.46)
    assert plan.inputs["data.tokens"] == Quantiles(1e12, 2e12, 5e12)
    assert plan.number("compute.mfu") == 0.40
    assert plan.number("data.tokens") == 2e12


def test_a_range_without_width_is_a_number() -> None:
    plan = parse_plan(small_plan(compute__mfu={"low": 0.4, "mode": 0.4, "high": 0.4}))

    assert plan.inputs["compute.mfu"] == Point(0.4)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ({"value": 0.4, "attention": "causal"}, Point(0.4)),
        ({"low": 0.3, "mode": 0.4, "high": 0.5, "attention": "causal"}, Pert(0.3, 0.4, 0.5)),
        ({"p10": 0.3, "p50": 0.4, "p90": 0.5, "attention": "causal"}, Quantiles(0.3, 0.4, 0.5)),
        ({"value": {"low": 0.3, "mode": 0.4, "high": 0.5}, "attention": "causal"}, Pert(0.3, 0.4, 0.5)),
        ({"value": "baseline", "attention": "causal"}, BASELINE),
    ],
)
def test_an_mfu_carries_its_convention(written: dict, value: object) -> None:
    plan = parse_plan(small_plan(compute__mfu=written))

    assert plan.inputs["compute.mfu"] == value
    assert plan.words["compute.mfu.attention"] == "causal"
    assert plan.words["compute.mfu.counts"] == "model"
    assert "compute.mfu.counts" not in plan.given


def test_without_an_mfu_the_baseline_is_asked_for() -> None:
    plan = parse_plan(small_plan(compute__mfu=None))

    assert plan.inputs["compute.mfu"] is BASELINE
    assert plan.number("compute.mfu") is None


def test_another_way_to_say_the_speed_leaves_no_mfu_behind() -> None:
    plan = parse_plan(small_plan(compute__mfu=None, compute__tokens_per_second_per_accelerator=14000))

    assert "compute.mfu" not in plan.inputs
    assert "compute.mfu.attention" not in plan.words


def test_achieved_tflops_may_say_that_they_count_recomputation() -> None:
    plan = parse_plan(
        small_plan(compute__mfu=None, compute__tflops_per_accelerator={"value": 147, "counts": "hardware"})
    )

    assert plan.inputs["compute.tflops_per_accelerator"] == Point(147)
    assert plan.words["compute.tflops_per_accelerator.counts"] == "hardware"
    assert "compute.tflops_per_accelerator.attention" not in plan.words


def test_a_known_goodput_replaces_the_model_of_failures() -> None:
    inside = parse_plan(small_plan(reliability={"goodput": 0.95}))
    on_top = parse_plan(small_plan(goodput="95%"))

    assert inside == on_top
    assert inside.inputs["reliability.goodput"] == Point(0.95)
    assert "reliability.accelerator_mtbf_hours" not in inside.inputs
    assert inside.words["reliability.checkpoint_interval_hours"] == "auto"


def test_parts_can_be_switched_off() -> None:
    plan = parse_plan(small_plan(reliability="none", experiments="none", model_error="none", contingency=0))

    assert plan.switched_off == {"reliability", "experiments", "model_error"}
    assert plan.is_off("reliability")
    assert "reliability.accelerator_mtbf_hours" not in plan.inputs
    assert "experiments.ratio" not in plan.inputs
    assert "model_error.sigma" not in plan.inputs
    assert plan.inputs["contingency"] == Point(0)


def test_the_error_of_the_method_may_be_a_bare_number() -> None:
    plan = parse_plan(small_plan(model_error=0.12))

    assert plan == parse_plan(small_plan(model_error={"sigma": 0.12}))
    assert plan.inputs["model_error.sigma"] == Point(0.12)


def test_people_are_rows_whose_numbers_are_inputs_too() -> None:
    plan = parse_plan(
        small_plan(people=[{"role": "research engineer", "fte": {"low": 3, "mode": 4, "high": 6}, "months": 4}])
    )

    assert plan.rows("people") == ({"role": "research engineer", "fte": Pert(3, 4, 6), "months": Point(4)},)
    assert plan.inputs["people.0.fte"] == Pert(3, 4, 6)
    assert "people.0.fte" in plan.given


def test_a_ladder_takes_the_place_of_the_ratio_and_may_be_written_as_small_plans() -> None:
    flat = [{"parameters": "1B", "tokens": "20B", "runs": 8, "mfu": 0.3}]
    nested = [{"model": {"parameters": 1e9}, "data": {"tokens": 2e10}, "runs": 8, "compute": {"mfu": 0.3}}]

    plan = parse_plan(small_plan(experiments=flat))

    assert plan == parse_plan(small_plan(experiments=nested))
    assert plan.rows("experiments")[0]["runs"] == Point(8)
    assert plan.rows("experiments")[0]["epochs"] == Point(1)
    assert "experiments.ratio" not in plan.inputs
    assert parse_plan(plan.document) == plan


def test_an_interval_is_a_number_or_auto() -> None:
    assert parse_plan(small_plan()).words["reliability.checkpoint_interval_hours"] == "auto"

    plan = parse_plan(small_plan(reliability__checkpoint_interval_hours=1.1))

    assert plan.inputs["reliability.checkpoint_interval_hours"] == Point(1.1)
    assert plan.number("reliability.checkpoint_interval_hours") == 1.1


def test_stated_training_flops_need_neither_parameters_nor_tokens() -> None:
    plan = parse_plan(small_plan(model={"architecture": "encoder_decoder"}, data=None, training_flops=4.05e22))

    assert plan.inputs["model.training_flops"] == Point(4.05e22)
    assert "model.flops_per_parameter_token" not in plan.inputs
    assert plan.document["model"]["training_flops"] == 4.05e22


def test_days_flags_words_and_profiles_have_their_types() -> None:
    plan = parse_plan(
        small_plan(
            start="2027-01-01",
            deadline="2027-04-01",
            finetune__cache_features="yes",
            compute__mode="Committed",
            inference__profile=[1] * 12 + [3] * 12,
        )
    )

    assert plan.day("start") == date(2027, 1, 1)
    assert plan.day("deadline") == date(2027, 4, 1)
    assert plan.flag("finetune.cache_features") is True
    assert plan.text("compute.mode") == "committed"
    assert plan.profiles["inference.profile"] == (1.0,) * 12 + (3.0,) * 12


def test_unlike_accelerators_stand_in_pools() -> None:
    plan = parse_plan(
        small_plan(
            compute={
                "pools": [
                    {"accelerator": "h100-sxm-80gb", "count": 128, "share": 0.75, "mfu": 0.4},
                    {"accelerator": "a100-sxm-80gb", "count": 128, "share": 0.25},
                ]
            }
        )
    )

    assert [row["share"] for row in plan.rows("compute.pools")] == [Point(0.75), Point(0.25)]


LIFE = """
name: assistant
task: life
currency: CNY
start: 2027-01-01
compute: {accelerator: h100-sxm-80gb, count: 64, mfu: 0.4}
members:
  - {name: data, task: data_work, data: {raw_tb: 40, processing_cost_per_tb: 300}}
  - {name: base, task: pretrain, start_month: 2, model: {parameters: 7B}, data: {tokens: 1T}}
  - name: service
    task: inference
    after: base
    model: {parameters: 7B}
    compute: {accelerator: l40s}
    inference: {requests_per_day: 1M, input_tokens: 500, output_tokens: 100}
"""


def life() -> Plan:
    return parse_plan(LIFE)


def test_a_life_plan_holds_whole_plans_with_relative_starts() -> None:
    plan = life()

    assert [(member.name, member.start_month, member.after) for member in plan.members] == [
        ("data", 0, None),
        ("base", 2, None),
        ("service", 0, "base"),
    ]
    assert {member.plan.currency for member in plan.members} == {"CNY"}


def test_members_have_what_the_life_plan_gives_for_all_unless_they_have_their_own() -> None:
    base, service = life().members[1].plan, life().members[2].plan

    assert base.inputs["compute.count"] == Point(64)
    assert base.words["compute.accelerator"] == "h100-sxm-80gb"
    assert service.words["compute.accelerator"] == "l40s"
    assert "compute.count" not in service.inputs


def test_the_document_of_a_life_plan_reads_back_to_the_same_plan() -> None:
    plan = life()

    assert parse_plan(plan.document) == plan
    assert "compute" not in plan.document["members"][1]
    assert parse_plan(plan.members[1].plan.document) == plan.members[1].plan
