"""What a delivery of a statement does to what was delivered before."""

from __future__ import annotations

import gzip
import io
import zipfile
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
import zstandard

from core.errors import DomainError
from core.months import Month
from teams.models import Activity
from tests.usage import factories
from tests.usage.factories import deliver, focus
from usage import queries, services
from usage.models import DailyUsage, Import, Record, RejectedRow, Scope
from usage.totals import Question, usage_totals

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

APRIL = {
    "BillingPeriodStart": "2026-04-01T00:00:00Z",
    "BillingPeriodEnd": "2026-05-01T00:00:00Z",
    "ChargePeriodStart": "2026-04-02T00:00:00Z",
    "ChargePeriodEnd": "2026-04-03T00:00:00Z",
}


def total(**question) -> Decimal:
    whole, _groups = usage_totals(Question(**question))
    return whole.totals.get("USD", Decimal(0))


def test_only_what_changed_is_written_and_ended():
    source = factories.source()
    deliver(source, focus({"ResourceId": "a"}, {"ResourceId": "b"}, {"ResourceId": "c"}))

    again = deliver(source, focus({"ResourceId": "c"}, {"ResourceId": "a"}, {"ResourceId": "b", "BilledCost": "11"}))

    assert (again["rows_written"], again["rows_closed"], again["rows_unchanged"]) == (1, 1, 2)
    assert total() == 31
    assert Record.objects.count() == 4


def test_rows_in_another_order_with_other_line_ends_are_unchanged():
    source = factories.source()
    deliver(source, focus({"ResourceId": "a"}, {"ResourceId": "b"}))

    again = deliver(source, focus({"ResourceId": "b"}, {"ResourceId": "a"}, newline="\r\n"))

    assert (again["status"], again["rows_written"], again["rows_closed"]) == ("unchanged", 0, 0)


def test_columns_in_another_order_and_numbers_spelt_otherwise_are_unchanged():
    source = factories.source()
    deliver(source, focus({"BilledCost": "10.50"}))

    reversed_columns = list(reversed(factories.ROW))
    again = deliver(source, focus({"BilledCost": "10.5"}, columns=reversed_columns))

    assert (again["status"], again["rows_written"]) == ("unchanged", 0)


def test_two_equal_rows_are_two_charges_and_one_can_go():
    source = factories.source()
    first = deliver(source, focus({}, {}, {"ResourceId": "other"}))
    assert (first["rows_written"], total()) == (3, 30)

    same = deliver(source, focus({"ResourceId": "other"}, {}, {}))
    assert (same["status"], total()) == ("unchanged", 30)

    fewer = deliver(source, focus({}, {"ResourceId": "other"}), drop_limit="1")
    assert (fewer["rows_closed"], total()) == (1, 20)


def test_a_period_that_a_delivery_lacks_stays():
    source = factories.source()
    deliver(source, focus({}, APRIL))

    deliver(source, focus({"BilledCost": "9"}))

    assert total() == 19
    assert Scope.objects.count() == 2


def test_single_scope_refuses_a_file_of_two_months():
    answer = deliver(factories.source(single_scope="1"), focus({}, APRIL))

    assert answer["status"] == "refused"
    assert total() == 0


def test_an_older_delivery_is_stored_and_not_activated():
    source = factories.source()
    deliver(source, focus({"BilledCost": "10"}), issued_at="2026-04-10")

    older = deliver(source, focus({"BilledCost": "8", "EffectiveCost": "8"}), issued_at="2026-04-05")

    assert (older["status"], older["warnings"]) == ("stored", {"older": 1})
    assert total() == 10


def test_the_bytes_of_a_superseded_delivery_change_nothing():
    source = factories.source()
    first = focus({"BilledCost": "10"})
    deliver(source, first)
    deliver(source, focus({"BilledCost": "12"}))

    again = deliver(source, first)

    assert (again["status"], again["warnings"], total()) == ("unchanged", {"older": 1}, 12)


def test_the_bytes_of_a_superseded_delivery_come_back_with_a_newer_issue_time():
    source = factories.source()
    first = focus({"BilledCost": "10"})
    deliver(source, first, issued_at="2026-04-01")
    deliver(source, focus({"BilledCost": "12"}), issued_at="2026-04-02")

    again = deliver(source, first, issued_at="2026-04-03")

    assert (again["status"], total()) == ("live", 10)


def test_a_delivery_that_drops_a_fifth_waits_for_a_person(stage):
    source = factories.source()
    deliver(source, focus({"BilledCost": "100", "EffectiveCost": "100"}))

    held = deliver(source, focus({"BilledCost": "79", "EffectiveCost": "79"}))
    assert held["status"] == "waiting"
    assert "100 USD would become 79 USD" in held["held"][0]
    assert total() == 100

    delivery = Import.objects.get(pk=held["import"])
    services.confirm_import(delivery, by=stage.operator, reason="a refund was agreed")
    assert services.run_import(delivery.pk)["status"] == "live"
    assert total() == 79


def test_a_fifth_less_one_cent_does_not_wait():
    source = factories.source()
    deliver(source, focus({"BilledCost": "100", "EffectiveCost": "100"}))

    assert deliver(source, focus({"BilledCost": "80", "EffectiveCost": "80"}))["status"] == "live"


def test_an_empty_delivery_of_a_month_that_has_rows_waits():
    source = factories.source()
    deliver(source, focus({}))

    held = deliver(source, focus(), billing_period="2026-03")

    assert held["status"] == "waiting"
    assert total() == 10


def test_an_empty_first_delivery_is_legal():
    answer = deliver(factories.source(), focus())

    assert (answer["status"], answer["rows_read"], answer["totals"]) == ("unchanged", 0, {})


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_packed_bytes_are_recognised_whatever_the_file_is_called(pack):
    answer = deliver(factories.source(), pack(focus({})), "bill.csv")

    assert (answer["status"], answer["rows_accepted"]) == ("live", 1)


def test_a_zip_of_parts_is_one_delivery():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("bill-00002.csv", focus({"ResourceId": "b"}))
        archive.writestr("bill-00001.csv", focus({"ResourceId": "a"}))
        archive.writestr("manifest.json", '{"files": 2}')

    answer = deliver(factories.source(), packed.getvalue(), "bill.zip")

    assert (answer["status"], answer["rows_accepted"], total()) == ("live", 2, 20)


@pytest.mark.parametrize("cut", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_a_packed_file_that_ends_early_is_refused_whole(cut):
    whole = cut(focus(*({"ResourceId": f"r{number}"} for number in range(3000))))

    answer = deliver(factories.source(), whole[: len(whole) // 2])

    assert answer["status"] == "refused"
    assert Record.objects.count() == 0


def test_a_last_record_without_its_end_refuses_the_file():
    source = factories.source()
    deliver(source, focus({}))
    cut = focus({"ResourceId": "a"}, {"ResourceId": "b"})[:-40]

    answer = deliver(source, cut)

    assert answer["status"] == "refused"
    assert "truncated" in answer["errors"][0]["reason"]
    assert total() == 10


def test_zero_bytes_are_refused():
    assert deliver(factories.source(), b"")["status"] == "refused"


def test_bad_rows_are_kept_with_line_column_value_and_reason():
    answer = deliver(factories.source(), focus({}, {"BilledCost": "1,000"}, {"ChargeCategory": "Refund"}))

    assert (answer["rows_accepted"], answer["rows_rejected"], answer["status"]) == (1, 2, "live")
    rows = {(row.line, row.column, row.value) for row in RejectedRow.objects.all()}
    assert rows == {(3, "BilledCost", "1,000"), (4, "ChargeCategory", "Refund")}


def test_a_strict_source_refuses_a_file_with_one_bad_row():
    answer = deliver(factories.source(strict="1"), focus({}, {"BilledCost": "NaN"}))

    assert (answer["status"], total()) == ("refused", 0)


def test_more_than_twenty_and_five_percent_bad_rows_refuse_the_file():
    good = [{"ResourceId": f"r{number}"} for number in range(300)]

    kept = deliver(factories.source("one"), focus(*good, *({"BilledCost": "x"} for _ in range(15))))
    refused = deliver(factories.source("two"), focus(*good, *({"BilledCost": "x"} for _ in range(21))))

    assert (kept["status"], refused["status"]) == ("live", "refused")


def test_what_was_believed_then_can_be_asked_later():
    source = factories.source()
    deliver(source, focus({"BilledCost": "10", "EffectiveCost": "10"}))
    then = Import.objects.get().live_at
    deliver(source, focus({"BilledCost": "12", "EffectiveCost": "12"}))

    assert total() == 12
    assert total(known_at=then) == 10
    assert total(known_at=datetime(2020, 1, 1, tzinfo=UTC)) == 0


def test_a_correction_of_a_closed_month_moves_the_usage_month_not_the_billing_month():
    source = factories.source()
    deliver(source, focus({"BilledCost": "100", "EffectiveCost": "100"}))
    correction = {**APRIL, "ChargePeriodStart": "2026-03-05T00:00:00Z", "ChargePeriodEnd": "2026-03-06T00:00:00Z"}

    deliver(source, focus({**correction, "ChargeClass": "Correction", "BilledCost": "-5", "EffectiveCost": "-5"},
                          columns=[*factories.ROW, "ChargeClass"]))  # fmt: skip

    _whole, billing = usage_totals(Question(by=["billing_month"]))
    _whole, usage = usage_totals(Question(by=["month"]))
    assert {group.key["billing_month"]: group.totals["USD"] for group in billing} == {"2026-03": 100, "2026-04": -5}
    assert {group.key["month"]: group.totals["USD"] for group in usage} == {"2026-03": 95}


def test_touched_projects_and_months_are_taken_once(stage):
    deliver(factories.source(), focus({}))

    taken = services.take_touched()

    assert taken == [(None, "compute", Month(2026, 3))]
    assert services.take_touched() == []


def test_a_row_over_several_days_spreads_its_effective_cost_and_adds_up_exactly():
    deliver(
        factories.source(),
        focus({"ChargePeriodStart": "2026-03-30T12:00:00Z", "ChargePeriodEnd": "2026-04-02T06:00:00Z",
               "BilledCost": "0.1", "EffectiveCost": "0.1"}),
    )  # fmt: skip

    days = {row.day: row.effective for row in DailyUsage.objects.all()}
    assert sorted(days) == [date(2026, 3, 30), date(2026, 3, 31), date(2026, 4, 1), date(2026, 4, 2)]
    assert sum(days.values()) == Decimal("0.1")
    assert days[date(2026, 3, 31)] > days[date(2026, 3, 30)] > days[date(2026, 4, 2)] > 0
    assert {row.day: row.billed for row in DailyUsage.objects.exclude(billed=0)} == {date(2026, 3, 30): Decimal("0.1")}


def test_parts_add_up_to_the_sources_in_every_currency():
    deliver(factories.source(), focus({"BilledCost": "0.0000000000000000000000000000000001"}, {"BilledCost": "1E-9"}))
    deliver(factories.source("euro"), focus({"BillingCurrency": "EUR", "BilledCost": "7"}))

    found = {each.currency: each for each in queries.conservation()}

    assert found["EUR"].sources == 7
    assert found["USD"].sources == Decimal("0.0000000010000000000000000000000001")
    assert all(each.holds for each in found.values())


def test_a_delivery_that_names_its_format_is_read_by_it():
    known = deliver(factories.source("a"), focus({}), format="focus")
    other = deliver(factories.source("b"), focus({}), format="aws-cur")

    assert (known["status"], known["format"]) == ("live", "focus")
    assert other["status"] == "refused"
    assert "lineItem/UnblendedCost" in {error["column"] for error in other["errors"]}


def test_an_operator_makes_a_replaced_statement_live_again_with_a_reason(stage):
    source = factories.source()
    first = deliver(source, focus({"BilledCost": "10"}))
    deliver(source, focus({"BilledCost": "12"}))
    known = Import.objects.get(pk=first["import"])
    assert deliver(source, focus({"BilledCost": "10"}))["warnings"] == {"older": 1}

    again = services.make_live(known, by=stage.operator, reason="The second run was cut short")
    answer = services.run_import(again.pk)

    assert (answer["status"], answer["rows_written"], answer["rows_closed"], total()) == ("live", 1, 1, 10)
    assert Activity.objects.get(verb="import.made_live").facts["reason"] == "The second run was cut short"
    assert Import.objects.get(pk=first["import"]).status == "live"
    later = deliver(source, focus({"BilledCost": "13"}))
    assert (later["status"], total()) == ("live", 13)


def test_making_live_needs_an_operator_a_reason_and_something_that_was_replaced(stage):
    source = factories.source()
    first = deliver(source, focus({"BilledCost": "10"}))
    second = deliver(source, focus({"BilledCost": "12"}))
    old, new = (Import.objects.get(pk=answer["import"]) for answer in (first, second))

    for delivery, by, reason in [
        (old, stage.finance, "why not"),
        (old, stage.charlie, "why not"),
        (old, stage.operator, " "),
        (new, stage.operator, "it is live"),
    ]:
        with pytest.raises(DomainError):
            services.make_live(delivery, by=by, reason=reason)
    services.make_live(old, by=stage.operator, reason="twice")
    with pytest.raises(DomainError, match="wait"):
        services.make_live(old, by=stage.operator, reason="twice")

    assert (Import.objects.count(), total()) == (3, 12)


def test_a_stored_older_statement_can_be_made_live_though_it_lowers_the_cost(stage):
    source = factories.source()
    deliver(source, focus({"BilledCost": "100", "EffectiveCost": "100"}), issued_at="2026-04-10")
    older = deliver(source, focus({"BilledCost": "8", "EffectiveCost": "8"}), issued_at="2026-04-05")

    again = services.make_live(Import.objects.get(pk=older["import"]), by=stage.operator, reason="right")

    assert (services.run_import(again.pk)["status"], total()) == ("live", 8)
