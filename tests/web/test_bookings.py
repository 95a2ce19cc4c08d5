"""The pages of bookings: list, form, file with its preview, one booking and its reversal."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from usage.bookings.services import book_line, reverse_booking
from usage.models import Booking

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files", "no_worker")]

LINE = {
    "project": "base-7b",
    "category": "data",
    "first_day": "2026-03-10",
    "amount": "12500.00",
    "currency": "USD",
    "document": "INV-1",
    "key": "1",
}


@pytest.fixture
def kept_files(settings, tmp_path) -> None:
    settings.MEDIA_ROOT = tmp_path / "files"


@pytest.fixture
def no_worker(monkeypatch) -> None:
    monkeypatch.setattr("overruns.tasks.judge_soon", lambda: None)


@pytest.fixture
def other(stage) -> Booking:
    """Of another team: only those who may see it do."""
    return book_line({**LINE, "project": "ranking", "document": "OTHER-9", "amount": "77"}, by=None)


def page_of(client, name: str, *args, **query) -> str:
    answer = client.get(reverse(name, args=args), query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_manager_books_a_line_and_sees_it(stage, client, other):
    client.force_login(stage.manager)

    sent = client.post(reverse("booking-new"), {**LINE, "note": "corpus"})

    row = Booking.objects.get(document="INV-1")
    assert sent.url == reverse("booking", args=[row.pk])
    assert "12,500 USD" in page_of(client, "booking", row.pk)
    listed = page_of(client, "booking-list")
    assert "INV-1" in listed and "OTHER-9" not in listed


def test_a_refused_line_says_why_beside_its_field(stage, client):
    client.force_login(stage.manager)

    sent = client.post(reverse("booking-new"), {**LINE, "amount": "12,5"})

    assert sent.status_code == 422
    assert "is no amount in plain digits" in sent.content.decode()
    assert not Booking.objects.exists()


@pytest.mark.parametrize("who", ["alice", "charlie", "operator"])
def test_who_may_not_book_finds_no_form(stage, client, who):
    client.force_login(getattr(stage, who))

    assert client.get(reverse("booking-new")).status_code == 403
    assert client.get(reverse("booking-file")).status_code == 403
    assert "Book a line" not in page_of(client, "booking-list")


def test_a_file_is_previewed_then_booked(stage, client):
    client.force_login(stage.finance)
    content = (
        b"project,category,first_day,amount,currency\nbase-7b,data,2026-03-10,40,USD\nbase-7b,data,2026-03-11,2,USD\n"
    )

    shown = client.post(reverse("booking-file"), {"file": SimpleUploadedFile("march.csv", content)})
    page = shown.content.decode()

    assert "2 new lines" in page and "42.00 USD" in page
    assert not Booking.objects.exists()
    client.post(reverse("booking-file"), {"token": shown.context["token"]})
    assert [str(row.amount) for row in Booking.objects.order_by("pk")] == ["40", "2"]
    again = client.post(reverse("booking-file"), {"file": SimpleUploadedFile("march.csv", content)}).content.decode()
    assert "Everything is booked already" in again


def test_the_preview_of_a_bad_file_names_line_column_value_and_reason(stage, client):
    client.force_login(stage.finance)
    content = b"project,category,first_day,amount,currency\nbase-7b,data,2026-03-10,forty,USD\n"

    shown = client.post(reverse("booking-file"), {"file": SimpleUploadedFile("march.csv", content)})

    assert shown.status_code == 422
    page = shown.content.decode()
    assert "<code>forty</code>" in page and "is no amount in plain digits" in page
    assert "Book these lines" not in page


def test_a_booking_is_reversed_with_a_reason(stage, client, other):
    row = book_line(LINE, by=stage.finance)
    client.force_login(stage.manager)

    client.post(reverse("booking-reverse", args=[row.pk]), {"reason": "sent twice"})

    page = page_of(client, "booking", row.pk)
    assert "sent twice" in page and f"B-{Booking.objects.get(reverses=row).pk}" in page
    assert "It takes back" in page_of(client, "booking", row.reversal.pk)


def test_bookings_of_others_do_not_exist(stage, client, other):
    client.force_login(stage.alice)

    assert client.get(reverse("booking", args=[other.pk])).status_code == 404
    assert client.post(reverse("booking-reverse", args=[other.pk]), {"reason": "x"}).status_code == 404
    assert b"OTHER-9" not in b"".join(client.get(reverse("booking-export")).streaming_content)


def test_the_list_is_filtered_and_its_sum_follows(stage, client, other):
    book_line(LINE, by=None)
    book_line({**LINE, "key": "2", "category": "storage", "amount": "1", "currency": "EUR"}, by=None)
    client.force_login(stage.auditor)

    everything = page_of(client, "booking-list")
    data = page_of(client, "booking-list", category="data", project="base-7b", month="2026-03")
    none = page_of(client, "booking-list", month="2026-04")

    assert "3 bookings" in everything and "12,577 USD" in everything
    assert "1 booking" in data and "1.00 EUR" not in data
    assert "No such booking" in none


def test_the_export_holds_what_the_list_shows(stage, client, other):
    book_line(LINE, by=stage.finance)
    client.force_login(stage.auditor)

    file = b"".join(client.get(reverse("booking-export"), {"project": "base-7b"}).streaming_content).decode()

    assert [line.split(",")[5] for line in file.splitlines()] == ["amount", "12500"]


def test_the_template_can_be_downloaded(stage, client):
    client.force_login(stage.manager)

    assert client.get(reverse("booking-template")).content.startswith(b"project,category,first_day")


def test_the_list_costs_the_same_number_of_queries_however_long(stage, client):
    book_line(LINE, by=stage.finance)
    client.force_login(stage.manager)
    page_of(client, "booking-list")
    with CaptureQueriesContext(connection) as short:
        page_of(client, "booking-list")
    for number in range(2, 5):
        reverse_booking(book_line({**LINE, "key": str(number)}, by=stage.finance), by=stage.finance, reason="x")

    with CaptureQueriesContext(connection) as long:
        page_of(client, "booking-list")

    assert len(long) == len(short) <= 18
