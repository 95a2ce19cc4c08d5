"""The usage pages: who sees what, a delivery from upload to outcome, rules with their preview."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from tests.usage import factories
from tests.usage.factories import deliver, focus
from usage import rules, services
from usage.models import AllocationRule, Import, Source

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

OLD = {"ChargePeriodStart": "2026-03-05T00:00:00Z", "ChargePeriodEnd": "2026-03-06T00:00:00Z"}
TAGGED = [{"field": "tag", "operator": "equals", "values": ["foundation"], "tag": "team"}]


def page_of(client, name: str, *args, **query) -> str:
    answer = client.get(reverse(name, args=args), query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_overview_shows_cost_by_project_shared_and_unallocated(stage, client):
    rules.add_rule(by=stage.operator, name="Foundation", conditions=TAGGED, project=stage.project)
    deliver(factories.source(), focus({"BilledCost": "30", "EffectiveCost": "30"}, {"EffectiveCost": "10", "Tags": ""}))
    client.force_login(stage.finance)

    page = page_of(client, "usage")

    assert stage.project.name in page
    assert "30.00 USD" in page
    assert "no rule placed it" in page
    assert page.count("25.0") >= 2
    assert "none, to the last digit" in page


def test_a_member_sees_own_projects_alone(stage, client):
    rules.add_rule(by=stage.operator, name="Foundation", conditions=TAGGED, project=stage.project)
    deliver(factories.source(), focus({}, {"Tags": "", "EffectiveCost": "7654"}))

    client.force_login(stage.alice)
    own = page_of(client, "usage")
    client.force_login(stage.charlie)
    other = page_of(client, "usage")

    assert "10.00 USD" in own
    assert "7,654" not in own and "none, to the last digit" not in own
    assert stage.project.name not in other


@pytest.mark.parametrize("name", ["source-list", "rule-list", "import-new", "rule-new", "source-new"])
def test_pages_of_operators_are_not_for_members(stage, client, name):
    client.force_login(stage.charlie)

    assert client.get(reverse(name)).status_code == 403


def test_imports_do_not_exist_for_members(stage, client):
    found = deliver(factories.source(), focus({}))
    client.force_login(stage.charlie)

    assert client.get(reverse("import", args=[found["import"]])).status_code == 404
    assert client.get(reverse("import-rejected", args=[found["import"]])).status_code == 404
    assert client.post(reverse("import-confirm", args=[found["import"]])).status_code == 404


def test_a_source_is_opened_and_its_first_file_delivered(stage, client, no_worker):
    client.force_login(stage.operator)

    opened = client.post(reverse("source-new"), {"slug": "aws-main", "name": "AWS", "currency": "USD"})
    assert opened.url == reverse("import-new") + "?source=aws-main"
    file = SimpleUploadedFile("march.csv", focus({}))
    sent = client.post(reverse("import-new"), {"source": "aws-main", "file": file}, headers={"HX-Request": "true"})

    delivery = Import.objects.get()
    assert sent.headers["HX-Redirect"] == reverse("import", args=[delivery.pk])
    assert "Waits for a worker" in page_of(client, "import", delivery.pk)
    services.run_import(delivery.pk)
    outcome = page_of(client, "import", delivery.pk)
    assert "Outcome" in outcome and "FOCUS" in outcome.upper()


def test_a_file_without_a_currency_is_delivered_with_one_and_says_so(stage, client, no_worker):
    factories.source("k8s")
    client.force_login(stage.operator)
    sample = (Path(__file__).parent / "samples" / "opencost.csv").read_bytes()

    for currency in ("", "eur", "EURO", "XYZ"):
        file = SimpleUploadedFile("costs.csv", sample)
        client.post(reverse("import-new"), {"source": "k8s", "file": file, "currency": currency})

    without, with_one = Import.objects.order_by("pk")
    assert "Give the source one" in services.run_import(without.pk)["errors"][0]["reason"]
    assert services.run_import(with_one.pk)["totals"]["EUR"]["billed"] == "25.5"
    assert "currency=eur" in page_of(client, "import", with_one.pk)


def test_an_import_that_is_being_read_says_how_far_it_is(stage, client):
    delivery = services.receive_file(
        source=factories.source(), by=None, name="big.csv", stream=SimpleUploadedFile("x", focus({}))
    )
    Import.objects.filter(pk=delivery.pk).update(status="running", phase="reading", bytes_read=delivery.size // 2)
    client.force_login(stage.operator)

    part = client.get(reverse("import", args=[delivery.pk]), headers={"HX-Request": "true"}).content.decode()

    assert 'hx-trigger="every 1s"' in part
    assert 'value="50"' in part or 'value="49"' in part


def test_rejected_rows_are_shown_and_can_be_downloaded(stage, client):
    found = deliver(factories.source(), focus({}, {"BilledCost": "=1+1"}))
    client.force_login(stage.operator)

    page = page_of(client, "import", found["import"])
    file = b"".join(client.get(reverse("import-rejected", args=[found["import"]])).streaming_content).decode()

    assert "1 rejected row" in page
    assert "3,BilledCost,'=1+1," in file


def test_a_waiting_delivery_is_confirmed_with_a_reason(stage, client, no_worker):
    source = factories.source()
    deliver(source, focus({"BilledCost": "100"}))
    held = deliver(source, focus({"BilledCost": "50"}))
    client.force_login(stage.operator)
    assert "100 USD would become 50 USD" in page_of(client, "import", held["import"])

    client.post(reverse("import-confirm", args=[held["import"]]), {"reason": "agreed"})

    delivery = Import.objects.get(pk=held["import"])
    assert (delivery.status, delivery.confirmed_by) == ("queued", stage.operator)


def test_a_restatement_shows_old_new_and_difference(stage, client):
    source = factories.source()
    deliver(source, focus({"EffectiveCost": "10"}, {"ResourceId": "b"}))
    again = deliver(source, focus({"EffectiveCost": "12.5"}, {"ResourceId": "b"}))
    client.force_login(stage.operator)

    page = page_of(client, "import", again["import"])

    assert "10.00 USD" in page and "12.50 USD" in page and "+2.50 USD" in page


def rule_fields(project, **more) -> dict[str, str]:
    empty = {
        f"conditions-{number}-{name}": "" for number in range(5) for name in ("field", "tag", "operator", "values")
    }
    return {
        **empty,
        "conditions-TOTAL_FORMS": "5",
        "conditions-INITIAL_FORMS": "0",
        "shares-TOTAL_FORMS": "0",
        "shares-INITIAL_FORMS": "0",
        "conditions-0-field": "tag",
        "conditions-0-tag": "team",
        "conditions-0-operator": "equals",
        "conditions-0-values": "foundation",
        "name": "Foundation",
        "target": str(project.pk),
        **more,
    }


def test_a_rule_is_tried_out_written_and_applied(stage, client, no_worker):
    deliver(factories.source(), focus({"EffectiveCost": "30"}, {"EffectiveCost": "5", "Tags": ""}))
    client.force_login(stage.operator)

    tried = client.post(reverse("rule-new-preview"), rule_fields(stage.project)).content.decode()
    assert "+30.00 USD" in tried and "−30.00 USD" in tried
    assert AllocationRule.objects.count() == 0

    client.post(reverse("rule-new"), rule_fields(stage.project))
    assert "1 combination of keys would move" in page_of(client, "rule-pending")
    client.post(reverse("rules-apply"))

    assert "would move" not in page_of(client, "rule-pending")
    assert "30.00 USD" in page_of(client, "usage")
    assert "Foundation" in page_of(client, "rule-list")


def test_a_rule_without_a_value_is_refused_beside_its_form(stage, client):
    client.force_login(stage.operator)

    answer = client.post(reverse("rule-new"), rule_fields(stage.project, **{"conditions-0-values": ""}))

    assert answer.status_code == 422
    assert "needs a value" in answer.content.decode()


def test_pages_stay_cheap_whatever_is_stored(stage, client, django_assert_max_num_queries):
    for number in range(3):
        source = factories.source(f"cloud-{number}")
        deliver(source, focus({"ResourceId": str(number)}))
    client.force_login(stage.operator)

    for name, most in {"usage": 30, "source-list": 20, "import-list": 20, "rule-list": 16}.items():
        with django_assert_max_num_queries(most):
            page_of(client, name)
    assert Source.objects.count() == 3


def test_the_page_of_a_replaced_statement_says_what_is_live_and_an_operator_can_turn_back(stage, client, no_worker):
    source = factories.source()
    first = deliver(source, focus({"BilledCost": "10"}), name="first.csv")
    deliver(source, focus({"BilledCost": "12"}), name="second.csv")
    client.force_login(stage.finance)
    seen = page_of(client, "import", first["import"])
    client.force_login(stage.operator)
    page = page_of(client, "import", first["import"])

    answer = client.post(reverse("import-make-live", args=[first["import"]]), {"reason": "it was right"})

    assert "second.csv" in seen and "An operator can do that" in seen
    assert "Make this one live" in page
    newest = Import.objects.order_by("-pk").first()
    assert answer.url == reverse("import", args=[newest.pk])
    assert (newest.name, newest.status, newest.confirmed_by) == ("first.csv", "queued", stage.operator)
