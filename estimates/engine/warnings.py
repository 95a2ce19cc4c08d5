"""Warnings: what experience says about a plan, each with its number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from estimates.engine import money_warnings, plan_warnings, run_warnings
from estimates.engine.case import Case
from estimates.engine.findings import Finding
from estimates.engine.summary import figure
from estimates.engine.warning_texts import TEXTS

RULES: Mapping[str, Callable[[Case], Finding | None]] = {
    rule.__name__: rule
    for rule in (
        plan_warnings.undertrained,
        plan_warnings.overtrained,
        plan_warnings.no_acceptance,
        plan_warnings.no_justification,
        plan_warnings.reuse_is_cheaper,
        plan_warnings.predecessor_unknown,
        plan_warnings.no_ladder,
        plan_warnings.experiments_missing,
        run_warnings.redundancy_below_history,
        run_warnings.redundancy_by_feeling,
        run_warnings.interval_far_from_optimum,
        run_warnings.all_checkpoints_kept,
        run_warnings.too_few_checkpoints,
        run_warnings.checkpoint_size_unknown,
        run_warnings.restore_untested,
        run_warnings.does_not_fit,
        run_warnings.pool_does_not_fit,
        run_warnings.misses_deadline,
        run_warnings.infeasible,
        plan_warnings.compliance_missing,
        plan_warnings.protected_cost_cut,
        money_warnings.single_supplier,
        money_warnings.no_lead_time,
        money_warnings.price_old,
        money_warnings.price_missing,
        money_warnings.price_unverified,
        money_warnings.past_refresh,
        money_warnings.peak_held_all_day,
        money_warnings.one_peak_only,
        money_warnings.below_peak_or_service_level,
        plan_warnings.full_finetune_avoidable,
        plan_warnings.label_quality_unknown,
        plan_warnings.tokens_before_quality,
        plan_warnings.duplicate_share_high,
        run_warnings.mfu_far_below_published,
        run_warnings.mfu_convention,
        run_warnings.above_peak,
        plan_warnings.experiment_repeated,
    )
}
"""Every rule by its code, in the order in which warnings are shown."""


def warnings_of(case: Case) -> list[dict[str, Any]]:
    """All warnings that apply to a plan."""
    return [said(code, finding) for code, rule in RULES.items() if (finding := rule(case)) is not None]


def said(code: str, finding: Finding) -> dict[str, Any]:
    """A warning in both languages."""
    english, chinese = TEXTS[code]
    words = {"value": finding.shown, **finding.words}
    value = figure(finding.value) if isinstance(finding.value, float) else finding.value
    return {"code": code, "message": english % words, "message_zh": chinese % words, "value": value}
