"""Rejected rows mended, and the states of a source's months, over the API."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from tests.usage import factories
from tests.usage.conftest import (
    kept_files,  # noqa: F401
    no_worker,  # noqa: F401
)
from tests.usage.factories import deliver, focus
from usage import services
from usage.models import Import, Scope, Source

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files", "no_worker")]

BAD = ({"ResourceId": "a"}, {"ResourceId": "b", "BilledCost": "ten"})


def signed_in(person) -> APIClient:
    client = APIClient()
    client.force_authenticate(person)
    return client


def test_a_rejected_row_is_read_mended_and_delivered_again(stage):
    found = deliver(factories.source(), focus(*BAD))
    client = signed_in(stage.operator)
    address = f"/api/v1/imports/{found['import']}"

    (row,) = client.get(f"{address}/rejected/").json()["results"]
    file = b"".join(client.get(f"{address}/rejected.csv").streaming_content).decode()
    sent = {"rows": [{"line": row["line"], "record": row["record"].replace("ten", "12")}]}
    mended = client.post(f"{address}/corrections/", sent, format="json", headers={"Idempotency-Key": "c-1"})
    again = client.post(f"{address}/corrections/", sent, format="json", headers={"Idempotency-Key": "c-1"})

    assert (row["line"], row["column"], row["value"]) == (3, "BilledCost", "ten") and "ten" in file
    assert (mended.status_code, again.json()["id"]) == (202, mended.json()["id"])
    assert services.run_import(mended.json()["id"])["rows_written"] == 1
    assert client.get("/api/v1/usage/totals/").json()["totals"] == {"USD": "22"}


def test_a_row_that_was_taken_is_not_mended(stage):
    found = deliver(factories.source(), focus(*BAD))

    answer = signed_in(stage.operator).post(
        f"/api/v1/imports/{found['import']}/corrections/", {"rows": [{"line": 2, "record": "x"}]}, format="json"
    )

    assert (answer.status_code, answer.json()["errors"][0]["path"], Import.objects.count()) == (422, "line 2", 1)


def test_others_mend_nothing(stage):
    found = deliver(factories.source(), focus(*BAD))
    sent = {"rows": [{"line": 3, "record": "x"}]}
    address = f"/api/v1/imports/{found['import']}"

    codes = {
        who: signed_in(getattr(stage, who)).post(f"{address}/corrections/", sent, format="json").status_code
        for who in ("alice", "charlie", "auditor")
    }

    assert codes == {"alice": 404, "charlie": 404, "auditor": 403}
    assert signed_in(stage.charlie).get(f"{address}/rejected/").status_code == 404
    assert signed_in(stage.charlie).get(f"{address}/rejected.csv").status_code == 404


def test_a_month_is_made_final_and_opened_again_with_a_reason(stage):
    deliver(factories.source(), focus({}))
    client = signed_in(stage.operator)
    (month,) = client.get("/api/v1/sources/cloud/periods/").json()
    place = f"/api/v1/sources/cloud/periods/{month['periods'][0]['id']}"

    early = client.post(f"{place}/reopen/", {"reason": "x"}, format="json")
    silent = client.post(f"{place}/final/", {}, format="json")
    final = client.post(f"{place}/final/", {"reason": "Invoice 7."}, format="json").json()
    again = client.post(f"{place}/reopen/", {"reason": "It was the wrong one."}, format="json").json()

    assert (month["month"], month["sums"]) == ("2026-03", [{"currency": "USD", "billed": "10", "effective": "10"}])
    assert (early.status_code, silent.status_code) == (422, 422)
    assert (final["state"], final["state_by"], final["state_reason"]) == ("final", stage.operator.email, "Invoice 7.")
    assert (again["state"], again["state_reason"]) == ("reopened", "It was the wrong one.")


def test_a_source_is_told_when_it_is_final_and_when_it_is_silent(stage):
    factories.source()
    client = signed_in(stage.operator)

    kept = client.patch(
        "/api/v1/sources/cloud/expected/", {"final_after_days": 9, "silent_after_hours": 48}, format="json"
    )
    wrong = client.patch("/api/v1/sources/cloud/expected/", {"final_after_days": 400}, format="json")
    gone = client.patch("/api/v1/sources/cloud/expected/", {"silent_after_hours": None}, format="json")

    assert kept.json() == {"final_after_days": 9, "silent_after_hours": 48}
    assert (wrong.status_code, gone.json()) == (400, {"final_after_days": 9, "silent_after_hours": None})


def test_who_may_not_see_a_source_moves_none_of_its_months(stage):
    deliver(factories.source(), focus({}))
    scope = Scope.objects.get()
    codes = {}

    for who in ("alice", "charlie", "auditor"):
        client = signed_in(getattr(stage, who))
        moved = client.post(f"/api/v1/sources/cloud/periods/{scope.pk}/final/", {"reason": "x"}, format="json")
        told = client.patch("/api/v1/sources/cloud/expected/", {"final_after_days": 1}, format="json")
        codes[who] = (moved.status_code, told.status_code)

    assert codes == {"alice": (404, 404), "charlie": (404, 404), "auditor": (403, 403)}
    assert Source.objects.get().settings == {}
