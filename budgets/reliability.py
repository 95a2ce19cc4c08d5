"""The mean time between failures that projects planned with."""

from __future__ import annotations

from collections.abc import Collection

from .models import Proposal, ProposalVersion

QUANTITIES = "estimate__{part}__quantities__{name}__p50"
NAMES = ("cluster_mtbf_hours", "accelerator_count")


def planned_mtbf(projects: Collection[int]) -> dict[int, float]:
    """Accelerator-hours between failures, at the median, of the plan each project was approved with last.

    A project whose plan says nothing of failures is left out.
    """
    approved = ProposalVersion.objects.filter(
        proposal__project__in=projects,
        proposal__state__in=[Proposal.State.APPROVED, Proposal.State.PARTLY_APPROVED],
        state__in=[ProposalVersion.State.APPROVED, ProposalVersion.State.PARTLY_APPROVED],
    )
    newest = approved.order_by("proposal__project_id", "-decided_at", "-pk").distinct("proposal__project_id")
    asked = [QUANTITIES.format(part=part, name=name) for part in ("lasting", "priced") for name in NAMES]
    found = {}
    for project, *figures in newest.values_list("proposal__project_id", *asked):
        between, cards = (figures[at] if figures[at] is not None else figures[at + 2] for at in (0, 1))
        if between and cards:
            found[project] = between * cards
    return found
