"""The audit agrees with what is right, and finds what is wrong."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.core.management import call_command
from django.utils import timezone

from budgets.services.hours import grant_hours
from core.months import Month, Period
from overruns.audit import run_audit
from overruns.models import Audit
from teams.models import Notification
from tests.budgets import factories
from tests.loop.bill import focus_bill
from tests.usage.factories import deliver, source
from usage.models import AllocationRule, DailyUsage, Source

pytestmark = pytest.mark.django_db

NOW = datetime(2027, 3, 1, 9, tzinfo=UTC)
JANUARY = Period(date(2027, 1, 1), date(2027, 2, 1))


@pytest.fixture
def billed(stage, settings, tmp_path):
    """A line of 1,000 on which a bill of 300 and a promise of 500 stand."""
    settings.MEDIA_ROOT = tmp_path
    of = Source.objects.create(slug="cloud", name="Cloud", format="focus", money="own", meaning="statement")
    AllocationRule.objects.create(position=1, name="all", conditions=[], project=stage.project, category="compute")
    line = factories.line(stage.project, granted=1000)
    proposal, _step = factories.submitted(stage.project, stage.alice, {("compute", "2027-01"): 500})
    factories.entry(line, "commit", 500, proposal=proposal)
    answer = deliver(of, focus_bill(Decimal(300), Month.of(JANUARY.start), account="acct-1", days=JANUARY))
    assert answer["status"] == "live"
    return line


def test_where_everything_is_right_nothing_differs_and_nobody_is_told(billed):
    audit = run_audit(now=timezone.now())

    assert (audit.lines, audit.count, audit.differences) == (1, 0, [])
    assert not Notification.objects.filter(kind="audit_differs").exists()


def test_a_rollup_that_lost_a_day_is_found_everywhere_it_shows(billed, stage):
    row = DailyUsage.objects.order_by("day").first()
    kept = DailyUsage.objects.filter(pk=row.pk)
    kept.update(effective=row.effective - 1)

    audit = run_audit(now=timezone.now())

    found = {(each["of"], each["figure"]) for each in audit.differences}
    assert ("rollup, cloud", str(row.day)) in found
    assert ("conservation", "USD, effective") in found
    assert ("Base 7B: Compute", "actual") in found
    assert {row.user for row in Notification.objects.filter(kind="audit_differs")} == {stage.operator, stage.finance}


def test_a_day_that_no_record_knows_is_found(stage):
    factories.line(stage.project, granted=100)
    factories.cost(stage.project, 10)

    audit = run_audit(now=NOW)

    kept = {(each["of"], each["kept"], each["recomputed"]) for each in audit.differences}
    assert ("rollup, bill", "10", "0") in kept


def test_the_command_answers_in_json_and_fails_where_something_differs(billed, capsys):
    call_command("audit", json=True)
    assert json.loads(capsys.readouterr().out) == {"lines": 1, "differences": 0, "examples": []}

    DailyUsage.objects.all().delete()
    with pytest.raises(SystemExit) as ended:
        call_command("audit", json=True)
    assert ended.value.code == 1
    assert json.loads(capsys.readouterr().out)["differences"] > 0


def test_the_page_and_the_health_say_how_the_last_audit_went(client, stage):
    difference = {"of": "Base 7B: Compute", "figure": "actual", "kept": "1", "recomputed": "2", "line": None}
    Audit.objects.create(at=NOW, lines=3, seconds=1, count=1, differences=[difference])
    assert client.get("/healthz").json()["audit_differences"] == 1

    client.force_login(stage.operator)
    assert "Base 7B: Compute" in client.get("/warnings/audits/").content.decode()
    client.force_login(stage.manager)
    assert client.get("/warnings/audits/").status_code == 404


HOURS = "day,cost,money,cards,card_hours\n2027-01-10,300,USD,card-a,40\n2027-01-11,100,USD,card-a,20\n"
COLUMNS = "start=day,cost=cost,currency=money,accelerator=cards,accelerator_hours=card_hours"


def test_hours_of_a_line_are_worked_out_again_like_its_money(stage, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    AllocationRule.objects.create(position=1, name="all", conditions=[], project=stage.project, category="compute")
    line = factories.line(stage.project, granted=1000)
    grant_hours(line, by=stage.manager, hours=Decimal(100), unit="real", reason="why")
    assert deliver(source("cards", columns=COLUMNS), HOURS.encode())["status"] == "live"
    assert run_audit(now=timezone.now()).differences == []

    DailyUsage.objects.filter(day=date(2027, 1, 11)).update(accelerator_hours=19)

    found = {each["figure"]: (each["kept"], each["recomputed"]) for each in run_audit(now=timezone.now()).differences}
    assert found["hours, actual"] == ("59", "60")
    assert found["hours, headroom"] == ("41", "40")
    assert found["2027-01-11, hours"] == ("19", "20")
    assert "actual" not in found
