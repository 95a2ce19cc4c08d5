"""What past runs taught: written down by who may, used by the next estimate, followed by drafts."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.db import DatabaseError, transaction

from core.errors import DomainError
from estimates import queries, services
from estimates.baselines.models import Baseline
from estimates.baselines.queries import history_of
from estimates.baselines.services import Figure, record_baseline
from estimates.engine.plan import parse_plan
from estimates.models import Estimate, EstimateRevision
from teams.models import Activity
from tests.estimates import factories

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
TODAY = date(2026, 11, 28)
LEFT_TO_HISTORY = {"accelerator": "h100-sxm-80gb", "count": 8, "mfu": "baseline"}


@pytest.fixture
def book(stage):
    factories.accelerator()
    factories.price(amount="2")
    return stage


def figure(quantity: str = "compute.paid_mfu", value: str = "0.4", **facts) -> Figure:
    columns = {"low": Decimal(value), "high": Decimal(value) + Decimal("0.0001"), "runs": 3}
    columns |= {"since": date(2026, 1, 1), "until": date(2026, 6, 30), "source": "look back on base"}
    return Figure(quantity=quantity, value=Decimal(value), **{**columns, **facts})


def record(stage, *arguments, **facts) -> Baseline:
    who = {"by": stage.manager, "team": stage.team, "now": NOW} | facts
    return record_baseline(figure(*arguments), **who)


def answer(team_id, on=TODAY, **changes):
    return queries.answer_for(parse_plan(factories.plan(**changes)), prices_on=on, samples=100, team=team_id)


def used(answered, path="compute.paid_mfu"):
    return next((row for row in answered["baselines"] if row["what"] == path), None)


def test_a_managers_figure_is_used_by_the_next_estimate_of_the_team_and_by_no_other(book):
    row = record(book)

    own = answer(book.team.pk, compute=LEFT_TO_HISTORY)
    other = answer(book.other_team.pk, compute=LEFT_TO_HISTORY)

    # 6 · 7e9 · 3.3912e10 FLOP ÷ (989e12 · 0.4 · 3600) = 1,000.1 hours, paid ones
    assert own["quantities"]["accelerator_hours"]["p50"] == pytest.approx(1000.1, rel=1e-3)
    assert used(own) | {"p10": 0, "p50": 0, "p90": 0} == {
        "what": "compute.paid_mfu",
        "p10": 0,
        "p50": 0,
        "p90": 0,
        "scope": "team",
        "runs": 3,
        "period": "2026-01-01 – 2026-06-30",
        "source": "look back on base",
        "ids": [row.pk],
    }
    assert used(other) is None
    assert Activity.objects.get(verb="baseline.recorded").by == book.manager


def test_figures_of_the_organisation_hold_for_every_team_and_for_plans_of_no_team(book):
    record(book, by=book.director, team=None)

    for team_id in (book.team.pk, book.other_team.pk, None):
        assert used(answer(team_id, compute=LEFT_TO_HISTORY))["scope"] == "organisation"


@pytest.mark.parametrize("name", ["alice", "charlie", "other_manager", "auditor", "keeper"])
def test_who_may_not_fund_the_team_writes_no_baseline(book, name):
    with pytest.raises(DomainError, match="written by its managers"):
        record(book, by=getattr(book, name))

    assert not Baseline.objects.exists()


def test_a_manager_does_not_write_for_the_whole_organisation(book):
    with pytest.raises(DomainError, match="directors and finance"):
        record(book, team=None)


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"quantity": "speed"}, "quantity"),
        ({"value": "1.2"}, "value"),
        ({"value": "0"}, "value"),
        ({"low": Decimal("0.5")}, "value"),
        ({"high": Decimal("0.1")}, "value"),
        ({"runs": 0}, "runs"),
        ({"until": date(2025, 1, 1)}, "until"),
        ({"source": " "}, "source"),
    ],
)
def test_a_figure_that_cannot_be_right_is_refused_with_its_place(book, changes, path):
    with pytest.raises(DomainError) as refused:
        record_baseline(figure(**changes), by=book.manager, team=book.team, now=NOW)

    assert path in [fault.path for fault in refused.value.faults]
    assert not Baseline.objects.exists()


def test_a_figure_of_tomorrow_is_refused(book):
    with pytest.raises(DomainError) as refused:
        record(book, valid_from=date(2026, 11, 29))

    assert [fault.path for fault in refused.value.faults] == ["valid_from"]


def test_the_database_keeps_rows_as_they_are(book):
    row = record(book)

    with pytest.raises(DatabaseError), transaction.atomic():
        Baseline.objects.filter(pk=row.pk).update(mode=Decimal("0.9"))
    with pytest.raises(DatabaseError), transaction.atomic():
        row.delete()


def test_a_later_row_of_the_same_project_takes_the_place_of_an_earlier_one_from_its_day_on(book):
    record(book, "compute.paid_mfu", "0.3", project=book.project, valid_from=date(2026, 5, 1))
    second = record(book, "compute.paid_mfu", "0.5", project=book.project, valid_from=date(2026, 9, 1))

    assert [row.mode for row in history_of(book.team.pk, on=date(2026, 6, 1)).recorded] == [0.3]
    assert [row.id for row in history_of(book.team.pk, on=TODAY).recorded] == [second.pk]
    assert not history_of(book.team.pk, on=date(2026, 4, 30)).recorded


def test_a_withdrawn_figure_speaks_no_more(book):
    record(book, project=book.project)
    record(book, project=book.project, withdrawn=True)

    assert used(answer(book.team.pk, compute=LEFT_TO_HISTORY)) is None


def test_a_predecessor_is_found_by_its_short_name(book):
    record(book, "experiments.ratio", "0.7")
    record(book, "experiments.ratio", "0.2", project=book.project)

    answered = answer(book.team.pk, predecessor=book.project.slug, experiments={"ratio": "baseline"})

    assert used(answered, "experiments.ratio")["scope"] == "predecessor"
    assert used(answered, "experiments.ratio")["p50"] == pytest.approx(0.2, abs=1e-3)


def test_a_new_figure_makes_exactly_the_drafts_of_the_team_that_looked_for_it_stale(book):
    looked = factories.estimate(book.alice, book.project, compute=LEFT_TO_HISTORY)
    typed = factories.estimate(book.alice, book.project)
    foreign = factories.estimate(book.charlie, book.other_project, compute=LEFT_TO_HISTORY)
    frozen = services.freeze_estimate(
        factories.estimate(book.alice, book.project, compute=LEFT_TO_HISTORY), by=book.alice
    )

    record(book)

    assert list(Estimate.objects.stale()) == [looked]
    for other in (typed, foreign, frozen):
        other.refresh_from_db()
        assert other.stale_since is None


def test_any_figure_of_a_project_makes_the_drafts_stale_that_name_a_predecessor(book):
    waiting = factories.estimate(book.alice, book.project, predecessor=book.project.slug)

    record(book, "rollback_factor", "1.1", project=book.project)

    assert list(Estimate.objects.stale()) == [waiting]


def test_a_stale_draft_is_computed_again_by_its_teams_figure_and_says_why(book):
    draft = factories.estimate(book.alice, book.project, compute=LEFT_TO_HISTORY)
    before = draft.total_mean
    record(book)

    assert services.recompute_next(10, now=NOW) == 1

    draft.refresh_from_db()
    assert draft.stale_since is None
    assert draft.total_mean == pytest.approx(Decimal(2000), rel=Decimal("0.01"))
    revision = draft.revisions.first()
    assert (revision.why, revision.old_total, revision.new_total) == (
        EstimateRevision.Why.BASELINE,
        before,
        draft.total_mean,
    )


def test_a_frozen_estimate_remembers_the_figures_it_stood_on(book):
    row = record(book)
    frozen = services.freeze_estimate(
        factories.estimate(book.alice, book.project, compute=LEFT_TO_HISTORY), by=book.alice
    )
    record(book, "compute.paid_mfu", "0.2")

    frozen.refresh_from_db()
    assert used(frozen.answer)["ids"] == [row.pk]


def test_charlie_sees_figures_of_the_organisation_and_none_of_another_team(book):
    own = record(book)
    shared = record(book, by=book.finance, team=None)

    assert set(Baseline.objects.visible_to(book.bob)) == {own, shared}
    assert set(Baseline.objects.visible_to(book.charlie)) == {shared}
    assert set(Baseline.objects.visible_to(book.auditor)) == {own, shared}


def test_the_preview_counts_the_past_runs_of_the_projects_team(book, client):
    record(book)
    client.force_login(book.alice)
    plan = factories.plan(compute=LEFT_TO_HISTORY)
    address = "/api/v1/estimates/preview/?samples=100"

    own = client.post(f"{address}&project={book.project.slug}", plan, content_type="application/json")
    without = client.post(address, plan, content_type="application/json")
    client.force_login(book.charlie)
    hidden = client.post(f"{address}&project={book.project.slug}", plan, content_type="application/json")

    assert used(own.json())["runs"] == 3
    assert used(without.json()) is None
    assert hidden.status_code == 404
