"""What an import answers: counts, sums and faults, in the shape of the contract."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from typing import Any

from django.db import connection

from core.money import EXACT, exact_text
from core.vocabulary import ChargeCategory

from ..models import Import, RejectedRow
from ..reading.durations import sum_of_hours
from ..reading.notes import Notes
from .parse import Reading
from .staging import Staging
from .swap import Swap

ERRORS_SHOWN = 100
COSTS = ("billed", "effective", "list", "contracted")
FIGURES = """
    SELECT r.currency, m.charge_category, m.state, k.extra ? 'CommitmentDiscountId', count(*),
           sum(r.billed), sum(r.effective), sum(r.list_cost), sum(r.contracted),
           sum(r.accelerator_hours), sum(r.cpu_core_hours), min(r.usage_start), max(r.usage_end)
    FROM {rows} r JOIN usage_keyset k ON k.id = r.key_set_id JOIN usage_meter m ON m.id = k.meter_id
    WHERE {where} GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
"""


def figures_of_staging(staging: Staging) -> list[tuple]:
    """Sums of everything that was staged."""
    return _figures(staging.rows, "TRUE", {})


def figures_of_log(staging: Staging) -> list[tuple]:
    """Sums of what was staged, every key once: the record that holds it best."""
    best = f"SELECT DISTINCT ON (row_key) * FROM {staging.rows} ORDER BY row_key, rank DESC NULLS LAST, row_print DESC"
    return _figures(f"({best})", "TRUE", {})


def figures_of_scopes(scopes: list[int]) -> list[tuple]:
    """Sums of what is live in some scopes."""
    return _figures("usage_record", "r.scope_id = ANY(%(scopes)s) AND r.known_until_id IS NULL", {"scopes": scopes})


def figures_of_import(import_id: int) -> list[tuple]:
    """Sums of what an import wrote."""
    return _figures("usage_record", "r.known_from_id = %(import)s", {"import": import_id})


def _figures(rows: str, where: str, parameters: dict[str, Any]) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(FIGURES.format(rows=rows, where=where), parameters)
        return cursor.fetchall()


def summed(figures: list[tuple]) -> dict[str, Any]:
    """The figures as the contract names them."""
    totals: dict[str, dict[str, Decimal]] = {}
    categories: dict[str, dict[str, Any]] = defaultdict(
        lambda: {"rows": 0, "billed": Decimal(0), "effective": Decimal(0)}
    )
    states: dict[str, dict[str, Any]] = defaultdict(lambda: {"rows": 0, "accelerator_hours": Decimal(0)})
    accelerator_hours = cpu_core_hours = Decimal(0)
    for currency, charge, state, _committed, rows, *numbers, _first, _last in figures:
        costs, (accelerated, cores) = numbers[:4], numbers[4:]
        if currency:
            total = totals.setdefault(currency, dict.fromkeys(COSTS, Decimal(0)))
            for name, cost in zip(COSTS, costs, strict=True):
                total[name] = EXACT.add(total[name], cost or Decimal(0))
        group = categories[charge]
        group["rows"] += rows
        group["billed"] = EXACT.add(group["billed"], costs[0] or Decimal(0))
        group["effective"] = EXACT.add(group["effective"], costs[1] or Decimal(0))
        if state:
            states[state]["rows"] += rows
            held = states[state]["accelerator_hours"]
            states[state]["accelerator_hours"] = EXACT.add(held, accelerated or Decimal(0))
        accelerator_hours = EXACT.add(accelerator_hours, accelerated or Decimal(0))
        cpu_core_hours = EXACT.add(cpu_core_hours, cores or Decimal(0))
    for group in states.values():
        group["accelerator_hours"] = sum_of_hours(group["accelerator_hours"])
    return {
        "totals": _texts(totals),
        "by_charge_category": _texts(categories),
        "accelerator_hours": sum_of_hours(accelerator_hours),
        "cpu_core_hours": sum_of_hours(cpu_core_hours),
        "by_state": _texts(states),
        "first_usage": min((row[-2] for row in figures), default=None),
        "last_usage": max((row[-1] for row in figures), default=None),
    }


FAR = Decimal("0.2")


def is_effective_far_from_billed(figures: list[tuple]) -> bool:
    """Where no commitment explains it, the two costs of some currency differ by more than a fifth."""
    sums: dict[str, list[Decimal]] = defaultdict(lambda: [Decimal(0), Decimal(0)])
    for currency, charge, _state, committed, _rows, billed, effective, *_rest in figures:
        if charge != ChargeCategory.PURCHASE and not committed:
            sums[currency][0] += billed or Decimal(0)
            sums[currency][1] += effective or Decimal(0)
    return any(abs(billed - effective) > FAR * abs(billed) for billed, effective in sums.values() if billed)


def _texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _texts(item) for key, item in value.items()}
    return exact_text(value) if isinstance(value, Decimal) else value


def counts(reading: Reading | None, swap: Swap | None) -> dict[str, Any]:
    """Rows read, taken, refused, skipped; written, left as they were, ended."""
    if reading is None:
        names = ("read", "accepted", "rejected", "skipped", "written", "unchanged", "closed")
        return {f"rows_{name}": 0 for name in names} | {"skipped": {}}
    swapped, swap = swap is not None, swap or Swap()
    accepted = reading.accepted - swap.repeated
    skipped = dict(reading.skipped) | ({"repeated": swap.repeated} if swap.repeated else {})
    return {
        "rows_read": reading.read,
        "rows_accepted": accepted,
        "rows_rejected": reading.rejected,
        "rows_skipped": sum(skipped.values()),
        "rows_written": swap.written,
        "rows_unchanged": (accepted if reading.sums is None else reading.sums) - swap.written if swapped else 0,
        "rows_closed": swap.closed,
        "skipped": skipped,
    }


def noted(notes: Notes) -> dict[str, Any]:
    """Quality warnings, with the first lines and details of each kind."""
    return {
        "warnings": dict(notes.counts),
        "warning_lines": {kind: lines for kind, lines in notes.lines.items() if lines},
        "warning_details": {kind: details for kind, details in notes.details.items() if details},
    }


EMPTY: dict[str, Any] = counts(None, None) | {
    "scopes": [],
    "totals": {},
    "by_charge_category": {},
    "accelerator_hours": "0",
    "cpu_core_hours": "0",
    "by_state": {},
    "price_missing": [],
    "warnings": {},
    "errors": [],
}
"""The answer of a delivery of which nothing was read."""


def answer(delivery: Import) -> dict[str, Any]:
    """The import as `manage.py import_usage --json` prints it."""
    kept = delivery.outcome
    rejected = [
        {"line": row.line, "column": row.column, "value": row.value, "reason": row.reason}
        for row in RejectedRow.objects.filter(delivery=delivery)[:ERRORS_SHOWN]
    ]
    errors = [*kept.get("errors", []), *rejected]
    return {
        "file": delivery.name,
        "import": delivery.pk,
        "source": delivery.source.slug,
        "format": delivery.format,
        "meaning": delivery.meaning,
        "status": delivery.status,
        **EMPTY,
        **kept,
        "errors": errors,
    }
