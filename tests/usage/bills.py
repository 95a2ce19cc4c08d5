"""Files delivered to a source through the services, and questions about what is live afterwards."""

from __future__ import annotations

import csv
import io
from collections import Counter
from datetime import UTC
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.db import connection

from core.money import exact_sum, exact_text
from teams.models import User
from usage import services
from usage.models import Import, Record, Source

SAMPLES = Path(__file__).parent / "samples"


def deliver(file: Path | bytes | str, *, source: str = "bill", name: str = "", **settings: Any) -> dict[str, Any]:
    """Import a file into a source, which is made if it is not there; answers what the import answered."""
    drop_temporary_tables()
    found = Source.objects.filter(slug=source).first() or services.open_source(by=None, slug=source)
    content = file if isinstance(file, bytes) else file.encode() if isinstance(file, str) else file.read_bytes()
    format_slug = settings.pop("format", "")
    delivery = services.receive_file(
        source=found,
        by=None,
        name=name or (file.name if isinstance(file, Path) else "bill.csv"),
        stream=io.BytesIO(content),
        format=format_slug,
        settings=settings,
    )
    return services.run_import(delivery.pk)


def confirm(import_id: int, *, by: User, reason: str) -> dict[str, Any]:
    """Say yes to a delivery that waits, and run it."""
    drop_temporary_tables()
    services.confirm_import(Import.objects.get(pk=import_id), by=by, reason=reason)
    return services.run_import(import_id)


def drop_temporary_tables() -> None:
    """Inside a test two imports share one transaction, whose end would drop the first one's tables."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relpersistence = 't' AND relkind = 'r'")
        for (name,) in cursor.fetchall():
            cursor.execute(f"DROP TABLE IF EXISTS pg_temp.{name}")


def records(source: str = "bill") -> list[Record]:
    """The live records of a source in the order of the file, each with its key set and meter."""
    rows = Record.objects.filter(scope__source__slug=source, known_until__isnull=True)
    return list(rows.select_related("key_set__meter").order_by("line", "id"))


def total(rows: list[Record], column: str) -> str:
    """The exact sum of a column; what is not known counts as nothing."""
    return exact_text(exact_sum([getattr(row, column) or Decimal(0) for row in rows]))


def amount(number: Decimal | None) -> str | None:
    """A number of a record as plain text."""
    return None if number is None else exact_text(number)


def sums_by(rows: list[Record], what: Any, column: str = "billed") -> dict[str, tuple[int, str]]:
    """Rows and exact sum for every value of `what(row)`."""
    groups: dict[str, list[Record]] = {}
    for row in rows:
        groups.setdefault(what(row), []).append(row)
    return {value: (len(group), total(group, column)) for value, group in groups.items()}


def by_service(rows: list[Record]) -> dict[str, str]:
    return {name: amount for name, (_rows, amount) in sums_by(rows, lambda row: row.key_set.meter.service).items()}


def days(rows: list[Record]) -> str:
    """Rows per UTC day of their start, as the checks write them."""
    counts = Counter(f"{row.usage_start.astimezone(UTC):%Y-%m-%d}" for row in rows)
    return ", ".join(f"{day}:{count}" for day, count in sorted(counts.items()))


def table(*rows: dict[str, Any]) -> str:
    """Rows as CSV under the columns of all of them."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
