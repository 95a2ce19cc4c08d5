"""The pages of assets: what they show to whom, and what their forms do."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from budgets.actuals import metered_days
from budgets.models import Asset, AssetCharge, AssetUse, Proposal
from budgets.queries import line_status
from budgets.services import assets
from core.months import Month, Period
from tests import factories as people
from tests.budgets import factories
from web.line_rows import actual_series

YEARS = Period(date(2026, 1, 1), date(2029, 1, 1))
THIS = Month.of(timezone.now().date())


@pytest.fixture
def kept(stage):
    """A data set that a second project of the team has used for two months, charged."""
    stage.second = people.project(stage.team, "Tuning")
    stage.source = factories.line(stage.project, "data", granted=1000, period=YEARS, period_kind="project")
    stage.taker = factories.line(stage.second, "data", granted=500, period=YEARS, period_kind="project")
    said = assets.NewAsset("Web text", "data_set", Decimal(120), THIS + -2, "months", 12, stage.alice)
    stage.asset = assets.add_asset(stage.project, said, by=stage.manager)
    assets.use_asset(stage.asset, stage.second, by=stage.manager, since=THIS + -2)
    assets.charge_due(now=timezone.now())
    return stage


def page(client, who, name, *arguments, query=""):
    client.force_login(who)
    return client.get(reverse(name, args=arguments) + query)


def post(client, who, view, *arguments, **sent):
    client.force_login(who)
    return client.post(reverse(view, args=arguments), sent, follow=True)


def test_the_team_sees_an_asset_with_what_is_charged_and_what_is_left(kept, client):
    said = page(client, kept.bob, "asset", kept.asset.pk).content.decode()

    assert "Web text" in said and "licence not known" in said
    assert 'title="100 USD"' in said or 'value="100"' in said  # 120 less two months of 10
    assert reverse("line", args=[kept.second.slug, kept.taker.pk]) in said
    assert "Web text" in page(client, kept.bob, "asset-list").content.decode()


def test_charlie_finds_no_asset_and_can_do_nothing_to_it(kept, client):
    charge, use = AssetCharge.objects.first(), AssetUse.objects.get()

    assert page(client, kept.charlie, "asset", kept.asset.pk).status_code == 404
    assert "Web text" not in page(client, kept.charlie, "asset-list").content.decode()
    for name, arguments in [
        ("asset-use", (kept.asset.pk,)),
        ("asset-clearance", (kept.asset.pk,)),
        ("asset-use-end", (kept.asset.pk, use.pk)),
        ("asset-reverse", (kept.asset.pk, charge.pk)),
    ]:
        assert post(client, kept.other_manager, name, *arguments, reason="x").status_code == 404, name


def test_another_team_sees_an_offered_asset_without_whose_money_it_was(kept, client):
    Asset.objects.update(is_offered=True)

    said = page(client, kept.charlie, "asset", kept.asset.pk).content.decode()

    assert "Web text" in said and "1 project of other teams" in said
    assert kept.project.name not in said and kept.second.name not in said


def test_a_manager_makes_the_result_of_a_closed_proposal_an_asset(kept, client):
    proposal = factories.draft(kept.project, kept.alice, {("compute", "2027-01"): 500}, title="Base")
    Proposal.objects.filter(pk=proposal.pk).update(state="closed", closed_at=timezone.now())
    address = f"{reverse('asset-new')}?proposal={proposal.pk}"

    assert address in page(client, kept.manager, "proposal", proposal.pk).content.decode()
    assert address not in page(client, kept.bob, "proposal", proposal.pk).content.decode()
    form = client.post  # as the manager again
    page(client, kept.manager, "asset-new", query=f"?proposal={proposal.pk}")
    answer = form(
        address,
        {
            "name": "Base",
            "project": kept.project.pk,
            "kind": "model",
            "cost": "1,000",
            "starts_on": str(THIS),
            "life": 4,
            "life_in": "tasks",
            "owner": kept.alice.pk,
            "licence": "own",
            "compliance": "cleared",
        },
    )

    made = Asset.objects.get(name="Base")
    assert answer.url == reverse("asset", args=[made.pk])
    assert (made.cost, made.life, made.life_in, made.proposal) == (1000, 4, "tasks", proposal)
    assert address not in page(client, kept.manager, "proposal", proposal.pk).content.decode()


def test_what_is_wrong_stands_beside_the_field(kept, client):
    client.force_login(kept.manager)
    answer = client.post(reverse("asset-new"), {"name": "", "cost": "ten", "starts_on": "soon", "life": 0})

    said = answer.content.decode()
    assert answer.status_code == 422
    assert "Write an amount such as" in said and "Write a month such as" in said
    assert Asset.objects.count() == 1


def test_a_manager_says_who_uses_it_and_hears_that_its_licence_is_not_known(kept, client):
    answer = post(client, kept.manager, "asset-use", kept.asset.pk, project=kept.project.pk, since=str(THIS), tasks=1)

    assert "is not known" in answer.content.decode()
    assert AssetUse.objects.filter(project=kept.project, since=THIS.start).exists()


def test_a_month_is_taken_back_on_the_page(kept, client):
    charge = AssetCharge.objects.order_by("month")[0]

    answer = post(client, kept.finance, "asset-reverse", kept.asset.pk, charge.pk, reason="Not used then")

    assert line_status(kept.taker).actual == 10
    assert "taken back" in answer.content.decode() and "Not used then" in answer.content.decode()


def test_a_month_that_no_line_carries_is_said(kept, client):
    third = people.project(kept.team, "Third")
    said = assets.NewAsset("Mail", "data_set", Decimal(12), THIS + -1, "months", 12, kept.alice)
    waiting = assets.add_asset(kept.project, said, by=kept.manager)
    assets.use_asset(waiting, third, by=kept.manager, since=THIS + -1)

    assert "no open data line carries it in Third" in page(client, kept.bob, "asset", waiting.pk).content.decode()


def test_what_an_asset_charges_is_part_of_the_burn_of_the_line(kept):
    factories.cost(kept.second, 5, category="data", day=THIS.start)

    series = actual_series(kept.taker, metered_days([kept.taker.pk]), Decimal(0), now=timezone.now())

    assert series[-1][1] == 5 + 20


def test_the_decision_page_names_an_asset_of_unknown_licence(kept, client):
    proposal, _step = factories.submitted(kept.second, kept.alice, {("compute", "2027-01"): 10})

    said = page(client, kept.manager, "proposal", proposal.pk).content.decode()

    assert reverse("asset", args=[kept.asset.pk]) in said and "licence not known" in said


def test_the_list_asks_as_often_for_many_assets_as_for_one(kept, client, django_assert_num_queries):
    page(client, kept.bob, "asset-list")
    with django_assert_num_queries(17):
        page(client, kept.bob, "asset-list")
    for number in range(5):
        said = assets.NewAsset(f"A{number}", "model", Decimal(5), THIS, "months", 2, kept.alice)
        assets.add_asset(kept.project, said, by=kept.manager)
    with django_assert_num_queries(17):
        page(client, kept.bob, "asset-list")


def test_the_api_lists_assets_with_what_is_left(kept, client):
    client.force_login(kept.bob)
    (row,) = client.get("/api/v1/assets/").json()["results"]

    assert (row["name"], row["cost"], row["rest"], row["life_left"]) == ("Web text", "120", "100", 10)
    assert row["uses"] == [{"project": "tuning", "proposal": None, "since": str(THIS + -2), "until": None, "tasks": 1}]
    assert client.get(f"/api/v1/assets/{row['id']}/").json() == row
    client.force_login(kept.charlie)
    assert client.get("/api/v1/assets/").json()["results"] == []
    assert client.get(f"/api/v1/assets/{row['id']}/").status_code == 404
