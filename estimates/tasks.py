"""What workers do for estimates. Work waits as rows; a lost message loses nothing."""

from __future__ import annotations

import gc

from celery import shared_task
from django.db import transaction

from . import services

BATCH = 64
"""Drafts in one transaction: long enough to be quick, short enough that saving a price hardly waits. Twice what is
evaluated at once with 1,000 samples."""


@shared_task
def recompute_stale() -> None:
    """Compute stale drafts until none is left that nobody else has."""
    gc.freeze()
    try:
        while recompute_batch():
            pass
    finally:
        gc.unfreeze()


def recompute_batch() -> int:
    """One batch. Looking for circles among the dictionaries of its answers all the time took a sixth of the work: it is
    done once the batch is kept, without what the worker held before (`freeze`)."""
    gc.disable()
    try:
        return services.recompute_next(BATCH)
    finally:
        gc.enable()
        gc.collect()


def recompute_soon() -> None:
    """Ask a worker for it when the transaction is through. The clock asks anyway: a silent broker is only logged."""
    transaction.on_commit(recompute_stale.delay, robust=True)
