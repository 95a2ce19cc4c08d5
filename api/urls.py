"""Addresses below /api/v1/."""

from __future__ import annotations

from django.urls import path
from drf_spectacular.views import SpectacularAPIView
from rest_framework.permissions import AllowAny

from api import (
    assets,
    bookings,
    budgets,
    closing,
    estimates,
    feeds,
    guards,
    imports,
    opening,
    prices,
    projects,
    proposals,
    rules,
    runs,
    sources,
    tokens,
    usage,
)

urlpatterns = [
    path("schema/", SpectacularAPIView.as_view(permission_classes=[AllowAny]), name="api-schema"),
    *tokens.urlpatterns,
    *estimates.urlpatterns,
    *projects.urlpatterns,
    *proposals.urlpatterns,
    *budgets.urlpatterns,
    *closing.urlpatterns,
    *guards.urlpatterns,
    *sources.urlpatterns,
    *imports.urlpatterns,
    *usage.urlpatterns,
    *rules.urlpatterns,
    *feeds.urlpatterns,
    *runs.urlpatterns,
    *bookings.urlpatterns,
    *opening.urlpatterns,
    *assets.urlpatterns,
    *prices.urlpatterns,
]
