"""The states of a source's period, and the deliveries that need a person."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.urls import reverse

from core.errors import DomainError
from tests.usage import factories
from tests.usage.factories import deliver, focus
from usage import periods, services
from usage.models import Import, Scope
from usage.totals import Question, usage_totals

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

APRIL = {
    "BillingPeriodStart": "2026-04-01T00:00:00Z",
    "BillingPeriodEnd": "2026-05-01T00:00:00Z",
    "ChargePeriodStart": "2026-04-02T00:00:00Z",
    "ChargePeriodEnd": "2026-04-03T00:00:00Z",
}


def state() -> str:
    return Scope.objects.get(month="2026-03-01").state


def confirm(answer: dict, by) -> dict:
    services.confirm_import(Import.objects.get(pk=answer["import"]), by=by, reason="The cloud says so.")
    return services.run_import(answer["import"])


def test_a_first_delivery_makes_a_period_provisional(stage):
    deliver(factories.source(), focus({}))

    assert state() == "provisional"


def test_a_delivery_that_says_it_is_final_closes_its_period(stage):
    deliver(factories.source(), focus({}), final="1")

    assert state() == "final"


def test_a_change_to_a_final_period_waits_with_the_difference_and_reopens_it_when_accepted(stage):
    source = factories.source()
    deliver(source, focus({"BilledCost": "10"}, APRIL))
    periods.finalise_period(Scope.objects.get(month="2026-03-01"), by=stage.finance, reason="Invoice 7 came.")

    held = deliver(source, focus({"BilledCost": "11"}, APRIL))

    assert held["status"] == "waiting"
    assert "final" in held["held"][0]
    assert {(each["currency"], each["cost"], each["before"], each["after"]) for each in held["held_changes"]} == {
        ("USD", "billed", "10", "11")
    }
    assert usage_totals(Question())[0].totals == {"USD": 20}
    assert confirm(held, stage.finance)["status"] == "live"
    assert (state(), usage_totals(Question())[0].totals["USD"]) == ("reopened", 21)
    periods.finalise_period(Scope.objects.get(month="2026-03-01"), by=stage.finance, reason="Agreed.")
    assert state() == "final"


def test_the_same_rows_into_a_final_period_change_nothing_and_do_not_wait(stage):
    source = factories.source()
    deliver(source, focus({}, {"ResourceId": "b"}), final="1")

    again = deliver(source, focus({"ResourceId": "b"}, {}))

    assert (again["status"], state()) == ("unchanged", "final")


def test_an_appended_row_into_a_final_period_waits(stage):
    source = factories.source(meaning="append")
    deliver(source, focus({}), final="1")

    held = deliver(source, focus({"BilledCost": "3", "ResourceId": "late"}))

    assert held["status"] == "waiting"


def test_periods_become_final_some_days_after_the_month(stage):
    source = factories.source()
    deliver(source, focus({}, APRIL))
    periods.wait_for_final(source, 10, by=stage.operator)

    assert periods.finalise_due(now=datetime(2026, 4, 10, 12, tzinfo=UTC)) == 0
    assert periods.finalise_due(now=datetime(2026, 4, 11, 12, tzinfo=UTC)) == 1

    assert list(Scope.objects.order_by("month").values_list("state", flat=True)) == ["final", "provisional"]


@pytest.mark.parametrize("reason", ["", "  "])
def test_a_period_is_not_final_without_a_reason(stage, reason):
    deliver(factories.source(), focus({}))

    with pytest.raises(DomainError):
        periods.finalise_period(Scope.objects.get(), by=stage.finance, reason=reason)


def test_a_final_period_does_not_become_final_again_and_members_do_not_decide(stage):
    deliver(factories.source(), focus({}))
    with pytest.raises(DomainError):
        periods.finalise_period(Scope.objects.get(), by=stage.alice, reason="Please.")
    periods.finalise_period(Scope.objects.get(), by=stage.finance, reason="Invoice.")

    with pytest.raises(DomainError):
        periods.finalise_period(Scope.objects.get(), by=stage.finance, reason="Invoice.")


def test_the_page_of_a_source_shows_months_states_and_what_waits(stage, client, no_worker):
    source = factories.source()
    deliver(source, focus({"BilledCost": "100"}, APRIL))
    held = deliver(source, focus({"BilledCost": "50"}, APRIL))
    client.force_login(stage.operator)

    page = client.get(reverse("source", args=[source.slug])).content.decode()
    assert "provisional" in page and "100.00 USD" in page
    assert reverse("import", args=[held["import"]]) in page and "waits for a person" in page
    waiting = client.get(reverse("import", args=[held["import"]])).content.decode()
    assert "−50.00 USD" in waiting
    scope = Scope.objects.get(month="2026-03-01")
    client.post(reverse("period-final", args=[scope.pk]), {"reason": "Invoice 7."})

    assert state() == "final"
    assert "Invoice 7." in client.get(reverse("source", args=[source.slug])).content.decode()
    client.force_login(stage.charlie)
    assert client.post(reverse("period-final", args=[scope.pk]), {"reason": "Mine."}).status_code == 404


def test_the_same_file_delivered_as_the_final_one_closes_its_period(stage):
    source = factories.source()
    deliver(source, focus({}))

    again = deliver(source, focus({}), final="1")

    assert (again["status"], state()) == ("unchanged", "final")
