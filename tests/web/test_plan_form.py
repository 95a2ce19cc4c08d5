"""The plan form has a control for everything a plan can say, and says what it assumes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.urls import reverse

from estimates.engine.fields import FIELDS, MAY_BE_OFF, TABLES
from estimates.engine.life import LIFE_KEYS
from tests.estimates import factories
from tests.web.test_plans import posted
from web.plan_groups import Group, groups_of
from web.plan_members import members_of
from web.plan_places import MEMBERS

ROW = {"id": "a", "name": "a"}


def full_document(task: str, **more: Any) -> dict[str, Any]:
    """A plan of the task with one row in every list that it may have."""
    document: dict[str, Any] = {"task": task, **more}
    for path in (path for path in TABLES if path != MEMBERS):
        section, _dot, key = path.partition(".")
        if key:
            document.setdefault(section, {})[key] = [ROW]
        else:
            document[section] = [ROW]
    return document


def shown_on(groups: Iterable[Group]) -> tuple[set[str], set[str]]:
    """The places that have a control in these parts, and the parts that can be switched off."""
    shown, switches = set(), set()
    for group in groups:
        tables = (*group.tables, *group.more_tables)
        cells = [one for table in tables for row in table.rows for one in (*row.controls, *row.more)]
        shown |= {one.path for one in (*group.controls, *group.wide, *group.more, *cells)}
        switches |= {switch.name for switch in group.switches}
    return shown, switches


def test_the_form_covers_every_key_of_the_plan() -> None:
    shown, switches = shown_on(groups_of(full_document("pretrain")))

    wanted = {path.replace("*", "0") for path in FIELDS if not path.startswith(f"{MEMBERS}.")}
    assert wanted - shown == set()
    assert switches == {f"off.{section}" for section in MAY_BE_OFF}


def test_the_form_covers_every_key_of_a_member_of_a_life() -> None:
    document = {"task": "life", "members": [{"name": "first"}, full_document("pretrain", name="second")]}
    member = members_of(document, (), ["members.1"])[1]

    shown, switches = shown_on(member.groups)

    # start, budget, contingency, model error and currency are the whole's; a member has when it begins instead
    of_the_whole = {"start", "budget", "contingency", "model_error.sigma", "currency"}
    own = {path.replace("*", "0") for path in FIELDS if not path.startswith(f"{MEMBERS}.")} - of_the_whole
    wanted = {f"members.1.{path}" for path in (*own, "start_month", "after")}
    assert shown == wanted
    assert switches == {"off.members.1.reliability", "off.members.1.experiments"}


def test_the_form_of_a_life_has_every_key_of_the_whole_and_no_other() -> None:
    shown, _switches = shown_on(groups_of({"task": "life"}))

    wanted = {path for path in FIELDS if path.partition(".")[0] in {*LIFE_KEYS} - {MEMBERS} and "*" not in path}
    assert shown == wanted


def test_what_is_left_to_history_is_shown_as_an_assumption_with_its_range(client, stage):
    factories.accelerator()
    factories.price(amount="2")
    client.force_login(stage.alice)

    document = factories.plan(
        reliability={"accelerator_mtbf_hours": "baseline"},
        experiments={"ratio": "baseline"},
        compute={"accelerator": "h100-sxm-80gb", "count": 256, "mfu": 0.4},
    )
    page = client.post(reverse("plan-preview"), posted(document)).content.decode()

    # 4,800 to 50,700 hours between failures of an H100; the experiments' PERT of 0.1, 0.4 and 1.0 from P10 to P90
    assert "assumed, not measured here: 4800 – 51000" in page
    assert page.count("assumed, not measured here") >= 2
