"""Sums of usage in the shape of the contract; for the command and the API alike."""

from __future__ import annotations

from typing import Any

from core.money import exact_text
from usage.reading.durations import sum_of_hours
from usage.totals import Group, Question, usage_totals


def totals_answer(question: Question) -> dict[str, Any]:
    """`{"totals", "quantities", "groups"}`: every number an exact text."""
    whole, groups = usage_totals(question)
    return {
        "totals": money_texts(whole),
        "rows": whole.rows,
        "accelerator_hours": sum_of_hours(whole.accelerator_hours),
        "quantities": quantity_texts(whole),
        "groups": [
            {
                "key": {name: None if value is None else str(value) for name, value in group.key.items()},
                "totals": money_texts(group),
                "rows": group.rows,
                "accelerator_hours": sum_of_hours(group.accelerator_hours),
                "quantities": quantity_texts(group),
            }
            for group in groups
        ],
    }


def money_texts(group: Group) -> dict[str, str]:
    return {currency: exact_text(amount) for currency, amount in sorted(group.totals.items())}


def quantity_texts(group: Group) -> list[dict[str, str]]:
    return [{"unit": unit, "value": exact_text(value)} for unit, value in sorted(group.quantities.items())]
