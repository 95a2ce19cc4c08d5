"""The first page."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path


@login_required
def home(request: HttpRequest) -> HttpResponse:
    return render(request, "web/home/home.html")


urlpatterns = [path("", home, name="home")]
