"""The OpenAPI document: valid, without warnings, and with the keys of a training plan."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import call_command
from django.urls import reverse
from jsonschema import Draft202012Validator

from tests.engine.makers import pretrain

PLANS = sorted((Path(__file__).resolve().parents[2] / "docs" / "plans").glob("*.yaml"))


@pytest.fixture
def document(client, db) -> dict[str, Any]:
    return client.get("/api/v1/schema/", {"format": "json"}).json()


def body_of(document: dict[str, Any], name: str) -> dict[str, Any]:
    return document["paths"][reverse(name)]["post"]["requestBody"]["content"]["application/json"]["schema"]


def refusals(document: dict[str, Any], plan: Any) -> list[str]:
    """What a client that knows only the document holds against a plan."""
    validator = Draft202012Validator(
        {**body_of(document, "api-estimate-preview"), "components": document["components"]}
    )
    return [error.json_path for error in validator.iter_errors(plan)]


def test_the_document_is_valid_and_has_no_warnings(db) -> None:
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=StringIO())


def test_the_body_of_the_preview_is_the_schema_of_plans(document) -> None:
    reference = body_of(document, "api-estimate-preview")["$ref"]

    plan = document["components"]["schemas"][reference.rpartition("/")[2]]
    assert {"task", "model", "compute", "members"} <= set(plan["properties"])
    assert plan["additionalProperties"] is False


def test_every_shipped_plan_is_accepted_by_it(document) -> None:
    for path in PLANS:
        assert refusals(document, yaml.load(path.read_bytes(), Loader=yaml.BaseLoader)) == [], path.name


def test_a_key_that_no_plan_has_and_a_value_out_of_range_are_refused_by_it(document) -> None:
    assert refusals(document, pretrain()) == []
    assert refusals(document, pretrain(compute__mfuu=0.4)) != []
    assert refusals(document, pretrain(compute__count=0)) != []


def test_a_new_estimate_takes_a_plan_or_its_yaml(document) -> None:
    reference = body_of(document, "api-estimates")["$ref"]

    plan = document["components"]["schemas"][reference.rpartition("/")[2]]["properties"]["plan"]
    assert {"$ref": "#/components/schemas/TrainingPlan"} in plan["anyOf"]
