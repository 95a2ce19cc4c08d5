"""Free cards in pieces: hand-worked nodes of four, and a cluster whose log names its nodes."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from core.months import Month
from usage.clusters.fragments import Stay, pieces_by_day
from usage.clusters.hostlists import nodes_of
from usage.clusters.jobs import queue_waits
from usage.clusters.placed import fragments_of
from usage.clusters.queries import days_of_cluster
from usage.models import Cluster, Record

from .bills import deliver
from .test_clusters import hpc, no_worker  # noqa: F401


def at(hour: int, day: int = 5) -> datetime:
    return datetime(2026, 3, day, hour, tzinfo=UTC)


def stay(cards: str, nodes: str, start: int, end: int, submitted: int | None = None) -> Stay:
    return Stay(at(start), at(end), nodes_of(nodes), Decimal(cards), None if submitted is None else at(submitted))


DAY = [(date(2026, 3, 5), at(0), at(0, 6))]
JOBS = [stay("3", "n1", 0, 10), stay("2", "n2", 0, 4), stay("4", "n2", 4, 10, submitted=2)]
"""One card of n1 is free for ten hours, two of n2 for four; a job that needs four waits for two of them."""


@pytest.mark.parametrize(
    ("listed", "nodes"),
    [
        ("gpu[01-03,07],login1", ("gpu01", "gpu02", "gpu03", "gpu07", "login1")),
        ("r[1-2]n[09-10]", ("r1n09", "r1n10", "r2n09", "r2n10")),
        ("n1", ("n1",)),
        ("None assigned", ()),
        ("n[1-999999999]", ()),
        ("n[3-1]", ()),
        ("n[1,x]", ()),
        ("n[1", ()),
    ],
)
def test_a_list_of_nodes_is_read_or_named_nowhere(listed, nodes):
    assert nodes_of(listed) == nodes


@pytest.mark.parametrize(("size", "hours", "waited"), [(None, 18, 6), (3, 18, 6), (2, 10, 2), (1, 0, 0), (16, 18, 6)])
def test_what_does_not_fill_a_piece_is_a_fragment(size, hours, waited):
    (day,) = pieces_by_day(JOBS, {"n1": 4, "n2": 4}, DAY, size)

    assert (day.hours, day.waited) == (hours, waited)


def test_a_job_that_a_piece_could_hold_makes_no_card_useless():
    jobs = [stay("3", "n1", 0, 10), stay("1", "n2", 5, 6, submitted=0)]

    (day,) = pieces_by_day(jobs, {"n1": 4, "n2": 4}, DAY, None)

    assert (day.hours, day.waited) == (10 + 3, 0)


def test_pieces_are_cut_at_midnight_and_parts_of_cards_count_as_parts():
    days = [*DAY, (date(2026, 3, 6), at(0, 6), at(0, 7))]
    jobs = [Stay(at(20), at(2, 6), ("n1",), Decimal("3.25"))]

    first, second = pieces_by_day(jobs, {"n1": 4}, days, None)

    assert (first.hours, second.hours) == (3, Decimal("1.5"))


def test_cards_of_a_job_on_two_nodes_are_divided_between_them():
    (day,) = pieces_by_day([stay("7", "n[1-2]", 0, 10)], {"n1": 4, "n2": 4}, DAY, None)

    assert day.hours == 10


HEADER = "JobID|JobIDRaw|Submit|Start|End|ElapsedRaw|State|Account|Partition|AllocTRES|NodeList\n"


def on_nodes(
    number: int, cards: int, nodes: str, start: int, end: int, submitted: int | None = None, day: int = 5
) -> str:
    begun, ended = at(start, day), at(end, day)
    asked = at(start if submitted is None else submitted, day)
    return (
        f"{number}|{number}|{asked:%FT%T}|{begun:%FT%T}|{ended:%FT%T}|{(end - start) * 3600}|COMPLETED|one|gpu|"
        f"gres/gpu={cards}|{nodes}\n"
    )


def fifth(size=None):
    cluster = Cluster.objects.get()
    return fragments_of(cluster, days_of_cluster(cluster, date(2026, 3, 5), date(2026, 3, 6)), size)


def deliver_on_nodes(*jobs: str) -> None:
    deliver(HEADER + "".join(jobs), source="jobs")


def test_a_log_with_nodes_says_what_lay_in_pieces(hpc, db):  # noqa: F811
    hpc.lot.cards, hpc.lot.cards_per_node = 8, 4
    hpc.lot.save()
    deliver_on_nodes(on_nodes(1, 3, "n1", 0, 10), on_nodes(2, 2, "n2", 0, 4), on_nodes(3, 4, "n2", 4, 10, submitted=2))

    (whole,), (pairs,) = fifth(), fifth(2)

    assert (whole.accelerator, whole.size, whole.hours, whole.waited) == ("h100-sxm-80gb", 4, 18, 6)
    assert (pairs.size, pairs.hours, pairs.waited) == (2, 10, 2)


def test_a_column_named_submit_that_holds_no_seconds_says_nothing_of_waiting(hpc, db):  # noqa: F811
    hpc.lot.cards_per_node = 4
    hpc.lot.save()
    deliver_on_nodes(on_nodes(1, 3, "n1", 0, 10))
    Record.objects.update(extra={"NodeList": "n1", "submit": "2026-03-04 by hand"})

    (whole,) = fifth()

    assert (whole.hours, whole.waited) == (10, 0)
    assert queue_waits(Cluster.objects.get(), Month(2026, 3)) == []


def test_without_nodes_or_their_cards_there_is_no_figure(hpc, db):  # noqa: F811
    hpc.lot.cards_per_node = 4
    hpc.lot.save()
    deliver_on_nodes(on_nodes(1, 3, "n1", 0, 10), on_nodes(2, 1, "None assigned", 0, 4))
    (without_nodes,) = fifth()

    hpc.lot.cards_per_node = None
    hpc.lot.save()
    (without_cards,) = fifth()

    assert (without_nodes.is_known, without_nodes.nodeless, without_nodes.days) == (False, 4, [])
    assert (without_cards.is_known, without_cards.is_node_known) == (False, False)
