"""Growth out of the ordinary: by weekday, robust, told once an episode with who moved."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from overruns.abnormal import watch_growth
from overruns.growth import excess_of, excesses
from overruns.models import Episode
from teams.models import ClosedMonth, Notification, Organisation, Role
from tests import factories as people
from tests.budgets import factories
from tests.letters import letters
from tests.overruns.test_silence import usage_until
from usage.models import DailyUsage, Meter
from usage.reassignments import name_owner

MONDAY = date(2027, 3, 1)
NOW = datetime(2027, 3, 2, 9, tzinfo=UTC)


def weeks(weekday_cost, weekend_cost, count=8, until=MONDAY):
    """So much on each weekday and each day of a weekend, for some weeks before a Monday."""
    days = [until - timedelta(days=back) for back in range(1, 7 * count + 1)]
    return {day: Decimal(weekend_cost if day.weekday() >= 5 else weekday_cost) for day in days}


def excess(by_day, day=MONDAY, minimum=Decimal(100)):
    return excess_of(by_day, day, first_day=min(by_day), minimum=minimum)


def test_a_day_far_above_its_weekday_is_out_of_the_ordinary():
    found = excess({**weeks(1000, 100), MONDAY: Decimal(1400)})

    assert (found.expected, found.amount) == (1000, 400)


def test_a_quarter_more_is_growth_but_not_out_of_the_ordinary():
    assert excess({**weeks(1000, 100), MONDAY: Decimal(1250)}) is None


def test_a_weekday_s_cost_on_a_sunday_is_out_of_the_ordinary():
    sunday = MONDAY - timedelta(days=1)

    assert excess({**weeks(1000, 100), sunday: Decimal(1000)}, sunday).expected == 100


def test_days_that_stray_anyway_need_to_stray_further():
    by_day = {day: Decimal(1000 + (200 if number % 2 else -200)) for number, day in enumerate(weeks(0, 0))}

    # medians of a weekday are 1000 (four days at 800, four at 1200); the usual stray is 200, four deviations 1186.08
    assert excess({**by_day, MONDAY: Decimal(2186)}) is None
    assert excess({**by_day, MONDAY: Decimal(2187)}).expected == 1000


def test_what_is_worth_nobody_s_time_is_not_spoken_of():
    assert excess({**weeks(10, 10), MONDAY: Decimal("109.99")}) is None
    assert excess({**weeks(10, 10), MONDAY: Decimal(110)}).amount == 100


def test_one_earlier_burst_does_not_hide_the_next():
    by_day = weeks(1000, 1000)
    by_day[MONDAY - timedelta(days=14)] = Decimal(90000)

    assert excess({**by_day, MONDAY: Decimal(1400)}).expected == 1000


def test_less_than_two_weeks_say_nothing():
    by_day = {MONDAY - timedelta(days=back): Decimal(10) for back in range(1, 14)}

    assert excess({**by_day, MONDAY: Decimal(9000)}) is None


def test_only_closed_days_are_looked_at():
    by_day = {**weeks(1000, 1000), MONDAY: Decimal(9000)}

    assert excesses(by_day, known_until=MONDAY, look_back=7, minimum=Decimal(1)) == []


@pytest.fixture
def meters(stage):
    """Two accounts that use the same SKU."""

    def meter(account):
        return Meter.objects.create(
            source=factories.source(),
            digest=uuid.uuid5(uuid.NAMESPACE_OID, account),
            charge_category="Usage",
            account=account,
            sku="H100",
            unit="Hours",
        )

    return [meter("train"), meter("serve")]


def spend(stage, meter, by_day, project=None, quantity=0):
    for day, amount in by_day.items():
        row = factories.cost(project or stage.project, amount, day=day)
        DailyUsage.objects.filter(pk=row.pk).update(meter=meter, quantity=quantity)


def known(day):
    usage_until(datetime(day.year, day.month, day.day, 0, 30, tzinfo=UTC))


def test_an_episode_is_told_once_with_who_moved_and_ends_with_a_usual_day(stage, meters):
    train, serve = meters
    spend(stage, train, {**weeks(1000, 1000), MONDAY: Decimal(3000), MONDAY + timedelta(days=1): Decimal(2800)})
    spend(stage, serve, {**weeks(500, 500), MONDAY: Decimal(550)})
    spend(stage, serve, weeks(500, 500), project=stage.other_project)
    known(MONDAY + timedelta(days=1))

    (episode,) = watch_growth(now=NOW)

    assert (episode.project, episode.sku, episode.value, episode.expected) == (stage.project, "H100", 3550, 1500)
    assert episode.movers == [{"name": "train", "amount": "2000"}, {"name": "serve", "amount": "50"}]
    assert [row.user for row in Notification.objects.filter(kind="growth_noticed")] == [stage.manager]
    assert "Compute H100" in letters(stage.manager)[0].text and "train; serve" in letters(stage.manager)[0].text

    known(MONDAY + timedelta(days=2))
    assert watch_growth(now=NOW + timedelta(days=1)) == []
    episode.refresh_from_db()
    assert (episode.last_day, episode.ended_at) == (MONDAY + timedelta(days=1), None)

    spend(stage, train, {MONDAY + timedelta(days=2): Decimal(1000)})
    known(MONDAY + timedelta(days=3))
    assert watch_growth(now=NOW + timedelta(days=2)) == []
    assert Episode.objects.get().ended_at == NOW + timedelta(days=2)
    assert Notification.objects.filter(kind="growth_noticed").count() == 1


def test_a_quantity_is_watched_although_its_cost_stays(stage, meters):
    spend(stage, meters[0], weeks(10, 10), quantity=100)
    spend(stage, meters[0], {MONDAY: Decimal(10)}, quantity=400)
    known(MONDAY + timedelta(days=1))

    (episode,) = watch_growth(now=NOW)

    assert (episode.kind, episode.counted, episode.value, episode.expected) == ("quantity", "Hours", 400, 100)


def test_too_much_without_a_project_is_told_to_operators_and_finance_once_a_month(stage):
    factories.cost(stage.project, 94, day=MONDAY)
    without = factories.cost(stage.project, 6, day=MONDAY)
    DailyUsage.objects.filter(pk=without.pk).update(project=None)

    (episode,) = watch_growth(now=NOW)
    assert watch_growth(now=NOW + timedelta(hours=1)) == []

    assert (episode.kind, episode.value, episode.expected) == ("unallocated", 6, 5)
    told = {row.user for row in Notification.objects.filter(kind="shares_high")}
    assert told == {stage.operator, stage.finance}


def unplaced(project, amount, day):
    """Cost of a day that no rule placed."""
    row = factories.cost(project, amount, day=day)
    DailyUsage.objects.filter(pk=row.pk).update(project=None)


def test_who_answers_for_unallocated_cost_hears_of_it_in_place_of_every_operator(stage):
    second = people.user("second@example.com")
    people.member(second, None, Role.OPERATOR)
    name_owner(second, by=stage.finance)
    factories.cost(stage.project, 90, day=MONDAY)
    unplaced(stage.project, 10, MONDAY)

    watch_growth(now=NOW)

    told = {row.user for row in Notification.objects.filter(kind="shares_high")}
    assert told == {second, stage.finance}


def test_a_bill_that_comes_after_its_month_is_looked_at_until_the_month_is_closed(stage):
    last = MONDAY.replace(day=1) - timedelta(days=1)
    unplaced(stage.project, 10, last)

    (episode,) = watch_growth(now=NOW)
    assert (episode.first_day, episode.last_day, episode.ended_at) == (last.replace(day=1), last, None)
    ClosedMonth.objects.create(month=last.replace(day=1), closed_at=NOW, by=stage.finance)
    assert watch_growth(now=NOW) == []

    episode.refresh_from_db()
    assert episode.ended_at == NOW


def test_cost_without_tags_is_told_where_a_limit_is_set(stage):
    row = factories.cost(stage.project, 30, day=MONDAY)
    DailyUsage.objects.filter(pk=row.pk).update(is_tagged=False)
    assert watch_growth(now=NOW) == []

    Organisation.objects.update(untagged_limit=Decimal("0.2"))

    assert [each.kind for each in watch_growth(now=NOW)] == ["untagged"]


def test_the_page_shows_own_projects_alone(client, stage):
    for project, name in ((stage.project, "own-sku"), (stage.other_project, "foreign-sku"), (None, "no-sku")):
        Episode.objects.create(
            kind="money",
            project=project,
            sku=name,
            counted="USD",
            first_day=MONDAY,
            last_day=MONDAY,
            value=9,
            expected=1,
            noticed_at=NOW,
        )
    client.force_login(stage.alice)
    page = client.get("/warnings/growth/").content.decode()
    assert "own-sku" in page and "foreign-sku" not in page and "no-sku" not in page
    client.force_login(stage.auditor)
    assert "no-sku" in client.get("/warnings/growth/").content.decode()
