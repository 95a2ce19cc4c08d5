"""Usage over HTTP: who may push what, once; what is refused; how one hears what became of it."""

from __future__ import annotations

import io
import json

import pytest
from django.conf import settings as django_settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from teams import services as people
from teams.models import Role
from tests import factories as makers
from tests.usage import factories
from tests.usage.factories import deliver, focus
from usage import services
from usage.models import Import, Record

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stored_here", "no_worker")]

BODY = "application/octet-stream"


@pytest.fixture
def stored_here(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path / "files"


@pytest.fixture
def no_worker(monkeypatch):
    """Work stays queued; the test runs it itself."""
    monkeypatch.setattr("overruns.tasks.import_soon", lambda import_id: None)
    monkeypatch.setattr("overruns.tasks.judge_soon", lambda: None)


@pytest.fixture
def machine(stage):
    robot = makers.user("robot@example.com")
    makers.member(robot, None, Role.MACHINE)
    return robot


def bearer(person, *scopes: str) -> dict[str, str]:
    _token, secret = people.issue_token(by=person, scopes=list(scopes), now=timezone.now())
    return {"Authorization": f"Bearer {secret}"}


def push(client, headers, content: bytes = b"", slug: str = "cloud", query: str = "", **more):
    return client.post(f"/api/v1/sources/{slug}/files/{query}", content, content_type=BODY, headers={**headers, **more})


def test_a_machine_pushes_a_file_and_hears_what_became_of_it(machine, client):
    factories.source()
    headers = bearer(machine, "usage", "read")

    pushed = push(client, headers, focus({}, {"BilledCost": "x"}), query="?name=march.csv&timezone=Asia/Shanghai")
    waiting = client.get(f"/api/v1/imports/{pushed.json()['id']}/", headers=headers).json()
    services.run_import(pushed.json()["id"])
    answer = client.get(f"/api/v1/imports/{pushed.json()['id']}/", headers=headers).json()

    assert (pushed.status_code, pushed.json()["status"], pushed.json()["name"]) == (202, "queued", "march.csv")
    assert (waiting["status"], waiting["rows_read"]) == ("queued", 0)
    assert (answer["status"], answer["format"], answer["rows_accepted"], answer["rows_rejected"]) == (
        "live",
        "focus",
        1,
        1,
    )
    assert (answer["errors"][0]["line"], answer["errors"][0]["column"]) == (3, "BilledCost")
    assert Import.objects.get().settings == {"timezone": "Asia/Shanghai"}


def test_without_a_token_or_with_one_of_other_scopes_nothing_is_taken(machine, client):
    factories.source()

    nobody = push(client, {}, focus({}))
    wrong = push(client, {"Authorization": "Bearer hr_guess"}, focus({}))
    reader = push(client, bearer(machine, "read"), focus({}))

    assert (nobody.status_code, wrong.status_code, reader.status_code) == (401, 401, 403)
    assert Import.objects.count() == 0


def test_a_token_that_only_pushes_does_not_read(machine, client):
    answer = deliver(factories.source(), focus({}))

    assert client.get(f"/api/v1/imports/{answer['import']}/", headers=bearer(machine, "usage")).status_code == 403


def test_the_same_key_answers_with_the_same_import(machine, client):
    factories.source()
    headers = bearer(machine, "usage")

    first = push(client, headers, focus({}), **{"Idempotency-Key": "march-1"})
    again = push(client, headers, focus({"BilledCost": "99"}), **{"Idempotency-Key": "march-1"})
    other = push(client, headers, focus({}), **{"Idempotency-Key": "march-2"})

    assert first.json()["id"] == again.json()["id"] != other.json()["id"]
    assert Import.objects.count() == 2


def test_a_key_belongs_to_its_source(machine, client):
    factories.source("one")
    factories.source("two")
    headers = {**bearer(machine, "usage"), "Idempotency-Key": "march"}

    ids = {push(client, headers, focus({}), slug=slug).json()["id"] for slug in ("one", "two")}

    assert len(ids) == 2


def test_a_source_that_is_not_there_is_not_found(machine, client):
    assert push(client, bearer(machine, "usage"), focus({}), slug="no-such").status_code == 404


def test_what_one_may_not_see_does_not_exist(stage, client):
    answer = deliver(factories.source(), focus({}))
    waiting = services.receive_file(
        source=Import.objects.get().source, by=None, name="b.csv", stream=io.BytesIO(focus({"BilledCost": "9"}))
    )

    for person in (stage.alice, stage.bob, stage.charlie):
        headers = bearer(person, "usage", "read")
        assert push(client, headers, focus({})).status_code == 404
        assert client.get(f"/api/v1/imports/{answer['import']}/", headers=headers).status_code == 404
        for act in ("confirm", "cancel", "make-live"):
            address = f"/api/v1/imports/{waiting.pk}/{act}/"
            given = client.post(address, {"reason": "mine"}, content_type="application/json", headers=headers)
            assert given.status_code == 404
        assert client.get("/api/v1/imports/", headers=headers).json()["results"] == []
        assert client.get("/api/v1/sources/", headers=headers).json() == []
    waiting.refresh_from_db()
    assert waiting.status == "queued"


def test_a_director_sees_imports_and_delivers_none(stage, client):
    director = makers.user("dora@example.com")
    makers.member(director, None, Role.DIRECTOR)
    answer = deliver(factories.source(), focus({}))
    headers = bearer(director, "usage", "read")

    seen = client.get(f"/api/v1/imports/{answer['import']}/", headers=headers)
    pushed = push(client, headers, focus({}))

    assert seen.status_code == 200
    assert pushed.status_code in (403, 422)
    assert Import.objects.count() == 1


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("?format=gift", "format"),
        ("?colour=red", "colour"),
        ("?timezone=Mars/North", "timezone"),
        ("?strict=2", "strict"),
    ],
)
def test_an_unknown_format_or_setting_is_refused_with_what_is_accepted(machine, client, query, place):
    factories.source()

    answer = push(client, bearer(machine, "usage"), focus({}), query=query)

    assert "errors" in answer.json(), answer.json()
    [error] = answer.json()["errors"]
    assert (answer.status_code, error["path"]) == (422, place)
    assert error["accepted"]
    assert Import.objects.count() == 0


def test_a_push_is_read_from_the_request_as_it_comes(machine, client, monkeypatch):
    """Larger than a form may be, and never in memory as a whole."""
    factories.source()
    content = focus(*({"ResourceId": f"node-{number}"} for number in range(20_000)))
    assert len(content) > django_settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    sizes = []
    kept = services.files.keep
    monkeypatch.setattr(services.files, "keep", lambda chunks: kept(noting(chunks, sizes)))

    answer = push(client, bearer(machine, "usage"), content)

    assert (answer.status_code, answer.json()["size"]) == (202, len(content))
    assert len(sizes) > 1 and max(sizes) <= services.BLOCK
    assert services.run_import(answer.json()["id"])["rows_accepted"] == 20_000


def noting(chunks, sizes):
    for chunk in chunks:
        sizes.append(len(chunk))
        yield chunk


def test_nothing_pushed_is_refused_by_its_import(machine, client):
    factories.source()

    pushed = push(client, bearer(machine, "usage"), b"")

    assert services.run_import(pushed.json()["id"])["status"] == "refused"
    assert Record.objects.count() == 0


def test_a_form_delivers_a_file_with_settings(machine, client):
    factories.source()
    given = {
        "source": "cloud",
        "file": SimpleUploadedFile("march.csv", focus({})),
        "settings": json.dumps({"single_scope": "1"}),
    }

    answer = client.post("/api/v1/imports/", given, headers=bearer(machine, "usage"))
    wrong = client.post(
        "/api/v1/imports/",
        {**given, "file": SimpleUploadedFile("march.csv", b"x"), "settings": "[1]"},
        headers=bearer(machine, "usage"),
    )

    assert (answer.status_code, wrong.status_code) == (202, 400)
    assert Import.objects.get().settings == {"single_scope": "1"}


def test_a_delivery_that_waits_is_confirmed_with_a_reason(stage, client):
    source = factories.source()
    deliver(source, focus({"BilledCost": "100", "EffectiveCost": "100"}))
    held = deliver(source, focus({"BilledCost": "5", "EffectiveCost": "5"}))
    headers = bearer(stage.finance, "usage")
    address = f"/api/v1/imports/{held['import']}/confirm/"

    silent = client.post(address, {}, content_type="application/json", headers=headers)
    said = client.post(address, {"reason": "the discount came"}, content_type="application/json", headers=headers)

    assert (held["status"], silent.status_code, said.status_code) == ("waiting", 422, 202)
    assert services.run_import(held["import"])["status"] == "live"


def test_an_import_that_has_ended_cannot_be_cancelled(stage, client):
    answer = deliver(factories.source(), focus({}))
    queued = services.receive_file(
        source=Import.objects.get().source, by=None, name="b.csv", stream=io.BytesIO(focus({"BilledCost": "9"}))
    )
    headers = bearer(stage.operator, "usage")

    ended = client.post(f"/api/v1/imports/{answer['import']}/cancel/", headers=headers)
    stopped = client.post(f"/api/v1/imports/{queued.pk}/cancel/", headers=headers)

    assert (ended.status_code, stopped.json()["status"]) == (422, "cancelled")


def test_a_replaced_statement_is_made_live_by_an_operator(stage, client):
    source = factories.source()
    first = deliver(source, focus({"BilledCost": "10"}))
    deliver(source, focus({"BilledCost": "12"}))
    address = f"/api/v1/imports/{first['import']}/make-live/"

    def ask(person):
        return client.post(
            address, {"reason": "right"}, content_type="application/json", headers=bearer(person, "usage")
        )

    refused, answer = ask(stage.finance), ask(stage.operator)

    assert (refused.status_code, answer.status_code) == (403, 202)
    assert services.run_import(answer.json()["id"])["rows_written"] == 1


def test_imports_are_listed_page_by_page_with_few_queries(stage, client, django_assert_max_num_queries):
    source = factories.source()
    for number in range(53):
        services.receive_file(source=source, by=None, name=f"{number}.csv", stream=io.BytesIO(b"x"))
    headers = bearer(stage.finance, "read")

    with django_assert_max_num_queries(8):
        first = client.get("/api/v1/imports/", headers=headers).json()
    second = client.get(f"/api/v1/imports/?before={first['next']}&source=cloud", headers=headers).json()

    assert (len(first["results"]), len(second["results"]), second["next"]) == (50, 3, None)
    assert first["results"][0]["name"] == "52.csv" and second["results"][-1]["name"] == "0.csv"


def test_totals_are_of_the_whole_for_who_sees_it_and_of_a_project_for_its_people(stage, client):
    deliver(factories.source(), focus({}))

    whole = client.get("/api/v1/usage/totals/?by=service", headers=bearer(stage.finance, "read"))
    foreign = client.get("/api/v1/usage/totals/", headers=bearer(stage.alice, "read"))
    own = client.get(f"/api/v1/usage/totals/?project={stage.project.slug}", headers=bearer(stage.alice, "read"))
    hidden = client.get(f"/api/v1/usage/totals/?project={stage.project.slug}", headers=bearer(stage.charlie, "read"))

    assert whole.json()["totals"] == {"USD": "10"}
    assert (foreign.status_code, own.json()["totals"], hidden.status_code) == (403, {}, 404)
