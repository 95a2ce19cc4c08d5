"""Beginning in the middle of a year: lines, money and spend to date from a file."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from budgets.models import BudgetLine, Entry
from budgets.queries import line_status
from budgets.services import opening
from core.errors import DomainError, NotAllowed
from core.months import Period
from teams.models import Activity
from tests.budgets import factories
from usage.models import Booking

NOW = datetime(2027, 5, 10, 9, tzinfo=UTC)
HEADER = "project,category,subcategory,task_type,period,start,granted,spent,spent_until,document"
FILE = f"""{HEADER}
base-7b,compute,training,,year,2027-03-05,900000.00,312450.75,2027-04-30,Board paper
base-7b,compute,,,year,2027-01-01,100,40,2027-04-30,
base-7b,data,annotation,,quarter,2027-04-01,30000,8200,2027-05-09,
base-7b,contingency,,,year,2027-01-01,50000,,,
"""


def bring(stage, text=FILE, **given):
    return opening.import_opening(text.encode(), by=given.get("by", stage.finance), name="open.csv", now=NOW)


def faults_of(stage, text):
    with pytest.raises(DomainError) as refused:
        bring(stage, text)
    return [(fault.path, fault.value, fault.message, fault.accepted) for fault in refused.value.faults]


def test_a_file_opens_lines_with_their_money_and_what_was_spent(stage):
    bring(stage)

    stands = {
        (line.category, line.subcategory): (status.budget, status.actual, status.headroom)
        for line in BudgetLine.objects.all()
        for status in [line_status(line, now=NOW)]
    }
    assert stands == {
        ("compute", "training"): (Decimal(900000), Decimal("312450.75"), Decimal("587549.25")),
        ("compute", ""): (100, 40, 60),
        ("data", "annotation"): (30000, 8200, 21800),
        ("contingency", ""): (50000, 0, 50000),
    }
    training = BudgetLine.objects.get(subcategory="training")
    assert training.period == Period(date(2027, 1, 1), date(2028, 1, 1))
    entry = training.entries.get()
    assert (entry.kind, entry.by, entry.reason) == ("opening", stage.finance, "Board paper")
    facts = Activity.objects.get(verb="lines.imported").facts
    assert (facts["lines"], facts["amount"], facts["spent"]) == (4, "980100", "320690.75")


def test_the_same_file_again_writes_nothing(stage):
    bring(stage)
    before = Entry.objects.count(), Booking.objects.count(), BudgetLine.objects.count(), Activity.objects.count()

    assert opening.preview_opening(FILE.encode(), by=stage.finance, now=NOW).new == []
    assert bring(stage) == []

    after = Entry.objects.count(), Booking.objects.count(), BudgetLine.objects.count(), Activity.objects.count()
    assert after == before


def test_a_line_that_is_there_gets_the_opening_money(stage):
    line = factories.line(stage.project, granted=7)

    bring(stage, f"{HEADER}\nbase-7b,compute,,,year,2027-01-01,100,,,\n")

    assert BudgetLine.objects.count() == 1
    assert line_status(line, now=NOW).budget == 107


def test_every_fault_names_line_column_value_and_what_is_accepted_and_nothing_is_written(stage):
    text = f"""{HEADER}
nowhere,compute,,,year,2027-01-01,1,,,
base-7b,gold,,,year,2027-01-01,1,,,
base-7b,compute,annotation,,week,soon,1e3,,,
base-7b,compute,,,month,2027-06-01,10.001,5,2027-06-02,
base-7b,data,,,year,2027-01-01,10,5,2027-05-10,
base-7b,storage,,,year,2027-01-01,,,,
base-7b,contingency,,,year,2027-01-01,10,1,2027-01-02,
base-7b,network,,,year,2027-01-01,10,,,
base-7b,network,,,month,2027-02-01,10,,,
"""

    found = faults_of(stage, text)

    assert [path for path, *_rest in found] == [
        "line 2, project",
        "line 3, category",
        "line 4, subcategory",
        "line 4, period",
        "line 4, start",
        "line 4, granted",
        "line 5, granted",
        "line 5, spent",
        "line 6, spent_until",
        "line 7, granted",
        "line 8, spent",
        "line 10, start",
    ]
    assert found[3] == ("line 4, period", "week", "is unknown", "month, quarter, year, project")
    assert found[8] == (
        "line 6, spent_until",
        "2027-05-10",
        "is no day of the period before today",
        "2027-01-01 – 2027-05-09",
    )
    assert found[11][2] == "overlaps line 9 of the file"
    assert not BudgetLine.objects.exists()
    assert not Booking.objects.exists()


def test_another_amount_for_what_was_opened_is_refused(stage):
    bring(stage)

    granted = FILE.replace("30000,8200", "30001,8200")
    spent = FILE.replace("30000,8200", "30000,8201")

    assert faults_of(stage, granted) == [("line 4, granted", "30001", "was opened with another amount before", "30000")]
    assert [path for path, *_rest in faults_of(stage, spent)] == ["line 4, spent"]


def test_a_header_that_is_not_understood_is_said(stage):
    assert faults_of(stage, "project,colour\nbase-7b,red\n")[0][:3] == ("line 1", "colour", "is no column of this file")
    assert faults_of(stage, HEADER) == [("line 2", "", "the file has no rows", "a header, and a row for each line")]


def test_managers_open_the_lines_of_their_teams_and_researchers_none(stage):
    foreign = f"{HEADER}\nranking,compute,,,year,2027-01-01,1,,,\n"
    with pytest.raises(DomainError, match="holds faults"):
        bring(stage, foreign, by=stage.manager)
    with pytest.raises(NotAllowed):
        bring(stage, by=stage.alice)
    assert len(bring(stage, by=stage.manager)) == 4
