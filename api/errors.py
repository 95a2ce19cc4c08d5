"""Refusals of the domain as answers of the API."""

from __future__ import annotations

from typing import Any

from rest_framework.response import Response
from rest_framework.views import exception_handler

from core.errors import DomainError, NotAllowed


def answer_error(error: Exception, context: dict[str, Any]) -> Response | None:
    """A broken rule answers 422, what the person may not do 403; both with `errors`, each with path, value, message and
    what is accepted."""
    if isinstance(error, DomainError):
        faults = [fault.as_dict() for fault in error.faults]
        plain = {"path": "", "value": None, "message": error.message, "accepted": ""}
        status = 403 if isinstance(error, NotAllowed) else 422
        return Response({"code": error.code, "message": error.message, "errors": faults or [plain]}, status=status)
    return exception_handler(error, context)
