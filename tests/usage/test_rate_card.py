"""Money of job logs: hours at the price of the day of use; without a price there is none, and it is said."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from django.utils import timezone

from api.usage_answers import totals_answer
from estimates.models import Price
from teams.models import ClosedMonth
from tests.estimates import factories as prices
from usage import rerating, services
from usage.models import Record
from usage.totals import Question

from .bills import deliver, records, total

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("stage", "kept_files")]

HEADER = "JobID|Partition|State|Start|End|ElapsedRaw|AllocTRES|NCPUS\n"
MAP = "gpu=h100-sxm-80gb/own"


def job(
    start: str = "2026-03-01T08:00:00", seconds: int = 3600, tres: str = "gres/gpu:h100=2", identifier: int = 1
) -> str:
    return f"{identifier}|gpu|COMPLETED|{start}|Unknown|{seconds}|{tres}|4\n"


def own_price(amount: str, valid_from: str = "2026-01-01", **more: object) -> Price:
    return prices.price(mode="own", provider="", amount=amount, valid_from=valid_from, **more)


def test_hours_cost_what_the_price_table_says_on_their_day():
    own_price("3")

    answer = deliver(HEADER + job(), rate_card=MAP)

    assert answer["totals"] == {"USD": {"billed": "6", "effective": "6", "list": "0", "contracted": "0"}}
    assert answer["price_missing"] == []


def test_without_a_price_there_is_no_money_and_what_is_missing_is_named():
    answer = deliver(HEADER + job(), rate_card=MAP)

    assert answer["totals"] == {}
    assert answer["accelerator_hours"] == "2"
    assert answer["price_missing"] == [
        {
            "kind": "accelerator",
            "item": "h100-sxm-80gb",
            "provider": "",
            "region": "",
            "mode": "own",
            "currency": "USD",
            "day": "2026-03-01",
        }
    ]


def test_the_accelerator_is_found_by_the_names_of_the_catalogue_where_no_map_says_it():
    prices.accelerator("h100-sxm-80gb", aliases=["h100"])
    own_price("3")

    assert deliver(HEADER + job())["totals"]["USD"]["billed"] == "6"


def test_a_job_over_a_price_change_pays_each_price_for_its_part():
    own_price("3", "2026-01-01")
    own_price("6", "2026-03-02")

    answer = deliver(HEADER + job("2026-03-01T21:00:00", seconds=4 * 3600), rate_card=MAP)

    assert answer["totals"]["USD"]["effective"] == "30"  # 2 cards x (3 h x 3 + 1 h x 6)


def test_thirds_of_hours_add_up_to_whole_money():
    own_price("3")

    answer = deliver(
        HEADER + "".join(job(seconds=1200, tres="gres/gpu=1", identifier=n) for n in (1, 2, 3)), rate_card=MAP
    )

    assert (answer["totals"]["USD"]["billed"], answer["accelerator_hours"]) == ("3", "1")
    whole = totals_answer(Question(source="bill"))
    assert (whole["totals"], whole["accelerator_hours"]) == ({"USD": "3"}, "1")


def test_jobs_without_accelerators_cost_nothing_and_miss_no_price():
    answer = deliver(HEADER + job(tres="cpu=4"), rate_card="other=h100-sxm-80gb/own")

    assert (answer["totals"], answer["price_missing"], answer["cpu_core_hours"]) == ({}, [], "4")


def test_an_unverified_price_is_said():
    own_price("3", verified=False)

    assert deliver(HEADER + job(), rate_card=MAP)["warnings"]["price_unverified"] == 1


def test_delivering_again_after_a_price_came_gives_the_money():
    deliver(HEADER + job(), rate_card=MAP)
    own_price("3")

    answer = deliver(HEADER + job(), rate_card=MAP)

    assert (answer["status"], answer["rows_written"], answer["rows_closed"]) == ("live", 1, 1)
    assert total(records(), "billed") == "6"


def test_delivering_again_without_a_new_price_changes_nothing():
    own_price("3")
    deliver(HEADER + job(), rate_card=MAP)

    answer = deliver(HEADER + job(), rate_card=MAP)

    assert (answer["status"], answer["rows_written"], answer["totals"]["USD"]["billed"]) == ("unchanged", 0, "6")


def test_a_closed_month_keeps_the_prices_that_were_known_when_it_was_closed(stage):
    own_price("3")
    ClosedMonth.objects.create(month="2026-03-01", closed_at=timezone.now(), by=stage.finance)
    own_price("5", "2026-03-01", reason="the invoice says so")

    march, april = job("2026-03-10T08:00:00"), job("2026-04-10T08:00:00", identifier=2)
    deliver(HEADER + march + april, rate_card=MAP)

    assert [str(row.billed) for row in records()] == ["6", "10"]


def test_money_of_a_job_spreads_over_its_days_and_adds_up():
    own_price("3")

    deliver(HEADER + job("2026-03-01T12:00:00", seconds=86_400), rate_card=MAP)

    ((row),) = records()
    assert (row.usage_start, row.usage_end) == (
        datetime(2026, 3, 1, 12, tzinfo=UTC),
        datetime(2026, 3, 2, 12, tzinfo=UTC),
    )
    assert str(row.effective) == "144"


def test_a_map_with_a_mode_that_does_not_exist_is_refused():
    with pytest.raises(Exception, match="not accepted"):
        deliver(HEADER + job(), rate_card="gpu=h100-sxm-80gb/stolen")


def rerate() -> list[dict]:
    """What the worker does every minute."""
    return [services.run_import(queued) for queued in rerating.queue_outdated(now=timezone.now())]


def test_a_price_that_comes_later_prices_what_was_delivered_before_it():
    deliver(HEADER + job(), rate_card=MAP)
    before = timezone.now()
    own_price("3")

    (answer,) = rerate()

    assert (answer["rows_written"], answer["rows_closed"], answer["price_missing"]) == (1, 1, [])
    assert total(records(), "billed") == "6"
    known = Record.objects.filter(known_from__live_at__lte=before)
    assert [row.billed for row in known] == [None]


def test_a_correction_prices_once_and_only_what_it_touches():
    own_price("3")
    deliver(HEADER + job(), rate_card=MAP)
    deliver(HEADER + job(), source="other", rate_card="gpu=a100-sxm-80gb/own")

    own_price("4", reason="the invoice says so")

    assert [answer["source"] for answer in rerate()] == ["bill"]
    assert rerate() == []
    assert total(records(), "billed") == "8"


def test_a_correction_leaves_closed_months_as_they_were(stage):
    own_price("3")
    deliver(HEADER + job(), rate_card=MAP)
    ClosedMonth.objects.create(month="2026-03-01", closed_at=timezone.now(), by=stage.finance)

    own_price("4", reason="the invoice says so")

    assert [answer["status"] for answer in rerate()] == ["unchanged"]
    assert rerate() == []
    assert total(records(), "billed") == "6"


def test_a_month_that_is_opened_again_takes_the_prices_that_came_meanwhile(stage):
    own_price("3")
    deliver(HEADER + job(), rate_card=MAP)
    closing = ClosedMonth.objects.create(month=date(2026, 3, 1), closed_at=timezone.now(), by=stage.finance)
    own_price("4", reason="the invoice says so")
    rerate()

    closing.delete()

    assert [answer["rows_written"] for answer in rerate()] == [1]
    assert rerate() == []
    assert total(records(), "billed") == "8"


def test_a_reading_anew_does_not_bring_back_what_a_newer_delivery_replaced():
    own_price("3")
    running = job().replace("COMPLETED", "RUNNING")
    deliver(HEADER + running + job("2026-03-05T08:00:00", identifier=2), rate_card=MAP)
    deliver(HEADER + job(seconds=7200), rate_card=MAP)

    own_price("4", reason="the invoice says so")
    rerate()

    assert sorted((row.job, row.key_set.meter.state, str(row.billed)) for row in records()) == [
        ("1", "COMPLETED", "16"),
        ("2", "COMPLETED", "8"),
    ]
