"""Hours of services: requests, tokens, latency; the day keeps its peak hour beside the mean; no money."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from django.urls import reverse

from tests.usage import factories
from tests.usage.factories import deliver, focus
from tests.usage.records import read
from usage import rules, serving
from usage.models import Record, Source
from usage.pipeline.swap import known_now
from usage.totals import Question, usage_totals

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

SAMPLE = (Path(__file__).parent / "samples" / "service.csv").read_bytes()
MARCH = (date(2026, 3, 1), date(2026, 4, 1))


def delivered(slug: str = "serving", content: bytes = SAMPLE, **settings) -> dict:
    source = Source.objects.filter(slug=slug).first() or factories.source(slug)
    return deliver(source, content, **settings)


def days(**question) -> dict[tuple[str, int], serving.ServiceDay]:
    found = serving.service_days(*MARCH, zone=question.pop("zone", "UTC"), **question)
    return {(day.service, day.day.day): day for day in found}


def test_hours_are_taken_and_bear_no_money():
    deliver(factories.source(), focus({}))

    answer = delivered()

    assert (answer["format"], answer["status"], answer["rows_accepted"]) == ("service", "live", 5)
    assert answer["totals"] == {}
    whole, _groups = usage_totals(Question())
    assert whole.totals == {"USD": 10}


def test_requests_and_tokens_are_quantities_by_service():
    delivered()

    whole, groups = usage_totals(Question(source="serving", by=["service", "day"]))

    assert whole.rows == 5
    assert whole.quantities == {
        "requests": 14_700,
        "input_tokens": 3_750_000,
        "output_tokens": 1_140_000,
        "timeouts": 33,
        "cache_hits": 1_900,
    }
    chat = next(group for group in groups if group.key == {"service": "chat", "day": date(2026, 3, 5)})
    assert (chat.rows, chat.quantities["requests"], chat.quantities["output_tokens"]) == (3, 4_500, 900_000)


def test_the_day_keeps_its_peak_hour_beside_the_mean():
    delivered()

    chat = days()["chat", 5]

    assert (chat.requests, chat.peak_requests, chat.mean_requests, chat.peak_factor) == (4_500, 3_000, 1_500, 2)
    assert chat.peak_hour == datetime(2026, 3, 5, 1, tzinfo=UTC)
    assert (chat.worst_p95, chat.p95) == (1_200, Decimal("1112.5"))
    assert chat.timeout_share == Decimal("0.007333333333")
    assert chat.cache_hit_share == Decimal("0.325")


def test_a_latency_that_is_unknown_and_a_share_of_hours_that_do_not_say():
    delivered()

    search = days()["search", 5]

    assert (search.p95, search.timeout_share, search.cache_hit_share) == (90, 0, 0)
    assert days()["chat", 6].hours == 1


def test_days_are_those_of_the_zone():
    delivered()

    assert days(zone="America/New_York")["chat", 4].requests == 4_500


def test_quarters_of_an_hour_add_up_to_the_peak_hour_and_a_row_of_a_day_has_none():
    quarters = "time,end,service,requests,tokens_in\n" + "".join(
        f"2026-03-05T{hour:02}:{minute:02}:00Z,2026-03-05T{hour:02}:{minute + 14}:59Z,chat,{requests},1\n"
        for hour, minute, requests in [(8, 0, 10), (8, 15, 20), (8, 30, 30), (9, 0, 50)]
    )
    delivered(content=quarters.encode())
    whole = "start,end,service,requests,input_tokens\n2026-03-07T00:00:00Z,2026-03-08T00:00:00Z,chat,2400,1\n"
    delivered(content=whole.encode())

    assert (days()["chat", 5].peak_requests, days()["chat", 5].peak_hour.hour) == (60, 8)
    assert (days()["chat", 7].requests, days()["chat", 7].peak_requests) == (2400, None)
    assert days()["chat", 7].mean_requests is None


def test_an_hour_that_comes_again_replaces_itself():
    delivered()
    later = b"hour,service,model,requests,input_tokens\n2026-03-05T01:00:00Z,chat,m-70b,3100,1550000\n"

    answer = delivered(content=later)

    assert (answer["rows_written"], answer["rows_closed"]) == (1, 1)
    assert days()["chat", 5].requests == 4_600
    assert Record.objects.filter(known_until=None).count() == 5


def test_instances_of_one_service_add_up():
    text = "hour,service,instance,requests,input_tokens\n" + "".join(
        f"2026-03-05T01:00:00Z,chat,pod-{number},{requests},7\n" for number, requests in enumerate((5, 6))
    )

    delivered(content=text.encode())

    assert (days()["chat", 5].peak_requests, days()["chat", 5].hours) == (11, 1)


def test_names_of_monitoring_systems_are_known_in_json_lines_and_arrays():
    lines = (Path(__file__).parent / "samples" / "service.jsonl").read_bytes()
    array = json.dumps([json.loads(line) for line in lines.splitlines()]).encode()

    for content in (lines, array):
        found = read(content)
        assert (found.format, found.faults) == ("service", [])
        rows = [row for row, _keys in found.rows]
        assert [row.quantity for row in rows] == ["1000", "3000"]
        assert rows[0].usage_start == "2026-03-05T00:00:00+00:00"
        assert [json.loads(row.extra).get("p95_ms") for row in rows] == ["850", None]
        assert found.rows[0][1].tags == {"team": "foundation", "model": "m-70b"}


@pytest.mark.parametrize(
    ("header", "row", "milliseconds"),
    [
        ("Time,Service Name,Request Count,P95 Latency (ms)", "2026-03-05 00:00,chat,5,12.5", "12.5"),
        ("ts,app,calls,latencyP95Seconds", "1772668800000,chat,5,1.25", "1250"),
        ("_time,job,requests_total,p95", "2026-03-05T00:00:00Z,chat,5,40", "40"),
    ],
)
def test_columns_are_known_by_their_words(header, row, milliseconds):
    found = read(f"{header}\n{row}\n")

    [(hour, keys)] = found.rows
    assert (found.format, keys.service, hour.quantity) == ("service", "chat", "5")
    assert json.loads(hour.extra)["p95_ms"] == milliseconds
    assert ("latency_in_milliseconds" in found.notes.counts) == header.endswith("p95")


@pytest.mark.parametrize(
    ("cell", "column"),
    [
        ("-5", "requests"),
        ("NaN", "requests"),
        ("１２", "requests"),
        ("1,000", "requests"),
    ],
)
def test_a_count_that_is_none_rejects_its_row(cell, column):
    found = read(f'hour,service,requests,input_tokens\n2026-03-05T01:00:00Z,chat,"{cell}",1\n')

    assert [fault[1] for fault in found.faults] == [column]


def test_an_hour_without_a_service_or_without_a_count_is_rejected():
    found = read("hour,service,requests,input_tokens\n2026-03-05T01:00:00Z,,5,1\n2026-03-05T01:00:00Z,chat,,\n")

    assert [fault[1] for fault in found.faults] == ["service", "requests"]


def test_a_table_without_a_count_names_what_is_needed():
    answer = delivered(content=b"hour,service,p95_ms\n2026-03-05T01:00:00Z,chat,5\n", format="service")

    assert answer["status"] == "refused"
    assert "Nothing is counted" in answer["errors"][0]["reason"]


def test_more_cache_hits_than_requests_are_taken_with_a_warning():
    answer = delivered(content=b"hour,service,requests,cache_hits\n2026-03-05T01:00:00Z,chat,5,6\n")

    assert (answer["rows_accepted"], answer["warnings"]) == (1, {"more_than_requests": 1})


def test_the_page_shows_who_may_see_a_service_its_days(stage, client, django_assert_max_num_queries):
    rules.add_rule(
        by=stage.operator,
        name="Chat",
        conditions=[{"field": "service", "operator": "equals", "values": ["chat"]}],
        project=stage.project,
    )
    delivered()
    address = reverse("service-list")

    pages = {}
    for name in ("finance", "alice", "charlie"):
        client.force_login(getattr(stage, name))
        with django_assert_max_num_queries(25):
            answer = client.get(address)
        assert answer.status_code == 200
        pages[name] = answer.content.decode()

    assert "search" in pages["finance"].split("<tbody>")[1]
    assert "3,000" in pages["alice"] and "2.0 times the mean" in pages["alice"]
    assert "search" not in pages["alice"].split("<tbody>")[1]
    assert "<tbody>" not in pages["charlie"]


def test_the_page_narrows_to_one_service(stage, client):
    delivered()
    client.force_login(stage.finance)

    page = client.get(reverse("service-list"), {"service": "search", "month": "2026-03"}).content.decode()

    assert "9,000" in page
    assert "3,000" not in page


def test_days_are_told_as_they_were_known_then(stage):
    delivered()
    then, moment = days(), known_now()

    delivered(content=SAMPLE.replace(b",3000,", b",3500,"), issued_at="2027-01-01")
    rules.add_rule(by=stage.operator, name="All", conditions=[], project=stage.project)
    rules.apply_rules(by=stage.operator)

    assert days(known_at=moment) == then != days()
    assert days(known_at=moment, projects=[stage.project.pk]) == {} != days(projects=[stage.project.pk])
