"""The worked example of the documentation. What holds whatever happens is played in `test_machine`."""

from __future__ import annotations

from datetime import date

from budgets.queries import line_statuses
from budgets.services import approval, proposals
from tests.budgets import factories


def test_the_table_of_the_documentation_holds(stage):
    """The worked example of docs/loop.md, step by step."""
    line = factories.line(stage.project, granted=1000)
    day = date(2027, 1, 20)

    def figures():
        status = line_statuses([line])[line.pk]
        return status.budget, status.actual, status.committed, status.headroom

    def approved(amount):
        proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): amount})
        approval.approve_proposal(step, by=stage.manager)
        return proposal

    assert figures() == (1000, 0, 0, 1000)
    factories.cost(stage.project, 200, day=day)
    assert figures() == (1000, 200, 0, 800)
    first = approved(500)
    assert figures() == (1000, 200, 500, 300)
    factories.cost(stage.project, 150, day=day, reference=first.reference)
    assert figures() == (1000, 350, 350, 300)
    factories.cost(stage.project, 50, day=day)
    assert figures() == (1000, 400, 300, 300)
    second = approved(300)
    assert figures() == (1000, 400, 600, 0)
    factories.cost(stage.project, 320, day=day, reference=second.reference)
    assert figures() == (1000, 720, 300, -20)
    proposals.close_proposal(first, by=stage.alice)
    assert figures() == (1000, 720, 0, 280)
