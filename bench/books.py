"""Closing and the nightly audit, in the organisation of `bench.judge`: 2,000 projects and 20,000 lines, of which the
10,000 of last year wait to be closed. The audit reads a record for each of the 680,000 days of the rollup."""

from __future__ import annotations

from datetime import timedelta

from django.db import connection
from django.test import Client
from django.utils import timezone

from bench.estimates import test_database
from bench.judge import fill, p95, people, seconds
from bench.table import Measure
from budgets.models import BudgetLine
from config.collector import settle
from overruns.audit import lasting, run_audit
from teams.models import User
from usage.models import Import, KeySet, Meter, Scope, Source
from usage.pipeline.rollup import rebuild_everything

TITLE = "The books of 20,000 lines"
FEW = 5_000


def measure() -> list[Measure]:
    settle()
    with test_database():
        people()
        fill()
        keep_records()
        client = Client()
        client.force_login(User.objects.get(email="finance@example.com"))
        closing = p95(lambda _number: client.get("/closing/"), 20)
        further = p95(lambda number: client.get(f"/closing/?month=2025-12&lines={number}"), 20)
        ids = list(BudgetLine.objects.order_by("pk").values_list("pk", flat=True))
        few = seconds(lambda: lasting(ids[:FEW], now=timezone.now()))
        many = seconds(lambda: lasting(ids, now=timezone.now()))
        whole = seconds(lambda: run_audit(now=timezone.now()))
    return [
        Measure("closing page, p95", "ms", 300, 150, closing * 1000),
        Measure("closing page with 10,000 lines that end, p95", "ms", 300, 150, further * 1000),
        Measure("audit of 20,000 lines", "s", 600, 120, whole),
        Measure("… per line, 20,000 against 5,000", "×", 1.5, 1.1, (many / len(ids)) / (few / FEW)),
    ]


def keep_records() -> None:
    """The records behind the rollup, one a day, in a key set of each project and category; and the rollup of them."""
    source, meter = Source.objects.get(), Meter.objects.get()
    before = timezone.now() - timedelta(hours=1)
    delivery = Import.objects.create(
        source=source, name="bench", size=0, status=Import.Status.LIVE, received_at=before, live_at=before
    )
    scope = Scope.objects.create(source=source, key="bench", live=delivery)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            CREATE TEMP TABLE bench_places AS
            SELECT DISTINCT project_id, category, gen_random_uuid() AS digest
            FROM (SELECT DISTINCT project_id, category FROM budgets_budgetline) AS places
            """
        )
        cursor.execute("SELECT category, digest FROM bench_places")
        key_sets = [
            KeySet(source=source, meter=meter, category=category, digest=digest)
            for category, digest in cursor.fetchall()
        ]
        KeySet.objects.bulk_create(key_sets, batch_size=2_000)
        cursor.execute(
            """
            INSERT INTO usage_placement (key_set_id, project_id, category, task_type, stage, experiment, reference,
                   starts_on, ends_on, is_shared, share, is_first, known_from)
            SELECT keys.id, place.project_id, place.category, '', '', '', '',
                   '2000-01-01', '3000-01-01', false, 1, true, %(before)s
            FROM bench_places place JOIN usage_keyset keys ON keys.digest = place.digest;
            INSERT INTO usage_record (scope_id, key_set_id, known_from_id, text_print, row_print, line, job,
                   provisional, usage_start, usage_end, billing_month, currency, billed, effective)
            SELECT %(scope)s, keys.id, %(delivery)s, gen_random_uuid(), gen_random_uuid(), 1, '',
                   false, day.day::timestamp AT TIME ZONE 'UTC', (day.day + 1)::timestamp AT TIME ZONE 'UTC',
                   day.billing_month, day.currency, day.billed, day.effective
            FROM usage_dailyusage day JOIN bench_places place USING (project_id, category)
            JOIN usage_keyset keys ON keys.digest = place.digest
            """,
            {"scope": scope.pk, "delivery": delivery.pk, "before": before},
        )
        cursor.execute("ANALYZE")
    rebuild_everything()
