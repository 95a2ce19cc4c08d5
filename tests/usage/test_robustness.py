"""Killed workers, cancelled and simultaneous imports: nothing half-visible, nothing lost."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection, connections
from django.utils import timezone

from bench import focus_file
from tests import outside
from tests.usage import factories
from tests.usage.factories import focus
from usage import queries, services
from usage.models import Import, Record
from usage.pipeline import work
from usage.reading.records import MOST_BYTES_OF_A_BATCH, RecordReader
from usage.totals import Question, usage_totals

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("kept_files")]


def queued(source, content: bytes) -> Import:
    return services.receive_file(source=source, by=None, name="bill.csv", stream=io.BytesIO(content))


def staging_tables() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_class WHERE relname ~ '^usage_(staged|unclaimed)_'")
        return cursor.fetchone()[0]


def test_a_failure_in_the_swap_leaves_the_old_picture_and_the_import_to_take_up(monkeypatch):
    source = factories.source()
    factories.deliver(source, focus({}))
    delivery = queued(source, focus({"BilledCost": "12"}))
    monkeypatch.setattr("usage.pipeline.swap.rebuild_touched", lambda _fresh: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        services.run_import(delivery.pk)

    assert usage_totals(Question())[0].totals["USD"] == 10
    assert staging_tables() == 0
    monkeypatch.undo()
    later = timezone.now() + timedelta(minutes=5)
    assert services.imports_to_take_up(later) == [delivery.pk]
    assert services.run_import(delivery.pk, now=later)["status"] == "live"
    assert usage_totals(Question())[0].totals["USD"] == 12


def test_a_fault_behind_many_good_rows_refuses_the_file():
    source = factories.source()
    content = focus(*({"ResourceId": f"r-{number}"} for number in range(5_500)))
    delivery = queued(source, content[:-40])

    outcome = services.run_import(delivery.pk)

    assert outcome["status"] == "refused"
    assert "truncated" in outcome["errors"][0]["reason"]
    assert staging_tables() == 0


def test_an_import_that_is_held_by_a_living_worker_is_not_taken_twice():
    delivery = queued(factories.source(), focus({}))
    outcomes = []

    def other() -> None:
        outcomes.append(services.claim_import(delivery.pk, now=timezone.now() + timedelta(hours=1)))
        connections.close_all()

    claimed = services.claim_import(delivery.pk, now=timezone.now())
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    work.let_go(delivery.pk)

    assert claimed is not None
    assert outcomes == [None]


def test_an_import_runs_once_however_often_it_is_asked_for():
    delivery = queued(factories.source(), focus({}))

    first, second = services.run_import(delivery.pk), services.run_import(delivery.pk)

    assert first == second
    assert Record.objects.count() == 1


def test_an_import_that_kills_its_workers_is_given_up():
    delivery = queued(factories.source(), focus({}))
    Import.objects.filter(pk=delivery.pk).update(attempts=services.MOST_ATTEMPTS)

    answer = services.run_import(delivery.pk)

    assert answer["status"] == "failed"
    assert "died" in answer["errors"][0]["reason"]


def test_a_running_import_stops_when_a_person_asks(stage, monkeypatch):
    delivery = queued(factories.source(), focus({}))
    swap = work.Work._swap

    def cancelled_in_between(self, *arguments):
        services.cancel_import(Import.objects.get(pk=delivery.pk), by=stage.operator)
        swap(self, *arguments)

    monkeypatch.setattr(work.Work, "_swap", cancelled_in_between)

    answer = services.run_import(delivery.pk)
    assert (answer["status"], answer["rows_read"], answer["rows_written"]) == ("cancelled", 1, 0)
    assert Record.objects.count() == 0
    assert staging_tables() == 0


def test_two_imports_of_one_source_come_one_after_the_other():
    source = factories.source()
    deliveries = [queued(source, focus({"ResourceId": name}, {"ResourceId": "same"})) for name in ("a", "b")]

    def run(import_id: int) -> None:
        services.run_import(import_id)
        connections.close_all()

    threads = [threading.Thread(target=run, args=(delivery.pk,)) for delivery in deliveries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert set(Import.objects.values_list("status", flat=True)) <= {"live", "stored"}
    assert usage_totals(Question())[0].totals["USD"] == 20
    assert Record.objects.filter(known_until=None).count() == 2
    assert all(each.holds for each in queries.conservation())


def test_a_worker_killed_in_the_middle_loses_nothing(tmp_path: Path, kept_files: Path):
    path = tmp_path / "big.csv"
    focus_file.write(path, 40_000)
    delivery = queued(factories.source(), path.read_bytes())
    program = f"import django; django.setup()\nfrom usage import services\nservices.run_import({delivery.pk})\n"
    worker = subprocess.Popen([sys.executable, "-c", program], env=outside.environment(kept_files))
    wait_until_staged(delivery)
    worker.send_signal(signal.SIGKILL)
    worker.wait()

    assert Record.objects.count() == 0
    later = timezone.now() + timedelta(minutes=5)
    assert services.imports_to_take_up(later) == [delivery.pk]
    answer = services.run_import(delivery.pk, now=later)

    assert (answer["status"], answer["rows_written"]) == ("live", 40_000)
    assert staging_tables() == 0
    assert all(each.holds for each in queries.conservation())


def wait_until_staged(delivery: Import) -> None:
    """Until the worker has written some staged rows."""
    for _attempt in range(600):
        with connection.cursor() as cursor:
            cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [f"usage_staged_{delivery.pk}"])
            if cursor.fetchone()[0]:
                return
        time.sleep(0.1)
    raise AssertionError("the worker never began")


def test_long_records_are_not_held_by_the_thousand():
    record = b"x" * (1 << 23)
    reader = RecordReader(io.BufferedReader(io.BytesIO((record + b"\n") * 20)))

    sizes = [sum(map(len, batch.records)) for batch in reader.batches(5_000)]

    assert sum(sizes) == 20 << 23
    assert max(sizes) <= MOST_BYTES_OF_A_BATCH + (1 << 23)
