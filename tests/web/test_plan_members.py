"""Members of a life plan on the form: added, moved, renamed, removed, inherited from the whole."""

from __future__ import annotations

from itertools import pairwise

import pytest
from django.http import QueryDict
from django.urls import reverse

from tests.estimates import factories
from tests.web.test_plans import posted
from web.plan_groups import groups_of
from web.plan_members import given_parts, members_of, moved, renamed, wrapped
from web.plan_reshaping import reshaped
from web.plans import outcome_of, today

pytestmark = pytest.mark.django_db


def life(*names: str) -> dict:
    """A life in which each member follows the one before."""
    rows = [{"name": name, "task": "data_work", "data": {"licence_cost": "100"}} for name in names]
    for before, row in pairwise(rows):
        row["after"] = before["name"]
    return {"task": "life", "members": rows}


def test_what_followed_a_removed_member_follows_the_one_before_it():
    document = reshaped(life("a", "b", "c"), {"drop": "members.1"})

    assert [(row["name"], row.get("after")) for row in document["members"]] == [("a", None), ("c", "a")]


def test_a_member_changes_places_with_its_neighbour_and_stays_open():
    document = reshaped(life("a", "b", "c"), {"down": "members.0"})

    assert [row["name"] for row in document["members"]] == ["b", "a", "c"]
    assert moved(["members.0", "members.2"], {"down": "members.0"}) == ["members.1", "members.2"]


def test_the_first_member_moves_no_further_up():
    assert reshaped(life("a", "b"), {"up": "members.0"}) == life("a", "b")


def test_what_follows_a_member_follows_it_under_its_new_name():
    document = life("a", "b")
    document["members"][0]["name"] = "corpus"

    renamed(document, QueryDict("named.members.0=a&named.members.1=b"))

    assert document["members"][1]["after"] == "corpus"


def test_a_member_begins_its_own_section_with_the_figures_of_the_whole():
    document = {**life("a"), "model": {"parameters": "7B"}}
    assert groups_of(document, (), "members.0.")[1].inherited[0].figures == "Parameters 7B"

    document = reshaped(document, {"own": "members.0.model"})

    assert document["members"][0]["model"] == {"parameters": "7B"}
    assert reshaped(document, {"whole": "members.0.model"})["members"][0].get("model") is None


def test_a_plan_that_becomes_a_life_leaves_its_own_work_to_a_member():
    plan = {"task": "life", "name": "x", "start": "2027-01-01", "model": {"parameters": "7B"}, "data": {"tokens": "1B"}}

    document = wrapped(plan, "pretrain")

    assert document["members"] == [{"name": "Pretraining", "task": "pretrain", "data": {"tokens": "1B"}}]
    assert document["model"] == {"parameters": "7B"}
    assert document["start"] == "2027-01-01"


def test_a_closed_member_carries_exactly_what_it_says():
    document = life("a")

    parts = {(part.name, part.value) for part in given_parts(document, "members.0.")}

    assert parts == {
        ("f.members.0.name", "a"),
        ("f.members.0.task", "data_work"),
        ("f.members.0.data.licence_cost", "100"),
    }


def test_a_fault_in_a_closed_member_opens_it_and_stands_at_its_field(client, stage):
    factories.accelerator()
    client.force_login(stage.alice)
    document = life("a", "b")
    document["members"][1]["data"]["licence_cost"] = "many"

    found = outcome_of(document, day=today())
    members = members_of(document, found.faults, ())
    page = client.post(reverse("plan-shape"), posted(document)).content.decode()

    assert [bool(member.groups) for member in members] == [False, True]
    assert 'id="said-members-1-data-licence_cost" class="errorlist"' in page


def test_what_a_member_lacks_in_an_inherited_section_is_asked_for_at_the_whole(stage):
    factories.accelerator()
    tune = {"name": "tune", "task": "pretrain", "data": {"tokens": "1B"}}
    document = {"task": "life", "model": {"layers": "2"}, "compute": {"count": "8"}, "members": [tune]}

    found = outcome_of(document, day=today())

    assert {fault.path for fault in found.faults} == {"model.parameters", "compute.accelerator"}


def test_members_are_no_part_of_a_plan_of_another_task(client, stage):
    factories.accelerator()
    client.force_login(stage.alice)
    document = {**life("a"), "task": "data_work", "data": {"licence_cost": "70"}}
    post = posted({**document, "members": []})
    post.update({part.name: part.value for part in given_parts(document, "members.0.")})

    assert outcome_of(document, day=today()).faults == ()
    assert 'name="f.members.0.name"' in client.post(reverse("plan-shape"), post).content.decode()
