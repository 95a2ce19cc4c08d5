"""Judging lines, and the pages that show them, in an organisation of 2,000 projects and 20,000 lines whose rollup is as
large as that of ten million usage rows. Everything happens in a test database that is removed afterwards."""

from __future__ import annotations

import os
import statistics
import time
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.db import connection  # noqa: E402
from django.http import HttpResponse  # noqa: E402
from django.test import Client  # noqa: E402
from django.utils import timezone  # noqa: E402

from bench.estimates import test_database  # noqa: E402
from bench.table import Measure  # noqa: E402
from budgets.models import BudgetLine, Entry, Threshold  # noqa: E402
from config.collector import settle  # noqa: E402
from overruns import services  # noqa: E402
from overruns.judge import ZERO, Figures, Watched, judge  # noqa: E402
from teams import services as team_services  # noqa: E402
from teams.models import Membership, Notification, Organisation, Project, Role, Team, User  # noqa: E402
from usage.models import Meter, Source  # noqa: E402

TITLE = "Judging 20,000 lines"
PROJECTS, DAYS = 2_000, 34
CATEGORIES = ("compute", "data", "storage", "network", "people_platform")
LINES_ALONE = 20_000
NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)
MUCH, LITTLE = 950, 10
"""Cost of a line in all: past its warning line of 800, or far from it."""


def measure() -> list[Measure]:
    settle()  # as web and worker do when they start
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
        pure = seconds(judge_alone)
        client = Client()
        client.force_login(manager)
        project_page = p95(lambda number: client.get(f"/projects/p-{number}/"), 60)
        home = p95(lambda number: client.get("/"), 60)
        listed = p95(lambda number: client.get(f"/projects/?page={number}"), 60)
        starting = p95(job_scheduler(manager), 100)
    return [
        Measure("500 lines touched, nothing reached", "s", 2, 0.5, quiet),
        Measure("500 lines to the last notification row", "s", 2, 0.5, told, beside=f"{notified} notifications"),
        Measure("judge alone, facts at hand", "lines/s", 5_000, 20_000, LINES_ALONE / pure, "higher"),
        Measure("lines judged and written", "lines/s", 1_111, 3_333, len(ids) / everything, "higher"),
        Measure("100,000 thresholds", "s", 30, 10, everything / (len(ids) * 3) * 100_000),
        Measure("cost per line, 5,000 against 20,000", "×", 1.5, 1.1, (again / 5_000) / (everything / len(ids))),
        Measure("project page, p95", "ms", 100, 50, project_page * 1000),
        Measure("home page, p95", "ms", 100, 50, home * 1000),
        Measure("list of projects, p95", "ms", 100, 50, listed * 1000),
        Measure("can this job start, p95", "ms", 50, 15, starting * 1000),
    ]


def seconds(act) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def p95(ask: Callable[[int], HttpResponse], times: int) -> float:
    """The 95th percentile of so many answers, after two that warm up."""
    for number in (1, 2):
        assert ask(number).status_code == 200
    return statistics.quantiles([seconds(lambda n=n: ask(n)) for n in range(1, times + 1)], n=20)[-1]


def judge_alone() -> None:
    """The pure part: three thresholds of each line against figures that are at hand."""
    watched = [
        Watched(1, "actual", Decimal("0.8")),
        Watched(2, "actual", Decimal(1)),
        Watched(3, "forecast", Decimal(1)),
    ]
    for number in range(LINES_ALONE):
        figures = Figures(Decimal(1000), Decimal(number % 1200), ZERO, {"p50": Decimal(900)})
        judge(watched, figures, {}, NOW.date())


def job_scheduler(manager: User) -> Callable[[int], HttpResponse]:
    """Asks over the API as a scheduler does, with a token, a hold tied to each job."""
    _token, secret = team_services.issue_token(by=manager, now=timezone.now(), name="bench")
    client = Client(headers={"Authorization": f"Bearer {secret}"})

    def ask(number: int) -> HttpResponse:
        job = {"project": f"p-{number}", "job": str(number), "amount": "1", "hold": True}
        return client.post("/api/v1/can-start/", job, content_type="application/json")

    return ask


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
    """Lines, grants and thresholds; the rollup, written by the database itself."""
    lines = BudgetLine.objects.bulk_create(
        (
            BudgetLine(
                project=project,
                category=category,
                period_kind="year",
                start=date(year, 1, 1),
                end=date(year + 1, 1, 1),
                currency="USD",
                basis="effective",
                charge_categories=["Usage"],
            )
            for project in Project.objects.order_by("pk")
            for category in CATEGORIES
            for year in (2025, 2026)
        ),
        batch_size=2_000,
    )
    granted = datetime(2026, 1, 1, tzinfo=UTC)
    Entry.objects.bulk_create(
        (Entry(line=line, kind=Entry.Kind.GRANT, amount=1000, at=granted, reason="bench") for line in lines),
        batch_size=2_000,
    )
    Threshold.objects.bulk_create(
        (
            Threshold(line=line, basis=basis, share=Decimal(share), quantile=quantile)
            for line in lines
            for basis, share, quantile in (("actual", "0.8", ""), ("actual", "1", ""), ("forecast", "1", "p50"))
        ),
        batch_size=2_000,
    )
    source = Source.objects.create(slug="bench", name="Bench", format="focus", money="own", meaning="statement")
    meter = Meter.objects.create(source=source, digest=uuid.uuid4(), charge_category="Usage")
    with connection.cursor() as cursor:
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
            {"meter": meter.pk, "days": DAYS, "much": MUCH, "little": LITTLE},
        )
        cursor.execute("ANALYZE")
