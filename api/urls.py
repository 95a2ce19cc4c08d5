"""Addresses below /api/v1/."""

from __future__ import annotations

from django.urls import path
from drf_spectacular.views import SpectacularAPIView
from rest_framework.permissions import AllowAny

from api import (
    assets,
    baselines,
    bookings,
    budgets,
    capacity,
    closing,
    corrections,
    estimates,
    feeds,
    guards,
    imports,
    opening,
    periods,
    prices,
    projects,
    proposals,
    reassignments,
    recurring,
    restatements,
    rules,
    runs,
    sources,
    statements,
    thresholds,
    tokens,
    usage,
)

urlpatterns = [
    path("schema/", SpectacularAPIView.as_view(permission_classes=[AllowAny]), name="api-schema"),
    *tokens.urlpatterns,
    *estimates.urlpatterns,
    *baselines.urlpatterns,
    *projects.urlpatterns,
    *proposals.urlpatterns,
    *budgets.urlpatterns,
    *capacity.urlpatterns,
    *thresholds.urlpatterns,
    *closing.urlpatterns,
    *guards.urlpatterns,
    *sources.urlpatterns,
    *periods.urlpatterns,
    *imports.urlpatterns,
    *corrections.urlpatterns,
    *usage.urlpatterns,
    *restatements.urlpatterns,
    *statements.urlpatterns,
    *rules.urlpatterns,
    *reassignments.urlpatterns,
    *feeds.urlpatterns,
    *runs.urlpatterns,
    *bookings.urlpatterns,
    *opening.urlpatterns,
    *recurring.urlpatterns,
    *assets.urlpatterns,
    *prices.urlpatterns,
]
