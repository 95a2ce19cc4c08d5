"""A plan that cannot be estimated is refused once, with every fault: path, value, message, what is accepted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.errors import DomainError
from estimates.engine.field_kinds import Field, Kind
from estimates.engine.fields import FIELDS
from estimates.engine.messages import ACCEPTED, SENTENCES, PlanFault
from estimates.engine.plan import PlanRefused, parse_plan
from tests.engine.plans import small_plan


def faults(document: Any) -> dict[str, PlanFault]:
    """The faults of a document that must be refused, by path."""
    with pytest.raises(PlanRefused) as refused:
        parse_plan(document)
    assert refused.value.faults
    return {fault.path: fault for fault in refused.value.faults}


def codes(document: Any) -> dict[str, str]:
    return {path: fault.code for path, fault in faults(document).items()}


def two_pools(**compute: Any) -> dict[str, Any]:
    """A plan on two unlike pools, with more keys beside them."""
    pools = [{"accelerator": "l4", "count": 8}, {"accelerator": "a10g", "count": 8}]
    return small_plan(compute={"pools": pools, **compute})


def own_tier(acquired: str, **tier: Any) -> dict[str, Any]:
    """A service with one tier that says how it is paid for."""
    compute = {"accelerator": "l4", "mode": acquired}
    return {"task": "inference", "compute": compute, "inference": {"tiers": [{"name": "all", "share": 1, **tier}]}}


def test_all_faults_come_in_one_answer() -> None:
    document = small_plan(
        curency="USD",
        model__parameters=0,
        data__tokens="many",
        compute__mfu=1.5,
        compute__count=0,
        compute__precision="bf61",
        deadline="2026-02-30",
    )

    assert codes(document) == {
        "curency": "unknown_key_near",
        "model.parameters": "below",
        "data.tokens": "wrong_type_number",
        "compute.mfu": "above",
        "compute.count": "below",
        "compute.precision": "not_a_choice_near",
        "deadline": "wrong_type_day",
    }


def test_a_fault_names_place_value_and_what_is_accepted() -> None:
    fault = faults(small_plan(compute__mfu=1.5))["compute.mfu"]

    assert fault.as_dict() == {
        "path": "compute.mfu",
        "value": 1.5,
        "message": "1.5 is too high.",
        "accepted": "a number above 0, up to 1; a range {low, mode, high} or {p10, p50, p90}; the word baseline",
        "code": "above",
    }


def test_the_refusal_is_a_domain_error_that_names_the_first_fault() -> None:
    with pytest.raises(DomainError) as refused:
        parse_plan(small_plan(compute__mfu=1.5, compute__count=0))

    assert "compute.count: 0 is too low. (and 1 more)" in str(refused.value)


def test_a_fault_can_be_said_in_another_language() -> None:
    chinese = {SENTENCES["above"]: "%(number)s 过大。", ACCEPTED["word"]: "单词 %(word)s"}

    fault = faults(small_plan(compute__mfu=1.5))["compute.mfu"].translated(lambda text: chinese.get(text, text))

    assert fault.message == "1.5 过大。"
    assert fault.accepted.endswith("单词 baseline")


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        ("model__parameters", "NaN", "not_finite"),
        ("model__parameters", float("inf"), "not_finite"),
        ("model__parameters", "1e400", "too_large_to_read"),
        ("model__parameters", 10**400, "too_large_to_read"),
        ("model__parameters", "1e20", "above"),
        ("model__parameters", -7e9, "negative"),
        ("model__parameters", "7 GB", "with_unit"),
        ("model__parameters", "7,000", "comma"),
        ("model__parameters", "40%", "percent_not_here"),
        ("model__parameters", True, "wrong_type_number"),
        ("model__parameters", [7e9], "wrong_type_number"),
        ("model__parameters", {"low": 1}, "range_incomplete"),
        ("model__parameters", {"low": 3, "mode": 2, "high": 4}, None),
        ("model__parameters", "baseline", "no_baseline"),
        ("model__layers", 3.5, "not_whole"),
        ("data__tokens", 0, "below"),
        ("data__epochs", 0, "below"),
        ("data__duplicate_share", "2T", "multiple_not_here"),
        ("data__duplicate_share", 40, "share_as_percent"),
        ("network__interconnect_share", "200%", "above"),
        ("compute__mfu", "250%", "above"),
        ("compute__mfu", 0, "below"),
        ("compute__mfu", "400T", "multiple_not_here"),
        ("compute__mfu", 147.5, "mfu_is_tflops"),
        ("compute__count", 0, "below"),
        ("compute__count", 2.5, "not_whole"),
        ("compute__accelerator", 5, "wrong_type_text"),
        ("compute__accelerator", "", "empty_text"),
        ("compute__accelerator", "h100\x00", "control_character"),
        ("compute__precision", "bf15", "not_a_choice_near"),
        ("compute__precision", "double", "not_a_choice"),
        ("compute__mode", 3, "wrong_type_text"),
        ("contingency", {"low": 0, "mode": 0.1, "high": 0.2}, "no_range"),
        ("currency", "XXX", "not_a_choice"),
        ("start", "01.02.2027", "wrong_type_day"),
        ("start", "2027-02-30", "wrong_type_day"),
        ("start", "1927-01-01", "wrong_type_day"),
        ("finetune__cache_features", "maybe", "wrong_type_flag"),
        ("finetune__cache_features", 1, "wrong_type_flag"),
        ("name", "x" * 121, "text_too_long"),
        ("name", ["x"], "wrong_type_text"),
        ("people", {"role": "engineer"}, "wrong_type_list"),
        ("people", [{"role": "e", "fte": 1, "months": 1}] * 101, "too_many_rows"),
        ("inference__profile", [1, 2, 3], "profile_length"),
        ("inference__profile", [0] * 24, "profile_zero"),
        ("inference__profile", 5, "wrong_type_list"),
        ("network", "none", "wrong_type_section"),
        ("storage", 5, "wrong_type_section"),
        ("experiments", [], "empty_list"),
    ],
)
def test_a_wrong_value_is_refused_with_its_reason(path: str, value: object, code: str | None) -> None:
    found = codes(small_plan(**{path: value}))

    if code is not None:
        assert found == {path.replace("__", "."): code}


def test_a_range_out_of_order_names_both_ends() -> None:
    document = small_plan(compute__mfu={"low": 0.5, "mode": 0.4, "high": 0.3})

    assert codes(document) == {"compute.mfu.low": "range_order", "compute.mfu.mode": "range_order"}
    assert faults(document)["compute.mfu.low"].message == "The range is out of order: low is above mode."


def test_each_end_of_a_range_is_checked() -> None:
    assert codes(small_plan(compute__mfu={"p10": 0.2, "p50": 0.4, "p90": 1.2})) == {"compute.mfu.p90": "above"}


def test_ends_out_of_order_are_told_beside_one_that_is_out_of_bounds() -> None:
    document = small_plan(compute__mfu={"low": 0.5, "mode": 0.4, "high": 1.2})

    assert codes(document) == {"compute.mfu.low": "range_order", "compute.mfu.high": "above"}


def test_kinds_of_range_do_not_mix() -> None:
    found = codes(small_plan(compute__mfu={"low": 0.2, "mode": 0.4, "high": 0.5, "p90": 0.5}))

    assert found == {"compute.mfu.p90": "range_mixed"}


def test_quantiles_are_above_zero() -> None:
    assert codes(small_plan(data__raw_tb={"p10": 0, "p50": 1, "p90": 2})) == {"data.raw_tb.p10": "quantile_zero"}


def test_an_unknown_key_gets_the_nearest_or_the_place_where_it_belongs() -> None:
    document = small_plan(tokens=5, data__tokns=5, compute__mfu={"value": 0.4, "atention": "full"}, zzz=1)

    found = faults(document)

    assert "Did you mean data.tokens?" in found["tokens"].message
    assert "Did you mean data.tokens?" in found["data.tokns"].message
    assert found["compute.mfu.atention"].code == "unknown_key"
    assert found["zzz"].message == "This key is not known."
    assert "contingency" in found["zzz"].accepted


def test_rows_are_checked_cell_by_cell() -> None:
    document = small_plan(people=[{"role": "engineer", "fte": "many", "extra": 1}, 7])

    assert codes(document) == {
        "people.0.fte": "wrong_type_number",
        "people.0.extra": "unknown_key",
        "people.0.months": "missing",
        "people.1": "wrong_type_row",
    }


@pytest.mark.parametrize(
    ("document", "missing"),
    [
        ({"task": "pretrain"}, {"model.parameters", "data.tokens", "compute.accelerator", "compute.count"}),
        ({"name": "x"}, {"task"}),
        ({"task": "finetune", "finetune": {"strategy": "lora"}}, {"finetune.adapter_parameters"}),
        ({"task": "finetune", "finetune": {"strategy": "head_only"}}, {"finetune.head_parameters"}),
        ({"task": "inference"}, {"inference.requests_per_day", "inference.input_tokens", "model.parameters"}),
        ({"task": "inference", "inference": {"unit_cost_per_request": 0.01}}, {"inference.requests_per_day"}),
        ({"task": "vector_store"}, {"vectors.count"}),
        ({"task": "evaluation"}, {"model.parameters", "evaluation.tokens", "evaluation.times"}),
        ({"task": "ablation", "compute": {"accelerator": "l4", "count": 8}}, {"experiments"}),
        ({"task": "data_work"}, {"data"}),
        ({"task": "life"}, {"members"}),
        (small_plan(compute__mode="own"), {"compute.own.life_hours", "compute.own.occupancy", "compute.own.pue"}),
        (small_plan(compute__mode="mixed"), {"compute.mix"}),
        (small_plan(compute__instance={"name": "p5.48xlarge"}), {"compute.instance.accelerators"}),
        (small_plan(model__architecture="encoder_decoder"), {"model.flops_per_parameter_token"}),
        (small_plan(acceptance={"metric": "MMLU"}), {"acceptance.at_least"}),
        (small_plan(acceptance={"at_least": 0.6}), {"acceptance.metric"}),
        (small_plan(compute={"pools": [{"accelerator": "l4"}]}), {"compute.pools.0.count"}),
    ],
)
def test_what_a_task_cannot_do_without_is_asked_for(document: dict, missing: set[str]) -> None:
    found = faults(document)

    assert missing <= found.keys()
    assert all(found[path].value is None for path in missing)


GROWING: dict[str, Any] = {
    "model": {"stages": [{"parameters": 1e8, "tokens": 1e11}, {"parameters": 1e9, "tokens": 2e11}]},
    "data": None,
}
MEASURED = {"accelerator": "h100-sxm-80gb", "count": 8, "tokens_per_second_per_accelerator": 14000}


def test_one_speed_in_tokens_cannot_hold_for_stages_of_unlike_size() -> None:
    fault = faults(small_plan(**GROWING, compute=MEASURED))["compute.tokens_per_second_per_accelerator"]

    assert fault.code == "speed_of_stages"
    assert fault.value == 14000
    assert fault.accepted == "one of the keys compute.mfu, compute.tflops_per_accelerator, compute.paid_mfu"


def test_a_member_of_a_life_is_told_the_same_at_its_place() -> None:
    run = {"name": "run", **small_plan(**GROWING, compute=MEASURED)}

    found = faults({"name": "whole", "task": "life", "members": [run]})

    assert found["members.0.compute.tokens_per_second_per_accelerator"].code == "speed_of_stages"


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (small_plan(compute__paid_mfu=0.3), "compute.paid_mfu"),
        (small_plan(compute__tokens_per_second_per_accelerator=14000), "compute.tokens_per_second_per_accelerator"),
        (small_plan(compute__tflops_per_accelerator=147), "compute.tflops_per_accelerator"),
        (small_plan(reliability={"goodput": 0.9, "restart_hours": 0.1}), "reliability.restart_hours"),
        (small_plan(goodput=0.9, reliability={"goodput": 0.9}), "goodput"),
        (small_plan(goodput=0.9, reliability="none"), "goodput"),
        (small_plan(model__stages=[{"parameters": 1e9, "tokens": 1e12}]), "data.tokens"),
        (small_plan(training_flops=1e22, model__flops_per_parameter_token=6), "model.flops_per_parameter_token"),
        (small_plan(compute__pools=[{"accelerator": "l4", "count": 8}]), "compute.accelerator"),
        (two_pools(tokens_per_second_per_accelerator=14000), "compute.tokens_per_second_per_accelerator"),
        (two_pools(tflops_per_accelerator=147), "compute.tflops_per_accelerator"),
        (two_pools(paid_mfu=0.3), "compute.paid_mfu"),
        (two_pools(instance={"name": "p5.48xlarge", "accelerators": 8}), "compute.instance"),
        (own_tier("rent", mode="own"), "inference.tiers.0.mode"),
        (own_tier("own", mode="on_demand"), "inference.tiers.0.mode"),
        (own_tier("own", price_per_accelerator_hour=2), "inference.tiers.0.price_per_accelerator_hour"),
        (two_pools(mode="mixed", mix={"on_demand": 0.5, "spot": 0.5}), "compute.mix.spot"),
        (two_pools(committed={"count": 8, "hours": 100}), "compute.committed"),
    ],
)
def test_two_ways_to_say_one_thing_exclude_each_other(document: dict, path: str) -> None:
    assert codes(document)[path] in ("exclusive", "given_twice")


@pytest.mark.parametrize(
    ("document", "path", "code"),
    [
        (small_plan(start="2027-04-01", deadline="2027-01-01"), "deadline", "deadline_before_start"),
        (small_plan(start="2027-04-01", deadline="2027-04-01"), "deadline", "deadline_before_start"),
        (small_plan(model__active_parameters=8e9), "model.active_parameters", "active_above_total"),
        (small_plan(model__embedding_parameters=7e9), "model.embedding_parameters", "embedding_is_all"),
        (
            small_plan(data__duplicate_share=0.7, data__low_quality_share=0.6),
            "data.low_quality_share",
            "shares_above_one",
        ),
        (
            small_plan(compute__mode="mixed", compute__mix={"on_demand": 0.3, "spot": 0.3}),
            "compute.mix",
            "shares_not_one",
        ),
        (small_plan(compute__own={"capital": 10, "residual": 20}), "compute.own.residual", "residual_above_capital"),
        (
            small_plan(compute__parallelism={"tensor": 8, "pipeline": 5}),
            "compute.parallelism",
            "layout_does_not_divide",
        ),
        (small_plan(inference__growth_per_month=5), "inference.growth_per_month", "grows_too_much"),
        (small_plan(members=[{"name": "x"}]), "members", "members_without_life"),
        (
            small_plan(compute={"pools": [{"accelerator": "l4", "count": 8, "share": 0.4}]}),
            "compute.pools",
            "shares_not_one",
        ),
    ],
)
def test_what_cannot_be_true_together_is_refused(document: dict, path: str, code: str) -> None:
    assert codes(document)[path] == code


def test_a_mix_of_own_and_rented_must_say_so() -> None:
    own = {"life_hours": 35000, "occupancy": 0.8, "pue": 1.2}

    found = codes(small_plan(compute__mix={"own": 0.5, "on_demand": 0.5}, compute__own=own))

    assert found == {"compute.mode": "mix_without_mixed"}


def test_faults_of_a_member_have_its_path_and_shared_faults_are_told_once() -> None:
    document = {
        "name": "whole",
        "task": "life",
        "compute": {"accelerator": "l4", "count": 8, "mfu": 4},
        "people": [],
        "members": [
            {"name": "a", "task": "pretrain", "model": {"parameters": "7X"}, "data": {"tokens": 1e9}, "budget": 5},
            {"name": "a", "task": "pretrain", "model": {"parameters": 7e9}, "data": {"tokens": 1e9}, "after": "z"},
            {"name": "c", "task": "pretrain", "model": {"parameters": 7e9}, "data": {"tokens": 1e9}, "currency": "EUR"},
            {"name": "d", "task": "life"},
            5,
        ],
    }

    assert codes(document) == {
        "compute.mfu": "share_as_percent",
        "people": "shared_only",
        "members.0.budget": "whole_only",
        "members.0.model.parameters": "with_unit",
        "members.1.after": "member_unknown",
        "members.2.currency": "other_currency",
        "members.3.task": "life_in_life",
        "members.4": "wrong_type_row",
    }


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("", "empty", ""),
        ("# only a comment", "empty", ""),
        ("- a\n- b", "not_a_mapping", ""),
        ("just text", "not_a_mapping", ""),
        ("task: [", "broken_yaml", "line 2"),
        ("task: pretrain\nname: a: b", "broken_yaml", "line 2, column 8"),
        ("task: \x01", "broken_yaml", "line 1"),
        ('{"task": "pretrain",\n "name": }', "broken_json", "line 2, column 10"),
        ("task: pretrain\n---\ntask: pretrain", "several_documents", "line 2"),
        (b"\xff\xfe\x00", "not_utf8", ""),
        ("task: \ud800", "not_utf8", ""),
        ("x: " + "a" * 262_144, "too_long", "262147 bytes"),
        ("a: " + "[" * 30 + "]" * 30, "too_deep", ""),
        ('{"a":' * 40_000 + "1" + "}" * 40_000, "too_deep", ""),
        ("a: [" + "1," * 30_000 + "]", "too_many_values", ""),
    ],
)
def test_a_document_that_cannot_be_taken_apart_says_where(text: str | bytes, code: str, words: str) -> None:
    found = faults(text)

    assert [fault.code for fault in found.values()] == [code]
    assert words in next(iter(found.values())).message


@pytest.mark.parametrize(
    ("text", "path", "code"),
    [
        ("task: pretrain\ntask: finetune", "task", "duplicate_key"),
        ("data: {tokens: 1, tokens: 2}", "data.tokens", "duplicate_key"),
        ('{"data": {"tokens": 1, "tokens": 1}}', "data.tokens", "duplicate_json_key"),
        ("data: &x {tokens: 1}\nmodel: {parameters: 1}", "data", "anchor"),
        ("data: {tokens: &x 1, epochs: *x}", "data.epochs", "anchor"),
        ("task: !!str pretrain", "task", "tag"),
        ("task: !!python/object/apply:os.system [ls]", "task", "tag"),
        ("<<: {task: pretrain}", "<<", "unknown_key"),
        ("? [a]\n: b", "", "key_not_text"),
    ],
)
def test_yaml_that_plays_tricks_is_refused(text: str, path: str, code: str) -> None:
    with pytest.raises(PlanRefused) as refused:
        parse_plan(text)
    assert (path, code) in [(fault.path, fault.code) for fault in refused.value.faults]


def test_what_json_cannot_hold_is_refused() -> None:
    assert codes(small_plan(name={1, 2}))["name"] == "not_json"
    assert codes({1: 2, "task": "pretrain"})[""] == "key_not_text"
    loop: dict[str, Any] = {}
    loop["a"] = loop
    assert codes(loop) == {"": "too_deep"}


def test_thousands_of_unknown_keys_are_told_within_a_second_and_counted() -> None:
    document = small_plan(**{f"key_{number}": 1 for number in range(9000)})

    with pytest.raises(PlanRefused) as refused:
        parse_plan(document)

    assert len(refused.value.faults) == 201
    assert refused.value.faults[-1].message == "There are 8800 more faults."


def test_every_fault_is_json_and_can_be_printed() -> None:
    document = small_plan(**{"k\ud800\x00": 1, "name": "a\x00\ud800", "data__tokens": 10**400, "model": [1e400]})

    for fault in faults(document).values():
        json.dumps(fault.as_dict(), allow_nan=False).encode("utf-8")
        fault.message.encode("utf-8")
        fault.path.encode("utf-8")


def wrong_values(field: Field) -> list[object]:
    """Values no field of the kind can take."""
    common: list[object] = [[[]], {"no_such_key": 1}]
    match field.kind:
        case Kind.NUMBER:
            return [
                *common,
                "NaN",
                "1e400",
                10**400,
                float("inf"),
                "abc",
                "5 GB",
                True,
                -1e30,
                {"low": 2, "mode": 1, "high": 0},
            ]
        case Kind.CHOICE:
            return [*common, "no such word", 5, True]
        case Kind.TEXT:
            return [*common, 5, True, "", "x" * 10_000, "a\x00b"]
        case Kind.FLAG:
            return [*common, "perhaps", 5]
        case Kind.DAY:
            return [*common, "soon", 20270101, "2027-13-01", "1999-01-01"]
        case _:
            return [*common, 5, "flat", [1] * 23, [-1] * 24]


@pytest.mark.parametrize("path", [path for path in FIELDS if "*" not in path])
def test_every_field_refuses_what_it_cannot_be_and_says_what_it_can(path: str) -> None:
    for value in wrong_values(FIELDS[path]):
        found = faults(_with_value(path, value))

        about = [fault for place, fault in found.items() if place == path or place.startswith(f"{path}.")]
        assert about, (path, value)
        assert all(fault.message and fault.accepted for fault in about), (path, value)


def _with_value(path: str, value: object) -> dict[str, Any]:
    """The small plan with a value at a path; the convention of an MFU stands beside its number."""
    section, _, key = path.rpartition(".")
    if section == "compute.mfu":
        return small_plan(compute__mfu={"value": 0.4, key: value})
    return small_plan(**{path.replace(".", "__"): value})


def tiers_of(compute: dict[str, Any], **tier: Any) -> dict[str, Any]:
    return {
        "task": "inference",
        "compute": {"accelerator": "l4", **compute},
        "inference": {"tiers": [{"name": "all", "share": 1, **tier}]},
    }


def test_a_tier_of_the_list_price_asks_for_one_way_to_rent() -> None:
    mixed = {"mix": {"on_demand": 0.5, "spot": 0.5}}

    assert codes(tiers_of(mixed))["compute.mix.spot"] == "exclusive"
    for spoken in (tiers_of(mixed, mode="spot"), tiers_of(mixed, price_per_accelerator_hour=1)):
        assert "compute.mix.spot" not in codes(spoken)


def test_a_reservation_cannot_stand_beside_tiers() -> None:
    assert codes(tiers_of({"committed": {"count": 8, "hours": 100}}))["compute.committed"] == "exclusive"


def test_a_name_that_would_turn_the_page_around_is_refused() -> None:
    assert codes(small_plan(name="report\u202efdp"))["name"] == "control_character"


def test_a_percentage_is_quoted_as_it_was_typed() -> None:
    for typed, message in (("200%", "200% is too high."), ("-5%", "-5% is negative.")):
        fault = faults(small_plan(network__interconnect_share=typed))["network.interconnect_share"]
        assert fault.message == message
