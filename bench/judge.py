"""Judging lines, and the pages that show them, in an organisation of 2,000 projects and 20,000 lines whose rollup is as
large as that of ten million usage rows. Everything happens in a test database that is removed afterwards."""

from __future__ import annotations

import os
import statistics
import time
from datetime import UTC, datetime

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402

from bench.estimates import test_database  # noqa: E402
from bench.table import Measure  # noqa: E402
from budgets.models import BudgetLine  # noqa: E402
from overruns import services  # noqa: E402
from teams.models import Membership, Notification, Organisation, Project, Role, Team, User  # noqa: E402

TITLE = "Judging 20,000 lines"
PROJECTS, CATEGORIES, DAYS = 2_000, 10, 34
NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)
MUCH, LITTLE = 950, 10
"""Cost of a line in all: past its warning line of 800, or far from it."""


def measure() -> list[Measure]:
    with test_database():
        manager = people()
        fill()
        ids = list(BudgetLine.objects.order_by("pk").values_list("pk", flat=True))
        calm = [pk for pk in ids if pk % 40 != 1]
        loud = [pk for pk in ids if pk % 40 == 1][:500]
        quiet = seconds(lambda: services.judge_lines(calm[:500], now=NOW))
        told = seconds(lambda: services.judge_lines(loud, now=NOW))
        notified = Notification.objects.count()
        everything = seconds(lambda: services.judge_lines(ids, now=NOW))
        again = seconds(lambda: services.judge_lines(ids[:5_000], now=NOW))
        client = Client()
        client.force_login(manager)
        project_page = p95(client, [f"/projects/p-{number}/" for number in range(1, 61)])
        home = p95(client, ["/"] * 30)
        listed = p95(client, [f"/projects/?page={number}" for number in range(1, 31)])
    return [
        Measure("500 lines touched, nothing reached", "s", 2, 0.5, quiet),
        Measure("500 lines to the last notification row", "s", 2, 0.5, told, beside=f"{notified} notifications"),
        Measure("lines judged per second", "lines/s", 5_000, 20_000, len(ids) / everything, "higher"),
        Measure("100,000 thresholds", "s", 30, 10, everything / (len(ids) * 3) * 100_000),
        Measure("cost per line, 5,000 against 20,000", "×", 1.5, 1.1, (again / 5_000) / (everything / len(ids))),
        Measure("project page, p95", "ms", 100, 50, project_page * 1000),
        Measure("home page, p95", "ms", 100, 50, home * 1000),
        Measure("list of projects, p95", "ms", 100, 50, listed * 1000),
    ]


def seconds(act) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def p95(client: Client, addresses: list[str]) -> float:
    """The 95th percentile of answering these addresses, after two that warm up."""
    for address in addresses[:2]:
        assert client.get(address).status_code == 200, address
    return statistics.quantiles([seconds(lambda address=address: client.get(address)) for address in addresses], n=20)[
        -1
    ]


def people() -> User:
    Organisation.current()
    team = Team.objects.create(name="Bench", slug="bench")
    manager = User.objects.create_user("manager@example.com", "bench", name="Manager")
    Membership.objects.create(user=manager, team=team, role=Role.MANAGER)
    for name, role, of_team in (("alice", Role.MEMBER, team), ("finance", Role.FINANCE, None)):
        user = User.objects.create_user(f"{name}@example.com", "bench", name=name.title())
        Membership.objects.create(user=user, team=of_team, role=role)
    Project.objects.bulk_create(
        Project(team=team, name=f"P {number}", slug=f"p-{number}", currency="USD", task_type="pretrain")
        for number in range(1, PROJECTS + 1)
    )
    return manager


def fill() -> None:
    """Lines, grants, thresholds and the rollup, written by the database itself."""
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO budgets_budgetline (project_id, category, task_type, period_kind, start, "end", currency,
                   basis, charge_categories, consumes_open_commitments, freezes_at_limit)
               SELECT p.id, c.category, '', 'year', date '2026-01-01' + year * interval '1 year',
                      date '2027-01-01' + year * interval '1 year', 'USD', 'effective', '{Usage}', true, false
               FROM teams_project p,
                    unnest(ARRAY['compute', 'data', 'storage', 'network', 'people_platform']) AS c(category),
                    generate_series(-1, 0) AS year"""
        )
        cursor.execute(
            """INSERT INTO budgets_entry (line_id, kind, amount, at, reason)
               SELECT id, 'grant', 1000, '2026-01-01', 'bench' FROM budgets_budgetline"""
        )
        cursor.execute(
            """INSERT INTO budgets_threshold (line_id, basis, share, quantile, active)
               SELECT l.id, t.basis, t.share, t.quantile, true FROM budgets_budgetline l,
               (VALUES ('actual', 0.8, ''), ('actual', 1.0, ''), ('forecast', 1.0, 'p50'))
                   AS t(basis, share, quantile)"""
        )
        cursor.execute(
            """INSERT INTO usage_source (slug, name, format, money, meaning, settings, changes, created_at)
               VALUES ('bench', 'Bench', 'focus', 'own', 'statement', '{}', 0, now()) RETURNING id"""
        )
        (source,) = cursor.fetchone()
        cursor.execute(
            """INSERT INTO usage_meter (source_id, digest, provider, payer, account, account_name, service, sku, region,
                   accelerator, state, charge_category, unit)
               VALUES (%s, gen_random_uuid(), '', '', '', '', '', '', '', '', '', 'Usage', '') RETURNING id""",
            [source],
        )
        (meter,) = cursor.fetchone()
        cursor.execute(
            """INSERT INTO usage_dailyusage (meter_id, day, billing_month, currency, project_id, is_shared, category,
                   task_type, stage, reference, rows, billed, effective, list_cost, contracted, quantity,
                   accelerator_hours, cpu_core_hours, is_tagged)
               SELECT %(meter)s, l."end" - 33 - day, date_trunc('month', l."end" - 33 - day), 'USD',
                      l.project_id, false, l.category, '', '', '', 15, cost, cost, 0, 0, 0, 0, 0, false
               FROM budgets_budgetline l, generate_series(1, %(days)s) AS day,
                    LATERAL (SELECT CASE WHEN l.id %% 40 = 1 THEN %(much)s ELSE %(little)s END::numeric
                                    / %(days)s AS cost) AS a_day
            """,
            {"meter": meter, "days": DAYS, "much": MUCH, "little": LITTLE},
        )
        cursor.execute("ANALYZE")
