"""The cash flow of a plan: what is bought at the start apart from what runs month by month."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from estimates.engine.breakdown import month_names
from estimates.engine.case import Case
from estimates.engine.sampling import Array
from estimates.engine.summary import figure


def cash_of(case: Case) -> tuple[Array, Array]:
    """Means by month: capital, and running money. Depreciation is in the total, but no cash leaves for it."""
    months = case.costs.months
    capital = np.zeros(months)
    running = case.costs.mean_by_line_and_month[case.index].sum(axis=0)
    if case.has("capital_outlay") and case.has("depreciation_in_total"):
        capital[0] = case.mean("capital_outlay")
        share = case.evaluation.samples_of("run_month_share", case.index)
        running = running - (share * case.evaluation.samples_of("depreciation_in_total", case.index)).mean(axis=-1)
    return capital, running


def cash_flow(cases: Sequence[Case], offsets: Sequence[int]) -> list[dict[str, Any]]:
    """The months from the first to the last in which money moves; cases begin at their offsets."""
    length = max(case.costs.months + offset for case, offset in zip(cases, offsets, strict=True))
    capital, running = np.zeros(length), np.zeros(length)
    for case, offset in zip(cases, offsets, strict=True):
        bought, spent = cash_of(case)
        capital[offset : offset + bought.size] += bought
        running[offset : offset + spent.size] += spent
    first = cases[0].costs.first_months[cases[0].index] + -offsets[0]
    moved = np.flatnonzero((capital != 0) | (running != 0))
    last = int(moved[-1]) if moved.size else 0
    months = zip(month_names(first, last + 1), capital.tolist(), running.tolist(), strict=False)
    return [{"month": month, "capital": figure(bought), "running": figure(spent)} for month, bought, spent in months]
