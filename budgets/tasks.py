"""Timed work on proposals."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from .services import escalation


@shared_task
def escalate_late_steps() -> None:
    escalation.escalate_late_steps(now=timezone.now())
