"""What is asked and approved in time, against the cards there are."""

from __future__ import annotations

import csv
import io
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from budgets.capacity.demand import APPROVED, ASKED, DRAFTED, demand_by_month
from budgets.capacity.outlook import capacity_view, heaviest_month
from budgets.funding import LineDecision
from budgets.models import AskHours, Proposal, ProposalVersion
from budgets.services import approval, proposals
from core.months import Month
from estimates.engine.books import AcceleratorBook, AcceleratorSpec
from estimates.hours import hours_by_month
from estimates.models import Accelerator
from teams.models import ExchangeRate, Organisation
from tests.budgets import factories
from tests.estimates import factories as prices
from usage.models import CardLot, CardWindow, Cluster, Source

JANUARY, FEBRUARY, MARCH = Month(2027, 1), Month(2027, 2), Month(2027, 3)
TODAY = date(2027, 1, 15)
CARD = "h100-sxm-80gb"


def hall(*, cards: int = 10, mode: str = "own", slug: str = "hall", ordered_on: date | None = None) -> Cluster:
    """A cluster of some H100 since 2026."""
    source = Source.objects.create(slug=f"log-{slug}", name=slug, format="slurm-sacct")
    cluster = Cluster.objects.create(slug=slug, name=slug, source=source, mode=mode)
    CardLot.objects.create(
        cluster=cluster,
        accelerator=prices.accelerator(CARD),
        cards=cards,
        ordered_on=ordered_on,
        starts_on=date(2026, 6, 1),
    )
    return cluster


def asking(project, by, hours: int, *, month: Month = FEBRUARY, rented: int = 0, reserved: int = 0):
    """A proposal that waits and its step, with 1,000 USD of computing and hours of one month."""
    proposal, step = factories.submitted(project, by, {("compute", str(month)): 1000})
    want(proposal.versions.get(), hours, month=month, rented=rented, reserved=reserved)
    return proposal, step


def want(version: ProposalVersion, hours: int, *, month: Month = FEBRUARY, rented: int = 0, reserved: int = 0) -> None:
    AskHours.objects.create(
        version=version, accelerator=CARD, month=month.start, hours=hours, rented=rented, reserved=reserved
    )


def of_state() -> dict[str, Decimal]:
    """Hours of February by state."""
    sums: dict[str, Decimal] = {}
    for each in demand_by_month(FEBRUARY, MARCH):
        sums[each.state] = sums.get(each.state, Decimal(0)) + each.hours.hours
    return sums


def february(**options):
    """The one kind of card in February."""
    return capacity_view(FEBRUARY, 1, today=TODAY, **options).of_accelerator(CARD)[0]


def test_submitting_keeps_the_hours_of_the_estimate_by_month_and_card(stage):
    proposal = proposals.create_proposal(by=stage.alice, project=stage.project, plan=factories.PLAN)

    version = proposals.submit_proposal(proposal, by=stage.alice)

    (kept,) = version.ask_hours.all()
    total = version.estimate.answer["quantities"]["total_accelerator_hours"]["mean"]
    assert (kept.accelerator, kept.month) == ("own-card", date(2027, 1, 1))
    assert float(kept.hours) == pytest.approx(total)
    assert kept.rented == kept.hours


def test_an_answer_of_before_hours_by_month_spreads_them_as_the_money_of_computing():
    answer = {
        "quantities": {"total_accelerator_hours": {"mean": 100.0}},
        "cost": {
            "by_month": [
                {"month": "2027-01", "by_line": {"compute": 30.0, "data": 500.0}},
                {"month": "2027-02", "by_line": {"compute": 10.0, "data": 0.0}},
            ]
        },
    }

    found = hours_by_month(answer, {"compute": {"accelerator": "h100"}}, accelerator_book_of(CARD, "h100"))

    assert {key: each.hours for key, each in found.items()} == {(CARD, JANUARY): 75, (CARD, FEBRUARY): 25}


def test_what_waits_is_asked_and_what_was_decided_is_approved(stage):
    asking(stage.other_project, stage.charlie, 50)
    _proposal, step = asking(stage.project, stage.alice, 100)
    asking(stage.project, stage.alice, 7, month=MARCH)
    assert of_state() == {ASKED: 150}

    approval.approve_proposal(step, by=stage.manager)

    assert of_state() == {ASKED: 50, APPROVED: 100}


def test_what_was_approved_in_part_counts_by_the_money_of_computing_it_holds(stage):
    _proposal, step = asking(stage.project, stage.alice, 100)

    approval.approve_proposal(
        step, by=stage.manager, lines=[LineDecision("compute", Decimal(250))], reason="A quarter is enough"
    )

    assert of_state() == {APPROVED: 25}


def test_an_amendment_asks_for_what_it_adds(stage):
    proposal, step = asking(stage.project, stage.alice, 100)
    approval.approve_proposal(step, by=stage.manager)
    first = proposal.versions.get()
    second = ProposalVersion.objects.create(
        proposal=proposal,
        number=2,
        estimate=first.estimate,
        currency="USD",
        state="submitted",
        ask_total=1300,
        submitted_by=stage.alice,
        submitted_at=factories.NOON,
    )
    want(second, 130)

    assert of_state() == {APPROVED: 100, ASKED: 30}


def test_only_open_work_counts(stage):
    withdrawn, _step = asking(stage.project, stage.alice, 100)
    closed, step = asking(stage.project, stage.alice, 200)
    asking(stage.other_project, stage.charlie, 50)

    proposals.withdraw_proposal(withdrawn, by=stage.alice)
    approval.approve_proposal(step, by=stage.manager)
    proposals.close_proposal(closed, by=stage.alice)

    assert of_state() == {ASKED: 50}


def test_drafts_count_where_they_are_wanted(stage):
    hall()
    plan = {**factories.PLAN, "start": "2027-02-01", "compute": {**factories.PLAN["compute"], "accelerator": "h100"}}
    proposal = proposals.create_proposal(by=stage.alice, project=stage.project, plan=plan)
    total = proposal.versions.get().estimate.answer["quantities"]["total_accelerator_hours"]["mean"]

    assert february().total.hours == 0
    assert float(february(drafts=Proposal.objects.visible_to(stage.bob)).of_state(DRAFTED)) == pytest.approx(total)
    assert february(drafts=Proposal.objects.visible_to(stage.charlie)).total.hours == 0


def test_a_month_is_short_of_what_maintenance_and_kept_cards_leave(stage):
    # 10 cards for 28 days are 6,720 h; a day of maintenance of all takes 240, 2 cards kept for ten days 480
    cluster = hall()
    at = datetime(2027, 2, 1, tzinfo=UTC)
    CardWindow.objects.create(cluster=cluster, starts_at=at, ends_at=at + timedelta(days=1), reason="Cooling")
    CardWindow.objects.create(
        cluster=cluster,
        kind=CardWindow.Kind.RESERVATION,
        cards=2,
        starts_at=at + timedelta(days=2),
        ends_at=at + timedelta(days=12),
        reason="A guest",
    )
    asking(stage.project, stage.alice, 7500)

    found = february()

    assert (found.available, found.short, found.load) == (6000, 1500, Decimal("1.25"))


def test_hours_that_plans_rent_anyway_are_told_apart(stage):
    prices.price()
    hall()
    asking(stage.project, stage.alice, 9720, rented=2000)

    (found,) = capacity_view(FEBRUARY, 1, today=TODAY).shortages

    # 3,000 hours are short at 2 USD an hour; the plan rents 2,000 of its hours anyway
    assert (found.of.short, found.of.rented, found.of.open) == (3000, 2000, 1000)
    assert (found.cost, found.unplanned_cost, found.currency) == (6000, 2000, "USD")


def test_what_a_plan_reserves_is_there_beyond_the_reserved_clusters(stage):
    hall()
    asking(stage.project, stage.alice, 8000, reserved=1000)
    assert february().available == 7720

    hall_of_term = Source.objects.create(slug="log-term", name="term", format="slurm-sacct")
    term = Cluster.objects.create(slug="term", name="term", source=hall_of_term, mode="committed")
    CardLot.objects.create(
        cluster=term, accelerator=Accelerator.objects.get(slug=CARD), cards=1, starts_on=date(2026, 6, 1)
    )

    # a card of the reserved cluster gives 672 h: 328 of the plan's 1,000 are beyond it
    assert february().available == 6720 + 672 + 328


def test_a_price_in_another_currency_is_converted_at_the_rate_of_this_month(stage):
    prices.price(currency="CNY", amount="14")
    hall()
    asking(stage.project, stage.alice, 6820)
    ExchangeRate.objects.create(month=JANUARY.start, base="CNY", quote="USD", rate=Decimal("0.15"))

    (found,) = capacity_view(FEBRUARY, 1, today=TODAY).shortages

    assert (found.of.short, found.cost) == (100, 210)


def test_cards_are_to_be_ordered_their_lead_time_before_the_month(stage):
    hall(ordered_on=date(2026, 5, 22))
    asking(stage.project, stage.alice, 9000)
    (seen,) = capacity_view(FEBRUARY, 1, today=TODAY).shortages
    assert (seen.lead.days, seen.order_by, seen.is_late) == (10, date(2027, 1, 22), False)

    Accelerator.objects.filter(slug=CARD).update(lead_time_days=60, lead_time_source="Offer of May")

    (stated,) = capacity_view(FEBRUARY, 1, today=TODAY).shortages
    assert (stated.lead.source, stated.order_by, stated.is_late) == ("Offer of May", date(2026, 12, 3), True)
    assert stated.earliest == date(2027, 3, 16)


def test_all_cards_together_are_counted_by_dense_peak_and_the_unknown_are_named(stage):
    hall()
    proposal, _step = asking(stage.project, stage.alice, 100)
    for accelerator in ("half", "nobody-knows"):
        AskHours.objects.create(
            version=proposal.versions.get(),
            accelerator=accelerator,
            month=FEBRUARY.start,
            hours=50,
            rented=0,
            reserved=0,
        )
    prices.accelerator("half", bf16_tflops="494.5", aliases=[])

    view = capacity_view(FEBRUARY, 1, today=TODAY)

    assert (view.totals[0].available, view.totals[0].total) == (6720, 125)
    assert view.without_peak == ["nobody-knows"]


def test_an_ask_is_held_against_what_is_approved_beside_it(stage):
    hall()
    _other, step = asking(stage.other_project, stage.charlie, 3360)
    approval.approve_proposal(step, by=stage.other_manager)
    asking(stage.other_project, stage.charlie, 9999)
    proposal, _step = asking(stage.project, stage.alice, 5376)

    found = heaviest_month(proposal.versions.get())

    assert (found.month, found.load) == (FEBRUARY, Decimal("1.3"))


def test_an_ask_for_cards_that_nobody_registered_is_held_against_nothing(stage):
    proposal, _step = asking(stage.project, stage.alice, 5376)

    assert heaviest_month(proposal.versions.get()) is None


# ---- doors


@pytest.mark.parametrize("name", ["manager", "director", "finance", "operator", "auditor"])
def test_who_decides_or_has_a_role_in_the_whole_sees_capacity(client, stage, name):
    client.force_login(getattr(stage, name))

    assert client.get(reverse("capacity")).status_code == 200
    assert client.get(reverse("api-capacity")).status_code == 200
    assert reverse("capacity") in client.get(reverse("proposal-list")).content.decode()


def test_members_see_no_capacity(client, stage):
    client.force_login(stage.alice)

    assert client.get(reverse("capacity")).status_code == 403
    assert client.get(reverse("capacity-export")).status_code == 403
    assert client.get(reverse("api-capacity")).status_code == 403
    assert reverse("capacity") not in client.get(reverse("proposal-list")).content.decode()


def test_the_page_names_short_months_and_keeps_the_projects_of_other_teams_apart(client, stage):
    prices.price()
    hall()
    month = Month.of(stage_today()) + 1
    asking(stage.project, stage.alice, 100_000, month=month)
    asking(stage.other_project, stage.charlie, 5000, month=month)
    client.force_login(stage.manager)

    for query in ("", f"?accelerator={CARD}", "?by=project&drafts=on&months=6"):
        page = client.get(reverse("capacity") + query).content.decode()

        assert "H100 SXM 80 GB is " in page and "hours short" in page
        assert "Base 7B" in page
        assert "Ranking" not in page
        assert "other teams" in page


def test_a_month_that_is_none_is_said_beside_the_form(client, stage):
    client.force_login(stage.manager)

    answer = client.get(reverse("capacity") + "?start=next")

    assert answer.status_code == 422
    assert "Write a month such as 2027-01." in answer.content.decode()
    assert client.get(reverse("api-capacity") + "?start=next").status_code == 400
    assert client.get(reverse("api-capacity") + "?months=0").status_code == 400


def test_the_file_and_the_api_say_the_same(client, stage):
    prices.price()
    hall()
    asking(stage.project, stage.alice, 9720, rented=2000)
    client.force_login(stage.finance)

    answer = client.get(reverse("api-capacity") + "?start=2027-02&months=1").json()
    text = client.get(reverse("capacity-export") + "?start=2027-02&months=6").content.decode()

    (card,) = answer["cards"]
    expected = {"available": "6720", "asked": "9720", "short": "3000", "short_and_rented_by_plans": "2000"}
    assert {name: card[name] for name in expected} == expected
    assert (card["rent_cost"], card["rent_cost_unplanned"], card["load"]) == ("6000", "2000", "1.4464")
    row = next(csv.DictReader(io.StringIO(text)))
    assert {name: row[name] for name in expected} == expected
    assert answer["equivalent"][0]["wanted"] == "9720"


def test_an_approver_reads_what_the_ask_needs_of_the_cards(client, stage):
    hall()
    proposal, _step = asking(stage.project, stage.alice, 8736)
    factories.line(stage.project, granted=5000)

    client.force_login(stage.manager)
    page = client.get(reverse("proposal", args=[proposal.pk])).content.decode()
    client.force_login(stage.alice)
    own = client.get(reverse("proposal", args=[proposal.pk])).content.decode()

    assert "need 130 % of the" in page
    assert f"{reverse('capacity')}?accelerator={CARD}&amp;start=2027-02" in page
    assert "need 130 %" not in own


def test_many_proposals_cost_as_many_queries_as_one(stage, django_assert_max_num_queries):
    hall()
    for _number in range(20):
        asking(stage.project, stage.alice, 10)

    with django_assert_max_num_queries(16):
        capacity_view(FEBRUARY, 12, today=TODAY, drafts=Proposal.objects.all())


def stage_today() -> date:
    return Organisation.current().today(timezone.now())


def accelerator_book_of(slug: str, *aliases: str) -> AcceleratorBook:
    return AcceleratorBook([AcceleratorSpec(slug, slug, "NVIDIA", 80, 3350, {"bf16": 989.0}, aliases=aliases)])
