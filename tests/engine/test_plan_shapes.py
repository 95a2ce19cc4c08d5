"""The plan as YAML for people, as fields of a form, and as a JSON Schema."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from estimates.engine.document import from_flat, number_text, to_flat, to_yaml
from estimates.engine.fields import FIELDS, SECTIONS, TABLES
from estimates.engine.plan import parse_plan
from estimates.engine.schema import keys_page, plan_schema, schema_text
from tests.engine.plans import small_plan

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_yaml_is_written_as_people_write_it() -> None:
    plan = parse_plan(
        small_plan(
            start="2027-01-01",
            compute__mfu={"low": 0.33, "mode": 0.4, "high": 0.46, "attention": "full"},
            people=[{"role": "engineer", "fte": 4, "months": 4}],
        )
    )

    assert to_yaml(plan.document) == (
        "name: base-7b\n"
        "task: pretrain\n"
        "start: 2027-01-01\n"
        "model:\n"
        "  parameters: 7e9\n"
        "data:\n"
        "  tokens: 2e12\n"
        "compute:\n"
        "  accelerator: h100-sxm-80gb\n"
        "  count: 256\n"
        "  mfu: {low: 0.33, mode: 0.4, high: 0.46, attention: full}\n"
        "people:\n"
        "- role: engineer\n"
        "  fte: 4\n"
        "  months: 4\n"
    )


@pytest.mark.parametrize(
    ("number", "text"),
    [(7_000_000_000, "7e9"), (256, "256"), (0.4, "0.4"), (1_500_000, "1.5e6"), (6738417664, "6738417664"), (0, "0")],
)
def test_numbers_are_written_short_and_exact(number: float, text: str) -> None:
    assert number_text(number) == text


def test_a_form_gets_paths_and_texts() -> None:
    flat = to_flat(parse_plan(small_plan(people=[{"role": "engineer", "fte": 4, "months": 4}])).document)

    assert flat["compute.mfu"] == "0.4"
    assert flat["data.tokens"] == "2e12"
    assert flat["people.0.role"] == "engineer"


def test_a_form_with_empty_fields_and_gaps_in_its_rows_is_a_document() -> None:
    sent = {
        "task": "pretrain",
        "deadline": "",
        "model.parameters": "7B",
        "data.tokens": "2T",
        "compute.accelerator": "h100-sxm-80gb",
        "compute.count": "256",
        "compute.mfu.low": "",
        "compute.mfu.mode": "40%",
        "compute.mfu.high": " ",
        "compute.mfu.attention": "causal",
        "compute.mode": "rent",
        "experiments": "none",
        "experiments.ratio": "0.5",
        "people.10.role": "engineer",
        "people.10.fte": "1",
        "people.10.months": "2",
        "people.3.role": "manager",
        "people.3.fte": "0.5",
        "people.3.months": "2",
    }

    plan = parse_plan(from_flat(sent))

    assert plan.document["compute"]["mfu"] == {"value": 0.4, "attention": "causal"}
    assert plan.document["compute"]["mode"] == "rent"
    assert plan.is_off("experiments")
    assert [row["role"] for row in plan.rows("people")] == ["manager", "engineer"]


def test_the_shipped_schema_and_table_of_keys_are_made_from_the_fields() -> None:
    assert DOCS.joinpath("plan.schema.json").read_text(encoding="utf-8") == schema_text()
    assert DOCS.joinpath("plan-keys.md").read_text(encoding="utf-8") == keys_page()


def test_the_schema_is_a_schema_and_takes_plans() -> None:
    schema = json.loads(schema_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    plan = small_plan(
        data__epochs=None,
        goodput="95%",
        model_error=0.2,
        compute__mfu={"value": "40%", "attention": "causal"},
        experiments=[{"model": {"parameters": "1B"}, "data": {"tokens": 1e10}}],
        reliability="none",
    )

    assert [error.message for error in validator.iter_errors(plan)] == []


@pytest.mark.parametrize(
    "changes",
    [
        {"compute__mfu": 1.5},
        {"compute__mfu": {"low": 0.1, "mode": 0.2}},
        {"compute__count": 2.5},
        {"compute__precision": "bf61"},
        {"tokens": 5},
        {"network": "none"},
        {"contingency": {"low": 0, "mode": 0.1, "high": 0.2}},
        {"people": [{"role": "engineer"}]},
        {"task": None},
        {"start": "soon"},
    ],
)
def test_the_schema_refuses_what_the_parser_refuses(changes: dict) -> None:
    validator = jsonschema.Draft202012Validator(plan_schema())

    assert list(validator.iter_errors(small_plan(**changes)))


def test_every_field_and_table_has_words_in_both_languages_and_a_section() -> None:
    for declared in (*FIELDS.values(), *TABLES.values()):
        assert declared.section in SECTIONS, declared.path
        assert declared.label.en and declared.label.zh, declared.path
        assert declared.hint is None or (declared.hint.en and declared.hint.zh), declared.path


def test_words_are_chosen_by_language() -> None:
    label = FIELDS["data.tokens"].label

    assert label.in_language("zh-hans") == "训练 token 数"
    assert label.in_language("en") == "Tokens"
