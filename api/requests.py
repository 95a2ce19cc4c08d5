"""What an endpoint gets when its caller has signed in, and the reason that many acts ask for."""

from __future__ import annotations

from rest_framework import serializers
from rest_framework.request import Request

from teams.models import User


class SignedInRequest(Request):
    """A request behind IsAuthenticated: the user is a person or a machine account. For annotations only."""

    user: User


class ReasonSerializer(serializers.Serializer):
    """Why somebody does it; kept with what was done. Without one the act is refused."""

    reason = serializers.CharField(required=False, allow_blank=True, default="")


def reason_of(request: SignedInRequest) -> str:
    form = ReasonSerializer(data=request.data)
    form.is_valid(raise_exception=True)
    return form.validated_data["reason"]
