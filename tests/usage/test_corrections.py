"""Rejected rows mended and delivered again as a correction of their import."""

from __future__ import annotations

import csv
import io

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from core.errors import DomainError
from tests.usage import factories
from tests.usage.factories import deliver, focus
from usage import corrections, services
from usage.models import Import, RejectedRow
from usage.totals import Question, usage_totals

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

BAD = ({"ResourceId": "a"}, {"ResourceId": "b", "BilledCost": "ten"}, {"ResourceId": "c"})


def billed() -> object:
    return usage_totals(Question())[0].totals.get("USD")


def mended(found: dict) -> dict[int, str]:
    row = RejectedRow.objects.get(delivery=found["import"])
    return {row.line: row.text.replace("ten", "12")}


def test_a_mended_row_of_a_statement_is_written_beside_what_was_taken(stage):
    found = deliver(factories.source(), focus(*BAD))
    assert (found["rows_rejected"], billed()) == (1, 20)

    again = corrections.correct_import(Import.objects.get(), mended(found), by=stage.operator)
    answer = services.run_import(again.pk)

    assert (answer["rows_written"], answer["rows_closed"], answer["rows_rejected"], billed()) == (1, 0, 0, 32)
    assert again.corrects_id == found["import"]


def test_a_mended_row_of_an_append_is_delivered_alone(stage):
    found = deliver(factories.source(meaning="append"), focus(*BAD))

    again = corrections.correct_import(Import.objects.get(), mended(found), by=stage.operator)

    assert (services.run_import(again.pk)["rows_read"], billed()) == (1, 32)


@pytest.mark.parametrize("given", [{2: "anything"}, {}])
def test_only_rejected_rows_that_changed_are_mended(stage, given):
    deliver(factories.source(), focus(*BAD))

    with pytest.raises(DomainError):
        corrections.correct_import(Import.objects.get(), given, by=stage.operator)

    assert Import.objects.count() == 1


def test_people_without_the_role_mend_nothing(stage, client):
    found = deliver(factories.source(), focus(*BAD))
    with pytest.raises(DomainError):
        corrections.correct_import(Import.objects.get(), mended(found), by=stage.alice)
    client.force_login(stage.charlie)

    assert client.get(reverse("import-correct", args=[found["import"]])).status_code == 404


def test_rows_are_mended_on_the_page_and_by_the_downloaded_list(stage, client, no_worker):
    found = deliver(factories.source(), focus(*BAD))
    client.force_login(stage.operator)
    address = reverse("import-correct", args=[found["import"]])
    assert "ten" in client.get(address).content.decode()
    assert client.post(address, {"row-3": RejectedRow.objects.get().text}).status_code == 422
    listed = b"".join(client.get(reverse("import-rejected", args=[found["import"]])).streaming_content).decode()
    rows = list(csv.DictReader(io.StringIO(listed)))
    rows[0]["record"] = rows[0]["record"].replace("ten", "12")
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0].keys())
    writer.writeheader()
    writer.writerows(rows)

    sent = client.post(address, {"file": SimpleUploadedFile("rejected.csv", text.getvalue().encode())})

    delivery = Import.objects.order_by("-id")[0]
    assert sent.url == reverse("import", args=[delivery.pk])
    assert (services.run_import(delivery.pk)["status"], billed()) == ("live", 32)
    assert f"import {found['import']}" in client.get(sent.url).content.decode()
