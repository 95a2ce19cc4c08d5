"""What happened, what one is told, and what the API offers."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path


@login_required
def activity(request: HttpRequest) -> HttpResponse:
    return render(request, "web/activity/activity.html")


@login_required
def notifications(request: HttpRequest) -> HttpResponse:
    return render(request, "web/notifications/notifications.html")


@login_required
def api_docs(request: HttpRequest) -> HttpResponse:
    return render(request, "web/activity/api_docs.html")


urlpatterns = [
    path("activity/", activity, name="activity"),
    path("notifications/", notifications, name="notifications"),
    path("api/docs/", api_docs, name="api-docs"),
]
