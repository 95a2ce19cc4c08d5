"""Every published file, delivered with `import_usage` and asked for with `usage_total`, comes to the checks' totals."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command

from tests.shared import SHARED, shared

from .checks_file import BILLED, CORES, HOURS, LISTED, Check, read_checks

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

CHECKS = SHARED / "usage-checks.md"
USAGE = ("focus/", "aws-cur/", "azure/", "gcp/", "oci/", "cn/", "slurm", "k8s/")
KNOWN = [check for check in read_checks(CHECKS) if check.file.startswith(USAGE)] if CHECKS.exists() else []
DIMENSIONS = {
    "ChargeCategory": "charge_category",
    "service (": "service",
    "ProductCode": "service",
    "MeterCategory": "service",
    "account (": "account",
    "user (": "user",
    "state": "state",
    "GPU type": "accelerator",
}
"""The first column of a table of the checks, and what it is to `usage_total`."""
KINDS = {
    "BilledCost": "billed",
    "billed": "billed",
    "cost": "billed",
    "cost/myCost": "billed",
    "EffectiveCost": "effective",
    "effective": "effective",
    "ListCost": "list",
    "list": "list",
    "public": "list",
    "ContractedCost": "contracted",
}
"""The first word of a column of amounts, and which of our costs it is."""
NAMELESS = ("(none)", "", "unknown")

Compared = Iterator[tuple[str, Any, Any]]
"""What is compared: its name, what the checks say, what the commands answer."""


def command(name: str, *words: str, **options: Any) -> dict[str, Any]:
    out = io.StringIO()
    with suppress(SystemExit):
        call_command(name, *words, json=True, stdout=out, stderr=io.StringIO(), **options)
    return json.loads(out.getvalue())


def delivered(check: Check, settings: dict[str, str]) -> dict[str, Any]:
    pairs = [f"{name}={value}" for name, value in settings.items()]
    path = str(shared(f"usage/{check.file}"))
    return command("import_usage", path, source="checked", create=True, pairs=pairs, no_judge=True)


def groups(*by: str, basis: str = "billed") -> list[dict[str, Any]]:
    return command("usage_total", source="checked", by=",".join(by), basis=basis)["groups"]


def hours(number: Decimal | str | int) -> Decimal:
    """As the checks print hours."""
    return round(Decimal(number), 6)


def figures(check: Check, answer: dict[str, Any]) -> Compared:
    """What the answer of the import says as a whole."""
    if check.rows:
        found = (answer["rows_read"], answer["rows_accepted"], answer["rows_rejected"] + answer["rows_skipped"])
        yield "rows", check.rows, found
    if check.jobs:
        facts, passed_over, cards, cores = check.jobs
        yield "facts", (facts, passed_over), (answer["rows_accepted"], answer["rows_skipped"])
        yield "read", facts + passed_over, answer["rows_read"]
        yield "GPU-hours", Decimal(cards), hours(answer["accelerator_hours"])
        yield "core-hours", Decimal(cores), hours(answer["cpu_core_hours"])
    for name, pattern, key in (("hours", HOURS, "accelerator_hours"), ("cores", CORES, "cpu_core_hours")):
        if (said := check.number(pattern)) is not None:
            yield name, Decimal(said), Decimal(answer[key])
    for kind, pattern in (("billed", BILLED), ("list", LISTED)):
        if (said := check.number(pattern)) is not None:
            yield kind, Decimal(said), sum(Decimal(sums[kind]) for sums in answer["totals"].values())


def sums_by_currency(check: Check, answer: dict[str, Any]) -> Compared:
    """The table by currency, which is another where a setting says so: what its columns name."""
    table = check.table("currency")
    for currency, rows, *sums in table.rows if table else ():
        said = answer["totals"].get(currency) or next(iter(answer["totals"].values()))
        yield f"{currency} rows", int(rows), answer["rows_accepted"]
        for column, text in zip(table.columns[2:], sums, strict=True):
            if kind := KINDS.get(column.split(" ")[0]):
                yield f"{currency} {column}", Decimal(text), Decimal(said[kind])


def tables(check: Check, currency: str) -> Compared:
    """The tables by a dimension, of money or of hours."""
    for first, dimension in DIMENSIONS.items():
        table = check.table(first)
        for name, *cells in table.rows if table else ():
            for column, text in zip(table.columns[1:], cells, strict=True):
                basis = "effective" if KINDS.get(column) == "effective" else "billed"
                found = [
                    group
                    for group in groups(dimension, basis=basis)
                    if group["key"][dimension] == name or (name in NAMELESS and not group["key"][dimension])
                ]
                yield f"{name} {column}", Decimal(text), of_column(column, found, currency)


def of_column(column: str, found: list[dict[str, Any]], currency: str) -> Decimal | int:
    if column in ("rows", "records"):
        return sum(group["rows"] for group in found)
    if column == "GPU-hours":
        return hours(sum(Decimal(group["accelerator_hours"]) for group in found))
    return sum(Decimal(group["totals"].get(currency, "0")) for group in found)


def cards(check: Check) -> Compared:
    """The table of metered cards, whose slices are accelerators of their own to us."""
    table = check.table("namespace")
    for namespace, pod, card, physical, _rows in table.rows if table else ():
        found = [
            Decimal(group["accelerator_hours"])
            for group in groups("namespace", "pod", "accelerator")
            if (group["key"]["namespace"], group["key"]["pod"]) == (namespace, pod)
            and f"{group['key']['accelerator']}-".startswith(f"{card}-")
        ]
        yield f"{namespace} {pod} {card}", Decimal(physical), hours(sum(found))


def days(check: Check) -> Compared:
    if check.days:
        yield "days", check.days, {group["key"]["day"]: group["rows"] for group in groups("day") if group["rows"]}


@pytest.mark.parametrize("check", KNOWN, ids=[check.file for check in KNOWN])
def test_a_published_file_comes_to_the_totals_of_the_checks(check: Check) -> None:
    if check.settings:
        assert delivered(check, {})["status"] == "refused"
    answer = delivered(check, check.settings)

    if check.is_refused:
        assert (answer["status"], answer["rows_accepted"]) == ("refused", 0)
        assert answer["errors"]
        return
    assert answer["status"] in ("live", "unchanged"), answer["errors"]
    currency = next(iter(answer["totals"]), "USD")
    compared = [*figures(check, answer), *sums_by_currency(check, answer), *tables(check, currency), *cards(check)]
    compared += days(check)
    assert compared
    assert [(name, said, found) for name, said, found in compared if said != found] == []


def test_the_checks_are_where_they_are_looked_for() -> None:
    shared("usage-checks.md")
    assert len(KNOWN) >= 50
