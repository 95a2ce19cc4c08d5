"""Warnings about what a plan says about its goal, its model, its data and its experiments."""

from __future__ import annotations

import math
from collections import Counter

from estimates.engine.case import Case
from estimates.engine.findings import Finding, is_building, number, percent
from estimates.engine.sampling import quantile

HALF_OF_OPTIMAL = 10.0
FAR_BEYOND_OPTIMAL = 1000.0
LARGE_RUN_HOURS = 10_000.0
HIGH_DUPLICATES = 0.15
HIGH_WASTE = 0.10
ADAPTATION_TOKENS = 0.01
SAVED_BY_HEAD = 4.0 / 6.0
COMPUTING = ("compute_cost", "depreciation_cost", "electricity_cost", "facility_cost")
"""What hours that are kept cost."""
PROTECTED = (
    "data.licence_cost",
    "data.collection_cost",
    "data.compliance_cost",
    "reliability.spare_count",
)


def undertrained(case: Case) -> Finding | None:
    ratio = case.median("tokens_per_parameter")
    return number(ratio) if case.plan.task == "pretrain" and ratio < HALF_OF_OPTIMAL else None


def overtrained(case: Case) -> Finding | None:
    ratio = case.median("tokens_per_parameter")
    return number(ratio) if case.plan.task == "pretrain" and ratio > FAR_BEYOND_OPTIMAL else None


def no_acceptance(case: Case) -> Finding | None:
    return Finding(None) if is_building(case) and not case.plan.text("acceptance.metric") else None


def no_justification(case: Case) -> Finding | None:
    return Finding(None) if case.plan.task == "pretrain" and not case.plan.text("justification") else None


def reuse_is_cheaper(case: Case) -> Finding | None:
    """A stated reason is taken at its word; else as many projects must share the data as reuse needs to break even."""
    tasks = break_even_tasks(case)
    shared = case.plan.number("data.reusable_for_projects") or 1.0
    if case.plan.text("justification") or not tasks > shared:
        return None
    return number(math.ceil(tasks), digits=6)


def break_even_tasks(case: Case) -> float:
    """Downstream tasks from which a model of one's own costs less than adapting an existing one each time.

    An existing model is fine-tuned in full for each task, one's own needs a head only: each task saves the backward
    pass, four sixths of the work, over a hundredth of the pretraining tokens.
    """
    if case.plan.task != "pretrain" or not case.has("compute_cost"):
        return float("nan")
    saving = saving_per_task(case)
    return case.mean("amortised_total") / saving if saving > 0 else float("nan")


def saving_per_task(case: Case) -> float:
    """What one task saves of all that computing costs; own accelerators lose value and take electricity and space."""
    computing = sum(case.mean(name) for name in COMPUTING if case.has(name))
    return computing * ADAPTATION_TOKENS * SAVED_BY_HEAD


def predecessor_unknown(case: Case) -> Finding | None:
    """A name that nothing was recorded under gives no figure: published ones stand in its place."""
    name = case.plan.text("predecessor")
    return Finding(None, name) if name and not case.context.history.knows_predecessor(case.plan) else None


def no_ladder(case: Case) -> Finding | None:
    hours = case.median("accelerator_hours")
    large = case.plan.task in ("pretrain", "continued_pretrain") and hours >= LARGE_RUN_HOURS
    return number(hours) if large and not case.plan.rows("experiments") else None


def experiments_missing(case: Case) -> Finding | None:
    if not is_building(case) or case.plan.rows("experiments"):
        return None
    none = case.plan.is_off("experiments") or case.plan.number("experiments.ratio") == 0
    return Finding(0.0, "0") if none else None


def compliance_missing(case: Case) -> Finding | None:
    uses_data = case.plan.task in ("pretrain", "continued_pretrain", "data_work")
    return Finding(0.0, "0") if uses_data and not case.plan.number("data.compliance_cost") else None


def protected_cost_cut(case: Case) -> Finding | None:
    """Against what the organisation itself spent; where two plans are compared see `difference`."""
    cut = {}
    for path in PROTECTED:
        known = case.context.history.own(path)
        planned = case.plan.number(path) or 0.0
        if known is not None and planned < quantile(known.value, 0.5):
            cut[path] = 1.0 - planned / quantile(known.value, 0.5)
    return percent(max(cut.values()), paths=", ".join(cut)) if cut else None


def full_finetune_avoidable(case: Case) -> Finding | None:
    if case.plan.task != "finetune" or case.plan.text("finetune.strategy") != "full":
        return None
    smaller = min(case.median("lora_training_flops"), case.median("head_only_training_flops"))
    return number(case.median("full_training_flops") / smaller) if smaller > 0 else None


def label_quality_unknown(case: Case) -> Finding | None:
    if case.plan.task != "finetune" or case.plan.number("finetune.label_quality") is not None:
        return None
    labels = case.plan.number("finetune.label_count")
    return number(labels, digits=6) if labels is not None else Finding(None, "?")


def tokens_before_quality(case: Case) -> Finding | None:
    share = case.median("wasted_tokens") / case.median("paid_tokens")
    enough = case.median("tokens_per_parameter") >= case.median("optimal_tokens_per_parameter")
    return percent(share) if share >= HIGH_WASTE and enough else None


def duplicate_share_high(case: Case) -> Finding | None:
    share = case.plan.number("data.duplicate_share") or 0.0
    return percent(share) if case.has("wasted_tokens") and share >= HIGH_DUPLICATES else None


def experiment_repeated(case: Case) -> Finding | None:
    rungs = [
        tuple(sorted((key, repr(cell)) for key, cell in row.items() if key != "name"))
        for row in case.plan.rows("experiments")
    ]
    repeated = sum(count - 1 for count in Counter(rungs).values())
    return number(repeated) if repeated else None
