"""Who may do what: every cell of the table in docs/roles.md, tried through the pages and the API.

A cell of the table is `yes`, `–` (the thing is seen, the act is refused or not offered) or `404` (it does not exist for
that person). An act counts as done when the log says that this person did it; a page as seen when it answers 200.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from budgets.closing import checklist, months_to_close
from budgets.models import AssetCharge, HoursEntry, Proposal, ProposalVersion
from budgets.services import assets, hours
from budgets.services.closing import close_month
from core.months import Month, Period
from overruns import services as overruns
from overruns.models import Flag
from retrospectives.models import Action, Retrospective
from retrospectives.services import open_for_overruns
from teams.models import Activity, Role
from tests import factories as people
from tests.budgets import factories
from tests.usage import factories as usage
from tests.usage.test_pages import rule_fields
from usage.bookings import services as bookings
from usage.bookings.facts import COLUMNS
from usage.bookings.recurring import add_recurring
from usage.models import (
    AllocationRule,
    Import,
    KeySet,
    MonthDraft,
    Reassignment,
    RecurringBooking,
    RejectedRow,
    Run,
    Scope,
    Source,
)
from usage.reassignments import reassign

DOCUMENT = Path(__file__).parents[2] / "docs" / "roles.md"
PEOPLE = {
    "who asked": ["alice"],
    "researcher": ["bob"],
    "manager": ["manager"],
    "director": ["director"],
    "finance": ["finance"],
    "price keeper": ["keeper"],
    "operator": ["operator"],
    "auditor": ["auditor"],
    "machine": ["machine"],
    "other team": ["charlie", "other_manager"],
}
"""The columns of the table; people of one column may do the same."""
TODAY = timezone.now().date()
RUNNING = Period(TODAY - timedelta(days=100), TODAY + timedelta(days=100))
LAST_MONTH = Month.of(TODAY) + -1


@dataclass
class Act:
    """A row of the table: what is sent where, as a form or, for the API, as JSON; nothing sent: a page is looked at."""

    page: Callable[[Any], str]
    sent: Callable[[Any], dict[str, Any]] | None = None
    prepare: Callable[[Any], None] = field(default=lambda s: None)
    is_api: bool = False
    method: str = "post"
    verb: str = ""
    """What the log has to say where one door does several acts."""


def at(name: str, *found: Callable[[Any], Any]) -> Callable[[Any], str]:
    return lambda s: reverse(name, args=[each(s) for each in found])


def slug(s: Any) -> str:
    return s.project.slug


def line(s: Any) -> int:
    return s.compute.pk


def proposal(s: Any) -> int:
    return s.proposal.pk


def put(s: Any, state: str) -> None:
    Proposal.objects.filter(pk=s.proposal.pk).update(state=state)
    ProposalVersion.objects.filter(proposal=s.proposal).update(state=state)


def is_draft(s: Any) -> None:
    s.proposal = factories.draft(s.project, s.alice, {("compute", f"{TODAY:%Y-%m}"): 100})


def is_approved(s: Any) -> None:
    put(s, "approved")


def is_second_step(s: Any) -> None:
    s.proposal, first = factories.submitted(s.project, s.alice, {("compute", f"{TODAY:%Y-%m}"): 600_000})
    first.state = "approved"
    first.save()
    s.step = first.version.steps.get(number=2)


def is_held(s: Any) -> None:
    factories.entry(s.compute, "commit", 50, proposal=s.proposal)


def has_hours(s: Any) -> None:
    hours.grant_hours(s.compute, by=s.finance, hours=Decimal(100), unit="real", reason="because")
    s.tuning = factories.line(s.project, period=RUNNING, period_kind="project", task_type="finetune")


def holds_hours(s: Any) -> None:
    has_hours(s)
    promised = {"kind": "commit", "hours": 50, "others_spent": 0, "proposal": s.proposal}
    HoursEntry.objects.create(line=s.compute, unit="real", **promised)


def is_frozen(s: Any) -> None:
    type(s.compute).objects.filter(pk=s.compute.pk).update(frozen_at=timezone.now())


def is_closed_once(s: Any) -> None:
    close_month(LAST_MONTH, by=s.finance, accepted=points_not_in_order(), reason="for the test")


def points_not_in_order() -> list[str]:
    found = checklist(months_to_close(LAST_MONTH, today=TODAY), now=timezone.now())
    return [item.key for item in found.items if not item.is_done]


def is_written_down(s: Any) -> None:
    said = assets.NewAsset("Web text", "data_set", Decimal(120), LAST_MONTH, "months", 12, s.alice)
    s.asset = assets.add_asset(s.project, said, by=s.manager)


def is_charged(s: Any) -> None:
    is_written_down(s)
    assets.use_asset(s.asset, s.project, by=s.manager, since=LAST_MONTH)
    assets.charge_due(now=timezone.now())
    s.charge = AssetCharge.objects.get()


def is_booked(s: Any) -> None:
    row = booked(s) | {"project": s.project.slug}
    s.booking = bookings.book_line({**dict.fromkeys(COLUMNS, ""), **row}, by=s.finance)


def booked(s: Any) -> dict[str, Any]:
    return {
        "project": s.project.slug,
        "category": "data",
        "first_day": str(TODAY),
        "last_day": str(TODAY),
        "amount": "10",
        "currency": "USD",
        "document": "R-1",
        "note": "licence",
    }


def recurring(s: Any) -> dict[str, Any]:
    return {
        "name": "Licences",
        "project": s.project.slug,
        "category": "data",
        "currency": "USD",
        "amount": "10",
        "starts_on": str(LAST_MONTH),
    }


def is_recurring(s: Any) -> None:
    given = {**recurring(s), "project": s.project, "starts_on": LAST_MONTH.start, "amount": Decimal(10)}
    s.recurring = add_recurring(RecurringBooking(basis="amount", **given), by=s.finance)
    s.month = MonthDraft.objects.get(month=LAST_MONTH.start)


def is_delivered(s: Any) -> None:
    found = usage.deliver(usage.source("bills"), usage.focus({}))
    s.delivery = Import.objects.get(pk=found["import"])
    s.scope = Scope.objects.get(source__slug="bills")


def is_final(s: Any) -> None:
    is_delivered(s)
    Scope.objects.filter(pk=s.scope.pk).update(state="final")


def is_rejected(s: Any) -> None:
    found = usage.deliver(usage.source("bills"), usage.focus({}, {"BilledCost": "ten"}))
    s.delivery = Import.objects.get(pk=found["import"])


def mended_row(s: Any) -> str:
    return RejectedRow.objects.get(delivery=s.delivery).text.replace("ten", "10")


def is_waiting(s: Any) -> None:
    is_delivered(s)
    Import.objects.filter(pk=s.delivery.pk).update(status="waiting")


def is_queued(s: Any) -> None:
    is_delivered(s)
    Import.objects.filter(pk=s.delivery.pk).update(status="queued")


def reassigned(s: Any) -> dict[str, Any]:
    if not KeySet.objects.filter(resource="node-1").exists():
        is_delivered(s)
    key_set = KeySet.objects.get(resource="node-1")
    return {"key_sets": [key_set.pk], "target": s.project.pk, "starts_on": "2026-03-01", "reason": "because"}


def is_reassigned(s: Any) -> None:
    is_delivered(s)
    said = Reassignment(project=s.project, starts_on=date(2026, 3, 1), reason="because")
    s.reassignment = reassign(said, [KeySet.objects.get(resource="node-1").pk], by=s.finance)


def decision(outcome: str) -> Callable[[Any], dict[str, Any]]:
    return lambda s: {"step": s.step.pk, "outcome": outcome, "reason": "because"}


def plan(s: Any) -> dict[str, Any]:
    return {"title": "Small", "ask_level": "mean", "save": "yes", "plan_yaml": factories.plan_text()}


def opened_line(s: Any) -> dict[str, Any]:
    return {
        "category": "storage",
        "period_kind": "year",
        "start": str(TODAY),
        "basis": "effective",
        "charge_categories": ["Usage"],
    }


def new_asset(s: Any) -> dict[str, Any]:
    return {
        "name": "Base",
        "project": s.project.pk,
        "kind": "model",
        "cost": "10",
        "starts_on": str(LAST_MONTH),
        "life": 2,
        "life_in": "months",
        "owner": s.alice.pk,
        "licence": "own",
        "compliance": "cleared",
    }


def accepted_closing(s: Any) -> dict[str, Any]:
    return {"month": str(LAST_MONTH), "accepted": points_not_in_order(), "reason": "because"}


def some_hours(s: Any) -> dict[str, Any]:
    return {"hours": "10", "reason": "because"}


def why(s: Any) -> dict[str, Any]:
    return {"reason": "because"}


def amount(s: Any) -> dict[str, Any]:
    return {"amount": "10", "reason": "because"}


def new_baseline(s: Any) -> dict[str, Any]:
    return {
        "team": s.team.slug,
        "quantity": "reliability.goodput",
        "value": "0.9",
        "runs": 1,
        "since": str(TODAY),
        "until": str(TODAY),
        "source": "a look back",
    }


ACTS = {
    "see a project": Act(at("project", slug)),
    "see a budget line": Act(at("line", slug, line)),
    "see a proposal": Act(at("proposal", proposal)),
    "see a warning": Act(at("flag", lambda s: s.flag.pk)),
    "see a retrospective": Act(at("retrospective", lambda s: s.retrospective.pk)),
    "see a run": Act(at("run", lambda s: s.run.slug)),
    "see an asset": Act(at("asset", lambda s: s.asset.pk), prepare=is_written_down),
    "see a booking": Act(at("booking", lambda s: s.booking.pk), prepare=is_booked),
    "see a source of usage": Act(at("source", lambda s: s.source.slug)),
    "see the allocation rules": Act(at("rule-list")),
    "see a statement of the team": Act(at("statement", lambda s: s.team.slug, lambda s: f"{TODAY:%Y-%m}")),
    "see restatements": Act(at("api-restatements")),
    "see the closing": Act(at("closing")),
    "see prices": Act(at("price-list")),
    "see the capacity of all": Act(at("capacity")),
    "open a project": Act(
        at("project-new"),
        lambda s: {"team": s.team.pk, "name": "New", "currency": "USD", "task_type": "pretrain"},
    ),
    "write a proposal": Act(lambda s: reverse("proposal-new") + f"?project={s.project.slug}", plan),
    "change a proposal": Act(at("proposal-edit", proposal), plan, is_draft),
    "submit a proposal": Act(at("proposal-submit", proposal), lambda s: {}, is_draft),
    "withdraw a proposal": Act(at("proposal-withdraw", proposal), why),
    "clone a proposal": Act(at("proposal-clone", proposal), lambda s: {}),
    "approve the manager's step": Act(at("proposal-decide", proposal), decision("approve")),
    "approve the director's step": Act(at("proposal-decide", proposal), decision("approve"), is_second_step),
    "ask for changes": Act(at("proposal-decide", proposal), decision("changes")),
    "reject a proposal": Act(at("proposal-decide", proposal), decision("reject")),
    "close a proposal": Act(at("proposal-close", proposal), why, is_approved),
    "open a budget line": Act(at("line-new", slug), opened_line),
    "grant money": Act(at("line-grant", slug, line), amount),
    "grant accelerator-hours": Act(
        at("line-hours", slug, line), lambda s: {"hours": "10", "unit": "real", "reason": "because"}
    ),
    "transfer money": Act(at("line-transfer", slug, line), lambda s: {**amount(s), "target": s.data.pk}),
    "release money": Act(at("line-release", slug, line), lambda s: {**amount(s), "proposal": s.proposal.pk}, is_held),
    "transfer accelerator-hours": Act(
        at("line-transfer-hours", slug, line), lambda s: {**some_hours(s), "target": s.tuning.pk}, has_hours
    ),
    "release accelerator-hours": Act(
        at("line-release-hours", slug, line), lambda s: {**some_hours(s), "proposal": s.proposal.pk}, holds_hours
    ),
    "set a threshold": Act(at("line-threshold", slug, line), lambda s: {"basis": "actual", "percent": "90"}),
    "set what is carried over": Act(at("line-rollover", slug, line), lambda s: {"rollover": "all"}),
    "lift the freeze of a line": Act(at("line-unfreeze", slug, line), why, is_frozen),
    "ask whether a job may start": Act(
        at("api-can-start"), lambda s: {"project": s.project.slug, "job": "7", "amount": "1"}, is_api=True
    ),
    "state the cause of a warning": Act(at("flag-acknowledge", lambda s: s.flag.pk), lambda s: {"cause": "known"}),
    "mute a warning": Act(at("flag-mute", lambda s: s.flag.pk), lambda s: {"until": str(TODAY + timedelta(days=9))}),
    "open a retrospective": Act(at("retrospective-open", proposal), lambda s: {}, lambda s: put(s, "closed")),
    "write a retrospective": Act(
        at("retrospective-write", lambda s: s.retrospective.pk), lambda s: {"cause": "so", "runs": 1}
    ),
    "close a retrospective": Act(
        at("retrospective-write", lambda s: s.retrospective.pk),
        lambda s: {"cause": "so", "runs": 1, "acceptance": "met", "close": "yes"},
        verb="retrospective.closed",
    ),
    "give someone an action": Act(
        at("action-add", lambda s: s.retrospective.pk), lambda s: {"text": "Look", "owner": s.bob.pk}
    ),
    "make an asset": Act(at("asset-new"), new_asset),
    "use an asset": Act(
        at("asset-use", lambda s: s.asset.pk),
        lambda s: {"project": s.project.pk, "since": str(LAST_MONTH), "tasks": 1},
        is_written_down,
    ),
    "say what an asset's licence is": Act(
        at("asset-clearance", lambda s: s.asset.pk),
        lambda s: {"licence": "own", "compliance": "cleared", "reason": "because"},
        is_written_down,
    ),
    "take back what an asset charged": Act(
        at("asset-reverse", lambda s: s.asset.pk, lambda s: s.charge.pk), why, is_charged
    ),
    "close a month": Act(at("closing-close"), accepted_closing),
    "open a month again": Act(
        at("closing-reopen"), lambda s: {"month": str(LAST_MONTH), "reason": "because"}, is_closed_once
    ),
    "book a cost": Act(at("booking-new"), booked),
    "reverse a booking": Act(at("booking-reverse", lambda s: s.booking.pk), why, is_booked),
    "write down a recurring cost": Act(at("recurring-new", lambda s: "amount"), recurring),
    "end a recurring cost": Act(
        at("recurring-end", lambda s: s.recurring.pk), lambda s: {"last_month": str(LAST_MONTH)}, is_recurring
    ),
    "confirm a month of a recurring cost": Act(
        at("recurring-confirm"), lambda s: {"draft": [f"{s.month.pk}:10"]}, is_recurring
    ),
    "open a source": Act(at("source-new"), lambda s: {"slug": "new", "name": "New", "currency": "USD"}),
    "deliver a file": Act(
        at("import-new"),
        lambda s: {"source": s.source.slug, "file": SimpleUploadedFile("a.csv", usage.focus({}))},
    ),
    "say when a source is expected": Act(at("source-expected", lambda s: s.source.slug), lambda s: {"hours": "48"}),
    "mend rejected rows": Act(
        at("import-correct", lambda s: s.delivery.pk), lambda s: {"row-3": mended_row(s)}, is_rejected
    ),
    "apply a delivery that waits": Act(at("import-confirm", lambda s: s.delivery.pk), why, is_waiting),
    "cancel an import": Act(at("import-cancel", lambda s: s.delivery.pk), lambda s: {}, is_queued),
    "say that a month of a source is final": Act(at("period-final", lambda s: s.scope.pk), why, is_delivered),
    "open a month of a source again": Act(at("period-reopen", lambda s: s.scope.pk), why, is_final),
    "say when its months are final": Act(at("source-final-after", lambda s: s.source.slug), lambda s: {"days": "9"}),
    "write an allocation rule": Act(at("rule-new"), lambda s: rule_fields(s.project)),
    "retire an allocation rule": Act(at("rule-retire", lambda s: s.rule.pk), lambda s: {}),
    "apply the allocation rules": Act(at("rules-apply"), lambda s: {}),
    "re-assign usage": Act(at("reassign"), reassigned),
    "reverse a re-assignment": Act(at("reassignment-reverse", lambda s: s.reassignment.pk), why, is_reassigned),
    "name the owner of unallocated cost": Act(at("unallocated-owner"), lambda s: {"person": s.operator.pk}),
    "open a run": Act(at("run-new"), lambda s: {"project": s.project.slug, "slug": "run-2", "name": "Two"}),
    "say the state of a run": Act(at("run-state", lambda s: s.run.slug), lambda s: {"state": "finished"}),
    "write down a baseline": Act(at("baseline-new"), new_baseline),
    "import prices": Act(at("price-import")),
}

OVER_THE_API = {
    "see a project": Act(at("api-project", slug)),
    "see a budget line": Act(at("api-line", line)),
    "see a proposal": Act(at("api-proposal", proposal)),
    "see a warning": Act(at("api-flag", lambda s: s.flag.pk)),
    "see a run": Act(at("api-run", lambda s: s.run.slug)),
    "see the capacity of all": Act(at("api-capacity")),
    "submit a proposal": Act(at("api-proposal-submit", proposal), lambda s: {}, is_draft),
    "withdraw a proposal": Act(at("api-proposal-withdraw", proposal), why),
    "approve the manager's step": Act(at("api-proposal-decide", proposal), lambda s: {"outcome": "approve"}),
    "approve the director's step": Act(
        at("api-proposal-decide", proposal), lambda s: {"outcome": "approve"}, is_second_step
    ),
    "reject a proposal": Act(at("api-proposal-decide", proposal), lambda s: {**why(s), "outcome": "reject"}),
    "close a proposal": Act(at("api-proposal-close", proposal), why, is_approved),
    "grant money": Act(at("api-line-grant", line), amount),
    "grant accelerator-hours": Act(at("api-line-grant-hours", line), lambda s: {**some_hours(s), "unit": "real"}),
    "transfer money": Act(at("api-line-transfer", line), lambda s: {**amount(s), "target": s.data.pk}),
    "release money": Act(at("api-line-release", line), lambda s: {**amount(s), "proposal": s.proposal.pk}, is_held),
    "transfer accelerator-hours": Act(
        at("api-line-transfer-hours", line), lambda s: {**some_hours(s), "target": s.tuning.pk}, has_hours
    ),
    "release accelerator-hours": Act(
        at("api-line-release-hours", line), lambda s: {**some_hours(s), "proposal": s.proposal.pk}, holds_hours
    ),
    "set a threshold": Act(at("api-thresholds", line), lambda s: {"basis": "actual", "share": "0.9"}),
    "set what is carried over": Act(at("api-line-rollover", line), lambda s: {"rollover": "all"}, method="put"),
    "state the cause of a warning": Act(at("api-flag-acknowledge", lambda s: s.flag.pk), lambda s: {"cause": "known"}),
    "mute a warning": Act(
        at("api-flag-mute", lambda s: s.flag.pk), lambda s: {"until": str(TODAY + timedelta(days=9))}
    ),
    "reverse a booking": Act(at("api-booking-reverse", lambda s: s.booking.pk), why, is_booked),
    "say the state of a run": Act(at("api-run-state", lambda s: s.run.slug), lambda s: {"state": "finished"}),
}
"""Acts of the table once more, through the API."""


def table() -> dict[str, dict[str, str]]:
    """The table of the document: act → column → cell."""
    rows = [
        [cell.strip() for cell in text.strip().strip("|").split("|")]
        for text in DOCUMENT.read_text().splitlines()
        if text.startswith("|")
    ]
    head = rows[0][1:]
    return {row[0]: dict(zip(head, row[1:], strict=True)) for row in rows[2:]}


@pytest.fixture
def loop(stage) -> SimpleNamespace:
    """Everything of a project of Foundation; the people of every column."""
    stage.machine = people.user("machine@example.com")
    people.member(stage.machine, None, Role.MACHINE)
    stage.compute = factories.line(stage.project, granted=1000, period=RUNNING, period_kind="project")
    stage.data = factories.line(stage.project, "data", granted=500, period=RUNNING, period_kind="project")
    factories.line(stage.other_project, granted=5, period=RUNNING, period_kind="project")
    factories.cost(stage.project, 600, day=TODAY - timedelta(days=5), category="data")
    overruns.judge_lines([stage.data.pk], now=timezone.now())
    open_for_overruns(now=timezone.now())
    stage.flag = Flag.objects.get(line=stage.data, threshold__share=1, threshold__basis="actual")
    stage.retrospective = Retrospective.objects.get()
    Action.objects.create(retrospective=stage.retrospective, text="Look", owner=stage.bob)
    stage.proposal, stage.step = factories.submitted(stage.project, stage.alice, {("compute", f"{TODAY:%Y-%m}"): 100})
    stage.source = Source.objects.get()
    stage.run = Run.objects.create(slug="run-1", name="One", project=stage.project)
    stage.rule = AllocationRule.objects.create(name="All", position=1, project=stage.project)
    return stage


def outcome(act: Act, stage: Any, who: Any) -> str:
    """What one person gets, and nothing of it stays."""
    client = Client()
    client.force_login(who)
    log = Activity.objects.filter(by=who, **({"verb": act.verb} if act.verb else {}))
    before = log.count()
    point = transaction.savepoint()
    try:
        address = act.page(stage)
        if act.sent is None:
            answer = client.get(address)
        elif act.is_api:
            sent = json.dumps(act.sent(stage))
            answer = client.generic(act.method, address, sent, content_type="application/json")
        else:
            answer = client.post(address, act.sent(stage))
        assert answer.status_code in (200, 201, 302, 403, 404, 422), answer.status_code
        done = log.count() > before
    finally:
        transaction.savepoint_rollback(point)
    if answer.status_code == 404:
        return "404"
    looks = act.sent is None or act.is_api
    return "yes" if (answer.status_code in (200, 201) if looks else done) else "–"


def outcomes(act: Act, stage: Any) -> dict[str, str]:
    """What the people of each column get."""
    act.prepare(stage)
    return {
        column: "/".join(sorted({outcome(act, stage, getattr(stage, who)) for who in names}))
        for column, names in PEOPLE.items()
    }


@pytest.mark.parametrize("name", ACTS)
def test_each_may_do_what_the_table_says(loop, name):
    assert outcomes(ACTS[name], loop) == table()[name]


@pytest.mark.parametrize("name", OVER_THE_API)
def test_the_api_keeps_to_the_table_too(loop, name):
    act = OVER_THE_API[name]

    assert outcomes(replace(act, is_api=act.sent is not None), loop) == table()[name]


def test_the_table_has_a_row_for_every_act_and_a_column_for_everyone():
    assert list(table()) == list(ACTS)
    assert all(list(row) == list(PEOPLE) for row in table().values())
