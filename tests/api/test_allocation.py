"""Rules and re-assignments over the API: written, tried out, applied, taken back; by whom."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from tests.usage import factories
from tests.usage.conftest import (
    kept_files,  # noqa: F401
    no_worker,  # noqa: F401
)
from tests.usage.factories import deliver, focus
from usage.models import AllocationRule, KeySet, Reassignment

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files", "no_worker")]

NODE = {"field": "resource", "operator": "equals", "values": ["node-1"]}


def signed_in(person) -> APIClient:
    client = APIClient()
    client.force_authenticate(person)
    return client


def rule(stage, **more) -> dict:
    return {"name": "Nodes", "conditions": [NODE], "project": stage.project.slug, **more}


def move(stage, **more) -> dict:
    said = {"project": stage.project.slug, "starts_on": "2026-03-01", "reason": "Asked by mail."}
    return {"key_sets": [KeySet.objects.get(resource="node-1").pk], **said, **more}


def of_projects(client) -> dict:
    groups = client.get("/api/v1/usage/totals/?by=project").json()["groups"]
    return {group["key"]["project"]: group["totals"]["USD"] for group in groups}


def test_a_rule_is_tried_out_written_and_applied(stage):
    deliver(factories.source(), focus({}, {"ResourceId": "other", "EffectiveCost": "3", "BilledCost": "3"}))
    client = signed_in(stage.operator)

    tried = client.post("/api/v1/rules/preview/", rule(stage), format="json").json()
    before = AllocationRule.objects.count()
    made = client.post("/api/v1/rules/", rule(stage), format="json")
    pending = client.get("/api/v1/rules/preview/").json()
    applied = client.post("/api/v1/rules/apply/").json()

    gain = {"project": stage.project.slug, "is_shared": False, "currency": "USD", "amount": "10"}
    loss = {"project": None, "is_shared": False, "currency": "USD", "amount": "-10"}
    assert (before, tried) == (0, {"key_sets": 1, "shifts": [gain, loss]})
    assert (made.status_code, pending, applied) == (201, tried, {"key_sets": 1})
    assert of_projects(client) == {stage.project.slug: "10", None: "3"}
    assert [row["placed"] for row in client.get("/api/v1/rules/").json()] == [1]


def test_a_rule_is_changed_moved_and_retired(stage):
    client = signed_in(stage.finance)
    first = client.post("/api/v1/rules/", rule(stage), format="json").json()["id"]
    second = client.post("/api/v1/rules/", rule(stage, name="Later"), format="json").json()["id"]

    changed = client.put(f"/api/v1/rules/{first}/", {"name": "Mine", "is_shared": True}, format="json").json()
    client.post(f"/api/v1/rules/{second}/move/", {"earlier": True}, format="json")
    order = [row["id"] for row in client.get("/api/v1/rules/").json()]
    client.post(f"/api/v1/rules/{first}/retire/")

    assert (changed["name"], changed["project"], changed["conditions"], changed["is_shared"]) == (
        "Mine",
        None,
        [],
        True,
    )
    assert order == [second, first]
    assert [row["id"] for row in client.get("/api/v1/rules/").json()] == [second]
    assert client.put(f"/api/v1/rules/{first}/", rule(stage), format="json").status_code == 404


@pytest.mark.parametrize(
    "conditions",
    [[1], {"field": "x"}, [{"field": ["a"], "operator": "equals"}], [{**NODE, "values": 5}], [{**NODE, "field": "x"}]],
)
def test_a_condition_that_is_none_is_refused_with_its_place(stage, conditions):
    answer = signed_in(stage.operator).post("/api/v1/rules/", rule(stage, conditions=conditions), format="json")

    assert (answer.status_code, list(answer.json())) == (400, ["conditions"])


def test_usage_is_found_re_assigned_and_taken_back(stage):
    deliver(factories.source(), focus({}, {"ResourceId": "other", "EffectiveCost": "3", "BilledCost": "3"}))
    client = signed_in(stage.operator)

    found = client.get("/api/v1/usage/key-sets/?month=2026-03&place=unallocated&word=node").json()
    tried = client.post("/api/v1/reassignments/preview/", move(stage), format="json").json()
    made = client.post("/api/v1/reassignments/", move(stage), format="json").json()
    moved = of_projects(client)
    back = client.post(f"/api/v1/reassignments/{made['id']}/reverse/", {"reason": "No."}, format="json").json()

    assert [(row["key_set"], row["cost"], row["resource"]) for row in found] == [(made["key_sets"][0], "10", "node-1")]
    assert (tried["key_sets"], tried["shifts"][0]["amount"]) == (1, "10")
    assert moved == {stage.project.slug: "10", None: "3"}
    assert (back["reverse_reason"], back["reversed_by"], of_projects(client)) == (
        "No.",
        stage.operator.email,
        {None: "13"},
    )
    assert [row["id"] for row in client.get("/api/v1/reassignments/").json()["results"]] == [made["id"]]


def test_who_answers_for_what_nobody_owns_is_named(stage):
    deliver(factories.source(), focus({}))
    client = signed_in(stage.operator)

    before = client.get("/api/v1/usage/unallocated/").json()
    after = client.put("/api/v1/usage/unallocated/", {"person": stage.finance.email}, format="json").json()

    assert (before["owners"], after["owners"]) == ([stage.operator.email], [stage.finance.email])
    assert client.put("/api/v1/usage/unallocated/", {"person": stage.bob.email}, format="json").status_code == 422


@pytest.mark.parametrize("who", ["alice", "charlie", "manager", "director", "auditor"])
def test_others_move_nothing_and_learn_nothing_of_projects(stage, who):
    deliver(factories.source(), focus({}))
    made = AllocationRule.objects.create(name="All", position=1, project=stage.project)
    client = signed_in(getattr(stage, who))
    sent = {
        "rules/": rule(stage, project="no-such"),
        "rules/preview/": rule(stage),
        f"rules/{made.pk}/move/": {"earlier": True},
        f"rules/{made.pk}/retire/": {},
        "reassignments/": move(stage),
        "reassignments/preview/": move(stage),
        "reassignments/1/reverse/": {"reason": "x"},
    }

    codes = {place: client.post(f"/api/v1/{place}", body, format="json").status_code for place, body in sent.items()}

    assert set(codes.values()) == {403}, codes
    assert client.put(f"/api/v1/rules/{made.pk}/", rule(stage), format="json").status_code == 403
    assert client.put("/api/v1/usage/unallocated/", {"person": None}, format="json").status_code == 403
    reads = {client.get(f"/api/v1/{place}").status_code for place in ("rules/", "reassignments/", "usage/unallocated/")}
    assert reads == ({200} if who in ("director", "auditor") else {403})
    assert AllocationRule.objects.filter(active=True).count() == 1 and not Reassignment.objects.exists()


def test_the_same_key_writes_once_and_answers_the_same(stage):
    client = signed_in(stage.operator)

    first = client.post("/api/v1/rules/", rule(stage), format="json", headers={"Idempotency-Key": "r-1"})
    again = client.post("/api/v1/rules/", rule(stage), format="json", headers={"Idempotency-Key": "r-1"})
    other = client.post("/api/v1/rules/", rule(stage, name="B"), format="json", headers={"Idempotency-Key": "r-1"})
    free = signed_in(stage.finance).post(
        "/api/v1/rules/", rule(stage), format="json", headers={"Idempotency-Key": "r-1"}
    )

    assert (first.status_code, again.status_code, again.json()) == (201, 201, first.json())
    assert (other.status_code, other.json()["errors"][0]["path"]) == (422, "Idempotency-Key")
    assert free.json()["id"] != first.json()["id"] and AllocationRule.objects.count() == 2


def test_a_refusal_is_not_kept_under_its_key(stage):
    client = signed_in(stage.operator)

    refused = client.post("/api/v1/rules/", rule(stage, name=" "), format="json", headers={"Idempotency-Key": "r-1"})
    mended = client.post("/api/v1/rules/", rule(stage), format="json", headers={"Idempotency-Key": "r-1"})
    long = client.post("/api/v1/rules/", rule(stage), format="json", headers={"Idempotency-Key": "r" * 121})

    assert (refused.status_code, mended.status_code, long.status_code) == (400, 201, 422)
