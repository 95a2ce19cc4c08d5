"""The plan form has a control for everything a plan can say, and says what it assumes."""

from __future__ import annotations

from django.urls import reverse

from estimates.engine.fields import FIELDS, MAY_BE_OFF, TABLES
from tests.estimates import factories
from tests.web.test_plans import posted
from web.plan_groups import LIFE, groups_of

ROW = {"id": "a", "name": "a"}


def test_the_form_covers_every_key_of_the_plan() -> None:
    lists = {path: [ROW] for path in TABLES if "." not in path and path != LIFE}
    document = {"task": "pretrain", **lists}
    for path in (path for path in TABLES if "." in path):
        section, key = path.split(".")
        document.setdefault(section, {})[key] = [ROW]

    shown, switches = set(), set()
    for group in groups_of(document):
        tables = (*group.tables, *group.more_tables)
        cells = [one for table in tables for row in table.rows for one in (*row.controls, *row.more)]
        shown |= {one.path for one in (*group.controls, *group.wide, *group.more, *cells)}
        switches |= {switch.name for switch in group.switches}

    wanted = {path.replace("*", "0") for path in FIELDS if not path.startswith(f"{LIFE}.")}
    assert wanted - shown == set()
    assert switches == {f"off.{section}" for section in MAY_BE_OFF}


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
