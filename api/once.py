"""Writes that may be sent again: under the same `Idempotency-Key` the same request is answered and nothing is done."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder

from api.requests import SignedInRequest
from core.errors import DomainError, Fault
from teams.models import KeptAnswer

MOST = 120
"""Characters of a key."""
KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description=_("The same request under the same key, within seven days, gets the first answer again."),
)

Post = Callable[..., Response]


def once(post: Post) -> Post:
    """Keep what a `post` answers under the key of the request. A refusal is not kept: mended, it is tried again.

    Two at the same time: the second waits for the first, at the unique key.
    """

    @wraps(post)
    def answered(view: Any, request: SignedInRequest, *args: Any, **named: Any) -> Response:
        key = request.headers.get("Idempotency-Key", "")
        if not key:
            return post(view, request, *args, **named)
        check_key(key)
        said = digest_of(request)
        with transaction.atomic():
            kept, is_new = KeptAnswer.objects.get_or_create(user=request.user, key=key, defaults={"request": said})
            if not is_new:
                return answer_again(kept, said)
            answer = post(view, request, *args, **named)
            kept.status, kept.body = answer.status_code, json.loads(json.dumps(answer.data, cls=JSONEncoder))
            kept.save(update_fields=["status", "body"])
        return answer

    return answered


def check_key(key: str) -> None:
    if len(key) > MOST:
        message = _("The idempotency key is too long.")
        raise DomainError(message, faults=[Fault("Idempotency-Key", key[:MOST], message, f"≤ {MOST}")])


def digest_of(request: SignedInRequest) -> str:
    body = json.dumps(request.data, sort_keys=True, default=str)
    return hashlib.sha256(f"{request.method} {request.get_full_path()} {body}".encode()).hexdigest()


def answer_again(kept: KeptAnswer, said: str) -> Response:
    """The answer of the first request; another request under the same key is a mistake."""
    if kept.request != said:
        message = _("This key came with another request before.")
        raise DomainError(message, code="key_used", faults=[Fault("Idempotency-Key", kept.key, message)])
    return Response(kept.body, status=kept.status)
