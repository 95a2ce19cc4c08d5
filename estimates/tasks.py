"""What workers do for estimates. Work waits as rows; a lost message loses nothing."""

from __future__ import annotations

from celery import shared_task

from . import services

BATCH = 50
"""Drafts in one transaction: long enough to be quick, short enough that saving a price hardly waits."""


@shared_task
def recompute_stale() -> None:
    """Compute stale drafts until none is left that nobody else has."""
    while services.recompute_next(BATCH):
        pass
