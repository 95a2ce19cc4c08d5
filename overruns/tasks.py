"""Work of the worker and of the clock: imports, and judging what they touched."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from budgets.models import BudgetLine
from usage import services as usage

from . import services

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
def judge_open_lines() -> None:
    """Every open line once: forecasts move, and muted flags wake, with the calendar alone."""
    services.judge_lines(BudgetLine.objects.open().values_list("pk", flat=True), now=timezone.now())


@shared_task
def take_up_imports() -> None:
    """Start the imports that wait, or whose worker was lost; one that somebody has already is left to them."""
    for import_id in usage.imports_to_take_up(timezone.now()):
        import_then_judge.apply_async((import_id,), expires=TAKE_UP_SECONDS)
