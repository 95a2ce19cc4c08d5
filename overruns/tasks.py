"""Work of the worker and of the clock: imports, and judging what they touched."""

from __future__ import annotations

from functools import partial

from celery import shared_task
from django.db import transaction
from django.utils import timezone

from budgets.models import BudgetLine
from usage import periods, rerating, silence
from usage import services as usage
from usage.bookings import recurring
from usage.clusters import idle
from usage.feeds import services as feeds
from usage.rules import split_again

from . import services
from .abnormal import watch_growth
from .audit import run_audit
from .guards import judge_guards
from .interruptions import watch_interruptions
from .models import Guard
from .silence import watch_lines
from .unheard import watch_listeners

TAKE_UP_SECONDS = 60
"""A message that no worker took in this time is dropped; the clock has sent others since."""


@shared_task
def import_then_judge(import_id: int) -> None:
    """Run an import; then, in a transaction of its own, judge the lines it touched."""
    usage.run_import(import_id)
    services.judge_touched(now=timezone.now())


@shared_task
def judge_touched() -> None:
    services.judge_touched(now=timezone.now())


@shared_task
def draft_recurring_costs() -> None:
    """Draft the months of recurring costs that have begun, and reckon those that wait at the prices of now."""
    recurring.draft_months(now=timezone.now())


@shared_task
def derive_idle_hours() -> None:
    """What nobody held of clusters: as statements where it bears money, else in the split of the bill."""
    split_again()
    if idle.queue_statements(now=timezone.now()):
        take_up_imports()


@shared_task
def judge_open_lines() -> None:
    """Every open line once: forecasts move, and muted flags wake, with the calendar alone."""
    services.judge_lines(BudgetLine.objects.open().values_list("pk", flat=True), now=timezone.now())


@shared_task
def judge_all_guards() -> None:
    """Every guard once: runs report their efficiency without an import."""
    judge_guards(Guard.objects.active().values_list("pk", flat=True), now=timezone.now())


@shared_task
def audit_everything() -> None:
    """Once a night: every figure worked out by another way."""
    run_audit(now=timezone.now())


@shared_task
def watch_for_growth() -> None:
    watch_growth(now=timezone.now())


@shared_task
def watch_for_interruptions() -> None:
    watch_interruptions(now=timezone.now())


@shared_task
def take_up_imports() -> None:
    """Start the imports that wait, or whose worker was lost; one that somebody has already is left to them.

    What a new price makes outdated is among them.
    """
    rerating.queue_outdated(now=timezone.now())
    periods.finalise_due(now=timezone.now())
    for import_id in usage.imports_to_take_up(timezone.now()):
        import_then_judge.apply_async((import_id,), expires=TAKE_UP_SECONDS)


@shared_task
def look_where_due() -> None:
    """Look where sources deliver by themselves; what is found is taken up as any other import."""
    if feeds.look_where_due(timezone.now()):
        take_up_imports()


@shared_task
def watch_silence() -> None:
    """Notice sources and lines without data, and tell people once."""
    silence.watch_sources(now=timezone.now())
    watch_lines(now=timezone.now())
    watch_listeners(now=timezone.now())


def import_soon(import_id: int) -> None:
    """Ask a worker for an import when the transaction is through. The clock asks anyway, a little later."""
    transaction.on_commit(partial(import_then_judge.delay, import_id), robust=True)


def judge_soon() -> None:
    """Ask a worker to judge what was touched when the transaction is through."""
    transaction.on_commit(judge_touched.delay, robust=True)


def derive_soon() -> None:
    """Ask a worker for idle hours when the transaction is through."""
    transaction.on_commit(derive_idle_hours.delay, robust=True)
