"""Locks, always in one order: proposal, project, then lines by their keys. So two changes never wait for each other.

They are NO KEY locks: rows that merely point at a locked row (an activity, a notification) may still be written.
"""

from __future__ import annotations

from collections.abc import Iterable

from teams.models import Project

from .models import BudgetLine, Proposal


def lock_proposal(proposal_id: int) -> Proposal:
    """The proposal as it is now; nobody else changes it until the end of the transaction."""
    return (
        Proposal.objects.select_for_update(of=("self",), no_key=True)
        .select_related("project__team", "requester")
        .get(pk=proposal_id)
    )


def lock_project(project_id: int) -> Project:
    """Nobody else opens lines of the project until the end of the transaction."""
    return Project.objects.select_for_update(of=("self",), no_key=True).select_related("team").get(pk=project_id)


def lock_lines(line_ids: Iterable[int]) -> dict[int, BudgetLine]:
    """The lines as they are now, by their ids; their headroom stands still except for what meters report."""
    rows = (
        BudgetLine.objects.select_for_update(of=("self",), no_key=True)
        .select_related("project__team")
        .filter(pk__among=set(line_ids))
        .order_by("pk")
    )
    return {line.pk: line for line in rows}
