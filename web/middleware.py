"""The signed-in person's language and roles, and the organisation's clock, for the length of a request."""

from __future__ import annotations

from collections.abc import Callable

from django.db.models import prefetch_related_objects
from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation

from teams.models import Organisation


class PersonMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.user.is_authenticated:
            return self.get_response(request)
        translation.activate(request.user.language)
        request.LANGUAGE_CODE = translation.get_language()
        prefetch_related_objects([request.user], "memberships")
        with Organisation.kept() as organisation, timezone.override(organisation.zone):
            return self.get_response(request)
