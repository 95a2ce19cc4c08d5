"""Pages of clusters: the register, a month of one, and who may see and change what."""

from __future__ import annotations

from datetime import date

import pytest
from django.urls import reverse

from core.months import Month
from estimates.models import Accelerator
from usage.clusters.jobs import QueueWait, hours_by_state, queue_waits
from usage.models import CardLot, CardWindow, Cluster, ClusterPartition, Source

from .bills import deliver, drop_temporary_tables
from .test_clusters import hpc, job, log, no_worker  # noqa: F401
from .test_fragments import deliver_on_nodes, on_nodes

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_task(monkeypatch):
    monkeypatch.setattr("overruns.tasks.derive_idle_hours.delay", lambda: None)


def test_the_page_shows_what_was_held_what_was_idle_and_its_cost(hpc, client):  # noqa: F811
    log(job(1, "one", 2), job(2, "one", 2, day=6))
    client.force_login(hpc.operator)

    page = client.get(reverse("cluster", args=["hpc"]), {"month": "2026-03"}).content.decode()

    assert "282.00" in page and "of 96 there were 2 held, 0 in maintenance and 94 idle" in page


def test_a_cluster_is_entered_with_cards_partition_and_maintenance_by_its_forms(hpc, client):  # noqa: F811
    Source.objects.create(slug="second", name="Second")
    client.force_login(hpc.operator)
    fields = {"slug": "new", "name": "New", "source": Source.objects.get(slug="second").pk, "mode": "own"}

    assert client.post(reverse("cluster-new"), fields).status_code == 302
    card = Accelerator.objects.get().pk
    posts = {
        "cluster-cards": {"accelerator": card, "cards": "8", "starts_on": "2026-03-01", "cards_per_node": "4"},
        "cluster-partitions": {"name": "gpu", "accelerator": card, "mode": "own"},
        "cluster-maintenance": {
            "kind": "reservation",
            "starts_at": "2026-03-01T10:00",
            "ends_at": "2026-03-01T12:00",
            "reason": "Fans",
        },
    }
    answers = [client.post(reverse(name, args=["new"]), given).status_code for name, given in posts.items()]

    assert answers == [302, 302, 302]
    new = Cluster.objects.get(slug="new")
    assert (new.lots.get().cards, new.partitions.get().name, new.windows.get().reason) == (8, "gpu", "Fans")
    client.post(reverse("cluster-cards-end", args=["new", new.lots.get().pk]), {"ends_on": "2026-04-01"})
    client.post(reverse("cluster-partition-drop", args=["new", new.partitions.get().pk]))
    client.post(reverse("cluster-maintenance-cancel", args=["new", new.windows.get().pk]))
    assert new.lots.get().ends_on == date(2026, 4, 1)
    assert not new.partitions.exists() and not new.windows.exists()


def test_a_refused_form_stands_on_the_page_with_its_fault(hpc, client):  # noqa: F811
    client.force_login(hpc.operator)
    fields = {"accelerator": hpc.card.pk, "cards": "8", "starts_on": "2026-03-02", "ends_on": "2026-03-01"}

    answer = client.post(reverse("cluster-cards", args=["hpc"]), fields)

    assert answer.status_code == 422 and "The last day must be after the first day." in answer.content.decode()
    assert CardLot.objects.count() == 1


def test_the_owning_team_looks_and_changes_nothing_and_a_foreign_team_sees_nothing(hpc, client):  # noqa: F811
    page, post = reverse("cluster", args=["hpc"]), reverse("cluster-partitions", args=["hpc"])
    client.force_login(hpc.bob)
    assert client.get(page).status_code == 200
    assert client.post(post, {"name": "x", "accelerator": hpc.card.pk, "mode": "own"}).status_code == 403
    client.force_login(hpc.charlie)
    assert client.get(page).status_code == 404
    assert client.post(post, {}).status_code == 404
    assert "HPC" not in client.get(reverse("cluster-list")).content.decode()

    assert ClusterPartition.objects.count() == 1 and CardWindow.objects.count() == 0


def test_the_list_stays_cheap(hpc, client, django_assert_max_num_queries):  # noqa: F811
    drop_temporary_tables()
    client.force_login(hpc.operator)

    with django_assert_max_num_queries(15):
        page = client.get(reverse("cluster-list")).content.decode()

    assert "4 × " in page


def test_the_page_says_how_long_jobs_waited_and_what_failed_ones_cost(hpc, client):  # noqa: F811
    header = "JobID|Account|Partition|State|Submit|Start|End|ElapsedRaw|AllocTRES\n"
    rows = [
        f"{number}|one|gpu|{state}|2026-03-05T00:00:00|2026-03-05T0{wait}:00:00|Unknown|7200|gres/gpu:h100=1\n"
        for number, state, wait in ((1, "COMPLETED", 1), (2, "NODE_FAIL", 2), (3, "COMPLETED", 3))
    ]
    deliver(header + "".join(rows), source="jobs")

    assert queue_waits(hpc.cluster, Month(2026, 3)) == [QueueWait("gpu", 3, 7200.0, pytest.approx(10080))]
    assert queue_waits(hpc.cluster, Month(2026, 4)) == []
    found = hours_by_state(hpc.cluster, date(2026, 3, 1), date(2026, 4, 1))
    assert [(each.state, each.hours, each.cost) for each in found] == [("COMPLETED", 4, 12), ("NODE_FAIL", 2, 6)]
    client.force_login(hpc.operator)
    page = client.get(reverse("cluster", args=["hpc"]), {"month": "2026-03"}).content.decode()
    assert "2.8 h" in page and "NODE_FAIL" in page and "6.00" in page


def test_the_page_says_what_lay_in_pieces_or_why_it_cannot(hpc, client):  # noqa: F811
    hpc.lot.cards, hpc.lot.cards_per_node = 8, 4
    hpc.lot.save()
    deliver_on_nodes(
        on_nodes(1, 3, "n1", 0, 10), on_nodes(2, 4, "n2", 4, 10, submitted=2), on_nodes(3, 4, "n2", 0, 2, day=6)
    )
    client.force_login(hpc.operator)

    whole = client.get(reverse("cluster", args=["hpc"]), {"month": "2026-03"}).content.decode()
    pairs = client.get(reverse("cluster", args=["hpc"]), {"month": "2026-03", "piece": "2"}).content.decode()
    log(job(9, "one", 1))
    unknown = client.get(reverse("cluster", args=["hpc"]), {"month": "2026-03"}).content.decode()

    assert "lay in pieces, by day: 10, and 2 of them" in whole and "30.00" in whole
    assert "lay in pieces, by day: 10, and 2 of them" in pairs
    assert "the log names no nodes for jobs of 1 hours" in unknown


@pytest.mark.parametrize(
    "asked", [{"month": "0001-01"}, {"month": "9999-12"}, {"month": "x"}, {"piece": "0"}, {"piece": "x"}]
)
def test_a_month_or_piece_that_is_none_is_refused_on_the_page(hpc, client, asked):  # noqa: F811
    log(job(1, "one", 2), job(2, "one", 2, day=6))
    client.force_login(hpc.operator)

    answer = client.get(reverse("cluster", args=["hpc"]), {"month": "2026-03", **asked})

    assert answer.status_code == 200
    assert answer.context["month_form"].errors
    assert "of 96 there were 2 held" in answer.content.decode()


def test_nothing_is_known_of_months_before_the_first_card(hpc, client):  # noqa: F811
    log(job(1, "one", 2), job(2, "one", 2, day=6))
    client.force_login(hpc.operator)

    page = client.get(reverse("cluster", args=["hpc"]), {"month": "2020-01"}).content.decode()

    assert "Nothing is known of this month" in page
