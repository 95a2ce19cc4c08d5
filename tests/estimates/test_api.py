"""Estimates and prices over the API."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from estimates.models import Estimate, Price
from tests.estimates import factories

PREVIEW = "/api/v1/estimates/preview/"
YAML = """
name: base
task: pretrain
model: {parameters: 7B}
data: {tokens: 33.912B}
compute: {accelerator: h100-sxm-80gb, count: 8, mfu: {value: 40%, attention: none}}
reliability: none
experiments: none
model_error: none
"""


@pytest.fixture
def book(stage):
    factories.accelerator()
    factories.price(amount="2")
    return stage


def client(person) -> APIClient:
    made = APIClient()
    made.force_authenticate(person)
    return made


def test_a_preview_answers_yaml_and_json_alike(book):
    as_yaml = client(book.alice).post(PREVIEW, YAML, content_type="application/yaml")
    as_json = client(book.alice).post(PREVIEW, json.dumps(factories.plan()), content_type="application/json")

    assert (as_yaml.status_code, as_json.status_code) == (200, 200)
    assert as_yaml.json()["quantities"]["ideal_accelerator_hours"]["p50"] == pytest.approx(1000.1, rel=1e-4)
    assert as_json.json()["cost"]["by_cause"]["compute"]["mean"] == pytest.approx(2000.2, rel=1e-2)
    assert not Estimate.objects.exists()


def test_a_refused_plan_answers_422_with_every_fault(book):
    answer = client(book.alice).post(PREVIEW, "task: pretrain\ncolour: blue\n", content_type="application/yaml")

    assert answer.status_code == 422
    paths = [fault["path"] for fault in answer.json()["errors"]]
    assert "colour" in paths
    assert "data.tokens" in paths


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"[1, 2]", b"{", b"a: &x 1", b"a: " + b"[" * 50])
def test_a_body_that_is_no_plan_is_refused_and_never_breaks(book, body):
    answer = client(book.alice).generic("POST", PREVIEW, body, content_type="application/json")

    assert answer.status_code == 422
    assert answer.json()["errors"]


def test_a_preview_of_a_past_day_does_not_see_what_starts_later(client, stage):
    factories.accelerator()
    factories.price(amount="2")
    factories.price(amount="4", valid_from="2026-04-01")
    client.force_login(stage.alice)

    answer = client.post(
        f"{PREVIEW}?prices_on=2026-03-01", factories.plan(start="2026-05-01"), content_type="application/json"
    ).json()

    assert answer["cost"]["total"]["mean"] == pytest.approx(2000.2, abs=0.01)


def test_a_preview_needs_a_signed_in_person(db):
    assert APIClient().post(PREVIEW, YAML, content_type="application/yaml").status_code == 401


def test_samples_out_of_bounds_are_refused(book):
    answer = client(book.alice).post(f"{PREVIEW}?samples=0", YAML, content_type="application/yaml")

    assert answer.status_code == 400


def test_a_preview_takes_few_queries(book, django_assert_num_queries):
    caller = client(book.alice)
    caller.post(PREVIEW, YAML, content_type="application/yaml")

    with django_assert_num_queries(
        4
    ):  # the organisation's day, the newest price, the accelerators, the newest baseline
        caller.post(PREVIEW, YAML, content_type="application/yaml")


def test_charlie_gets_404_for_an_estimate_of_another_team(book):
    made = factories.estimate(book.alice, book.project)

    assert client(book.bob).get(f"/api/v1/estimates/{made.pk}/").status_code == 200
    assert client(book.charlie).get(f"/api/v1/estimates/{made.pk}/").status_code == 404
    assert client(book.charlie).get("/api/v1/estimates/").json()["results"] == []


def test_a_draft_is_made_over_the_api(book):
    answer = client(book.alice).post(
        "/api/v1/estimates/", {"project": book.project.slug, "plan": factories.plan()}, format="json"
    )

    assert answer.status_code == 201
    assert answer.json()["project"] == book.project.slug


def test_a_draft_for_a_project_one_does_not_see_is_404(book):
    answer = client(book.charlie).post(
        "/api/v1/estimates/", {"project": book.project.slug, "plan": factories.plan()}, format="json"
    )

    assert answer.status_code == 404


def test_the_list_of_estimates_has_a_counted_number_of_queries(book, django_assert_num_queries):
    for _number in range(3):
        factories.estimate(book.alice, book.project)

    with django_assert_num_queries(3):  # roles of the person, teams, the page
        answer = client(book.alice).get("/api/v1/estimates/")

    assert len(answer.json()["results"]) == 3


def test_prices_in_force_are_listed_for_everybody_who_signs_in(book):
    factories.price(amount="9", valid_from="2099-01-01")

    answer = client(book.charlie).get("/api/v1/prices/")
    every_row = client(book.charlie).get("/api/v1/prices/?all=1")

    assert [row["amount"] for row in answer.json()["results"]] == ["2.00000000"]
    assert len(every_row.json()["results"]) == 2


def test_only_a_price_keeper_adds_a_price(book):
    price = {
        "kind": "accelerator",
        "item": "h100-sxm-80gb",
        "mode": "spot",
        "amount": "1.25",
        "currency": "USD",
        "valid_from": "2026-01-01",
    }

    assert client(book.alice).post("/api/v1/prices/", price).status_code == 403
    assert client(book.keeper).post("/api/v1/prices/", price).status_code == 201
    assert Price.objects.get(mode="spot").amount == Decimal("1.25")


def test_a_bad_price_answers_422_with_every_fault(book):
    answer = client(book.keeper).post(
        "/api/v1/prices/", {"kind": "x", "item": "y", "amount": "z", "currency": "USD", "valid_from": "2026-01-01"}
    )

    assert answer.status_code == 422
    assert {fault["path"] for fault in answer.json()["errors"]} == {"kind", "amount"}


def test_a_price_file_is_previewed_and_then_imported(book):
    content = b"kind,item,mode,amount,currency,valid_from\naccelerator,h100,spot,1.25,USD,2026-01-01\n"

    def upload(**more):
        file = SimpleUploadedFile("prices.csv", content)
        return client(book.keeper).post("/api/v1/prices/import/", {"file": file, **more}, format="multipart")

    preview, written = upload(preview="true"), upload()

    assert preview.json() == {"counts": {"new": 1}, "drafts": 0, "added": 0}
    assert written.json()["added"] == 1
    assert client(book.alice).post("/api/v1/prices/import/").status_code == 403
