"""Timed work of the organisation."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from . import outbox


@shared_task
def deliver_outbox() -> None:
    outbox.deliver_due(timezone.now())


@shared_task
def deliver_webhooks() -> None:
    outbox.deliver_due_webhooks(timezone.now())
