"""Timed work on proposals and assets."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from .services import assets, escalation


@shared_task
def escalate_late_steps() -> None:
    escalation.escalate_late_steps(now=timezone.now())


@shared_task
def charge_assets() -> None:
    assets.charge_due(now=timezone.now())
