"""Figures of finished work that people write down themselves, on the page."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.urls import reverse

from estimates.baselines.models import Baseline
from estimates.models import Estimate
from tests.estimates import factories

pytestmark = pytest.mark.django_db

FIGURE = {
    "quantity": "reliability.goodput",
    "value": "93%",
    "runs": "2",
    "since": "2026-01-01",
    "until": "2026-02-01",
    "team": "nlp",
    "source": "Old cluster, run book",
}


def post(client, who, **changes):
    client.force_login(who)
    return client.post(reverse("baseline-new"), {**FIGURE, **changes})


def test_a_manager_writes_a_figure_down_and_drafts_that_looked_for_it_wait(client, stage):
    factories.accelerator()
    factories.price(amount="2")
    draft = factories.estimate(stage.alice, stage.project, reliability={"goodput": "baseline"})

    answer = post(client, stage.manager, team=stage.team.slug)

    assert answer.status_code == 302
    row = Baseline.objects.get()
    assert (row.mode, row.team, row.runs, row.by) == (Decimal("0.93"), stage.team, 2, stage.manager)
    assert list(Estimate.objects.stale()) == [draft]
    assert "93.0 %" in client.get(reverse("baseline-list")).content.decode()


def test_only_directors_and_finance_write_for_the_whole_organisation(client, stage):
    refused = post(client, stage.manager, team="")
    kept = post(client, stage.finance, team="")

    assert list(refused.context["form"].errors) == ["team"]
    assert kept.status_code == 302
    assert Baseline.objects.get().team is None


def test_who_may_write_nothing_finds_no_button_and_no_form(client, stage):
    client.force_login(stage.bob)

    assert reverse("baseline-new") not in client.get(reverse("baseline-list")).content.decode()
    assert client.get(reverse("baseline-new")).status_code == 403
    assert post(client, stage.charlie, team=stage.team.slug).status_code == 403


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"value": "1.2"}, "value"),
        ({"value": "0"}, "value"),
        ({"value": "high"}, "value"),
        ({"high": "101%"}, "high"),
        ({"low": "95%"}, "value"),
        ({"quantity": "redundancy_factor", "value": "0.8"}, "value"),
        ({"quantity": "reliability.rollback_share", "value": "1"}, "value"),
        ({"quantity": "reliability.accelerator_mtbf_hours", "value": "0.5"}, "value"),
        ({"quantity": "experiments.ratio", "value": "250"}, "value"),
        ({"until": "2025-12-31"}, "until"),
        ({"runs": "0"}, "runs"),
    ],
)
def test_a_figure_no_run_can_have_is_refused_beside_its_field(client, stage, wrong, field):
    answer = post(client, stage.manager, team=stage.team.slug, **wrong)

    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]
    assert not Baseline.objects.exists()


def test_a_row_is_corrected_by_another_that_starts_from_it(client, stage):
    post(client, stage.manager, team=stage.team.slug, low="90%", high="95%")
    row = Baseline.objects.get()

    form = client.get(reverse("baseline-new"), {"row": row.pk}).context["form"]
    post(client, stage.manager, team=stage.team.slug, withdrawn="on")

    assert {name: str(form.initial[name]) for name in ("value", "low", "high", "team", "runs")} == {
        "value": "0.93",
        "low": "0.9",
        "high": "0.95",
        "team": stage.team.slug,
        "runs": "2",
    }
    assert Baseline.objects.count() == 2
    assert not Baseline.objects.in_force(row.valid_from).exists()


def test_a_row_of_another_team_starts_no_form(client, stage):
    post(client, stage.manager, team=stage.team.slug)
    row = Baseline.objects.get()

    client.force_login(stage.other_manager)

    assert client.get(reverse("baseline-new"), {"row": row.pk}).status_code == 404
