"""The clock opens a retrospective for every overrun."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from . import services


@shared_task
def open_for_overruns() -> None:
    services.open_for_overruns(now=timezone.now())
