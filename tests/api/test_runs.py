"""Runs over the API, and the reporter against a real server."""

from __future__ import annotations

import importlib.util
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from teams.services import issue_token
from usage.runs import services
from usage.runs.models import Run, RunMetric

SCRIPT = Path(__file__).parents[2] / "reporter" / "headroom_reporter.py"


@pytest.fixture
def run(stage) -> Run:
    services.open_run(by=stage.operator, slug="unrelated", project=stage.other_project)
    return services.open_run(by=stage.alice, slug="base-7b-01", project=stage.project)


def send(client, person, name: str, body: dict, *slug: str):
    client.force_login(person)
    return client.post(reverse(name, args=slug), body, "application/json")


@pytest.mark.django_db
def test_a_run_is_opened_reported_and_read_by_its_team(stage, client):
    opened = send(client, stage.alice, "api-runs", {"slug": "base-7b-02", "project": stage.project.slug, "job": "7"})
    body = {
        "points": [
            {"step": 1, "at": "2026-03-06T08:00:00Z", "values": {"loss": 3.5, "mfu": 0.41}},
            {"step": 2, "at": "2026-03-06T08:00:10Z", "values": {"loss": None, "mfu": 4}},
        ]
    }
    reported = send(client, stage.bob, "api-run-metrics", body, "base-7b-02")
    again = send(client, stage.bob, "api-run-metrics", body, "base-7b-02")
    read = client.get(reverse("api-run", args=["base-7b-02"])).json()

    assert (opened.status_code, opened.json()["state"]) == (201, "running")
    assert reported.json() == again.json()
    assert (reported.json()["points"], reported.json()["warnings"]) == (3, {"mfu_impossible": 1})
    assert read["series"] == [
        {"name": "loss", "points": 2, "last_step": 2, "last": None},
        {"name": "mfu", "points": 1, "last_step": 1, "last": 0.41},
    ]
    assert (read["accelerator_hours"], read["costs"], read["attempts"]) == ("0", {}, [])


@pytest.mark.django_db
def test_charlie_finds_no_run_and_opens_none_of_other_teams(run, stage, client):
    client.force_login(stage.charlie)

    assert client.get(reverse("api-run", args=[run.slug])).status_code == 404
    assert [row["slug"] for row in client.get(reverse("api-runs")).json()["results"]] == ["unrelated"]
    assert send(client, stage.charlie, "api-run-metrics", {"points": []}, run.slug).status_code == 404
    assert send(client, stage.charlie, "api-runs", {"slug": "x", "project": stage.project.slug}).status_code == 404
    assert send(client, stage.charlie, "api-runs", {"slug": run.slug}).status_code == 403


@pytest.mark.django_db
@pytest.mark.parametrize(
    "point", [{"step": -1, "values": {}}, {"step": 1, "values": {"loss": "much"}}, {"step": 1, "values": {"loss": [1]}}]
)
def test_values_that_are_no_numbers_are_refused_whole(run, stage, client, point):
    body = {"points": [{"step": 0, "values": {"loss": 1.0}}, point]}

    assert send(client, stage.alice, "api-run-metrics", body, run.slug).status_code == 400
    assert not RunMetric.objects.exists()


@pytest.mark.django_db
def test_a_log_is_uploaded(run, stage, client):
    client.force_login(stage.alice)
    lines = [f'{{"_step": {step}, "_timestamp": {1740816000 + step}, "loss": 12.0}}\n' for step in (0, 1)]
    content = "".join(lines).encode()

    taken = client.post(reverse("api-run-log", args=[run.slug]), {"file": SimpleUploadedFile("history.jsonl", content)})
    refused = client.post(reverse("api-run-log", args=[run.slug]), {"file": SimpleUploadedFile("x.bin", b"nothing")})

    assert (taken.status_code, taken.json()["points"]) == (200, 2)
    assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "format")


@pytest.mark.django_db
def test_a_token_without_the_scope_reports_nothing(run, stage, client):
    _token, secret = issue_token(by=stage.alice, now=timezone.now(), scopes=("read",))
    body = {"points": [{"step": 1, "values": {"loss": 1}}]}

    answer = client.post(
        reverse("api-run-metrics", args=[run.slug]),
        body,
        "application/json",
        headers={"Authorization": f"Bearer {secret}"},
    )

    assert answer.status_code == 403


def reporter_class():
    found = importlib.util.spec_from_file_location("headroom_reporter", SCRIPT)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module.Reporter


@pytest.mark.django_db(transaction=True)
def test_the_reporter_opens_a_run_sends_its_values_and_says_how_it_ended(stage, live_server):
    _token, secret = issue_token(by=stage.alice, now=timezone.now())
    reporter = reporter_class()(live_server.url, secret, "base-7b-03", project=stage.project.slug, every_seconds=0.1)

    for step in range(50):
        reporter.log(step, loss=10 - step / 10, tokens_per_second=float("nan"))
    reporter.finish()

    run = Run.objects.get(slug="base-7b-03")
    assert (run.state, run.project, run.created_by) == ("finished", stage.project, stage.alice)
    assert run.metrics.count() == 100
    assert run.metrics.get(name="loss", step=49).value == pytest.approx(5.1)
    assert run.metrics.get(name="tokens_per_second", step=49).value is None


@pytest.mark.django_db(transaction=True)
def test_the_reporter_goes_on_with_a_run_after_a_restart(stage, live_server):
    _token, secret = issue_token(by=stage.alice, now=timezone.now())
    for first in (0, 5):
        reporter = reporter_class()(
            live_server.url, secret, "base-7b-04", project=stage.project.slug, every_seconds=0.1
        )
        for step in range(first, first + 10):
            reporter.log(step, loss=1.0)
        reporter.close()

    rows = set(Run.objects.get(slug="base-7b-04").metrics.values_list("step", "attempt"))
    assert rows == {(step, 1) for step in range(10)} | {(step, 2) for step in range(5, 15)}


def test_the_reporter_breaks_nothing_where_nobody_answers_or_values_are_odd():
    reporter = reporter_class()("http://127.0.0.1:1", "x", "run", every_seconds=0.05, timeout=0.2)

    reporter.log("no step", loss=1)
    reporter.log(1, loss=object())
    reporter.log(2, loss=1)
    reporter.finish(seconds=0.5)


def test_the_reporter_ends_when_the_server_says_that_it_may_not():
    asked = []

    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self):
            asked.append(self.path)
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(403)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    reporter = reporter_class()(f"http://127.0.0.1:{server.server_address[1]}", "x", "run", every_seconds=0.05)
    reporter.log(1, loss=1)
    reporter.finish(seconds=5)
    server.shutdown()
    server.server_close()

    assert asked == ["/api/v1/runs/"]
