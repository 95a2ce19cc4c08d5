"""Addresses: pages, the API, the admin panel, health."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from config.health import health
from web.account import admin_login

urlpatterns = [
    path("healthz", health, name="health"),
    path("admin/login/", admin_login),
    path("admin/", admin.site.urls),
    path("api/v1/", include("api.urls")),
    path("", include("web.urls")),
]
