"""Estimates: drafts follow price changes, frozen ones never change; who may do what."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.db import DatabaseError, connection, transaction

from core.errors import DomainError
from core.months import Month
from core.vocabulary import Category
from estimates import queries, services, tasks
from estimates.engine.plan import PlanRefused
from estimates.models import Accelerator, Estimate, EstimateRevision
from tests.estimates import factories

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


@pytest.fixture
def book(stage):
    factories.accelerator()
    factories.price(amount="2")
    return stage


def test_a_plan_of_a_thousand_hours_at_two_dollars_is_two_thousand(book):
    made = factories.estimate(book.alice, book.project)

    assert made.state == Estimate.State.DRAFT
    assert made.total_mean == pytest.approx(Decimal("2000.20"), abs=Decimal("0.01"))
    assert made.ask_total == made.total_mean
    assert (made.currency, made.samples, made.created_by) == ("USD", 200, book.alice)
    assert made.revisions.get().why == EstimateRevision.Why.CREATED


def test_a_broken_plan_is_refused_and_leaves_nothing(book):
    with pytest.raises(PlanRefused) as refused:
        factories.estimate(book.alice, book.project, data={"tokens": "-1"})

    assert [fault.path for fault in refused.value.faults] == ["data.tokens"]
    assert not Estimate.objects.exists()


def test_charlie_may_not_plan_for_another_team(book):
    with pytest.raises(DomainError, match="written by its members"):
        factories.estimate(book.charlie, book.project)

    assert not Estimate.objects.exists()


def test_charlie_sees_no_estimate_of_another_team(book):
    made = factories.estimate(book.alice, book.project)
    factories.estimate(book.charlie, book.other_project)

    assert list(Estimate.objects.visible_to(book.bob)) == [made]
    assert made not in Estimate.objects.visible_to(book.charlie)
    assert Estimate.objects.visible_to(book.auditor).count() == 2


def test_a_plan_without_a_project_is_seen_by_its_maker_only(book):
    made = factories.estimate(book.alice, None)

    assert list(Estimate.objects.visible_to(book.alice)) == [made]
    assert not Estimate.objects.visible_to(book.bob).exists()


def test_a_price_change_makes_exactly_the_drafts_that_used_it_stale(book):
    factories.accelerator("a100-sxm-80gb", name="A100", aliases=[], bf16_tflops=312)
    factories.price(item="a100-sxm-80gb", amount="1")
    uses = factories.estimate(book.alice, book.project)
    other = factories.estimate(
        book.alice, book.project, compute={"accelerator": "a100-sxm-80gb", "count": 8, "mfu": 0.4}
    )
    own_figure = factories.estimate(
        book.alice,
        book.project,
        compute={"accelerator": "h100-sxm-80gb", "count": 8, "mfu": 0.4, "price_per_accelerator_hour": 2},
    )
    frozen = services.freeze_estimate(factories.estimate(book.bob, book.project), by=book.bob)

    price = factories.price(book.keeper, amount="2.5", valid_from="2026-06-01", note="new list")

    stale = Estimate.objects.stale()
    assert list(stale) == [uses]
    assert uses not in [other, own_figure, frozen]
    assert stale.get().stale_price == price


def test_a_price_that_only_a_comparison_uses_makes_the_draft_stale(stage):
    factories.accelerator()
    factories.price(amount="2")
    draft = factories.estimate(stage.alice, stage.project)

    factories.price(kind="purchase", mode="", amount="30000")

    draft.refresh_from_db()
    assert draft.stale_since is not None


def test_names_are_found_however_people_write_them(book):
    factories.price(provider="Some Cloud", region="EU West", amount="5")
    computing = {**factories.plan()["compute"], "accelerator": "H100", "provider": "some cloud", "region": "EU West"}

    made = factories.estimate(book.alice, book.project, compute=computing)

    assert made.total_mean == pytest.approx(Decimal("5000.51"), abs=Decimal("0.01"))
    assert made.price_keys.filter(item="h100-sxm-80gb", provider="some-cloud", region="eu-west").exists()


def test_a_missing_price_that_arrives_makes_the_draft_stale(book):
    made = factories.estimate(book.alice, book.project, compute={**factories.plan()["compute"], "mode": "spot"})
    assert made.total_mean is None
    assert made.answer["price_missing"]

    factories.price(mode="spot", amount="1")

    assert list(Estimate.objects.stale()) == [made]


def test_staleness_and_price_are_one_transaction(book):
    made = factories.estimate(book.alice, book.project)

    with pytest.raises(ZeroDivisionError), transaction.atomic():
        factories.price(amount="2.5", valid_from="2026-06-01")
        assert Estimate.objects.stale().exists()
        raise ZeroDivisionError

    assert not Estimate.objects.stale().exists()
    made.refresh_from_db()
    assert made.stale_since is None


def test_the_worker_recomputes_and_says_old_new_and_why(book):
    made = factories.estimate(book.alice, book.project)
    price = factories.price(amount="3", valid_from="2026-06-01")

    tasks.recompute_stale()

    made.refresh_from_db()
    revision = made.revisions.first()
    assert made.stale_since is None
    assert made.total_mean == pytest.approx(Decimal("3000.30"), abs=Decimal("0.01"))
    assert (revision.why, revision.price) == (EstimateRevision.Why.PRICE, price)
    assert revision.old_total == pytest.approx(Decimal("2000.20"), abs=Decimal("0.01"))
    assert revision.new_total == made.total_mean
    assert [(moved["old"], moved["new"]) for moved in revision.moved] == [([2.0], [3.0])]


@pytest.mark.parametrize(
    ("kind", "item", "before", "after"),
    [("electricity", "industrial", "0.08", "0.1"), ("purchase", None, "30000", "25000")],
)
def test_a_price_that_only_a_comparison_asked_for_is_named_when_it_moves(book, kind, item, before, after):
    offer = {"kind": kind, "item": item or "h100-sxm-80gb", "provider": "", "mode": ""}
    factories.price(**offer, amount=before)
    made = factories.estimate(book.alice, book.project)
    total = made.total_mean

    factories.price(**offer, amount=after, valid_from="2026-06-01")
    tasks.recompute_stale()

    revision = made.revisions.first()
    assert [(moved["kind"], moved["old"], moved["new"]) for moved in revision.moved] == [
        (kind, [float(before)], [float(after)])
    ]
    assert revision.new_total == total


def test_a_price_that_a_plan_gives_itself_does_not_make_it_stale(book):
    own = {"electricity_price": 0.07, "capital": 31000}
    factories.estimate(book.alice, book.project, compute={**factories.plan()["compute"], "own": own})

    factories.price(kind="electricity", item="industrial", provider="", mode="", amount="0.1")
    factories.price(kind="purchase", provider="", mode="", amount="25000")

    assert not Estimate.objects.stale().exists()


def test_recomputing_again_does_nothing(book):
    factories.estimate(book.alice, book.project)
    factories.price(amount="3", valid_from="2026-06-01")
    tasks.recompute_stale()

    tasks.recompute_stale()

    assert EstimateRevision.objects.filter(why=EstimateRevision.Why.PRICE).count() == 1


def test_a_draft_keeps_its_sample_count(book):
    made = factories.estimate(book.alice, book.project)
    factories.price(amount="3", valid_from="2026-06-01")

    services.recompute_estimates([made.pk])

    made.refresh_from_db()
    assert (made.samples, made.answer["samples"]) == (200, 200)


def test_a_price_change_leaves_alone_what_no_price_moves(book):
    made = factories.estimate(book.alice, book.project)
    Estimate.objects.filter(pk=made.pk).update(lasting={"quantities": {}, "memory": "as it was"})
    factories.price(amount="3", valid_from="2026-06-01")

    tasks.recompute_stale()

    made.refresh_from_db()
    assert made.lasting == {"quantities": {}, "memory": "as it was"}
    assert made.total_mean == pytest.approx(Decimal("3000.30"), abs=Decimal("0.01"))


def test_a_catalogue_that_changed_before_the_price_did_is_followed_in_everything(book):
    made = factories.estimate(book.alice, book.project)
    hours = made.answer["quantities"]["total_accelerator_hours"]["mean"]
    Accelerator.objects.filter(slug="h100-sxm-80gb").update(bf16_tflops=989 * 2)
    factories.price(amount="3", valid_from="2026-06-01")

    tasks.recompute_stale()

    made.refresh_from_db()
    assert made.answer["quantities"]["total_accelerator_hours"]["mean"] == pytest.approx(hours / 2)
    assert made.total_mean == pytest.approx(Decimal("1500.15"), abs=Decimal("0.01"))


def test_a_plan_without_a_start_is_computed_whole_on_another_day(book):
    deadline = factories.plan(start=None, deadline="2027-12-01")
    made = services.create_estimate(by=book.alice, project=book.project, plan=deadline, samples=200, now=NOW)
    needed = made.answer["quantities"]["count_for_deadline"]["mean"]
    factories.price(amount="3", valid_from="2026-06-01")

    services.recompute_next(10, now=datetime(2027, 10, 28, 12, tzinfo=UTC))

    made.refresh_from_db()
    assert made.answer["start"] == "2027-10-28"
    assert made.answer["quantities"]["count_for_deadline"]["mean"] > needed


def test_a_draft_that_is_refused_now_keeps_its_answer_and_says_why(book):
    made = factories.estimate(book.alice, book.project)
    other = factories.estimate(book.bob, book.project)
    Estimate.objects.filter(pk=made.pk).update(plan={**made.plan, "compute": {"accelerator": "gone", "count": 8}})
    factories.price(amount="3", valid_from="2026-06-01")

    tasks.recompute_stale()

    made.refresh_from_db()
    other.refresh_from_db()
    assert "compute.accelerator" in made.refusal
    assert made.total_mean == pytest.approx(Decimal("2000.20"), abs=Decimal("0.01"))
    assert other.stale_since is None


def test_a_draft_that_breaks_the_engine_does_not_hold_up_the_others(book, monkeypatch):
    broken = factories.estimate(book.alice, book.project, name="broken")
    other = factories.estimate(book.bob, book.project)
    factories.price(amount="3", valid_from="2026-06-01")
    priced = queries.priced_again

    def breaking(wanted, **more):
        if any(document["name"] == "broken" for document, _samples in wanted):
            raise ZeroDivisionError
        return priced(wanted, **more)

    monkeypatch.setattr(queries, "priced_again", breaking)

    tasks.recompute_stale()

    broken.refresh_from_db()
    other.refresh_from_db()
    assert "broke" in broken.refusal
    assert broken.total_mean == pytest.approx(Decimal("2000.20"), abs=Decimal("0.01"))
    assert other.total_mean == pytest.approx(Decimal("3000.30"), abs=Decimal("0.01"))


def test_a_frozen_estimate_cannot_be_changed_even_by_hand(book):
    frozen = services.freeze_estimate(factories.estimate(book.alice, book.project), by=book.alice)

    with pytest.raises(DatabaseError), transaction.atomic():
        Estimate.objects.filter(pk=frozen.pk).update(total_mean=1)

    with pytest.raises(DomainError, match="frozen"):
        services.revise_estimate(frozen, by=book.alice, plan=factories.plan())


def test_a_stale_draft_is_not_frozen(book):
    made = factories.estimate(book.alice, book.project)
    factories.price(amount="3", valid_from="2026-06-01")

    with pytest.raises(DomainError) as refused:
        services.freeze_estimate(made, by=book.alice)

    assert refused.value.code == "estimate_stale"


def test_a_plan_without_a_total_is_not_frozen(book):
    made = factories.estimate(book.alice, book.project, compute={**factories.plan()["compute"], "mode": "spot"})

    with pytest.raises(DomainError, match="no price for h100-sxm-80gb"):
        services.freeze_estimate(made, by=book.alice)


def test_a_revision_of_the_plan_keeps_old_and_new(book):
    made = factories.estimate(book.alice, book.project)

    services.revise_estimate(made, by=book.bob, plan=factories.plan(data={"tokens": "6.7824e10"}))

    revision = made.revisions.first()
    assert (revision.why, revision.by) == (EstimateRevision.Why.PLAN, book.bob)
    assert revision.new_total == pytest.approx(2 * revision.old_total, rel=Decimal("0.001"))


def test_a_clone_is_a_draft_of_its_own(book):
    frozen = services.freeze_estimate(factories.estimate(book.alice, book.project), by=book.alice)

    copy = services.clone_estimate(frozen, by=book.bob)

    assert (copy.state, copy.plan, copy.created_by) == (Estimate.State.DRAFT, frozen.plan, book.bob)
    with pytest.raises(DomainError, match="no such estimate"):
        services.clone_estimate(frozen, by=book.charlie, project=book.other_project)


def test_the_ask_by_line_and_month_adds_up_to_the_ask(book):
    factories.price(kind="role", item="research engineer", amount="15000", mode="", provider="")
    made = factories.estimate(
        book.alice,
        book.project,
        data={"tokens": "3.3912e12"},
        people=[{"role": "research engineer", "fte": 1.5, "months": 3}],
        contingency=0.1,
    )

    spread = queries.ask_by_line_and_month(made)

    assert sum(spread.values()) == made.ask_total
    assert {line for line, _month in spread} == {Category.COMPUTE, Category.PEOPLE_PLATFORM, Category.CONTINGENCY}
    assert min(month for _line, month in spread) == Month(2027, 1)
    people = sum(amount for (line, _month), amount in spread.items() if line == Category.PEOPLE_PLATFORM)
    assert people == Decimal("67500.00")


@pytest.mark.django_db(transaction=True)
def test_two_workers_never_take_the_same_draft(book):
    first = factories.estimate(book.alice, book.project)
    second = factories.estimate(book.alice, book.project)
    factories.price(amount="3", valid_from="2026-06-01")
    copy = connection.copy()
    try:
        with copy.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT id FROM estimates_estimate WHERE id = %s FOR UPDATE", [first.pk])

            taken = services.recompute_next(10)

            cursor.execute("ROLLBACK")
    finally:
        copy.close()
    assert taken == 1
    assert list(Estimate.objects.stale()) == [first]
    assert second.revisions.filter(why=EstimateRevision.Why.PRICE).count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_price_waits_for_an_estimate_that_is_being_made_and_then_finds_it(book):
    added = threading.Event()

    def add_price() -> None:
        factories.price(amount="3", valid_from="2026-06-01")
        added.set()
        connection.close()

    keeper = threading.Thread(target=add_price)
    with transaction.atomic():
        made = factories.estimate(book.alice, book.project)
        keeper.start()

        assert not added.wait(0.5)

    keeper.join(10)
    assert added.is_set()
    assert list(Estimate.objects.stale()) == [made]
