"""What an endpoint gets when its caller has signed in."""

from __future__ import annotations

from rest_framework.request import Request

from teams.models import User


class SignedInRequest(Request):
    """A request behind IsAuthenticated: the user is a person or a machine account. For annotations only."""

    user: User
