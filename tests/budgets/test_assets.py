"""Assets: their cost moves to the projects that use them, once a month, to the cent, and can be taken back."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction

from budgets.amortising import Use, carried_by_project, part_of_rest, uses_of_month
from budgets.assets import charges_to_come, offer_of, standings, uses_without_clearance
from budgets.models import Asset, AssetCharge, Entry
from budgets.queries import line_status
from budgets.services import assets
from core.errors import DomainError, NotAllowed
from core.months import Month, Period
from overruns.outlook import outlooks
from teams.models import Activity, ClosedMonth
from tests import factories as people
from tests.budgets import factories

APRIL = datetime(2027, 4, 1, 6, tzinfo=UTC)
JANUARY = Month(2027, 1)


def data_set(stage, *, cost="100", life=3, life_in="months", starts=JANUARY, **said) -> Asset:
    new = assets.NewAsset("Web text", "data_set", Decimal(cost), starts, life_in, life, stage.alice, **said)
    return assets.add_asset(stage.project, new, by=stage.manager)


@pytest.fixture
def shared(stage):
    """A data set of one project that a second project of the team uses; both have a data line, and so has Search."""
    stage.second = people.project(stage.team, "Tuning")
    stage.source = factories.line(stage.project, "data", granted=1000)
    stage.taker = factories.line(stage.second, "data", granted=50)
    stage.compute = factories.line(stage.second, granted=7)
    stage.unrelated = factories.line(stage.other_project, "data", granted=9)
    return stage


def test_a_rest_is_divided_over_what_is_left_and_the_last_part_takes_every_cent():
    first = part_of_rest(Decimal(100), 1, 3, "USD")
    second = part_of_rest(Decimal(100) - first, 1, 2, "USD")

    assert (first, second) == (Decimal("33.33"), Decimal("33.34"))
    assert part_of_rest(Decimal("33.33"), 1, 1, "USD") == Decimal("33.33")
    assert part_of_rest(Decimal(1000), 3, 4, "JPY") == 750


def test_users_share_a_month_by_their_weights():
    uses = [Use(1, JANUARY, None, 1), Use(2, JANUARY, JANUARY + 1, 3), Use(3, JANUARY + 1, None, 1)]

    in_january = uses_of_month(uses, JANUARY, by_tasks=False)

    assert carried_by_project(Decimal(10), in_january, "USD") == {1: Decimal("2.5"), 2: Decimal("7.5")}
    assert [use.project for use in uses_of_month(uses, JANUARY + 1, by_tasks=False)] == [1, 3]
    assert [use.project for use in uses_of_month(uses, JANUARY + 1, by_tasks=True)] == [3]


def test_every_month_relieves_the_source_and_burdens_the_user_by_balanced_entries(shared):
    asset = data_set(shared)
    assets.use_asset(asset, shared.second, by=shared.manager, since=JANUARY)

    charged = assets.charge_due(now=APRIL)

    assert charged == 3
    assert line_status(shared.source).actual == -100
    assert line_status(shared.taker).actual == 100
    assert line_status(shared.taker).headroom == -50
    assert line_status(shared.unrelated).actual == line_status(shared.compute).actual == 0
    assert list(AssetCharge.objects.order_by("month").values_list("amount", flat=True)) == [
        Decimal("33.33"),
        Decimal("33.34"),
        Decimal("33.33"),
    ]
    assert standings([asset])[asset.pk].rest == 0
    assert Activity.objects.filter(verb="asset.charged", by=None).count() == 3


def test_what_is_still_to_be_charged_is_known_by_month_and_line(shared):
    asset = data_set(shared, cost="120", life=12)
    assets.use_asset(asset, shared.second, by=shared.manager, since=Month(2027, 2), until=Month(2027, 6))
    data_set(shared, cost="7", life=1)
    assets.charge_due(now=datetime(2027, 3, 10, 12, tzinfo=UTC))  # January and February

    found = charges_to_come([shared.taker, shared.source, shared.compute])

    assert found[shared.taker.pk] == {Month(2027, 3): 10, Month(2027, 4): 10, Month(2027, 5): 10}
    assert found[shared.source.pk] == {Month(2027, 3): -10, Month(2027, 4): -10, Month(2027, 5): -10}
    assert shared.compute.pk not in found


def test_what_falls_due_comes_to_what_was_foreseen(shared):
    asset = data_set(shared, cost="100", life=3)
    assets.use_asset(asset, shared.second, by=shared.manager, since=JANUARY)
    foreseen = charges_to_come([shared.taker])[shared.taker.pk]

    assets.charge_due(now=APRIL)

    assert sum(foreseen.values()) == line_status(shared.taker).actual == 100
    assert charges_to_come([shared.taker]) == {}


def test_the_forecast_of_a_line_holds_what_assets_will_charge(shared):
    asset = data_set(shared, cost="120", life=12)
    assets.use_asset(asset, shared.second, by=shared.manager, since=JANUARY)
    lines = [shared.taker, shared.source]

    found = outlooks(lines, {line.pk: line_status(line) for line in lines}, {}, now=datetime(2027, 1, 15, tzinfo=UTC))

    assert (found[shared.taker.pk].p50, found[shared.taker.pk].charges) == (120, 120)
    assert (found[shared.source.pk].p10, found[shared.source.pk].p90) == (-120, -120)


def test_a_month_is_charged_once_however_often_the_clock_comes(shared):
    asset = data_set(shared, life=12)
    assets.use_asset(asset, shared.second, by=shared.manager, since=JANUARY)

    counts = [assets.charge_due(now=APRIL) for _time in range(3)]

    assert counts == [3, 0, 0]
    assert Entry.objects.filter(kind="amortise").count() == 6
    with pytest.raises(IntegrityError), transaction.atomic():
        AssetCharge.objects.create(asset=asset, month=date(2027, 1, 1), units=1, amount=1)


def test_a_month_that_is_not_over_is_not_charged(shared):
    asset = data_set(shared, life=12, starts=Month(2027, 4))
    assets.use_asset(asset, shared.second, by=shared.manager, since=Month(2027, 4))

    assert assets.charge_due(now=APRIL) == 0


def test_an_asset_that_nobody_uses_charges_nothing(shared):
    data_set(shared)

    assert assets.charge_due(now=APRIL) == 0
    assert not AssetCharge.objects.exists()


def test_what_the_project_that_made_it_uses_itself_stays_with_it(shared):
    asset = data_set(shared, cost="90")
    assets.use_asset(asset, shared.project, by=shared.manager, since=JANUARY, tasks=2)
    assets.use_asset(asset, shared.second, by=shared.manager, since=Month(2027, 3))

    assets.charge_due(now=APRIL)

    assert line_status(shared.taker).actual == 10  # a third of March's 30
    assert line_status(shared.source).actual == -10
    assert standings([asset])[asset.pk].written_off == 90


def test_a_life_in_tasks_charges_each_use_in_the_month_it_begins(shared):
    asset = data_set(shared, cost="100", life=4, life_in="tasks")
    assets.use_asset(asset, shared.second, by=shared.manager, since=Month(2027, 2), tasks=3)
    assets.use_asset(asset, shared.project, by=shared.manager, since=Month(2027, 3), tasks=5)

    assets.charge_due(now=APRIL)

    assert line_status(shared.taker).actual == 75
    assert list(AssetCharge.objects.order_by("month").values_list("month", "units", "amount")) == [
        (date(2027, 2, 1), 3, Decimal(75)),
        (date(2027, 3, 1), 1, Decimal(25)),
    ]


def test_a_charge_is_taken_back_once_with_a_reason_and_later_months_carry_the_rest(shared):
    asset = data_set(shared, cost="120", life=4)
    assets.use_asset(asset, shared.second, by=shared.manager, since=JANUARY)
    assets.charge_due(now=datetime(2027, 3, 1, tzinfo=UTC))
    january = AssetCharge.objects.get(month=date(2027, 1, 1))

    with pytest.raises(DomainError, match="Say why"):
        assets.reverse_charge(january, by=shared.manager, reason=" ")
    assets.reverse_charge(january, by=shared.finance, reason="It was not used yet", now=APRIL)

    assert line_status(shared.taker).actual == 30
    assert line_status(shared.source).actual == -30
    with pytest.raises(DomainError, match="taken back already"):
        assets.reverse_charge(january, by=shared.finance, reason="again")
    assets.charge_due(now=datetime(2028, 1, 1, tzinfo=UTC))
    assert standings([asset])[asset.pk].rest == 0
    assert not AssetCharge.objects.filter(month=date(2027, 1, 1), reverses=None).exclude(pk=january.pk).exists()
    assert max(AssetCharge.objects.values_list("month", flat=True)) == date(2027, 5, 1)


def test_a_month_without_a_line_waits_and_is_charged_when_there_is_one(shared):
    third = people.project(shared.team, "Third")
    asset = data_set(shared, cost="90")
    assets.use_asset(asset, third, by=shared.manager, since=JANUARY)

    assert assets.charge_due(now=APRIL) == 0
    assert assets.planned_charge(asset, JANUARY).missing == (third,)
    line = factories.line(third, "data", granted=90)

    assert assets.charge_due(now=APRIL) == 3
    assert line_status(line).headroom == 0


def test_a_month_whose_books_are_closed_is_charged_on_the_first_open_line(shared):
    third = people.project(shared.team, "Third")
    january = Period(date(2027, 1, 1), date(2027, 2, 1))
    factories.line(third, "data", period=january, period_kind="month", closed_at=APRIL)
    february = factories.line(third, "data", period=Period(date(2027, 2, 1), date(2027, 3, 1)), period_kind="month")
    ClosedMonth.objects.create(month=date(2027, 1, 1), closed_at=APRIL, by=shared.finance)
    asset = data_set(shared, cost="90")
    assets.use_asset(asset, third, by=shared.manager, since=JANUARY)

    assets.charge_due(now=datetime(2027, 2, 1, tzinfo=UTC))

    assert line_status(february).actual == 30


@pytest.mark.parametrize("who", ["alice", "charlie", "other_manager", "director", "operator", "auditor", "keeper"])
def test_only_managers_of_the_team_and_finance_keep_assets(shared, who):
    person = getattr(shared, who)
    asset = data_set(shared)

    with pytest.raises(NotAllowed):
        assets.add_asset(
            shared.project, assets.NewAsset("x", "model", Decimal(1), JANUARY, "months", 1, person), by=person
        )
    with pytest.raises(NotAllowed):
        assets.use_asset(asset, shared.second, by=person, since=JANUARY)
    with pytest.raises(NotAllowed):
        assets.set_clearance(asset, by=person, licence="own", compliance="cleared", reason="because")


def test_charlie_sees_an_asset_only_when_it_is_offered_or_used_by_the_own_team(shared):
    hidden = data_set(shared)
    offered = data_set(shared, is_offered=True)
    assets.use_asset(offered, shared.other_project, by=shared.other_manager, since=JANUARY)

    assert list(Asset.objects.visible_to(shared.charlie)) == [offered]
    with pytest.raises(DomainError, match="no such asset"):
        assets.use_asset(hidden, shared.other_project, by=shared.other_manager, since=JANUARY)
    Asset.objects.filter(pk=offered.pk).update(is_offered=False)
    assert offered in Asset.objects.visible_to(shared.charlie)
    assert set(Asset.objects.visible_to(shared.bob)) == {hidden, offered}


def test_a_use_stays_in_one_currency_and_begins_in_no_charged_month(shared):
    asset = data_set(shared)
    abroad = people.project(shared.team, "Abroad", currency="EUR")
    assets.use_asset(asset, shared.second, by=shared.manager, since=JANUARY)
    assets.charge_due(now=datetime(2027, 2, 1, tzinfo=UTC))

    with pytest.raises(DomainError, match="stays in one currency"):
        assets.use_asset(asset, abroad, by=shared.manager, since=Month(2027, 2))
    with pytest.raises(DomainError, match="2027-01 is charged already"):
        assets.use_asset(asset, shared.project, by=shared.manager, since=JANUARY)
    with pytest.raises(DomainError, match="there from 2027-01 on"):
        assets.use_asset(data_set(shared), shared.project, by=shared.manager, since=Month(2026, 12))


def test_a_use_ends_and_the_rest_is_carried_by_those_who_stay(shared):
    asset = data_set(shared, cost="90")
    own = assets.use_asset(asset, shared.project, by=shared.manager, since=JANUARY)
    assets.use_asset(asset, shared.second, by=shared.manager, since=JANUARY)
    assets.charge_due(now=datetime(2027, 2, 1, tzinfo=UTC))

    with pytest.raises(DomainError, match="2027-02 or later"):
        assets.end_use(own, by=shared.manager, until=JANUARY)
    assets.end_use(own, by=shared.manager, until=Month(2027, 2))
    assets.charge_due(now=APRIL)

    assert line_status(shared.taker).actual == 15 + 30 + 30


def test_the_approver_is_warned_of_an_asset_of_unknown_licence(shared):
    proposal, _step = factories.submitted(shared.second, shared.alice, {("compute", "2027-01"): 10})
    other, _step = factories.submitted(shared.second, shared.alice, {("compute", "2027-01"): 10}, title="Other")
    asset = data_set(shared, licence="own")
    assets.use_asset(asset, shared.second, by=shared.manager, since=JANUARY, proposal=proposal)

    assert [use.asset for use in uses_without_clearance(proposal)] == [asset]
    assert not uses_without_clearance(other)
    assets.set_clearance(asset, by=shared.manager, licence="own", compliance="cleared", reason="Audit 12")
    assert not uses_without_clearance(proposal)


def test_a_closed_proposal_offers_what_it_used_up_as_the_cost(shared):
    line = factories.line(shared.project, granted=1000)
    proposal = factories.draft(shared.project, shared.alice, {("compute", "2027-01"): 500})
    factories.entry(line, "commit", 500, proposal=proposal)
    factories.cost(shared.project, "321.987", reference=proposal.reference)
    factories.cost(shared.project, 40)
    version = proposal.versions.get()
    version.estimate.plan = {**version.estimate.plan, "data": {"tokens": "20B", "reusable_for_projects": 4}}
    version.estimate.save()

    offer = offer_of(proposal)

    assert (offer.kind, offer.tasks) == ("model", 4)
    assert offer.cost == Decimal("361.99")  # its own 321.987, and 40 that consumed its commitment
