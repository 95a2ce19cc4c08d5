"""The pages of projects, lines, proposals, warnings and retrospectives: what they show, what they do, to whom."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from budgets.models import BudgetLine, Entry, Proposal
from budgets.queries import line_status
from budgets.services import approval
from core.months import Period
from overruns import services as overruns
from overruns.models import Flag
from retrospectives.models import Retrospective
from retrospectives.services import open_for_overruns
from teams.models import Project
from tests.budgets import factories

TODAY = timezone.now().date()
RUNNING = Period(TODAY - timedelta(days=100), TODAY + timedelta(days=100))
MONTH = f"{TODAY:%Y-%m}"


@pytest.fixture
def flagged(stage):
    """A project with a line past its limit, one within it, and word of both judged."""
    compute = factories.line(stage.project, granted=1000, period=RUNNING, period_kind="project")
    data = factories.line(stage.project, "data", granted=500, period=RUNNING, period_kind="project")
    factories.cost(stage.project, 1100, day=TODAY - timedelta(days=5))
    factories.cost(stage.project, 100, day=TODAY - timedelta(days=5), category="data")
    factories.cost(stage.other_project, 7, day=TODAY - timedelta(days=5))
    overruns.judge_lines([compute.pk, data.pk], now=timezone.now())
    open_for_overruns(now=timezone.now())
    stage.compute, stage.data = compute, data
    stage.flag = Flag.objects.get(line=compute, threshold__share=1, threshold__basis="actual")
    return stage


def page(client, who, name, *arguments, query=""):
    client.force_login(who)
    return client.get(reverse(name, args=arguments) + query)


def post(client, who, view, *arguments, **data):
    client.force_login(who)
    return client.post(reverse(view, args=arguments), data)


# ---- who sees what


def pages_of(stage, proposal):
    return [
        ("project", (stage.project.slug,)),
        ("line", (stage.project.slug, stage.compute.pk)),
        ("proposal", (proposal.pk,)),
        ("flag", (stage.flag.pk,)),
        ("retrospective", (Retrospective.objects.get().pk,)),
    ]


def test_the_team_sees_its_pages_and_charlie_finds_nothing(flagged, client):
    proposal, _step = factories.submitted(flagged.project, flagged.alice, {("compute", MONTH): 100})

    for name, arguments in pages_of(flagged, proposal):
        for who in (flagged.alice, flagged.bob, flagged.manager, flagged.finance, flagged.auditor):
            assert page(client, who, name, *arguments).status_code == 200, name
        assert page(client, flagged.charlie, name, *arguments).status_code == 404, name
        client.logout()
        assert client.get(reverse(name, args=arguments)).status_code == 302, name


def test_charlie_does_nothing_either(flagged, client):
    proposal, step = factories.submitted(flagged.project, flagged.alice, {("compute", MONTH): 100})
    retrospective = Retrospective.objects.get()
    slug, line = flagged.project.slug, flagged.compute.pk
    threshold = flagged.compute.thresholds.first().pk

    for name, arguments in [
        ("line-grant", (slug, line)),
        ("line-transfer", (slug, line)),
        ("line-release", (slug, line)),
        ("line-threshold", (slug, line)),
        ("threshold-stop", (slug, line, threshold)),
        ("line-unfreeze", (slug, line)),
        ("proposal-decide", (proposal.pk,)),
        ("proposal-submit", (proposal.pk,)),
        ("proposal-withdraw", (proposal.pk,)),
        ("proposal-close", (proposal.pk,)),
        ("proposal-clone", (proposal.pk,)),
        ("proposal-preview", (slug,)),
        ("flag-acknowledge", (flagged.flag.pk,)),
        ("flag-mute", (flagged.flag.pk,)),
        ("retrospective-write", (retrospective.pk,)),
        ("action-add", (retrospective.pk,)),
        ("retrospective-open", (proposal.pk,)),
    ]:
        answer = post(client, flagged.charlie, name, *arguments, step=step.pk, outcome="approve")
        assert answer.status_code == 404, name
    assert not Entry.objects.filter(kind="commit").exists()


def test_lists_show_only_ones_own(flagged, client):
    factories.submitted(flagged.project, flagged.alice, {("compute", MONTH): 100}, title="Ours")

    for name, words in [
        ("project-list", "Base 7B"),
        ("proposal-list", "Ours"),
        ("warning-list", "Base 7B"),
        ("retrospective-list", "Base 7B"),
    ]:
        assert words in page(client, flagged.bob, name).content.decode(), name
        assert words not in page(client, flagged.charlie, name).content.decode(), name


def test_a_closed_line_offers_nothing_that_would_be_refused(flagged, client):
    line = flagged.compute
    kept = line.thresholds.count()
    half = line.thresholds.create(basis="actual", share=Decimal("0.5"))
    type(line).objects.filter(pk=line.pk).update(closed_at=timezone.now())

    said = page(client, flagged.manager, "line", flagged.project.slug, line.pk).content.decode()
    post(client, flagged.manager, "threshold-stop", flagged.project.slug, line.pk, half.pk)
    post(client, flagged.manager, "line-threshold", flagged.project.slug, line.pk, percent="60", basis="actual")

    assert "/stop/" not in said and "Add a threshold" not in said and "Grant hours" not in said
    assert line.thresholds.filter(active=True).count() == kept + 1


@pytest.mark.parametrize("name", ["project-list", "proposal-list", "warning-list", "retrospective-list"])
def test_an_empty_list_says_what_to_do(stage, client, name):
    Project.objects.all().delete()

    answer = page(client, stage.manager, name)

    assert answer.status_code == 200
    assert 'class="empty"' in answer.content.decode()


# ---- what they show


def test_the_project_page_shows_figures_the_worst_warning_and_every_line(flagged, client):
    text = page(client, flagged.alice, "project", flagged.project.slug).content.decode()

    assert "Compute has reached its limit." in text
    assert reverse("flag", args=[flagged.flag.pk]) in text
    assert text.count('<svg class="bar"') == 2
    assert '<svg class="chart' in text
    assert "overrun" in text and "on track" in text
    assert "1,200" in text  # actual of both lines


def test_a_project_without_lines_says_how_to_get_one(stage, client):
    text = page(client, stage.alice, "project", stage.project.slug).content.decode()

    assert "No budget lines yet" in text
    assert f"{reverse('proposal-new')}" in text


def test_the_approval_page_shows_lines_before_and_after_and_what_is_new_money(flagged, client):
    proposal, _step = factories.submitted(
        flagged.project, flagged.alice, {("compute", MONTH): 300, ("storage", MONTH): 40}
    )

    text = page(client, flagged.manager, "proposal", proposal.pk).content.decode()

    assert "asks for" in text and "340" in text
    # compute stands at −100: 400 of new money; storage has no line yet
    assert "Compute, before" in text and "Storage, after" in text
    assert "no line yet; approval opens one" in text
    assert 'data-key="a"' in text


def test_who_asks_sees_no_button_to_decide(flagged, client):
    proposal, _step = factories.submitted(flagged.project, flagged.alice, {("compute", MONTH): 300})

    text = page(client, flagged.alice, "proposal", proposal.pk).content.decode()

    assert 'data-key="a"' not in text
    assert "You asked for this, so others decide." in text


@pytest.mark.parametrize(
    ("name", "queries"), [("project-list", 22), ("proposal-list", 14), ("warning-list", 13), ("retrospective-list", 10)]
)
def test_a_list_takes_as_many_queries_for_many_as_for_one(flagged, client, name, queries, django_assert_num_queries):
    factories.submitted(flagged.project, flagged.alice, {("compute", MONTH): 300})
    client.force_login(flagged.manager)
    with django_assert_num_queries(queries):
        client.get(reverse(name))
    for number in range(3):
        more = Project.objects.create(team=flagged.team, name=f"More {number}", slug=f"more-{number}", currency="USD")
        line = factories.line(more, granted=100, period=RUNNING)
        factories.cost(more, 120, day=TODAY - timedelta(days=5))
        factories.submitted(more, flagged.alice, {("compute", MONTH): 300})
        overruns.judge_lines([line.pk], now=timezone.now())
    open_for_overruns(now=timezone.now())

    with django_assert_num_queries(queries):
        assert client.get(reverse(name)).status_code == 200


@pytest.mark.parametrize("name", ["project", "line", "proposal", "flag"])
def test_a_page_takes_a_known_number_of_queries(flagged, client, name, django_assert_max_num_queries):
    proposal, _step = factories.submitted(flagged.project, flagged.alice, {("compute", MONTH): 300})
    arguments = dict(pages_of(flagged, proposal))[name]
    client.force_login(flagged.manager)

    with django_assert_max_num_queries({"project": 41, "line": 44, "proposal": 40, "flag": 36}[name]):
        assert client.get(reverse(name, args=arguments)).status_code == 200


# ---- what they do


def test_a_manager_opens_a_project_and_a_line(stage, client):
    answer = post(
        client,
        stage.manager,
        "project-new",
        team=stage.team.pk,
        name="Code 7B",
        currency="USD",
        task_type="pretrain",
        starts_on="2027-01-01",
        ends_on="2027-07-01",
    )
    assert answer.status_code == 302
    answer = post(
        client,
        stage.manager,
        "line-new",
        "code-7b",
        category="compute",
        period_kind="project",
        basis="effective",
        charge_categories=["Usage", "Tax"],
        amount="12,500.50",
        reason="Plan",
    )

    line = BudgetLine.objects.get(project__slug="code-7b")
    assert answer.url == reverse("line", args=["code-7b", line.pk])
    assert line_status(line).budget == Decimal("12500.50")
    assert line.charge_categories == ["Usage", "Tax"]


def test_a_member_is_led_back_from_opening_a_project(stage, client):
    assert page(client, stage.alice, "project-new").status_code == 302
    assert page(client, stage.alice, "line-new", stage.project.slug).status_code == 302


def test_money_moves_from_the_page_of_a_line_and_a_refusal_stands_beside_the_form(flagged, client):
    slug = flagged.project.slug
    common = {"target": flagged.compute.pk, "reason": "Compute first"}

    refused = post(client, flagged.manager, "line-transfer", slug, flagged.data.pk, amount="401", **common)
    assert "less than 401" in refused.content.decode()
    done = post(client, flagged.manager, "line-transfer", slug, flagged.data.pk, amount="400", **common)

    assert done.status_code == 302
    assert line_status(flagged.data).headroom == 0


def test_a_line_is_granted_released_and_watched_from_its_page(flagged, client):
    slug, line = flagged.project.slug, flagged.data
    proposal, step = factories.submitted(flagged.project, flagged.alice, {("data", MONTH): 200})
    approval.approve_proposal(step, by=flagged.manager)

    post(client, flagged.finance, "line-grant", slug, line.pk, amount="50", reason="why")
    post(client, flagged.manager, "line-release", slug, line.pk, proposal=proposal.pk, amount="20", reason="why")
    post(client, flagged.manager, "line-threshold", slug, line.pk, percent="50", basis="actual")

    status = line_status(line)
    assert (status.budget, status.committed) == (550, 180)
    half = line.thresholds.get(share=Decimal("0.5"))
    post(client, flagged.manager, "threshold-stop", slug, line.pk, half.pk)
    half.refresh_from_db()
    assert not half.active


def test_the_whole_ask_is_approved_with_one_click(flagged, client):
    proposal, step = factories.submitted(flagged.project, flagged.alice, {("compute", MONTH): 300})

    answer = post(client, flagged.manager, "proposal-decide", proposal.pk, step=step.pk, outcome="approve")

    assert answer.status_code == 302
    proposal.refresh_from_db()
    assert proposal.state == "approved"
    assert line_status(flagged.compute).committed == 300


def test_part_is_approved_by_amount_and_new_money(flagged, client):
    proposal, step = factories.submitted(flagged.project, flagged.alice, {("data", MONTH): 300})
    amounts = {"data_amount": "250", "data_new_money": "0", "data_reason": "Shared licence"}

    refused = post(client, flagged.manager, "proposal-decide", proposal.pk, step=step.pk, outcome="part", **amounts)
    assert refused.status_code == 422
    assert "Say why." in refused.content.decode()
    post(
        client, flagged.manager, "proposal-decide", proposal.pk, step=step.pk, outcome="part", reason="Less", **amounts
    )

    proposal.refresh_from_db()
    assert proposal.state == "partly_approved"
    assert line_status(flagged.data).committed == 250


def test_a_part_starts_from_the_whole_ask(flagged, client):
    proposal, _step = factories.submitted(
        flagged.project, flagged.alice, {("compute", MONTH): 300, ("data", MONTH): 20}
    )

    said = page(client, flagged.manager, "proposal", proposal.pk).context["form"]

    assert said["compute_amount"].value() == "300.00"
    assert said["data_amount"].value() == "20.00"


def test_what_an_approver_says_of_an_input_stands_on_the_page(flagged, client):
    proposal, step = factories.submitted(flagged.project, flagged.alice, {("compute", MONTH): 300})

    post(
        client, flagged.manager, "proposal-decide", proposal.pk, step=step.pk, outcome="changes", reason="Say more",
        comment_path=["data.tokens", "people", ""], comment_text=["Why so many?", "Who?", "lost"],
    )  # fmt: skip
    said = page(client, flagged.alice, "proposal", proposal.pk).content.decode()

    assert "<b>Tokens</b> Why so many?" in said
    assert "<b>People</b> Who?" in said


def test_cutting_a_part_grants_no_more_than_the_part_is_short_of(flagged, client):
    proposal, step = factories.submitted(flagged.project, flagged.alice, {("compute", MONTH): 90_000})
    short = 90_000 - line_status(flagged.compute).free
    budget = line_status(flagged.compute).budget

    said = page(client, flagged.manager, "proposal", proposal.pk)
    fields = said.context["form"]
    post(
        client, flagged.manager, "proposal-decide", proposal.pk, step=step.pk, outcome="part", reason="Less",
        compute_amount="50000", compute_new_money=fields["compute_new_money"].value() or "",
    )  # fmt: skip

    assert fields["compute_new_money"].field.widget.attrs["placeholder"].startswith(f"{short:.0f}")
    assert line_status(flagged.compute).committed == 50_000
    assert line_status(flagged.compute).budget - budget == short - 40_000


def test_a_proposal_is_sent_back_with_a_comment_and_rejected_with_a_reason(flagged, client):
    proposal, step = factories.submitted(flagged.project, flagged.alice, {("data", MONTH): 300})
    post(
        client,
        flagged.manager,
        "proposal-decide",
        proposal.pk,
        step=step.pk,
        outcome="changes",
        reason="Smaller first",
        comment_path=["data.tokens", "compute.mfu", "data.tokens", ""],
        comment_text=["Half of it", "Too hopeful", "And cleaned", "of nothing"],
    )
    proposal.refresh_from_db()
    assert proposal.state == "changes_requested"
    said = page(client, flagged.alice, "proposal-edit", proposal.pk).content.decode()
    assert "Half of it And cleaned" in said and "Too hopeful" in said and "of nothing" not in said

    other, step = factories.submitted(flagged.project, flagged.alice, {("data", MONTH): 300})
    empty = post(client, flagged.manager, "proposal-decide", other.pk, step=step.pk, outcome="reject")
    assert empty.status_code == 422
    post(client, flagged.manager, "proposal-decide", other.pk, step=step.pk, outcome="reject", reason="No")
    other.refresh_from_db()
    assert other.state == "rejected"


def plan_yaml(**changes):
    return {"plan_yaml": factories.plan_text(**changes)}


def test_a_proposal_is_written_saved_and_submitted(stage, client):
    client.force_login(stage.alice)
    new = reverse("proposal-new") + f"?project={stage.project.slug}"
    assert client.get(new).status_code == 200

    saved = client.post(new, {"title": "Small run", "ask_level": "mean", "save": "yes", **plan_yaml()})
    proposal = Proposal.objects.get()
    assert saved.url == reverse("proposal", args=[proposal.pk])
    client.post(
        reverse("proposal-edit", args=[proposal.pk]),
        {"title": "Small run", "ask_level": "p80", "submit": "yes", **plan_yaml()},
    )

    proposal.refresh_from_db()
    assert proposal.state == "submitted"
    assert proposal.versions.get().ask_level == "p80"


def test_a_plan_with_faults_comes_back_with_them_and_keeps_nothing(stage, client):
    client.force_login(stage.alice)
    new = reverse("proposal-new") + f"?project={stage.project.slug}"

    answer = client.post(new, {"title": "x", "save": "yes", **plan_yaml(compute={"accelerator": "no-such-card"})})

    assert answer.status_code == 422
    assert not Proposal.objects.exists()


def test_the_estimate_follows_as_one_types(stage, client):
    client.force_login(stage.alice)

    answer = client.post(reverse("proposal-preview", args=[stage.project.slug]), plan_yaml())

    assert answer.status_code == 200
    assert "Estimate" in answer.content.decode()


def test_a_proposal_is_withdrawn_cloned_and_closed(flagged, client):
    proposal, step = factories.submitted(flagged.project, flagged.alice, {("compute", MONTH): 300})
    clone = post(client, flagged.bob, "proposal-clone", proposal.pk)
    assert clone.url == reverse("proposal-edit", args=[Proposal.objects.latest("pk").pk])
    approval.approve_proposal(step, by=flagged.manager)
    post(client, flagged.alice, "proposal-close", proposal.pk)
    proposal.refresh_from_db()
    assert proposal.state == "closed"
    opened = post(client, flagged.manager, "retrospective-open", proposal.pk)
    assert opened.url == reverse("retrospective", args=[Retrospective.objects.get(proposal=proposal).pk])

    other, _step = factories.submitted(flagged.project, flagged.alice, {("compute", MONTH): 300})
    post(client, flagged.alice, "proposal-withdraw", other.pk)
    other.refresh_from_db()
    assert other.state == "withdrawn"


def test_the_cause_of_a_warning_is_stated_and_it_is_muted(flagged, client):
    empty = post(client, flagged.bob, "flag-acknowledge", flagged.flag.pk, cause="")
    assert empty.status_code == 422
    post(client, flagged.bob, "flag-acknowledge", flagged.flag.pk, cause="Two node failures")
    flagged.flag.refresh_from_db()
    assert (flagged.flag.state, flagged.flag.cause) == ("acknowledged", "Two node failures")

    late = post(client, flagged.manager, "flag-mute", flagged.flag.pk, until=str(TODAY + timedelta(days=400)))
    assert late.status_code == 422
    post(client, flagged.manager, "flag-mute", flagged.flag.pk, until=str(TODAY + timedelta(days=4)))
    flagged.flag.refresh_from_db()
    assert flagged.flag.state == "muted"


def test_a_retrospective_is_written_given_actions_and_closed(flagged, client):
    found = Retrospective.objects.get()
    early = post(client, flagged.manager, "retrospective-write", found.pk, cause="", close="yes")
    assert early.status_code == 422
    post(client, flagged.alice, "action-add", found.pk, text="Checkpoint more often", owner=flagged.bob.pk)
    post(client, flagged.bob, "action-done", found.pk, found.actions.get().pk)
    by_member = post(
        client, flagged.alice, "retrospective-write", found.pk, cause="Failures", acceptance="met", close="yes"
    )
    assert by_member.status_code == 422
    post(client, flagged.manager, "retrospective-write", found.pk, cause="Failures", acceptance="met", close="yes")

    found.refresh_from_db()
    assert (found.state, found.cause, found.acceptance) == ("closed", "Failures", "met")
    assert found.actions.get().done_at is not None


def test_a_manager_opens_a_set_of_lines_in_one_click(stage, client):
    given = {"set": "1", "set-templates": ["training", "power"], "set-period_kind": "year", "set-start": f"{TODAY}"}
    shown = page(client, stage.manager, "line-new", stage.project.slug).content.decode()
    assert "Open the set" in shown

    answer = post(client, stage.manager, "line-new", stage.project.slug, **given)

    assert answer.status_code == 302
    assert set(stage.project.lines.values_list("category", "subcategory")) == {
        ("compute", "training"),
        ("power_facility", ""),
    }
    none = post(client, stage.manager, "line-new", stage.project.slug, **{**given, "set-templates": []})
    assert none.status_code == 200
    assert post(client, stage.charlie, "line-new", stage.project.slug, **given).status_code == 404
