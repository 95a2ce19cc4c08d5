"""Addresses of the pages."""

from __future__ import annotations

from web import (
    account,
    activity,
    api_docs,
    baselines,
    closing,
    corrections,
    home,
    mapping,
    opening,
    periods,
    plans,
    prices,
    projects,
    proposals,
    reassignments,
    retrospectives,
    runs,
    statements,
    usage,
    warnings,
)

urlpatterns = [
    *home.urlpatterns,
    *account.urlpatterns,
    *projects.urlpatterns,
    *opening.urlpatterns,
    *proposals.urlpatterns,
    *plans.urlpatterns,
    *usage.urlpatterns,
    *mapping.urlpatterns,
    *corrections.urlpatterns,
    *periods.urlpatterns,
    *statements.urlpatterns,
    *reassignments.urlpatterns,
    *runs.urlpatterns,
    *prices.urlpatterns,
    *baselines.urlpatterns,
    *warnings.urlpatterns,
    *retrospectives.urlpatterns,
    *closing.urlpatterns,
    *activity.urlpatterns,
    *api_docs.urlpatterns,
]
