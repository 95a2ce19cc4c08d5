"""What the page of an import tells while it is read, and that it can be stopped until it is written."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction
from django.urls import reverse

from core.errors import DomainError
from tests.usage import factories
from tests.usage.factories import deliver, focus
from usage import services
from usage.models import Import
from usage.pipeline.work import LEASE
from web.imports import duration_text, progress_of

NOW = datetime(2026, 3, 6, 8, 0, tzinfo=UTC)


@pytest.fixture
def running(stage, kept_files) -> Import:
    found = deliver(factories.source(), focus({}))
    Import.objects.filter(pk=found["import"]).update(
        status="running", phase="reading", started_at=NOW, size=100_000_000, bytes_read=25_000_000, rows_read=50_000
    )
    return Import.objects.get(pk=found["import"])


@pytest.mark.django_db
def test_rate_and_time_left_follow_from_what_was_read(running):
    told = progress_of(running, NOW + timedelta(seconds=10))

    assert (told["share"], told["rows_a_second"], told["left"]) == (25, 5000, "30 s")


@pytest.mark.django_db
def test_no_rate_is_told_of_the_one_step_that_has_no_parts(running):
    running.phase = "comparing"

    told = progress_of(running, NOW + timedelta(seconds=10))

    assert (told["rows_a_second"], told["left"], told["taken"]) == (None, None, "10 s")


@pytest.mark.django_db
def test_a_worker_that_is_not_heard_of_is_told(running):
    running.lease_until = NOW + LEASE

    heard, unheard = (progress_of(running, NOW + timedelta(seconds=seconds))["unheard"] for seconds in (5, 20))

    assert (heard, unheard) == (None, "20 s")


@pytest.mark.parametrize(("seconds", "text"), [(42.4, "42 s"), (99, "99 s"), (180, "3 min"), (9000, "2.5 h")])
def test_durations_are_told_as_guesses(seconds, text):
    assert duration_text(seconds) == text


@pytest.mark.django_db
def test_the_page_asks_again_by_itself_and_tells_of_stopping(running, stage, client):
    client.force_login(stage.operator)
    page = client.get(reverse("import", args=[running.pk])).content.decode()
    client.post(reverse("import-cancel", args=[running.pk]))
    stopping = client.get(reverse("import", args=[running.pk]), headers={"HX-Request": "true"}).content.decode()

    assert 'hx-trigger="every 1s"' in page and "Stop" in page
    assert "Stopping" in stopping and "button" not in stopping


@pytest.mark.django_db(transaction=True)
def test_an_import_that_is_being_written_is_not_waited_for(running, stage):
    held, done = threading.Event(), threading.Event()

    def write() -> None:
        with transaction.atomic():
            Import.objects.select_for_update(no_key=True).get(pk=running.pk)
            held.set()
            done.wait(10)
        connection.close()

    worker = threading.Thread(target=write)
    worker.start()
    held.wait(10)
    try:
        with pytest.raises(DomainError, match="being written"):
            services.cancel_import(running, by=stage.operator)
    finally:
        done.set()
        worker.join()
