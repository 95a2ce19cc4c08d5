"""Every question about usage answers as of a time what it answered then, whatever came since."""

from __future__ import annotations

from datetime import date

import pytest
from rest_framework.test import APIClient

from core.months import Month
from tests.usage import factories
from tests.usage.conftest import kept_files  # noqa: F401
from tests.usage.factories import deliver, focus
from usage import reassignments, rules
from usage.models import KeySet, Reassignment
from usage.pipeline.swap import known_now

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

NODES = [{"field": "resource", "operator": "glob", "values": ["node-*"]}]
BEFORE = [
    {"ResourceId": "node-1", "Tags": ""},
    {
        "ResourceId": "node-2",
        "BilledCost": "0.1234567890123",
        "EffectiveCost": "7",
        "ChargePeriodEnd": "2026-03-08T05:00:00Z",
    },
    {"ResourceId": "switch", "BilledCost": "5", "EffectiveCost": "5"},
    {"ResourceId": "lonely", "BilledCost": "3", "EffectiveCost": "3"},
]
QUESTIONS = [
    "usage/totals/?by=project,month&basis=effective",
    "usage/totals/?by=resource",
    "usage/conservation/?basis=billed",
    "usage/conservation/?basis=effective",
    "usage/unallocated/?",
    "usage/focus.csv?from=2026-03-01&to=2026-04-01",
    "usage/focus.csv?from=2026-03-01&to=2026-04-01&team=foundation",
    "statements/foundation/2026-03/?basis=billed",
    "statements/foundation/2026-03/?basis=effective",
    "statements/foundation/2026-03.csv?",
]


@pytest.fixture
def asked(stage, monkeypatch):
    """What a question answers; lines of a file in any order."""
    client = APIClient()
    client.force_authenticate(stage.auditor)
    monkeypatch.setattr("api.reassignments.Month", NewestMonth)

    def answer(question: str, known_at=None):
        more = f"&known_at={known_at.isoformat().replace('+', '%2B')}" if known_at else ""
        found = client.get(f"/api/v1/{question}{more}")
        assert found.status_code == 200, found.content
        if hasattr(found, "streaming_content"):
            return sorted(b"".join(found.streaming_content).decode().splitlines())
        return {**found.json(), "known_at": None} if isinstance(found.json(), dict) else found.json()

    return answer


class NewestMonth(Month):
    """Only the clock: the newest month is March 2026."""

    @classmethod
    def of(cls, day: date) -> Month:
        return Month(min(day, date(2026, 3, 1)).year, min(day, date(2026, 3, 1)).month)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_as_of_a_time_answers_what_it_answered_then(stage, asked, question):
    rules.add_rule(by=stage.operator, name="Nodes", conditions=NODES, project=stage.project)
    source = factories.source()
    deliver(source, focus(*BEFORE))
    then, moment = asked(question), known_now()

    deliver(
        source, focus({**BEFORE[0], "BilledCost": "12", "EffectiveCost": "12"}, *BEFORE[1:3], {"ResourceId": "new"})
    )
    rules.add_rule(by=stage.operator, name="Rest", conditions=[], project=stage.other_project)
    rules.apply_rules(by=stage.operator)
    moved = Reassignment(project=stage.other_project, starts_on=date(2026, 3, 1), reason="Asked.")
    reassignments.reassign(moved, [KeySet.objects.get(resource="node-2").pk], by=stage.operator)

    assert asked(question) != then
    assert asked(question, moment) == then
