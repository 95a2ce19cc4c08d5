"""The register of clusters: capacity by day, maintenance apart, and idle hours whose money is shared cost."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from core.errors import DomainError
from core.months import Month
from overruns.tasks import derive_idle_hours
from teams.models import Activity
from tests.estimates import factories as prices
from tests.usage import factories
from usage import queries, rules, services
from usage.clusters import services as clusters
from usage.clusters.capacity import Lot, Window, card_days
from usage.clusters.queries import capacity_by_month, days_of_cluster, known_until
from usage.models import AllocationRule, CardLot, CardWindow, Cluster, ClusterPartition, Import, Source
from usage.totals import Question, usage_totals

from .bills import deliver, drop_temporary_tables
from .test_parts import COLUMNS, HEADER, NODE, focus, job

UTC_ZONE = ZoneInfo("UTC")


def hours(days) -> list[tuple[int, Decimal, Decimal]]:
    return [(each.day.day, each.capacity, each.maintenance) for each in days]


def test_cards_come_and_go_by_day_and_maintenance_is_no_capacity():
    lots = [
        Lot("h100", 8, date(2026, 3, 1)),
        Lot("h100", 4, date(2026, 3, 2), date(2026, 3, 3)),
        Lot("a100", 2, date(2026, 4, 1)),
    ]
    windows = [
        Window(datetime(2026, 3, 1, 22, tzinfo=UTC), datetime(2026, 3, 2, 1, tzinfo=UTC)),
        Window(datetime(2026, 3, 2, 0, tzinfo=UTC), datetime(2026, 3, 2, 2, tzinfo=UTC), "a100"),
    ]

    days = list(card_days(lots, windows, date(2026, 3, 1), date(2026, 3, 4), UTC_ZONE))

    assert hours(days) == [(1, 192, 16), (2, 288, 12), (3, 192, 0)]


def test_a_day_of_the_change_of_clocks_has_its_own_length():
    zone = ZoneInfo("Europe/Berlin")

    days = list(card_days([Lot("h100", 2, date(2026, 1, 1))], [], date(2026, 3, 28), date(2026, 3, 30), zone))

    assert [each.capacity for each in days] == [48, 46]


def test_windows_that_overlap_take_no_more_than_there_is():
    window = Window(datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC), "h100", 3)

    (day,) = card_days(
        [Lot("h100", 4, date(2026, 3, 1))], [window, window], date(2026, 3, 1), date(2026, 3, 2), UTC_ZONE
    )

    assert (day.capacity, day.maintenance, day.idle) == (96, 96, 0)


@pytest.fixture
def hpc(stage, kept_files):
    """A cluster of four own cards from 5 March on, at 3 USD an hour; a job of two hours on one of them."""
    prices.price(mode="own", provider="", amount="3", valid_from="2026-01-01")
    services.open_source(by=None, slug="jobs", settings={"money": "rate_card"})
    stage.cluster = clusters.open_cluster(
        Cluster(slug="hpc", name="HPC", source=Source.objects.get(slug="jobs"), team=stage.team), by=stage.operator
    )
    stage.card = prices.accelerator()
    lot = CardLot(cluster=stage.cluster, accelerator=stage.card, cards=4, starts_on=date(2026, 3, 5))
    stage.lot = clusters.add_cards(lot, by=stage.operator)
    clusters.set_partition(
        ClusterPartition(cluster=stage.cluster, name="gpu", accelerator=stage.card, mode="own"), by=stage.operator
    )
    return stage


def log(*jobs: str) -> dict:
    return deliver(HEADER + "".join(jobs), source="jobs")


def derive() -> list[str]:
    """Let the clock derive idle hours; what their imports came to."""
    known = Import.objects.filter(source__slug="idle-hpc").count()
    derive_idle_hours.run()
    found = Import.objects.filter(source__slug="idle-hpc").order_by("id")[known:]
    answers = []
    for each in found:
        drop_temporary_tables()
        answers.append(services.run_import(each.pk)["status"])
    return answers


@pytest.fixture(autouse=True)
def no_worker(monkeypatch):
    monkeypatch.setattr("overruns.tasks.take_up_imports", lambda: None)


def test_the_partition_of_the_register_prices_the_hours_of_the_log(hpc, db):
    answer = log(job(1, "one", 2))

    assert answer["totals"]["USD"]["effective"] == "6"


def test_what_nobody_held_is_shared_cost_at_the_price_of_a_job(hpc, db):
    log(job(1, "one", 2), job(2, "one", 2, day=6))

    assert derive() == ["live"]

    assert known_until(hpc.cluster) == date(2026, 3, 6)
    (conserved,) = queries.conservation()
    assert conserved.holds
    assert conserved.shared == (96 - 2) * 3
    assert conserved.unallocated == 12
    _whole, (group,) = usage_totals(Question(source="idle-hpc", by=["stage", "category", "accelerator"]))
    assert group.key == {"stage": "idle", "category": "compute", "accelerator": "h100-sxm-80gb"}
    assert (group.accelerator_hours, group.quantities) == (0, {"idle accelerator-hour": 94})


def test_idle_is_derived_again_when_the_log_the_register_or_the_price_moves(hpc, db):
    log(job(1, "one", 2), job(2, "one", 2, day=6))
    derive()
    assert derive() == []

    log(job(3, "one", 4))
    assert derive() == ["live"]
    clusters.add_window(
        CardWindow(
            cluster=hpc.cluster, reason="Firmware",
            starts_at=datetime(2026, 3, 5, 12, tzinfo=UTC), ends_at=datetime(2026, 3, 5, 14, tzinfo=UTC),
        ),
        by=hpc.operator,
    )  # fmt: skip
    assert derive() == ["live"]
    prices.price(mode="own", provider="", amount="2", valid_from="2026-03-05")
    assert derive() == ["live"]

    (conserved,) = queries.conservation()
    assert (conserved.shared, conserved.holds) == ((96 - 8 - 6) * 2, True)
    assert known_until(hpc.cluster) == date(2026, 3, 6)


def test_idle_without_a_price_bears_no_money_and_the_hours_stand(hpc, db):
    other = prices.accelerator("a100-sxm-80gb")
    clusters.add_cards(
        CardLot(cluster=hpc.cluster, accelerator=other, cards=1, starts_on=date(2026, 3, 5)), by=hpc.operator
    )
    log(job(1, "one", 2), job(2, "one", 2, day=6))

    derive()

    whole, _groups = usage_totals(Question(source="idle-hpc"))
    assert whole.quantities == {"idle accelerator-hour": 94 + 24}
    assert whole.totals == {"USD": 94 * 3}


def test_a_rule_may_split_idle_over_those_who_used_something(hpc, db):
    conditions = [{"field": "account", "operator": "equals", "values": ["one"]}]
    rules.add_rule(by=hpc.operator, name="One", conditions=conditions, project=hpc.project)
    rule = AllocationRule.objects.get(source__slug="idle-hpc")
    rule.is_shared, rule.split = False, "usage"
    rules.save_rule(rule, by=hpc.operator)
    log(job(1, "one", 2), job(2, "one", 2, day=6))

    derive()

    (conserved,) = queries.conservation()
    assert (conserved.projects, conserved.shared, conserved.holds) == (94 * 3 + 12, 0, True)


def test_more_held_than_the_register_knows_is_told_and_never_negative(hpc, db):
    log(*(job(number, "one", 24) for number in range(1, 6)), job(9, "one", 1, day=6))

    (day,) = days_of_cluster(hpc.cluster, date(2026, 3, 5), date(2026, 3, 6))

    assert (day.allocated, day.idle, day.beyond) == (120, 0, 24)


def test_cards_that_a_bill_carries_leave_their_idle_hours_in_that_bill(stage, kept_files, db):
    prices.price(mode="own", provider="", amount="3", valid_from="2026-01-01")
    factories.source("cloud")
    services.open_source(by=None, slug="jobs", settings={"part_of": "cloud", "money": "rate_card"})
    cluster = clusters.open_cluster(
        Cluster(slug="rented", name="Rented", source=Source.objects.get(slug="jobs"), mode="committed"),
        by=stage.operator,
    )
    card = prices.accelerator()
    clusters.add_cards(
        CardLot(cluster=cluster, accelerator=card, cards=1, starts_on=date(2026, 3, 5)), by=stage.operator
    )
    conditions = [{"field": "account", "operator": "equals", "values": ["one"]}]
    rules.add_rule(by=stage.operator, name="One", conditions=conditions, project=stage.project)
    deliver(focus({**NODE, "BilledCost": "100", "EffectiveCost": "100"}, columns=COLUMNS), source="cloud")

    log(job(1, "one", 18), job(2, "one", 0, day=6).replace("COMPLETED", "RUNNING"))
    drop_temporary_tables()
    derive_idle_hours.run()

    assert cluster.idle_source is None
    (conserved,) = queries.conservation()
    assert (conserved.projects, conserved.shared, conserved.unallocated) == (75, 25, 0)
    assert conserved.sources == 100


def test_only_operators_keep_the_register_and_faults_are_named(hpc, db):
    with pytest.raises(DomainError):
        clusters.add_cards(
            CardLot(cluster=hpc.cluster, accelerator=hpc.card, cards=1, starts_on=date(2026, 3, 5)), by=hpc.manager
        )
    with pytest.raises(DomainError) as refused:
        clusters.add_cards(
            CardLot(
                cluster=hpc.cluster, accelerator=hpc.card, cards=1, starts_on=date(2026, 3, 5),
                ends_on=date(2026, 3, 5), capital=Decimal(5), ordered_on=date(2026, 4, 1), residual=Decimal(6),
            ),
            by=hpc.operator,
        )  # fmt: skip

    assert [fault.path for fault in refused.value.faults] == ["ends_on", "capital", "residual", "ordered_on"]
    assert CardLot.objects.count() == 1
    assert set(Activity.objects.filter(verb__startswith="cluster.").values_list("verb", flat=True)) == {
        "cluster.opened", "cluster.cards_added", "cluster.partition_set",
    }  # fmt: skip


def test_two_clusters_of_one_log_need_names_that_tell_them_apart(hpc, db):
    source = Source.objects.get(slug="jobs")

    with pytest.raises(DomainError) as refused:
        clusters.open_cluster(Cluster(slug="second", name="Second", source=source, log_name="b"), by=hpc.operator)

    assert refused.value.faults[0].path == "log_name"


def test_a_changed_partition_prices_what_is_stored_again(hpc, db):
    prices.price(mode="on_demand", provider="", amount="5", valid_from="2026-01-01")
    log(job(1, "one", 2))
    drop_temporary_tables()

    clusters.set_partition(
        ClusterPartition(cluster=hpc.cluster, name="gpu", accelerator=hpc.card, mode="on_demand"),
        by=hpc.operator, now=timezone.now(),
    )  # fmt: skip
    for each in Import.objects.open():
        assert services.run_import(each.pk)["rows_written"] == 1

    whole, _groups = usage_totals(Question(source="jobs", basis="effective"))
    assert whole.totals == {"USD": 10}


def test_the_loss_of_value_of_a_card_goes_by_its_life(hpc, db):
    lot = CardLot(
        cluster=hpc.cluster, accelerator=hpc.card, cards=2, starts_on=date(2026, 3, 1), life_months=10,
        capital=Decimal(18000), residual=Decimal(3400), currency="USD", ordered_on=date(2026, 1, 30),
    )  # fmt: skip

    clusters.add_cards(lot, by=hpc.operator)

    assert (lot.loss_per_hour, lot.lead_days, lot.life_ends_on) == (1, 30, date(2027, 1, 1))


def test_reserved_cards_are_not_free_and_idle_until_a_job_holds_them():
    windows = [
        Window(datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 1, 10, tzinfo=UTC), "h100", 2, is_reservation=True),
        Window(datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 1, 1, tzinfo=UTC)),
    ]

    (day,) = card_days([Lot("h100", 4, date(2026, 3, 1))], windows, date(2026, 3, 1), date(2026, 3, 2), UTC_ZONE)

    assert (day.capacity, day.maintenance, day.reserved, day.free, day.idle) == (96, 4, 20, 72, 92)


def test_capacity_by_month_knows_months_to_come(hpc, db, django_assert_num_queries):
    reserved = CardWindow(
        cluster=hpc.cluster, reason="Exam week", kind="reservation", cards=1,
        starts_at=datetime(2026, 4, 1, tzinfo=UTC), ends_at=datetime(2026, 4, 3, tzinfo=UTC),
    )  # fmt: skip
    clusters.add_window(reserved, by=hpc.operator)

    with django_assert_num_queries(5):
        march, april = capacity_by_month(Month(2026, 3), Month(2026, 5))

    assert (march.cluster, march.accelerator, march.month) == (hpc.cluster, "h100-sxm-80gb", Month(2026, 3))
    assert (march.capacity, march.free) == (27 * 24 * 4, 27 * 24 * 4)
    assert (april.capacity, april.reserved, april.free) == (2880, 48, 2832)


CLUSTERS = "JobID|Cluster|Account|Partition|State|Start|End|ElapsedRaw|AllocTRES\n"


def on_cluster(number: int, name: str, partition: str, hours: int) -> str:
    times = f"2026-03-05T00:00:00|2026-03-05T{hours:02}:00:00|{hours * 3600}"
    return f"{number}|{name}|one|{partition}|COMPLETED|{times}|gres/gpu=1\n"


@pytest.mark.parametrize("partitions", [("gpu", "gpu"), ("east", "west")])
def test_two_clusters_of_one_log_are_told_apart_also_where_their_keys_are_the_same(stage, db, kept_files, partitions):
    """With partitions of one name the rollup cannot tell the clusters apart, and the jobs themselves are asked."""
    services.open_source(by=None, slug="jobs", settings={"money": "none"})
    source, card = Source.objects.get(slug="jobs"), prices.accelerator()
    for name in ("east", "west"):
        opened = clusters.open_cluster(
            Cluster(slug=name, name=name, source=source, log_name=name), by=stage.operator
        )  # fmt: skip
        lot = CardLot(cluster=opened, accelerator=card, cards=4, starts_on=date(2026, 3, 5))
        clusters.add_cards(lot, by=stage.operator)
    rows = on_cluster(1, "east", partitions[0], 2) + on_cluster(2, "west", partitions[1], 7)
    deliver(CLUSTERS + rows, source="jobs")

    held = {
        each.slug: [day.allocated for day in days_of_cluster(each, date(2026, 3, 5), date(2026, 3, 6))]
        for each in Cluster.objects.all()
    }

    assert held == {"east": [2], "west": [7]}
