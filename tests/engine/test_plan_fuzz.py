"""Whatever comes in is a plan or a refusal; whatever is a plan reads back to itself in every shape."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from core.errors import DomainError
from estimates.engine.document import from_flat, to_flat, to_yaml
from estimates.engine.field_kinds import Field, Kind
from estimates.engine.fields import FIELDS
from estimates.engine.plan import Plan, PlanRefused, parse_plan
from tests.engine.plans import small_plan

PATHS = [path for path in FIELDS if "*" not in path and path.rpartition(".")[0] not in FIELDS]
"""Without the conventions, which stand inside another field."""

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["1e400", "40%", "7B", "baseline", "none", "auto", "NaN", "-1", "2027-01-01", "0"])
)
trees = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["low", "mode", "high", "p10", "p50", "p90", "value", "attention", "x"]), inner, max_size=4
        )
    ),
    max_leaves=6,
)


def understood_or_refused(document: Any) -> Plan | None:
    """The plan, or nothing after a proper refusal; any other exception is the bug these tests look for."""
    try:
        return parse_plan(document)
    except PlanRefused as refused:
        assert refused.faults
        for fault in refused.faults:
            json.dumps(fault.as_dict(), allow_nan=False).encode("utf-8")
            assert fault.message
        return None


@given(st.binary(max_size=300))
@example(b"\xef\xbb\xbftask: pretrain")
@example(b"%YAML 9.9\n--- a")
@example(b"? ? ? ?")
def test_any_bytes_are_a_plan_or_refused(document: bytes) -> None:
    understood_or_refused(document)


@given(st.text(max_size=300))
def test_any_text_is_a_plan_or_refused(document: str) -> None:
    understood_or_refused(document)


@given(st.text(alphabet="{}[]:,-?&*!|>'\"%@` \n\t#~abtask1.e_", max_size=200))
@settings(max_examples=300)
def test_any_text_of_yaml_signs_is_a_plan_or_refused(document: str) -> None:
    understood_or_refused(document)


@given(st.dictionaries(st.sampled_from(PATHS), trees, max_size=8))
@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
def test_any_values_in_any_fields_are_a_plan_or_refused(values: dict[str, Any]) -> None:
    document: dict[str, Any] = {}
    for path, value in values.items():
        *sections, key = path.split(".")
        place = document
        for section in sections:
            inner = place.setdefault(section, {})
            place = inner if isinstance(inner, dict) else {}
        place[key] = value

    understood_or_refused(document)


@given(st.data())
@settings(max_examples=200)
def test_one_changed_byte_of_a_good_plan_is_a_plan_or_refused(data: st.DataObject) -> None:
    text = bytearray(to_yaml(small_plan(people=[{"role": "engineer", "fte": 4, "months": 4}])), "utf-8")
    position = data.draw(st.integers(0, len(text) - 1))
    text[position] = data.draw(st.integers(0, 255))

    understood_or_refused(bytes(text))


def a_value(field: Field, chance: random.Random) -> Any:
    """Something the field accepts."""
    match field.kind:
        case Kind.NUMBER:
            return a_number(field, chance)
        case Kind.CHOICE:
            return chance.choice(list(field.choices))
        case Kind.TEXT:
            return chance.choice(
                ["plain", "7B", "null", "~", "none of it", "a: b # c", "- x", "含中文。", 'say "yes"', "1", "a\nb"]
            )
        case Kind.FLAG:
            return chance.choice([True, False])
        case Kind.DAY:
            return f"20{chance.randint(10, 98)}-0{chance.randint(1, 9)}-{chance.randint(10, 28)}"
        case _:
            return [chance.choice([0.5, 1, 2]) for _ in range(24)]


def a_number(field: Field, chance: random.Random) -> Any:
    bounds = field.bounds
    low, high = max(bounds.low, -100.0), min(bounds.high, 1e9)
    points = sorted(low + (high - low) * (0.01 + 0.98 * chance.random()) for _ in range(3))
    numbers = [float(round(point)) if field.whole else float(f"{point:.6g}") for point in points]
    if field.whole and numbers[0] < 1:
        return 1
    if field.ranged and chance.random() < 0.3:
        keys = ("low", "mode", "high") if numbers[0] <= 0 or chance.random() < 0.5 else ("p10", "p50", "p90")
        return dict(zip(keys, numbers, strict=True))
    return "baseline" if field.baseline and chance.random() < 0.3 else numbers[1]


def a_document(chance: random.Random) -> dict[str, Any]:
    """A random plan that has a good chance to be one: the small plan and a handful of fields."""
    document = small_plan()
    for path in chance.sample(PATHS, 12):
        if path not in ("task", "compute.paid_mfu") and "training_flops" not in path:
            *sections, key = path.split(".")
            place = document
            for section in sections:
                place = place.setdefault(section, {})
            place[key] = a_value(FIELDS[path], chance)
    if chance.random() < 0.5:
        document["people"] = [{"role": "研究员", "fte": a_number(FIELDS["people.*.fte"], chance), "months": 3}]
    if chance.random() < 0.2:
        document["experiments"] = [{"parameters": 1e9, "tokens": 1e10, "name": "null"}]
    if chance.random() < 0.3:
        document["compute"]["mfu"] = {"value": 0.4, "attention": "causal"}
    return document


def test_plans_are_the_same_as_json_yaml_and_form() -> None:
    chance = random.Random(7)
    kept = 0

    for _ in range(1500):
        plan = understood_or_refused(a_document(chance))
        if plan is None:
            continue
        kept += 1
        assert parse_plan(plan.document) == plan
        assert parse_plan(json.dumps(plan.document)) == plan
        assert parse_plan(to_yaml(plan.document)) == plan
        assert parse_plan(from_flat(to_flat(plan.document))) == plan

    assert kept > 100


def test_a_refusal_is_a_domain_error() -> None:
    with pytest.raises(DomainError):
        parse_plan("")
