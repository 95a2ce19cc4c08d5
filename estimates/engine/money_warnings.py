"""Warnings about prices, sources, own hardware and services."""

from __future__ import annotations

from estimates.engine.case import Case
from estimates.engine.findings import Finding, number, percent
from estimates.engine.sampling import Range, quantile

MANY_CARDS = 64.0
OLD_DAYS = 365
HOURS_PER_YEAR = 8766.0
REFRESH_YEARS = 5.0
PEAKED = 1.5


def single_supplier(case: Case) -> Finding | None:
    sources = {(row.get("provider"), row.get("accelerator")) for row in case.plan.rows("compute.pools")}
    count = case.median("accelerator_count")
    alone = len(sources) < 2 and not case.plan.text("compute.second_source")
    return number(count) if alone and count >= MANY_CARDS else None


def no_lead_time(case: Case) -> Finding | None:
    count = case.median("accelerator_count")
    return number(count) if count >= MANY_CARDS and case.plan.number("compute.lead_time_days") is None else None


def price_old(case: Case) -> Finding | None:
    rows = [use.row for found in case.context.uses.values() for use in found if use.row is not None]
    oldest = max(((case.context.prices_on - row.valid_from).days for row in rows), default=0)
    return number(oldest, digits=6) if oldest > OLD_DAYS else None


def price_missing(case: Case) -> Finding | None:
    missing = [use for found in case.context.uses.values() for use in found if use.row is None]
    return number(len(missing)) if missing else None


def price_unverified(case: Case) -> Finding | None:
    rows = [use.row for found in case.context.uses.values() for use in found if use.row is not None]
    doubtful = {row.id for row in rows if not row.verified}
    return number(len(doubtful)) if doubtful else None


def past_refresh(case: Case) -> Finding | None:
    years = case.median("own_life_hours") / HOURS_PER_YEAR if case.has("depreciation_rate") else 0.0
    return number(years) if years > REFRESH_YEARS + 1e-9 else None


def peak_held_all_day(case: Case) -> Finding | None:
    held = case.plan.task == "inference" and not case.plan.flag("inference.elastic")
    return percent(case.median("service_utilisation")) if held and case.median("peak_over_mean") >= PEAKED else None


def one_peak_only(case: Case) -> Finding | None:
    alone = case.plan.task == "inference" and not case.plan.rows("inference.events")
    return number(case.median("peak_over_mean")) if alone else None


def below_peak_or_service_level(case: Case) -> Finding | None:
    promised = case.plan.number("inference.latency_ms")
    latency = case.median("request_latency_seconds") * 1000.0
    if promised is not None and latency > promised:
        return Finding(latency, f"{latency:.0f} ms > {promised:.0f} ms")
    covers = [row.get("peak_cover") for row in case.plan.rows("inference.tiers")]
    least = min((quantile(cover, 0.5) for cover in covers if isinstance(cover, Range)), default=1.0)
    return Finding(least, f"{least:.0%}") if least < 1.0 else None
