"""An amount is of plain digits wherever it enters: files, forms, API."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError
from rest_framework import serializers

from api.amounts import AmountField
from web.forms import MoneyField, NumberField

ROOT = Path(__file__).resolve().parents[2]
ODD = ["１２", "٣", "1_000", "+5", "1,000", "$5", "NaN", "Infinity", "(5)", "0x1", "1e9999", True, None, [], "5 5"]


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_the_api_refuses_what_is_no_plain_number(odd):
    with pytest.raises(serializers.ValidationError):
        AmountField().run_validation(odd)


@pytest.mark.parametrize(("given", "amount"), [("12.50", "12.5"), (12, "12"), (0.1, "0.1"), ("-3", "-3"), (" 7 ", "7")])
def test_the_api_takes_numbers_and_plain_text(given, amount):
    assert AmountField().run_validation(given) == Decimal(amount)


@pytest.mark.parametrize("odd", ["１２", "٣", "Infinity", "NaN"])
def test_forms_refuse_digits_of_other_scripts(odd):
    for field in (MoneyField(), NumberField()):
        with pytest.raises(ValidationError):
            field.clean(odd)


def test_every_amount_that_enters_uses_these_fields():
    """A field of the frameworks' own would take `１２` and `1_000`."""
    own = re.compile(r"\b(?:serializers|forms)\.(?:DecimalField|FloatField)\(")
    files = [path for folder in ("api", "web") for path in (ROOT / folder).rglob("*.py")]

    assert [path.name for path in files if own.search(path.read_text())] == []


@pytest.mark.django_db
def test_full_width_digits_move_no_money(stage, client):
    client.force_login(stage.operator)
    rule = {
        "name": "Split",
        "conditions": [{"field": "service", "operator": "equals", "values": ["chat"]}],
        "shares": [{"project": stage.project.slug, "weight": "１２"}],
    }

    answer = client.post("/api/v1/rules/", rule, content_type="application/json")

    assert answer.status_code == 400
    assert "weight" in str(answer.json())
