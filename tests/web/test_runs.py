"""The pages of runs: who sees them, what they show, how many queries they take."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from usage.formats.metrics.contract import Point
from usage.runs import services
from usage.runs.models import Run
from web.charts.run_course import Measured, course_chart, value_marks
from web.runs import chosen_series, title_of

NOW = datetime(2026, 3, 6, 8, 0, tzinfo=UTC)


@pytest.fixture
def run(stage) -> Run:
    services.open_run(by=stage.operator, slug="unrelated", project=stage.other_project)
    run = services.open_run(by=stage.alice, slug="base-7b-01", project=stage.project, experiment="wider")
    points = [
        Point(name, step, NOW + timedelta(minutes=step), 10.0 / (step + 1))
        for step in range(20)
        for name in ("train/loss", "grad_norm")
    ]
    services.report_points(run, by=stage.alice, points=points)
    return run


@pytest.mark.django_db
def test_the_page_of_a_run_draws_its_loss_and_names_every_series(run, stage, client):
    client.force_login(stage.bob)

    page = client.get(reverse("run", args=[run.slug])).content.decode()
    other = client.get(reverse("run", args=[run.slug]), {"series": "grad_norm"}).content.decode()

    assert 'aria-label="train/loss: from 10 to 0.5, between 0.5 and 10."' in page
    assert "grad_norm" in page and "wider" in page and "the run names no job" in page
    assert 'aria-label="grad_norm: from' in other


@pytest.mark.django_db
def test_charlie_finds_no_run_of_others(run, stage, client):
    client.force_login(stage.charlie)

    assert client.get(reverse("run", args=[run.slug])).status_code == 404
    assert client.post(reverse("run-state", args=[run.slug]), {"state": "failed"}).status_code == 404
    assert "base-7b-01" not in client.get(reverse("run-list")).content.decode()


@pytest.mark.django_db
def test_a_log_is_uploaded_and_a_file_that_is_none_is_refused_on_the_page(run, stage, client):
    client.force_login(stage.alice)
    content = b'{"_step": 30, "_timestamp": 1940816000.5, "val/loss": 1.5}\n'

    taken = client.post(reverse("run-log", args=[run.slug]), {"file": SimpleUploadedFile("h.jsonl", content)})
    refused = client.post(reverse("run-log", args=[run.slug]), {"file": SimpleUploadedFile("h.bin", b"nothing")})

    assert taken.status_code == 302
    assert run.metrics.filter(name="val/loss", step=30).exists()
    assert refused.status_code == 422 and "No format of run metrics" in refused.content.decode()


@pytest.mark.django_db
def test_a_run_is_opened_and_ended_by_hand(stage, client):
    client.force_login(stage.alice)

    client.post(reverse("run-new"), {"project": stage.project.slug, "slug": "by-hand", "reference": "P-1"})
    client.post(reverse("run-state", args=["by-hand"]), {"state": "failed"})

    assert Run.objects.get(slug="by-hand").state == "failed"


@pytest.mark.django_db
def test_the_list_takes_as_many_queries_for_many_as_for_one(run, stage, client, django_assert_num_queries):
    client.force_login(stage.alice)
    with django_assert_num_queries(11):
        client.get(reverse("run-list"))
    for number in range(30):
        services.open_run(by=stage.alice, slug=f"run-{number}", project=stage.project, job=str(number))

    with django_assert_num_queries(11):
        page = client.get(reverse("run-list")).content.decode()

    assert page.count("/runs/run-") == 25


def test_a_course_breaks_where_values_are_none_and_where_work_began_again():
    course = [
        Measured(1, 0, NOW, 4.0),
        Measured(1, 1, NOW + timedelta(hours=1), 3.0),
        Measured(1, 2, NOW + timedelta(hours=2), None),
        Measured(1, 3, NOW + timedelta(hours=3), 2.0),
        Measured(1, 4, NOW + timedelta(hours=4), 1.0),
        Measured(2, 3, NOW + timedelta(hours=5), 2.0),
        Measured(2, 4, NOW + timedelta(hours=6), 1.0),
    ]

    chart = course_chart("loss", course)

    assert chart.line.count("M") == 3
    assert chart.attempts == [592.7]
    assert [tick.label for tick in chart.values] == ["1", "2", "3", "4"]


def test_a_course_without_a_number_is_no_picture():
    assert course_chart("loss", [Measured(1, 0, None, None)]) is None


@pytest.mark.parametrize(
    ("low", "high", "marks"), [(0.4, 0.5, [0.4, 0.425, 0.45, 0.475, 0.5]), (2, 2, [1.8, 1.9, 2.0, 2.1, 2.2])]
)
def test_marks_surround_what_was_measured(low, high, marks):
    assert value_marks(low, high) == pytest.approx(marks)


def test_loss_speed_and_mfu_are_looked_at_first_whatever_the_trainer_calls_them():
    names = ["grad_norm", "perf/mfu", "val/loss", "train/loss", "tokens_per_second"]

    assert chosen_series(names, "") == ["train/loss", "tokens_per_second", "perf/mfu"]
    assert chosen_series(names, "grad_norm") == ["grad_norm"]
    assert chosen_series(["grad_norm"], "") == ["grad_norm"]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("train/loss", "Loss"),
        ("val_loss", "val_loss"),
        ("tok/s", "Tokens per second"),
        ("mfu", "MFU"),
        ("val/loss", "Loss in validation"),
    ],
)
def test_a_chart_is_called_as_people_call_its_series(name, title):
    assert title_of(name) == title
