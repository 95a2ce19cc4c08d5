"""The page on which lines come from a file."""

from __future__ import annotations

from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from budgets.models import BudgetLine, Entry

FILE = """project,category,period,start,granted
base-7b,compute,year,2026-01-05,900
base-7b,power_facility,month,2026-12-05,50
"""


def upload(client, who, text=FILE):
    client.force_login(who)
    return client.post(reverse("lines-file"), {"file": SimpleUploadedFile("lines.csv", text.encode())})


def test_a_manager_sees_what_would_be_written_and_confirms(stage, client):
    shown = upload(client, stage.manager)
    assert shown.status_code == 200
    assert "Open these lines" in shown.content.decode()
    assert not BudgetLine.objects.exists()

    answer = client.post(reverse("lines-file"), {"token": shown.context["token"]})

    assert answer.status_code == 302
    assert set(Entry.objects.values_list("line__category", "amount")) == {("compute", 900), ("power_facility", 50)}
    again = upload(client, stage.manager)
    assert "Everything is there already" in again.content.decode()


def test_faults_are_shown_with_their_place_and_nothing_can_be_confirmed(stage, client):
    shown = upload(client, stage.finance, FILE.replace("year", "decade"))

    assert shown.status_code == 422
    text = shown.content.decode()
    assert "line 2, period" in text
    assert "decade" in text
    assert "Open these lines" not in text


def test_others_find_no_such_page(stage, client):
    for who in (stage.alice, stage.charlie, stage.auditor):
        assert upload(client, who).status_code == 404
        assert client.get(reverse("lines-file-template")).status_code == 404


def test_the_template_is_a_file_that_the_page_takes(stage, client):
    client.force_login(stage.manager)
    text = client.get(reverse("lines-file-template")).content.decode()

    assert text.startswith("project,category,subcategory,task_type,period,start,granted,spent,spent_until,document")
    assert "base-7b,compute,training" in text
