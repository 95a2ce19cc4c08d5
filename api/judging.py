"""Judging budget lines in the foreground: what the worker and the clock do, for the commands."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from core.money import exact_text
from overruns import services
from overruns.models import Crossing
from overruns.writing import Judged
from retrospectives import services as retrospectives


def judge_touched() -> dict[str, Any]:
    """Judge what imports and entries have touched, and open the retrospectives that follow."""
    now = timezone.now()
    judged = services.judge_touched(now=now)
    retrospectives.open_for_overruns(now=now)
    return answer(judged)


def judge_lines(line_ids: list[int]) -> dict[str, Any]:
    """Judge these lines, touched or not."""
    now = timezone.now()
    judged = services.judge_lines(line_ids, now=now)
    retrospectives.open_for_overruns(now=now)
    return answer(judged)


def answer(judged: Judged) -> dict[str, Any]:
    """The shape of the contract."""
    return {
        "lines": judged.lines,
        "crossed": [crossing_answer(crossing) for crossing in judged.crossed],
        "uncrossed": [crossing_answer(crossing) for crossing in judged.uncrossed],
        "notifications": judged.notifications,
    }


def crossing_answer(crossing: Crossing) -> dict[str, Any]:
    threshold = crossing.flag.threshold
    return {
        "line": crossing.flag.line_id,
        "project": crossing.flag.line.project.slug,
        "category": crossing.flag.line.category,
        "share": exact_text(threshold.share) if threshold.share is not None else None,
        "amount": exact_text(threshold.amount) if threshold.amount is not None else None,
        "basis": threshold.basis,
        "at": crossing.at.isoformat(),
        "value": exact_text(crossing.value),
        "limit": exact_text(crossing.limit),
        "incomplete": crossing.incomplete,
        "told": crossing.told,
    }
