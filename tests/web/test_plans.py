"""The plan form: what it shows is what it takes; the estimate follows as one types; nothing ever breaks."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from django.conf import settings
from django.http import QueryDict
from django.urls import reverse
from django.utils import translation

from estimates import tasks
from estimates.baselines.services import Figure, record_baseline
from estimates.engine.plan import parse_plan
from estimates.models import Estimate
from tests.estimates import factories
from web import plan_fields, plan_members, plans
from web.plan_groups import groups_of
from web.plan_numbers import number_text, typed_number
from web.plan_places import member_starts
from web.plan_yaml import yaml_of

TEMPLATES = sorted((Path(settings.BASE_DIR) / "docs" / "plans").glob("*.yaml"))


def posted(document: dict, **changes: str) -> QueryDict:
    """What a browser sends for the form of a document."""
    post = QueryDict(mutable=True)
    members = plan_members.members_of(document, (), [start.removesuffix(".") for start in member_starts(document)])
    for group in (*groups_of(document), *(group for member in members for group in member.groups)):
        tables = (*group.tables, *group.more_tables)
        controls = [*group.controls, *group.wide, *group.more]
        controls += [one for table in tables for row in table.rows for one in (*row.controls, *row.more)]
        for part in (part for control in controls for part in control.parts):
            post[part.name] = part.value
        for switch in group.switches:
            if switch.is_on:
                post[switch.name] = "none"
    for name, value in changes.items():
        post[name.replace("__", ".")] = value
    return post


@pytest.fixture
def book(stage):
    factories.accelerator()
    factories.price(amount="2")
    return stage


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: file.stem)
def test_the_form_gives_back_every_plan_that_it_shows(file):
    plan = parse_plan(file.read_bytes())

    document = plan_fields.document_of(posted(dict(plan.document)))

    assert parse_plan(document).document == plan.document


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: file.stem)
def test_the_yaml_view_gives_back_every_plan_that_it_shows(file):
    plan = parse_plan(file.read_bytes())

    assert parse_plan(yaml_of(plan.document)).document == plan.document


def test_a_range_may_be_typed_into_one_field():
    document = plan_fields.document_of(QueryDict("f.compute.mfu=33%25..40%25..46%25&f.data.tokens=1 .. 2 .. 3"))

    assert document["compute"]["mfu"] == {"low": "33%", "mode": "40%", "high": "46%"}
    assert document["data"]["tokens"] == {"low": "1", "mode": "2", "high": "3"}


def test_a_range_of_which_only_the_middle_is_given_is_that_number():
    document = plan_fields.document_of(QueryDict("f.compute.mfu~low=&f.compute.mfu~mode=40%25&f.compute.mfu~high="))

    assert document["compute"]["mfu"] == "40%"


def test_a_convention_stands_beside_its_figure():
    document = plan_fields.document_of(QueryDict("f.compute.mfu=40%25&f.compute.mfu.attention=causal"))

    assert document["compute"]["mfu"] == {"value": "40%", "attention": "causal"}


def test_a_convention_without_a_figure_goes_with_history():
    document = plan_fields.document_of(QueryDict("f.compute.mfu.attention=causal"))

    assert document["compute"]["mfu"] == {"value": "baseline", "attention": "causal"}


def test_empty_rows_at_the_end_are_left_out_and_unknown_names_ignored():
    document = plan_fields.document_of(QueryDict("f.people.0.role=engineer&f.people.1.role=&f.nonsense=1&colour=blue"))

    assert document == {"people": [{"role": "engineer"}]}


def test_a_row_far_away_cannot_fill_the_memory():
    document = plan_fields.document_of(QueryDict("f.people.999999999.role=engineer"))

    assert len(document["people"]) == plan_fields.MOST_ROWS + 1


@pytest.mark.parametrize(
    ("path", "number", "text"),
    [
        ("model.parameters", 7_000_000_000, "7B"),
        ("data.tokens", 2e12, "2T"),
        ("data.tokens", 14.8e12, "14.8T"),
        ("compute.mfu", 0.4, "40 %"),
        ("compute.mfu", 0.389, "38.9 %"),
        ("contingency", 0.1, "10 %"),
        ("data.compliance_cost", 20000, "20000"),
        ("reliability.checkpoint_stall_hours", 0.003, "0.003"),
    ],
)
def test_numbers_are_shown_as_one_types_them(path, number, text):
    assert number_text(number, plan_fields.FIELDS[path]) == text


@pytest.mark.parametrize(("typed", "taken"), [(" 40 % ", "40%"), ("7 B", "7B"), ("40％", "40%"), ("seven", "seven")])
def test_blanks_in_numbers_do_not_matter(typed, taken):
    assert typed_number(typed) == taken


# ---- the addresses


def test_the_preview_shows_the_total_and_the_hints(book, client):
    client.force_login(book.alice)

    answer = client.post(reverse("plan-preview"), posted(factories.plan()))

    page = answer.content.decode()
    assert answer.status_code == 200
    assert "2,000 USD" in page
    assert "dense BF16 989 TFLOPS" in page
    assert "2.00 USD/card-hour" in page
    assert not Estimate.objects.exists()


def test_a_fault_is_said_beside_its_field_in_the_language_of_the_person(book, client):
    book.alice.language = "zh-hans"
    book.alice.save()
    client.force_login(book.alice)

    answer = client.post(reverse("plan-preview"), posted(factories.plan(), f__compute__count="0"))

    page = answer.content.decode()
    assert 'id="said-compute-count" class="errorlist"' in page
    with translation.override("zh-hans"):
        assert answer.context["said"]["compute.count"].text in page


def test_what_was_said_before_is_taken_back(book, client):
    client.force_login(book.alice)

    answer = client.post(reverse("plan-preview"), posted(factories.plan(), said="data.epochs nonsense"))

    page = answer.content.decode()
    assert 'id="said-data-epochs"' in page
    assert "nonsense" not in page


def test_a_missing_price_is_a_state_and_no_zero(book, client):
    client.force_login(book.alice)
    document = factories.plan(compute={**factories.plan()["compute"], "mode": "spot"})

    page = client.post(reverse("plan-preview"), posted(document)).content.decode()

    assert "No total yet" in page
    assert "h100-sxm-80gb, spot" in page


@pytest.mark.parametrize(
    "post", ["", "plan_yaml=", "plan_yaml=%5B1%5D", "f.task=life", "f.compute.count=1e400", "f.people.0.fte=x"]
)
def test_whatever_is_posted_the_preview_answers(book, client, post):
    client.force_login(book.alice)

    for name in ("plan-preview", "plan-shape", "plan-why"):
        answer = client.generic("POST", reverse(name), post, content_type="application/x-www-form-urlencoded")
        assert answer.status_code == 200


def test_a_row_is_added_and_dropped(book, client):
    client.force_login(book.alice)
    document = factories.plan(people=[{"role": "engineer", "fte": 1, "months": 1}, {"role": "writer", "fte": 1}])

    more = client.post(f"{reverse('plan-shape')}?add=people", posted(document)).content.decode()
    less = client.post(f"{reverse('plan-shape')}?drop=people.0", posted(document)).content.decode()

    assert 'name="f.people.2.role"' in more
    assert 'value="engineer"' not in less
    assert 'value="writer"' in less


def test_a_number_becomes_a_range_and_a_number_again(book, client):
    client.force_login(book.alice)
    document = factories.plan()

    as_range = client.post(f"{reverse('plan-shape')}?range=compute.mfu", posted(document)).content.decode()
    again = client.post(
        f"{reverse('plan-shape')}?single=compute.mfu",
        posted(factories.plan(compute={**document["compute"], "mfu": {"low": 0.3, "mode": 0.4, "high": 0.5}})),
    ).content.decode()

    assert 'name="f.compute.mfu~mode" value="40%"' in as_range
    assert 'name="f.compute.mfu" value="40%"' in again


def test_form_and_yaml_turn_into_each_other(book, client):
    client.force_login(book.alice)

    as_yaml = client.post(f"{reverse('plan-shape')}?view=yaml", posted(factories.plan())).content.decode()
    as_form = client.post(
        f"{reverse('plan-shape')}?view=form", {"plan_yaml": yaml_of(factories.plan())}
    ).content.decode()

    assert "accelerator: h100-sxm-80gb" in as_yaml
    assert 'name="f.data.tokens"' in as_form


def test_why_is_a_tree_down_to_the_figures_of_the_plan(book, client):
    client.force_login(book.alice)

    page = client.post(f"{reverse('plan-why')}?quantity=compute_cost", posted(factories.plan())).content.decode()

    assert "useful_accelerator_hours" in page
    assert "from the plan" in page
    assert "from the price table" in page


def test_why_says_the_notes_of_formulas_in_the_language_of_the_reader(book, client, monkeypatch):
    chinese = {"6 · N · D unless the plan gives another factor.": "默认按 6·N·D。"}
    monkeypatch.setattr("web.plan_sources.gettext", lambda text: chinese.get(text, text))
    client.force_login(book.alice)

    page = client.post(f"{reverse('plan-why')}?quantity=full_training_flops", posted(factories.plan())).content.decode()

    assert "默认按 6·N·D。" in page
    assert "6 · N · D unless" not in page


def test_the_form_is_for_people_who_signed_in(db, client):
    for name in ("plan-preview", "plan-shape", "plan-why"):
        assert client.post(reverse(name)).status_code == 302


def test_the_estimate_says_which_figures_came_from_past_runs_of_the_project(book, client):
    columns = {"runs": 4, "since": date(2026, 1, 1), "until": date(2026, 2, 1), "source": "look back"}
    figure = Figure(quantity="compute.paid_mfu", value=Decimal("0.31"), **columns)
    record_baseline(figure, by=book.manager, team=book.team)
    client.force_login(book.alice)
    plan = factories.plan(compute={"accelerator": "h100-sxm-80gb", "count": 8, "mfu": "baseline"})

    own = client.post(reverse("proposal-preview", args=[book.project.slug]), posted(plan)).content.decode()
    other = client.post(reverse("plan-preview"), posted(plan)).content.decode()

    assert "MFU of paid hours: 4 runs, 2026-01-01 – 2026-02-01" in own
    assert "From past runs" not in other


def test_a_preview_has_a_counted_number_of_queries(book, client, django_assert_num_queries):
    client.force_login(book.alice)
    client.post(reverse("plan-preview"), posted(factories.plan()))

    with django_assert_num_queries(7):  # session, person, roles, organisation, newest price, baseline, accelerators
        client.post(reverse("plan-preview"), posted(factories.plan()))


def test_a_new_plan_starts_from_the_project_and_any_template(book):
    day = plans.today().replace(year=2026, month=11, day=30)

    plain = plans.starting_document(book.project, day)
    filled = plans.starting_document(book.project, day, template="finetune-lora")

    assert plain == {"task": "pretrain", "start": "2026-12-01", "name": "Base 7B", "currency": "USD"}
    assert filled["finetune"]["strategy"] == "lora"
    assert "pretrain" in plans.template_names()


def test_every_template_has_a_title():
    assert {name for name, title in plans.template_choices() if name == title} == set()


def test_the_page_says_old_new_and_why_after_a_price_change(book, client):
    draft = factories.estimate(book.alice, book.project)
    factories.price(book.keeper, amount="3", valid_from="2026-06-01")
    client.force_login(book.alice)
    history = reverse("plan-history", args=[draft.pk])

    waiting = client.get(history).content.decode()
    tasks.recompute_stale()
    done = client.get(history).content.decode()

    assert "being computed again" in waiting
    assert 'hx-trigger="every 3s"' in waiting
    assert "2,000" in done
    assert "3,000 USD" in done
    assert "2.00 → 3.00" in done
    assert "Keeper" in done
    assert "every 3s" not in done


def test_the_page_names_a_price_of_another_kind_that_moved(book, client):
    electricity = {"kind": "electricity", "item": "industrial", "provider": "", "mode": ""}
    factories.price(book.keeper, **electricity, amount="0.08")
    draft = factories.estimate(book.alice, book.project)
    factories.price(book.keeper, **electricity, amount="0.10", valid_from="2026-06-01")
    tasks.recompute_stale()
    client.force_login(book.alice)

    page = client.get(reverse("plan-history", args=[draft.pk])).content.decode()

    assert "Electricity: industrial: 0.08 → 0.10" in page
    assert "No price in use moved" not in page


def test_the_page_says_that_a_new_price_is_of_an_offer_the_plan_does_not_go_by(book, client):
    draft = factories.estimate(book.alice, book.project)
    factories.price(book.keeper, provider="dearer", amount="9")
    tasks.recompute_stale()
    client.force_login(book.alice)

    page = client.get(reverse("plan-history", args=[draft.pk])).content.decode()

    assert "No price in use moved" in page


def test_charlie_does_not_see_what_changed(book, client):
    draft = factories.estimate(book.alice, book.project)
    client.force_login(book.charlie)

    assert client.get(reverse("plan-history", args=[draft.pk])).status_code == 404
