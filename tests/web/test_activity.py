"""The log, notifications, and the sentences both are told in."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from django.utils import timezone, translation
from django.utils.safestring import SafeString

from teams import activity
from teams.models import Activity, Notification
from web import verbs
from web.activity import VERBS_OF_KIND, Line

ROOT = Path(__file__).resolve().parents[2]


def recorded_verbs() -> set[str]:
    """Every verb that stands in a module which writes to the log."""
    starts = "|".join(start.replace(".", r"\.") for kind in VERBS_OF_KIND.values() for start in kind)
    found: set[str] = set()
    for app in ("teams", "estimates", "usage", "budgets", "overruns", "retrospectives"):
        for path in (ROOT / app).rglob("*.py"):
            text = path.read_text()
            if "record(" in text:
                found |= set(re.findall(r'record\(\s*"([a-z_]+\.[a-z_]+)"', text))
                found |= set(re.findall(rf'"((?:{starts})[a-z_]+)"', text)) if "activity.record(" in text else set()
    return found


def test_every_verb_that_is_recorded_has_a_sentence():
    assert recorded_verbs() - set(verbs.SENTENCES) == set()


def test_every_verb_with_a_sentence_belongs_to_a_kind():
    starts = tuple(start for kind in VERBS_OF_KIND.values() for start in kind)

    assert [verb for verb in verbs.SENTENCES if not verb.startswith(starts)] == []


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("verb", sorted(verbs.SENTENCES))
def test_a_sentence_needs_no_fact_to_be_said(verb, language, stage):
    row = activity.record(verb, by=stage.alice, project=stage.project)

    with translation.override(language):
        said, names_who = verbs.sentence(row), "{who}" in str(verbs.SENTENCES[verb])

    assert said and ("Alice" in said or not names_who)


def test_facts_are_escaped(stage):
    row = activity.record("person.renamed", by=stage.alice, old="<b>", name="<script>alert(1)</script>")

    assert "<script>" not in verbs.sentence(row)
    assert "&lt;script&gt;" in verbs.sentence(row)


def test_braces_in_a_fact_are_only_text(stage):
    row = activity.record("person.renamed", by=stage.alice, old="{who}", name="{__class__}")

    assert "{__class__}" in verbs.sentence(row)


def test_what_the_product_did_itself_is_told_as_its_own():
    assert verbs.sentence(Activity(verb="unknown.thing", facts={})) == "<b>Headroom</b>: unknown.thing"


def test_a_month_is_told_as_people_read_it(stage):
    row = Activity(verb="month.closed", by=stage.finance, facts={"month": "2026-10", "lines": 3})

    assert "closed Oct 2026 with 3 lines" in verbs.sentence(row)
    with translation.override("zh-hans"):
        assert "2026年10月" in verbs.sentence(row)


def test_money_in_a_fact_is_read_as_money():
    assert verbs.money_of({"amount": "20000", "currency": "USD"}, "amount") == "20,000 USD"
    assert verbs.money_of({}, "amount") == "–"


def test_a_transfer_is_told_with_money_and_the_names_of_the_lines(stage):
    facts = {"amount": "20000", "currency": "USD", "source": "people_platform", "target": "network"}
    row = activity.record("money.transferred", by=stage.manager, project=stage.project, **facts)

    said = "<b>Manager</b> transferred 20,000 USD from People and platform to Network and interconnect"
    assert verbs.sentence(row) == said


def test_the_day_of_a_line_is_that_of_the_hour_beside_it():
    late_in_london = Line(Activity(at=datetime(2026, 11, 30, 18, 37, tzinfo=UTC)), SafeString())

    with timezone.override("Asia/Shanghai"):
        assert late_in_london.day == date(2026, 12, 1)


def test_people_see_what_happened_in_their_own_teams(client, stage):
    activity.record("project.opened", by=stage.manager, project=stage.project)
    activity.record("project.opened", by=stage.other_manager, project=stage.other_project)

    client.force_login(stage.charlie)
    seen = client.get("/activity/").content.decode()
    client.force_login(stage.auditor)
    all_of_it = client.get("/activity/").content.decode()

    assert "Ranking" in seen and "Base 7B" not in seen
    assert "Ranking" in all_of_it and "Base 7B" in all_of_it


def test_the_log_can_be_narrowed(client, stage):
    activity.record("project.opened", by=stage.manager, project=stage.project)
    activity.record("token.issued", by=stage.alice, name="scheduler")
    client.force_login(stage.alice)

    of_proposals = client.get("/activity/", {"kind": "proposal"}).content.decode()
    of_alice = client.get("/activity/", {"by": stage.alice.pk})

    assert "Nothing of this kind" in of_proposals
    assert [line.row.verb for line in of_alice.context["lines"]] == ["token.issued"]


def test_another_teams_project_and_people_cannot_be_asked_for(client, stage):
    activity.record("project.opened", by=stage.other_manager, project=stage.other_project)
    client.force_login(stage.alice)

    answer = client.get("/activity/", {"project": "rank"})

    assert answer.context["lines"] == []
    assert set(answer.context["form"].fields["by"].queryset) == {stage.alice, stage.bob, stage.manager}


def test_a_long_log_costs_the_same_number_of_queries(client, stage, django_assert_max_num_queries):
    for number in range(120):
        activity.record("person.renamed", by=stage.alice, project=stage.project, name=str(number))
    client.force_login(stage.alice)

    with django_assert_max_num_queries(16):
        answer = client.get("/activity/", {"page": 2})

    assert answer.context["page"].start_index() == 51


def tell(person, **facts) -> Notification:
    return Notification.objects.create(user=person, kind="test", url="/account/", facts=facts)


@pytest.fixture
def words(monkeypatch):
    """A notification whose template is not at stake here."""
    monkeypatch.setattr("web.activity.headline", lambda row: row.facts["words"])


def test_unread_notifications_are_counted_until_they_are_read(client, stage, words):
    tell(stage.alice, words="Your proposal is approved")
    tell(stage.bob, words="Something of Bob's")
    client.force_login(stage.alice)

    before = client.get("/notifications/")
    client.post("/notifications/read/")
    after = client.get("/notifications/")

    assert "Your proposal is approved" in before.content.decode()
    assert "Something of Bob" not in before.content.decode()
    assert before.context["unread"] == 1 and after.context["unread"] == 0
    assert Notification.objects.filter(user=stage.bob, read_at=None).count() == 1


def test_opening_a_notification_marks_it_and_leads_to_its_page(client, stage):
    row = tell(stage.alice, words="")
    client.force_login(stage.alice)

    answer = client.post(f"/notifications/{row.pk}/read/")

    row.refresh_from_db()
    assert answer["Location"] == "/account/" and row.read_at is not None


def test_a_notification_of_someone_else_does_not_exist(client, stage):
    row = tell(stage.alice, words="")
    client.force_login(stage.charlie)

    assert client.post(f"/notifications/{row.pk}/read/").status_code == 404


def test_a_notification_never_leads_out_of_the_product(client, stage):
    row = Notification.objects.create(user=stage.alice, kind="test", url="https://elsewhere.example/")
    client.force_login(stage.alice)

    assert client.post(f"/notifications/{row.pk}/read/")["Location"] == "/notifications/"
