"""Imports of large FOCUS files: everything on, against a bare COPY of the same file into an indexed table.

`python -m bench imports --rows N` (or HEADROOM_BENCH_ROWS) sets the size, default 1,000,000, a multiple of 100.
`--stored N` (or HEADROOM_BENCH_STORED) adds the measures of one big import, and of another beside that many stored
rows: 10000000 takes about half an hour and 15 GB. The big file is generated while it is received, so it lies on disk
once, as the kept original. Everything happens in a database and a folder that are removed afterwards.
"""

from __future__ import annotations

import csv
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.db import connection  # noqa: E402

from bench import focus_file  # noqa: E402
from bench.table import Measure  # noqa: E402
from usage.models import Record  # noqa: E402

TITLE = "Imports"
ROWS = int(os.environ.get("HEADROOM_BENCH_ROWS", "1000000"))
STORED = int(os.environ.get("HEADROOM_BENCH_STORED", "0"))
SAMPLE = 50_000
ROOT = Path(__file__).resolve().parents[1]
TYPES = {
    **dict.fromkeys((name for name in focus_file.COLUMNS if name.endswith(("Cost", "Price", "Quantity"))), "numeric"),
    **dict.fromkeys((name for name in focus_file.COLUMNS if name.endswith(("Start", "End"))), "timestamptz"),
    "Tags": "jsonb",
}


@dataclass(frozen=True)
class Run:
    """One import, in a process of its own."""

    seconds: float
    processor: float
    """Seconds of the worker's own processor."""
    megabytes: float
    written: int
    closed: int


def measure() -> list[Measure]:
    with bench_database() as environment, tempfile.TemporaryDirectory() as folder:
        return measures_of_files(Path(folder), environment) + (stored_measures(environment) if STORED else [])


def measures_of_files(files: Path, environment: dict[str, str]) -> list[Measure]:
    """A file into nothing, and delivered again; each written when it is wanted, and gone after."""
    plain, shuffled, changed = (files / f"{name}.csv" for name in ("plain", "shuffled", "changed"))
    focus_file.write(plain, ROWS)
    copied = ROWS / copy_seconds(plain)
    created = SAMPLE / bulk_create_seconds(plain)
    first = imported(plain, environment)
    focus_file.write(shuffled, ROWS, shuffled=True)
    same = imported(shuffled, environment)
    focus_file.write(changed, ROWS, shuffled=True, changed=100)
    few = imported(changed, environment)
    assert (same.written, few.written, few.closed) == (0, ROWS // 100, ROWS // 100)
    beside = f"COPY {copied:,.0f} rows/s"
    return [
        Measure("FOCUS CSV, everything on: share of COPY", "", 0.40, 0.60, ROWS / first.seconds / copied, "higher",
                f"{ROWS / first.seconds:,.0f} rows/s; {beside}"),
        Measure("… against csv + bulk_create without validation", "×", 4, 6, ROWS / first.seconds / created,
                "higher", f"{created:,.0f} rows/s"),
        Measure(f"memory of the worker, {ROWS:,} rows", "MB", 600, 200, first.megabytes),
        Measure("delivered again, other order and bytes: share of COPY", "", 1.2, 1.6,
                ROWS / same.seconds / copied, "higher", f"{ROWS / same.seconds:,.0f} rows/s"),
        Measure("… with 1 % changed", "", 0.8, 1.1, ROWS / few.seconds / copied, "higher",
                f"{ROWS / few.seconds:,.0f} rows/s, {few.written:,} written"),
        Measure("memory of the worker, delivered again", "MB", 600, 200, max(same.megabytes, few.megabytes)),
    ]  # fmt: skip


def stored_measures(environment: dict[str, str]) -> list[Measure]:
    """One big import, and a small one beside it against the same into nothing."""
    empty_tables()
    into_nothing = imported(ROWS, environment, source="alone")
    empty_tables()
    large = imported(STORED, environment, source="big")
    beside_it = imported(ROWS, environment, source="beside")
    return [
        Measure(f"memory of the worker, {STORED:,} rows", "MB", 600, 200, large.megabytes),
        Measure(f"rate of {STORED:,} rows against {ROWS:,}", "×", 0.7, 0.9,
                (STORED / large.seconds) / (ROWS / into_nothing.seconds), "higher",
                f"{STORED / large.seconds:,.0f} rows/s, {large.processor / STORED * 1e6:,.1f} µs of the worker a row"
                f" against {into_nothing.processor / ROWS * 1e6:,.1f}"),
        Measure(f"import beside {STORED:,} stored rows against empty", "×", 0.7, 0.9,
                into_nothing.seconds / beside_it.seconds, "higher"),
    ]  # fmt: skip


@contextmanager
def bench_database() -> Iterator[dict[str, str]]:
    """An empty, migrated database; the environment of a process that works on it."""
    before = connection.settings_dict["NAME"]
    connection.settings_dict["TEST"]["NAME"] = f"bench_{before}_imports"
    name = connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    known = connection.settings_dict
    with tempfile.TemporaryDirectory() as files:
        options = "&".join(f"{key}={value}" for key, value in (("host", known["HOST"]),) if value.startswith("/"))
        host = "" if known["HOST"].startswith("/") else known["HOST"]
        address = f"postgres://{known['USER']}:{known['PASSWORD']}@{host}:{known['PORT']}/{name}"
        environment = {**os.environ, "HEADROOM_FILES": files, "PYTHONPATH": str(ROOT)}
        environment["DATABASE_URL"] = address + (f"?{options}" if options else "")
        try:
            yield environment
        finally:
            connection.creation.destroy_test_db(before, verbosity=0)


def empty_tables() -> None:
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE usage_source CASCADE")
        cursor.execute("TRUNCATE usage_record")


PROGRAM = """
import json, sys, time
from pathlib import Path
import django; django.setup()
from bench import focus_file
from usage import services
from usage.models import Source
from usage.pipeline import files
what, slug = sys.argv[1:]
source = Source.objects.filter(slug=slug).first() or services.open_source(by=None, slug=slug)
stream = focus_file.Stream(int(what)) if what.isdigit() else open(what, "rb")
delivery = services.receive_file(source=source, by=None, name="bench.csv", stream=stream)
started, used = time.perf_counter(), time.process_time()
answer = services.run_import(delivery.pk)
seconds, processor = time.perf_counter() - started, time.process_time() - used
status = Path("/proc/self/status").read_text()
megabytes = int(status.partition("VmHWM:")[2].split()[0]) / 1024
assert answer["status"] in ("live", "unchanged"), answer
files.path_of(delivery.sha256).unlink()
print(json.dumps([seconds, processor, megabytes, answer["rows_written"], answer["rows_closed"]]))
"""


def imported(what: Path | int, environment: dict[str, str], source: str = "bench") -> Run:
    """Import a file, or so many generated rows, in a process of its own. Receiving is not counted, reading is.

    A file and the original that was kept of it are removed.
    """
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(what), source],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    if isinstance(what, Path):
        what.unlink()
    return Run(*json.loads(done.stdout))


def copy_seconds(path: Path) -> float:
    """COPY of the same file into a table of its 46 columns, with a key and two indexes."""
    columns = ", ".join(f'"{name}" {TYPES.get(name, "text")}' for name in focus_file.COLUMNS)
    names = ", ".join(f'"{name}"' for name in focus_file.COLUMNS)
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE bench_focus (id bigserial PRIMARY KEY, {columns})")
        cursor.execute('CREATE INDEX ON bench_focus ("ResourceId", "ChargePeriodStart")')
        cursor.execute('CREATE INDEX ON bench_focus ("BillingAccountId", "BillingPeriodStart")')
        started = time.perf_counter()
        statement = f"COPY bench_focus ({names}) FROM STDIN WITH (FORMAT csv, HEADER)"
        with path.open("rb") as file, cursor.copy(statement) as copy:
            while block := file.read(1 << 20):
                copy.write(block)
        seconds = time.perf_counter() - started
        cursor.execute("DROP TABLE bench_focus")
    return seconds


def bulk_create_seconds(path: Path) -> float:
    """What most programs do: csv.DictReader and bulk_create, nothing validated, nothing rolled up."""
    with path.open(newline="", encoding="utf-8") as file:
        started = time.perf_counter()
        rows = itertools.islice(csv.DictReader(file), SAMPLE)
        while batch := [as_record(row) for row in itertools.islice(rows, 5_000)]:
            Record.objects.bulk_create(batch)
        seconds = time.perf_counter() - started
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE usage_record")
    return seconds


def as_record(row: dict[str, str]) -> Record:
    return Record(
        scope_id=1,
        key_set_id=1,
        known_from_id=1,
        text_print=UUID(int=1),
        row_print=UUID(int=1),
        line=1,
        usage_start=datetime.fromisoformat(row["ChargePeriodStart"]).astimezone(UTC),
        usage_end=datetime.fromisoformat(row["ChargePeriodEnd"]).astimezone(UTC),
        billing_month=date.fromisoformat(row["BillingPeriodStart"][:10]),
        currency=row["BillingCurrency"],
        billed=Decimal(row["BilledCost"]),
        effective=Decimal(row["EffectiveCost"]),
        list_cost=Decimal(row["ListCost"]),
        contracted=Decimal(row["ContractedCost"]),
        quantity=Decimal(row["ConsumedQuantity"]),
        extra={name: value for name, value in row.items() if value},
    )
