"""Signing in to the API with a bearer token."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from teams.models import ApiToken, User

NOTED_AGAIN_AFTER = timedelta(minutes=1)
"""A scheduler that asks many times a second does not wait for itself to note each of them."""


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer hr_…`: a token that is known, not expired, of an active person."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        scheme, _space, secret = get_authorization_header(request).decode("latin-1").partition(" ")
        if scheme.lower() != "bearer":
            return None
        token = (
            ApiToken.objects.select_related("user")
            .prefetch_related("user__memberships")
            .filter(digest=ApiToken.digest_of(secret.strip()))
            .first()
        )
        now = timezone.now()
        if token is None or token.expires_at <= now or not token.user.is_active:
            raise AuthenticationFailed(_("This token is not known, has expired or was revoked."))
        if token.last_used_at is None or now - token.last_used_at >= NOTED_AGAIN_AFTER:
            ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class BearerScheme(OpenApiAuthenticationExtension):
    """How the OpenAPI document tells of the token."""

    target_class = BearerAuthentication
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}
