"""A moment at which nothing changes what is known of usage, so that books can be closed."""

from __future__ import annotations

from datetime import datetime

from django.db import connection

from .allocation import LOCK_OF_RULES
from .models import Source
from .pipeline.swap import known_now, lock_source


def stand_still() -> datetime:
    """Imports and rules wait until the end of the transaction. Answers the moment: what is known at it is what is
    visible now. Locks in the order in which an import takes them: its source, then the rules."""
    for source_id in Source.objects.order_by("pk").values_list("pk", flat=True):
        lock_source(source_id)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, 0)", [LOCK_OF_RULES])
    return known_now()
