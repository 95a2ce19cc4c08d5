"""Bookings: lines by hand and by file, once, straight to their project, taken back by reversal."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.db import ProgrammingError, transaction

from core.errors import DomainError
from tests import factories as people
from tests.usage import factories
from tests.usage.factories import deliver, focus
from usage import queries, rules
from usage.bookings import files, services
from usage.bookings.services import book_file, book_line, preview_file, reverse_booking
from usage.models import Booking, DailyUsage, Import, Placement, Record, Touched
from usage.pipeline.swap import known_now
from usage.totals import Question, usage_totals

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

NOW = datetime(2026, 3, 20, 9, tzinfo=UTC)
LICENCE = {
    "project": "base-7b",
    "category": "data",
    "first_day": "2026-03-10",
    "amount": "12500.00",
    "currency": "USD",
    "document": "INV-1",
    "key": "1",
}
HEADER = "project,category,first_day,last_day,amount,currency,document,key,note"


@pytest.fixture(autouse=True)
def _unrelated(stage):
    """A bill and a booking of another team, which must never matter."""
    rules.add_rule(by=stage.operator, name="Rest", conditions=[], project=stage.other_project)
    deliver(factories.source(), focus({}))
    book_line({**LICENCE, "project": "ranking", "document": "OTHER"}, by=stage.finance, now=NOW)


def csv(*rows: str) -> bytes:
    return "\n".join([HEADER, *rows, ""]).encode()


def actual(project, category: str = "data", *, start=date(2026, 1, 1), end=date(2027, 1, 1), **more) -> dict[str, str]:
    found = queries.line_actual(project.pk, category, start=start, end=end, basis="effective", **more)
    return {currency: str(amount.normalize()) for currency, amount in found.items()}


# ---- one line


def test_a_line_counts_on_its_project_without_a_rule(stage):
    booking = book_line(LICENCE, by=stage.finance, now=NOW)

    assert actual(stage.project) == {"USD": "1.25E+4"}
    place = Placement.objects.get(key_set__records__extra__booking=booking.pk)
    assert (place.project, place.rule, place.task_type) == (stage.project, None, "pretrain")
    assert (booking.kind, booking.booked_by, str(booking)) == ("invoice", stage.finance, f"B-{booking.pk}")


def test_a_line_over_several_days_is_spread_over_them_and_billed_at_once(stage):
    book_line({**LICENCE, "first_day": "2026-03-01", "last_day": "2026-04-09", "amount": "400"}, by=None, now=NOW)

    assert actual(stage.project, start=date(2026, 3, 1), end=date(2026, 4, 1)) == {"USD": "3.1E+2"}
    assert actual(stage.project, start=date(2026, 4, 1), end=date(2026, 5, 1)) == {"USD": "9E+1"}
    billed = queries.line_actual(stage.project.pk, "data", start=date(2026, 4, 1), end=date(2026, 5, 1), basis="billed")
    assert billed == {}


def test_days_are_those_of_the_organisation(stage):
    people.organisation(time_zone="Asia/Shanghai")

    booking = book_line(LICENCE, by=None, now=NOW)

    record = Record.objects.get(extra__booking=booking.pk)
    assert record.usage_start == datetime(2026, 3, 9, 16, tzinfo=UTC)
    assert record.usage_end == datetime(2026, 3, 10, 16, tzinfo=UTC)
    assert DailyUsage.objects.get(project=stage.project).day == date(2026, 3, 10)


def test_a_booking_leaves_word_for_the_judge_and_in_the_log(stage):
    Touched.objects.all().delete()

    book_line(LICENCE, by=stage.manager, now=NOW)

    assert set(Touched.objects.values_list("project", "category", "month")) == {
        (stage.project.pk, "data", date(2026, 3, 1))
    }
    said = stage.project.activities.get(verb="booking.added")
    assert (said.by, said.facts["amount"], said.facts["category"]) == (stage.manager, "12500", "data")


def test_the_parts_still_add_up_to_the_whole(stage):
    book_line(LICENCE, by=None, now=NOW)

    assert [each.holds for each in queries.conservation("effective")] == [True]
    assert [str(each.projects.normalize()) for each in queries.conservation("billed")] == ["2.501E+4"]


def test_rules_that_are_applied_leave_bookings_where_they_are(stage):
    book_line(LICENCE, by=None, now=NOW)

    moved = rules.apply_rules(by=stage.operator)

    assert moved == 0
    assert actual(stage.project) == {"USD": "1.25E+4"}


def test_a_credit_note_takes_money_back(stage):
    book_line(LICENCE, by=None, now=NOW)
    book_line({**LICENCE, "key": "2", "amount": "-500"}, by=None, now=NOW)

    assert actual(stage.project) == {"USD": "1.2E+4"}


def test_usage_totals_name_what_was_booked(stage):
    book_line({**LICENCE, "stage": "annotation", "task_type": "data_work"}, by=None, now=NOW)

    _whole, groups = usage_totals(
        Question(project="base-7b", by=("source", "service", "resource", "stage", "task_type"))
    )

    assert [(group.key, group.totals) for group in groups] == [
        (
            {
                "source": "booked-by-hand",
                "service": "invoice",
                "resource": "INV-1",
                "stage": "annotation",
                "task_type": "data_work",
            },
            {"USD": Decimal("12500.00")},
        )
    ]


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ({"project": "ranking"}, "project"),
        ({"project": ""}, "project"),
        ({"category": "licences"}, "category"),
        ({"category": "contingency"}, "category"),
        ({"first_day": "10/03/2026"}, "first_day"),
        ({"first_day": "1926-03-10"}, "first_day"),
        ({"last_day": "2026-03-09"}, "last_day"),
        ({"last_day": "2036-12-31"}, "last_day"),
        ({"amount": "0"}, "amount"),
        ({"amount": "1,250"}, "amount"),
        ({"amount": "1e9"}, "amount"),
        ({"amount": "0.001"}, "amount"),
        ({"amount": "1" * 16}, "amount"),
        ({"currency": "XXX"}, "currency"),
        ({"proposal": "12"}, "proposal"),
        ({"link": "javascript:alert(1)"}, "link"),
        ({"document": "x" * 121}, "document"),
        ({"note": "a\0b"}, "note"),
        ({"task_type": "training"}, "task_type"),
    ],
)
def test_a_bad_line_is_refused_by_the_name_of_its_column(stage, change, column):
    with pytest.raises(DomainError) as refused:
        book_line({**LICENCE, **change}, by=stage.manager, now=NOW)

    assert [fault.path for fault in refused.value.faults] == [column]
    assert not Booking.objects.filter(project=stage.project).exists()


def test_every_fault_of_a_line_is_told_at_once(stage):
    with pytest.raises(DomainError) as refused:
        book_line({"project": "base-7b", "amount": "x"}, by=stage.finance, now=NOW)

    assert {fault.path for fault in refused.value.faults} == {"category", "first_day", "amount", "currency"}


@pytest.mark.parametrize("who", ["alice", "charlie", "other_manager", "operator", "auditor"])
def test_only_finance_and_managers_of_the_team_book(stage, who):
    with pytest.raises(DomainError) as refused:
        book_line(LICENCE, by=getattr(stage, who), now=NOW)

    assert refused.value.faults[0].path == "project"


def test_the_same_line_again_is_refused(stage):
    first = book_line(LICENCE, by=stage.finance, now=NOW)

    with pytest.raises(DomainError, match=f"booked already as B-{first.pk}"):
        book_line(LICENCE, by=stage.finance, now=NOW)
    with pytest.raises(DomainError, match="says something else"):
        book_line({**LICENCE, "amount": "9"}, by=stage.finance, now=NOW)
    assert actual(stage.project) == {"USD": "1.25E+4"}


def test_two_equal_lines_without_a_document_need_something_that_tells_them_apart(stage):
    plain = {**LICENCE, "document": "", "key": ""}
    book_line(plain, by=None, now=NOW)

    with pytest.raises(DomainError, match="If it is another one"):
        book_line(plain, by=None, now=NOW)
    book_line({**plain, "note": "the second of two"}, by=None, now=NOW)

    assert actual(stage.project) == {"USD": "2.5E+4"}


def test_a_booking_cannot_be_changed_or_deleted(stage):
    booking = book_line(LICENCE, by=None, now=NOW)

    with pytest.raises(ProgrammingError), transaction.atomic():
        Booking.objects.filter(pk=booking.pk).update(amount=1)
    with pytest.raises(ProgrammingError), transaction.atomic():
        booking.delete()


def test_bookings_do_not_make_the_rest_of_a_project_stale(stage):
    book_line({**LICENCE, "first_day": "2025-01-01"}, by=None, now=NOW)

    assert queries.fresh_until(stage.project.pk) is None


# ---- files


def test_a_file_books_all_its_lines_in_one_import(stage):
    file = csv(
        "base-7b,data,2026-03-10,,100.25,USD,INV-7,1,corpus",
        "",
        'base-7b,people_platform,2026-03-01,2026-03-31,200,USD,,,"audit, in March"',
    )

    booked = book_file(file, by=stage.manager, name="march.csv", now=NOW)

    assert [(each.line, each.kind, each.note) for each in booked] == [
        (2, "invoice", "corpus"),
        (4, "journal", "audit, in March"),
    ]
    assert actual(stage.project) == {"USD": "100.25"}
    assert actual(stage.project, "people_platform") == {"USD": "2E+2"}
    delivery = Import.objects.get(name="march.csv")
    assert (delivery.status, delivery.rows_read, delivery.outcome["totals"]["USD"]["billed"]) == ("live", 2, "300.25")
    assert services.Booking.objects.filter(delivery=delivery).count() == 2


def test_the_same_file_twice_books_once(stage):
    file = csv("base-7b,data,2026-03-10,,100,USD,,,corpus", "base-7b,data,2026-03-10,,100,USD,,,corpus")
    book_file(file, by=stage.manager, name="march.csv", now=NOW)

    again = book_file(file + b"base-7b,data,2026-03-11,,1,USD,,,more\n", by=stage.manager, name="b.csv", now=NOW)

    assert [str(each.amount) for each in again] == ["1"]
    assert actual(stage.project) == {"USD": "201"}
    assert book_file(file, by=stage.manager, name="march.csv", now=NOW) == []


def test_a_line_of_a_document_that_changed_must_be_reversed_first(stage):
    booked = book_line(LICENCE, by=stage.finance, now=NOW)
    file = csv("base-7b,data,2026-03-10,,99,USD,inv-1,1,")

    preview = preview_file(file, by=stage.finance, now=NOW)

    assert [(fault.line, fault.column, fault.value) for fault in preview.faults] == [(2, "key", "1")]
    assert str(booked) in preview.faults[0].reason


def test_after_a_reversal_the_corrected_line_books_and_the_old_file_does_not(stage):
    old = csv("base-7b,data,2026-03-10,,12500.00,USD,INV-1,1,")
    booked = book_file(old, by=stage.finance, name="old.csv", now=NOW)
    reverse_booking(booked[0], by=stage.finance, reason="wrong amount", now=NOW)

    assert book_file(old, by=stage.finance, name="old.csv", now=NOW) == []
    corrected = book_file(csv("base-7b,data,2026-03-10,,99,USD,INV-1,1,"), by=stage.finance, name="n.csv", now=NOW)

    assert len(corrected) == 1
    assert actual(stage.project) == {"USD": "99"}


def test_with_one_fault_in_a_file_nothing_is_booked_and_every_place_is_named(stage):
    file = csv(
        "base-7b,data,2026-03-10,,100,USD,,,",
        "base-7b,dat,2026-03-10,,100,USD,,,",
        "ranking,data,2026-13-01,,100,USD,,,",
        "base-7b,data,2026-03-10,,100,USD,D,1,",
        "base-7b,data,2026-03-11,,100,USD,D,1,",
    )

    with pytest.raises(DomainError) as refused:
        book_file(file, by=stage.manager, name="march.csv", now=NOW)

    assert [(fault.path, fault.value) for fault in refused.value.faults] == [
        ("line 3, category", "dat"),
        ("line 4, project", "ranking"),
        ("line 4, first_day", "2026-13-01"),
        ("line 6, key", "1"),
    ]
    assert not Booking.objects.filter(project=stage.project).exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is missing from the header"),
        (HEADER.encode(), "the file has no lines"),
        (b"project,category,first_day,amount,currency,currency\n", "stands twice"),
        (b"project,category,first_day,amount,currency,colour\n", "is no column"),
        (b"\xff\xfe\x00\x01", "is no text"),
        (b"project,category\0", "is no text"),
        (csv('base-7b,"data,2026'), "is no CSV"),
        (csv("base-7b,data,2026-03-10,,100,USD,,,,more,cells"), "more cells"),
        (b"x" * 5_000_001, "larger than 5 MB"),
        (HEADER.encode() + b"\n" + b"base-7b,data,2026-03-10,,1,USD,,,\n" * 20_001, "more than 20000 lines"),
    ],
)
def test_a_file_that_is_none_is_refused_with_the_reason(stage, content, said):
    preview = preview_file(content, by=stage.finance, now=NOW)

    assert said in preview.faults[0].reason
    assert preview.lines == ()


def test_a_chinese_spreadsheet_with_semicolons_is_read(stage):
    text = "project;category;first_day;amount;currency;note\r\nbase-7b;data;2026-03-10;100;CNY;语料许可\r\n"

    booked = book_file(text.encode("gb18030"), by=stage.finance, name="a.csv", now=NOW)

    assert [each.note for each in booked] == ["语料许可"]


def test_the_template_is_a_file_that_books(stage):
    content = (files.TEMPLATE % {"project": "base-7b"}).encode()

    preview = preview_file(content, by=stage.finance, now=NOW)

    assert (len(preview.new), preview.faults) == (3, ())


def test_bookings_are_written_as_csv_without_formulas(stage):
    booking = book_line({**LICENCE, "note": "=1+1", "document": ""}, by=stage.finance, now=NOW)
    rows = Booking.objects.filter(pk=booking.pk).select_related("project", "booked_by", "reversal")

    lines = list(files.csv_text(rows))

    assert lines[1].startswith(f"B-{booking.pk},base-7b,data,2026-03-10,2026-03-10,12500,USD,,1,")
    assert ",'=1+1,journal," in lines[1]


def test_a_delivery_of_a_file_to_the_source_of_bookings_is_refused(stage):
    with pytest.raises(DomainError, match="page Bookings"):
        deliver(services.manual_source(), b"x")


# ---- reversal


def test_a_reversal_takes_the_money_back_and_both_name_each_other(stage):
    booking = book_line(LICENCE, by=stage.finance, now=NOW)

    reversal = reverse_booking(booking, by=stage.manager, reason="sent twice", now=NOW)

    assert actual(stage.project) == {}
    again = Booking.objects.get(pk=booking.pk)
    assert (again.reversal, reversal.reverses, str(reversal.amount)) == (reversal, booking, "-12500.00")
    assert (again.starts_on, reversal.starts_on, reversal.reason) == (
        date(2026, 3, 10),
        date(2026, 3, 10),
        "sent twice",
    )
    assert list(Booking.objects.standing().filter(project=stage.project)) == []


def test_what_was_known_before_a_reversal_stays_known(stage):
    booking = book_line(LICENCE, by=stage.finance, now=NOW)
    before = known_now()

    reverse_booking(booking, by=stage.finance, reason="sent twice", now=NOW)

    assert actual(stage.project, known_at=before) == {"USD": "1.25E+4"}
    assert actual(stage.project, known_at=known_now()) == {}


def test_a_booking_is_reversed_once_and_a_reversal_never(stage):
    booking = book_line(LICENCE, by=stage.finance, now=NOW)
    reversal = reverse_booking(booking, by=stage.finance, reason="sent twice", now=NOW)

    with pytest.raises(DomainError, match="reversed already"):
        reverse_booking(booking, by=stage.finance, reason="again", now=NOW)
    with pytest.raises(DomainError, match="a reversal itself"):
        reverse_booking(reversal, by=stage.finance, reason="again", now=NOW)
    assert actual(stage.project) == {}


def test_a_reversal_needs_a_reason_and_the_right(stage):
    booking = book_line(LICENCE, by=stage.finance, now=NOW)

    with pytest.raises(DomainError, match="Say why"):
        reverse_booking(booking, by=stage.finance, reason=" ", now=NOW)
    for person in (stage.alice, stage.charlie, stage.other_manager, stage.operator):
        with pytest.raises(DomainError, match="Only finance"):
            reverse_booking(booking, by=person, reason="x", now=NOW)
    assert actual(stage.project) == {"USD": "1.25E+4"}


def test_bookings_of_other_teams_do_not_exist(stage):
    booking = book_line(LICENCE, by=stage.finance, now=NOW)

    assert list(Booking.objects.visible_to(stage.bob)) == [booking]
    assert booking not in Booking.objects.visible_to(stage.charlie)
    assert booking in Booking.objects.visible_to(stage.auditor)
