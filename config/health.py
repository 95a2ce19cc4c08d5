"""Is the product able to work: do database and broker answer?"""

from __future__ import annotations

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse

from overruns.models import Audit
from usage.models import Silence


def health(request: HttpRequest) -> JsonResponse:
    """200 when both answer, else 503; the body says which, how many sources are silent that should not be, and how
    many figures the last audit found to differ."""
    answers = {"database": database_answers(), "broker": broker_answers()}
    silent = Silence.objects.open().count() if answers["database"] else None
    audit = Audit.objects.values_list("count", flat=True).first() if answers["database"] else None
    return JsonResponse(
        {**answers, "silent_sources": silent, "audit_differences": audit}, status=200 if all(answers.values()) else 503
    )


def database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            return cursor.fetchone() == (1,)
    except DatabaseError:
        return False


def broker_answers() -> bool:
    try:
        return bool(broker().ping())
    except redis.RedisError:
        return False


def broker() -> redis.Redis:
    return redis.Redis.from_url(settings.CACHES["default"]["LOCATION"], socket_timeout=2, socket_connect_timeout=2)
