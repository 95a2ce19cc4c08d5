"""Timed work of the organisation."""

from __future__ import annotations

from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from . import outbox
from .models import KeptAnswer

KEPT_DAYS = 7
"""So long a write of the API may be sent again under its key."""


@shared_task
def deliver_outbox() -> None:
    outbox.deliver_due(timezone.now())


@shared_task
def deliver_webhooks() -> None:
    outbox.deliver_due_webhooks(timezone.now())


@shared_task
def forget_answers() -> None:
    KeptAnswer.objects.filter(made_at__lt=timezone.now() - timedelta(days=KEPT_DAYS)).delete()
