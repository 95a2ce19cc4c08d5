"""Tokens: e-mail and password in, key out."""

from __future__ import annotations

from django.contrib.auth import authenticate
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import SimpleRateThrottle
from rest_framework.views import APIView

from teams import services


class AddressThrottle(SimpleRateThrottle):
    """So many attempts from one address."""

    scope = "token"

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        return self.cache_format % {"scope": "token-address", "ident": self.get_ident(request)}


class AccountThrottle(SimpleRateThrottle):
    """So many attempts on one account, from wherever."""

    scope = "token"

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        email = str(request.data.get("email", "")).lower() if isinstance(request.data, dict) else ""
        return self.cache_format % {"scope": "token-account", "ident": email}


class TokenRequest(serializers.Serializer):
    email = serializers.EmailField()
    password = serializers.CharField(trim_whitespace=False)
    name = serializers.CharField(required=False, default="", max_length=80)
    scopes = serializers.ListField(child=serializers.CharField(), required=False)


class TokenAnswer(serializers.Serializer):
    token = serializers.CharField()
    expires_at = serializers.DateTimeField()
    scopes = serializers.ListField(child=serializers.CharField())


class TokenView(APIView):
    """Exchange e-mail and password for a bearer token of 30 days."""

    authentication_classes: list = []
    permission_classes = [AllowAny]
    throttle_classes = [AddressThrottle, AccountThrottle]

    @extend_schema(request=TokenRequest, responses={200: TokenAnswer})
    def post(self, request: Request) -> Response:
        form = TokenRequest(data=request.data)
        form.is_valid(raise_exception=True)
        asked = form.validated_data
        user = authenticate(request, username=asked["email"].lower(), password=asked["password"])
        if user is None:
            return Response({"code": "wrong", "message": _("E-mail or password is wrong."), "errors": []}, status=401)
        scopes = tuple(asked.get("scopes") or services.SCOPES)
        token, secret = services.issue_token(by=user, now=timezone.now(), name=asked["name"], scopes=scopes)
        return Response({"token": secret, "expires_at": token.expires_at, "scopes": token.scopes})


urlpatterns = [path("token/", TokenView.as_view(), name="api-token")]
