"""What a token may be used for. A session of a signed-in person may do all that the person may."""

from __future__ import annotations

from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from teams.models import ApiToken


class HasScope(BasePermission):
    """The view names its scope as `scope`; a token must carry it."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        token = request.auth
        return not isinstance(token, ApiToken) or getattr(view, "scope", "read") in token.scopes
