"""What a page gets when its reader has signed in."""

from __future__ import annotations

from django.http import HttpRequest

from teams.models import User


class PersonRequest(HttpRequest):
    """A request behind `login_required`: the user is a person, never the anonymous one. For annotations only."""

    user: User
