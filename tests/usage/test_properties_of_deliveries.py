"""Logs, appends and statements delivered in any order, repeated, overlapping, in parts and with workers that die on the
way end in the live totals of one clean delivery of the final state."""

from __future__ import annotations

import gzip
import io
import itertools
import zipfile
from contextlib import contextmanager, suppress
from datetime import timedelta
from decimal import Decimal
from unittest.mock import patch
from uuid import uuid4

import pytest
import zstandard
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from core.money import exact_sum
from tests import factories as people
from tests.usage import factories
from tests.usage.factories import focus
from usage import queries, rules, services
from usage.models import Record, Source
from usage.totals import Question, usage_totals

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("kept_files")]

BREAKS = (
    "usage.pipeline.work.read_delivery",
    "usage.pipeline.swap.Swapper.run",
    "usage.pipeline.swap.rebuild_touched",
    "usage.pipeline.outcome.summed",
)
"""Where a worker may die: before reading, before comparing, while writing, after everything was written."""
SACCT = "JobID|Cluster|Account|State|Submit|Start|End|ElapsedRaw|AllocTRES|JobName\n"
OCI = (
    "lineItem/referenceNo,lineItem/tenantId,lineItem/intervalUsageStart,lineItem/intervalUsageEnd,product/service,"
    "product/compartmentId,product/compartmentName,product/region,product/resourceId,usage/billedQuantity,"
    "cost/productSku,cost/myCost,cost/currencyCode,lineItem/isCorrection,lineItem/backreferenceNo\n"
)
COSTS = st.sampled_from(["0", "1", "-2.5", "0.1", "0.0000000000000000000000000000000007", "12.3"])
tried = settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate],
)
"""Every example imports several files: making a failing one smaller would take minutes."""


class DiedError(Exception):
    """The worker is gone."""


@contextmanager
def dying_at(place: str):
    with patch(place, side_effect=DiedError):
        yield


def run(source: Source, content: bytes, *, breaks: tuple[str, ...] = (), **given: str) -> dict:
    """Deliver a file; its worker dies at each of some places before one lives."""
    delivery = services.receive_file(source=source, by=None, name="file", stream=io.BytesIO(content), settings=given)
    now = timezone.now()
    for place in breaks:
        with dying_at(place), suppress(DiedError):
            services.run_import(delivery.pk, now=now)
        now += timedelta(minutes=5)
    return services.run_import(delivery.pk, now=now)


def new_source(**given: str) -> Source:
    return factories.source(f"s-{uuid4().hex}", drop_limit="1", **given)


def live(source: Source) -> list[tuple]:
    """Everything that counts of the live records, in one order."""
    rows = Record.objects.filter(scope__source=source, known_until=None).select_related("key_set__meter")
    return sorted(
        (
            row.job, row.key_set.resource, row.key_set.meter.state, row.usage_start.isoformat(), row.provisional,
            str(row.billed), str(row.accelerator_hours), row.key_set.meter.account,
        )
        for row in rows
    )  # fmt: skip


def record(job: int, run_of: int, has_ended: bool, hours: int) -> str:
    """How a run stood when it was asked about. No log tells two ends of one run after the same time."""
    state = "RUNNING" if not has_ended else "COMPLETED" if hours % 2 else "FAILED"
    start = f"2025-03-{job:02}T0{run_of}:00:00"
    end = "Unknown" if state == "RUNNING" else f"2025-03-{job:02}T{run_of + hours:02}:00:00"
    return f"{job}|alpha|acct|{state}|{start}|{start}|{end}|{hours * 3600}|gres/gpu=2|n{job}"


RECORDS = st.builds(
    record,
    st.integers(1, 3),
    st.integers(0, 1),
    st.booleans(),
    st.integers(1, 4),
)
WINDOWS = st.lists(st.lists(RECORDS, min_size=1, max_size=5), min_size=1, max_size=4)
PACKED = [bytes, lambda content: gzip.compress(content, mtime=0), zstandard.compress]
DEATHS = st.lists(st.sampled_from(BREAKS), max_size=2).map(tuple)


@tried
@given(windows=WINDOWS, order=st.randoms(use_true_random=False), data=st.data())
def test_windows_of_a_log_in_any_order_end_in_the_best_record_of_each_run(windows, order, data):
    queue = windows + data.draw(st.lists(st.sampled_from(windows), max_size=2))
    order.shuffle(queue)
    source, clean = new_source(), new_source()

    for window in queue:
        run(source, (SACCT + "\n".join(window) + "\n").encode(), breaks=data.draw(DEATHS))
    run(clean, (SACCT + "\n".join({line for window in windows for line in window}) + "\n").encode())

    assert live(source) == live(clean)
    assert sorted(hours_of_log(live(clean))) == sorted(expected_of_log(windows))
    assert all(each.holds for each in queries.conservation())


def hours_of_log(rows: list[tuple]) -> list[tuple]:
    return [(job, start, is_open, hours) for job, _name, _state, start, is_open, _cost, hours, _account in rows]


def better(line: str) -> tuple[bool, int]:
    fields = line.split("|")
    return fields[3] != "RUNNING", int(fields[7])


def expected_of_log(windows: list[list[str]]) -> list[tuple]:
    """Ended over open, then the longer, worked out apart from the importer."""
    best: dict[str, str] = {}
    for line in (line for window in windows for line in window):
        fields = line.split("|")
        key = f"{fields[0]} {fields[5]}"
        if key not in best or better(line) > better(best[key]):
            best[key] = line
    found = []
    for line in best.values():
        fields = line.split("|")
        hours = str(int(fields[7]) // 3600 * 2)
        found.append((fields[0], f"{fields[5]}+00:00", fields[3] == "RUNNING", hours))
    return found


@tried
@given(
    rows=st.dictionaries(st.integers(1, 6), COSTS, min_size=1),
    data=st.data(),
    order=st.randoms(use_true_random=False),
)
def test_rows_with_an_identity_add_once_however_files_overlap(rows, data, order):
    lines = {
        number: f"r{number},t,2025-06-01T00:00Z,2025-06-01T01:00Z,COMPUTE,c,c,eu,i,1,B1,{cost},EUR,false,\n"
        for number, cost in rows.items()
    }
    parts = data.draw(st.lists(st.lists(st.sampled_from(sorted(rows)), min_size=1, max_size=6), max_size=4))
    files = [*parts, sorted(rows), [min(rows), min(rows)]]
    order.shuffle(files)
    source = new_source()

    for numbers in files:
        run(source, (OCI + "".join(lines[number] for number in numbers)).encode(), breaks=data.draw(DEATHS))

    whole, _groups = usage_totals(Question(source=source.slug))
    assert whole.rows == len(rows)
    assert whole.totals["EUR"] == exact_sum([Decimal(cost) for cost in rows.values()])


@tried
@given(
    files=st.lists(st.lists(COSTS, min_size=1, max_size=3), min_size=1, max_size=4, unique_by=str),
    data=st.data(),
    order=st.randoms(use_true_random=False),
)
def test_appended_files_add_once_each_and_equal_rows_stay_apart(files, data, order):
    queue = files + data.draw(st.lists(st.sampled_from(files), max_size=3))
    order.shuffle(queue)
    source = new_source(meaning="append")

    for costs in queue:
        content = focus(*({"BilledCost": cost} for cost in costs))
        run(source, data.draw(st.sampled_from(PACKED))(content), breaks=data.draw(DEATHS))

    whole, _groups = usage_totals(Question(source=source.slug))
    assert whole.rows == sum(map(len, files))
    assert whole.totals["USD"] == exact_sum([Decimal(cost) for costs in files for cost in costs])


@tried
@given(
    states=st.lists(st.lists(st.tuples(st.sampled_from("abc"), COSTS), min_size=1, max_size=4), min_size=1, max_size=4),
    data=st.data(),
    order=st.randoms(use_true_random=False),
)
def test_statements_whose_workers_die_end_in_the_last_issued(states, data, order):
    queue = list(enumerate(states, 1))
    order.shuffle(queue)
    source, clean = new_source(), new_source()

    def content(rows: list[tuple[str, str]]) -> bytes:
        return focus(*({"ResourceId": name, "BilledCost": cost} for name, cost in rows))

    for day, rows in queue:
        run(source, content(rows), breaks=data.draw(DEATHS), issued_at=f"2026-05-{day:02}")
    run(clean, content(states[-1]))

    assert live(source) == live(clean)
    assert all(each.holds for each in queries.conservation())


@tried
@given(costs=st.lists(COSTS, min_size=1, max_size=8), cuts=st.lists(st.integers(0, 8), max_size=3), data=st.data())
def test_parts_of_an_archive_add_up_to_the_whole_wherever_it_is_cut(costs, cuts, data):
    rows = [{"ResourceId": data.draw(st.sampled_from("ab")), "BilledCost": cost} for cost in costs]
    edges = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number, (first, last) in enumerate(itertools.pairwise(edges)):
            archive.writestr(f"part{number}.csv", focus(*rows[first:last]))
    parts, whole = new_source(), new_source()

    run(parts, packed.getvalue())
    run(whole, focus(*rows))

    assert live(parts) == live(whole)
    assert len(live(whole)) == len(costs)


@tried
@given(
    costs=st.lists(COSTS, min_size=1, max_size=4),
    weights=st.lists(st.integers(1, 9), min_size=2, max_size=4),
    hours=st.integers(1, 80),
)
def test_what_a_rule_splits_over_projects_and_days_adds_up_to_the_bill(costs, weights, hours):
    people.organisation()
    operator = people.user(f"{uuid4().hex}@example.com")
    people.member(operator, None, "operator")
    team = people.team(uuid4().hex)
    shares = [(people.project(team, uuid4().hex), Decimal(weight)) for weight in weights]
    source = new_source()
    rules.add_rule(by=operator, name="Split", conditions=[], source=source, shares=shares)
    end = f"2026-03-{5 + hours // 24:02}T{hours % 24:02}:00:00Z"

    run(source, focus(*({"BilledCost": cost, "EffectiveCost": cost, "ChargePeriodEnd": end} for cost in costs)))

    wanted = exact_sum([Decimal(cost) for cost in costs])
    for basis in ("billed", "effective"):
        for dimensions in (["project"], ["day"], ["service"], ["project", "day"]):
            _whole, groups = usage_totals(Question(source=source.slug, by=dimensions, basis=basis))
            assert exact_sum([group.totals.get("USD", Decimal(0)) for group in groups]) == wanted
    _whole, groups = usage_totals(Question(source=source.slug, by=["project"]))
    assert {group.key["project"] for group in groups} <= {project.slug for project, _weight in shares}
    assert all(each.holds for each in queries.conservation())
