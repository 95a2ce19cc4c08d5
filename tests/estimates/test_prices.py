"""Prices are only added; a correction says why; drafts that asked for them become stale with them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.db import DatabaseError, InternalError, transaction

from core.errors import DomainError
from estimates import queries, services
from estimates.models import Accelerator, Price
from teams.models import Activity
from tests.estimates import factories

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


def test_a_price_row_cannot_be_changed(db):
    row = factories.price()

    with pytest.raises((DatabaseError, InternalError)), transaction.atomic():
        Price.objects.filter(pk=row.pk).update(amount=Decimal("1"))

    assert Price.objects.get(pk=row.pk).amount == Decimal("2")


def test_a_price_row_cannot_be_deleted(db):
    row = factories.price()

    with pytest.raises((DatabaseError, InternalError)), transaction.atomic():
        Price.objects.filter(pk=row.pk).delete()

    assert Price.objects.filter(pk=row.pk).exists()


def test_a_price_keeper_adds_a_price_and_it_is_recorded(stage):
    row = factories.price(stage.keeper, amount="2.29")

    told = Activity.objects.get(verb="price.added")
    assert (told.by, told.facts["amount"], told.subject_id) == (stage.keeper, "2.29", str(row.pk))
    assert row.unit == "accelerator-hour"


def test_a_researcher_may_not_add_prices(stage):
    with pytest.raises(DomainError, match="price keepers"):
        factories.price(stage.alice)

    assert not Price.objects.exists()


def test_a_correction_needs_a_reason(db):
    factories.price(amount="2")

    with pytest.raises(DomainError) as refused:
        factories.price(amount="3")

    assert [fault.path for fault in refused.value.faults] == ["reason"]
    assert Price.objects.count() == 1


def test_a_correction_with_a_reason_wins_over_the_row_it_corrects(db):
    factories.price(amount="2")

    factories.price(amount="3", reason="the invoice says 3")

    current = Price.objects.current(date(2026, 6, 1)).get()
    assert current.amount == Decimal("3")


def test_the_same_price_again_is_refused_and_adds_nothing(db):
    factories.price()

    with pytest.raises(DomainError) as refused:
        factories.price()

    assert refused.value.code == "unchanged"
    assert Price.objects.count() == 1


def test_a_withdrawal_needs_a_reason_and_ends_the_offer(db):
    factories.price()
    with pytest.raises(DomainError, match="cannot be used"):
        factories.price(withdrawn=True, valid_from="2026-07-01")

    factories.price(withdrawn=True, valid_from="2026-07-01", reason="no longer sold")

    key = queries.key_of(Price.objects.first())
    book = queries.price_book()
    assert book.on(key, date(2026, 6, 30)).amount == Decimal("2")
    assert book.on(key, date(2026, 7, 1)) is None


def test_the_price_on_a_day_is_the_latest_that_started(db):
    factories.price(amount="2", valid_from="2026-01-01")
    factories.price(amount="1.8", valid_from="2026-09-01")
    factories.price(amount="1.5", valid_from="2027-01-01")

    on = {day: Price.objects.current(day).get().amount for day in (date(2026, 8, 31), date(2026, 9, 1))}

    assert on == {date(2026, 8, 31): Decimal("2"), date(2026, 9, 1): Decimal("1.8")}
    assert not Price.objects.current(date(2025, 12, 31)).exists()


def test_another_name_of_an_accelerator_is_kept_under_its_short_name(db):
    factories.accelerator()

    row = factories.price(item="H100")

    assert row.item == "h100-sxm-80gb"


def test_every_wrong_field_of_a_price_is_named_at_once(db):
    with pytest.raises(DomainError) as refused:
        factories.price(kind="gpu", amount="-1", currency="XXX", valid_from="tomorrow", mode="lease")

    assert {fault.path for fault in refused.value.faults} == {"kind", "amount", "currency", "valid_from", "mode"}
    assert all(fault.accepted for fault in refused.value.faults)


@pytest.mark.parametrize("amount", ["1e3", "nan", "1,5", "0.000000001", "1000000000000", "²", ""])
def test_an_amount_is_plain_digits(db, amount):
    with pytest.raises(DomainError) as refused:
        factories.price(amount=amount)

    assert [fault.path for fault in refused.value.faults] == ["amount"]


def test_the_book_of_prices_is_read_once_until_a_row_is_added(db, django_assert_num_queries):
    factories.price()
    queries.price_book()

    with django_assert_num_queries(1):
        before = queries.price_book()
    factories.price(amount="1.8", valid_from="2026-09-01")
    after = queries.price_book()

    assert (len(before.rows), len(after.rows)) == (1, 2)


def test_the_catalogue_is_loaded_once_and_leaves_what_people_changed(db):
    first = services.load_catalogue()
    Accelerator.objects.filter(slug="h100-sxm-80gb").update(board_w=650)

    second = services.load_catalogue()

    assert first["accelerators"] == 77
    assert first["prices"] > 150
    assert second == {"accelerators": 0, "prices": 0}
    assert Accelerator.objects.get(slug="h100-sxm-80gb").board_w == Decimal("650")


def test_every_row_of_the_catalogue_has_a_source_and_a_mark(db):
    services.load_catalogue()

    assert not Price.objects.filter(source="").exists()
    assert not Accelerator.objects.filter(source="").exists()
    assert set(Price.objects.values_list("verification", flat=True)) == {"verified", "example"}
    accelerators = set(Accelerator.objects.values_list("slug", flat=True))
    assert (
        set(Price.objects.filter(kind__in=["accelerator", "purchase"]).values_list("item", flat=True)) <= accelerators
    )
