"""A cluster of the example organisation's own: cards with their price, a log of jobs, and what of it stood idle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

from budgets.services import ledger, lines
from config.demo_work import clock, midnight, send
from core.months import Month, Period
from core.vocabulary import Category, TaskType
from estimates.models import Accelerator
from overruns import tasks as overruns
from teams import services as teams
from teams.models import Project, Team, User
from usage import rules
from usage import services as usage
from usage.clusters import idle, prices
from usage.clusters import services as clusters
from usage.clusters.own_price import Running
from usage.models import CardLot, CardWindow, Cluster, ClusterPartition

SACCT = (
    "JobID JobIDRaw Cluster Account User Partition State Submit Start End ElapsedRaw AllocTRES ReqTRES NNodes NodeList "
    "NTasks TRESUsageInAve NCPUS JobName"
).split()
NODES, CARDS_OF_A_NODE = 4, 8
COSTS = Running(
    power_kw=Decimal("0.62"),
    pue=Decimal("1.25"),
    electricity_price=Decimal("0.09"),
    people_per_month=Decimal(3150),
    other_per_month=Decimal(940),
)
"""Of the laboratory's cards beside their purchase, in dollars."""
GRANTED = Decimal(30000)

DAY = (
    ("lab1", 0, 11, 8, 1, "rerank"),
    ("lab2", 0, 22, 5, 2, "probe"),
    ("lab3", 1, 9, 3, 1, "rerank"),
    ("lab4", 1, 20, 6, 0, "ablation"),
    ("lab1", 12, 23, 4, 0, "probe"),
    ("lab3", 14, 22, 8, 5, "ablation"),
)
"""Jobs of an ordinary day: node, hours from and to, cards, hours waited, name."""
BUSY = {"rerank": 71, "ablation": 54}
"""How many percent of a card's time work of a name keeps it busy; nobody measures the probes."""
ENDS = {
    (3, "lab1"): "NODE_FAIL",
    (5, "lab3"): "TIMEOUT",
    (6, "lab4"): "PREEMPTED",
    (11, "lab2"): "CANCELLED by 1001",
    (12, "lab2"): "FAILED",
}
"""Days of a fortnight on which the jobs of a node end otherwise."""


def show_cluster(operator: User, finance: User, now: datetime) -> None:
    """Four nodes in use since last month, at an hourly price derived from what they cost; idle is derived at once."""
    since = Month.of(now.date()) + -1
    project = open_study(since, operator, finance, now)
    source = usage.open_source(
        by=operator, slug="lab-jobs", name="Jobs of the laboratory", settings={"timezone": "UTC"}
    )
    cluster = Cluster(slug="lab", name="Laboratory", team=project.team, source=source)
    lot = open_cards(clusters.open_cluster(cluster, by=operator), since, operator)
    prices.enter_price(lot, COSTS, valid_from=since.start, by=finance, now=now)
    send(source, "lab-sacct.txt", jobs(midnight(now), since), operator)
    for delivery in idle.queue_statements(now=now):
        overruns.import_then_judge(delivery)


def open_study(since: Month, operator: User, finance: User, now: datetime) -> Project:
    """A small project that computes on the cluster, with money for it."""
    period = Period(since.start, (since + 4).start)
    project = teams.open_project(
        by=finance,
        team=Team.objects.get(slug="search-relevance"),
        name="Reranker study",
        currency="USD",
        task_type=TaskType.ABLATION,
        starts_on=period.start,
        ends_on=period.end,
    )
    line = lines.open_line(
        by=finance, project=project, category=Category.COMPUTE, period_kind="project", period=period
    )  # fmt: skip
    ledger.grant(line, by=finance, amount=GRANTED, reason="Hours of the laboratory", now=now)
    by_account = {"field": "account", "operator": "equals", "values": ["rerank"]}
    rules.add_rule(by=operator, name="Jobs of the reranker study", conditions=[by_account], project=project)
    return project


def open_cards(cluster: Cluster, since: Month, operator: User) -> CardLot:
    """Thirty-two cards with their price, a partition, a maintenance, and cards kept for an evaluation to come."""
    card = Accelerator.objects.get(slug="a100-sxm-80gb")
    lot = CardLot(
        cluster=cluster,
        accelerator=card,
        cards=NODES * CARDS_OF_A_NODE,
        cards_per_node=CARDS_OF_A_NODE,
        ordered_on=since.start - timedelta(days=84),
        starts_on=since.start,
        capital=Decimal(440000),
        residual=Decimal(40000),
        life_months=48,
        currency="USD",
    )
    clusters.add_cards(lot, by=operator)
    clusters.set_partition(ClusterPartition(cluster=cluster, name="lab", accelerator=card, mode="own"), by=operator)
    tenth = datetime.combine(since.start, time(), tzinfo=UTC) + timedelta(days=9)
    for kind, begins, hours, cards, reason in (
        ("maintenance", tenth, 10, CARDS_OF_A_NODE, "Firmware of one node"),
        ("reservation", tenth + timedelta(days=70), 72, 16, "Evaluation week"),
    ):
        window = CardWindow(
            cluster=cluster,
            kind=kind,
            accelerator=card,
            cards=cards,
            starts_at=begins,
            ends_at=begins + timedelta(hours=hours),
            reason=reason,
        )
        clusters.add_window(window, by=operator)
    return lot


def jobs(today: datetime, since: Month) -> Iterator[Sequence[object]]:
    """What `sacct -P` says: weekdays are full, weekends half so; some jobs end badly."""
    yield SACCT
    number = 7000
    for back in range((today.date() - since.start).days, 0, -1):
        midnight_of_day = today - timedelta(days=back)
        fortnight = (midnight_of_day.date() - since.start).days % 14
        for place, (node, begins, ends, cards, waited, name) in enumerate(DAY):
            if midnight_of_day.weekday() >= 5 and place % 2:
                continue
            number += 1
            start, end = (midnight_of_day + timedelta(hours=hour) for hour in (begins, ends))
            state = ENDS.get((fortnight, node), "COMPLETED") if begins < 12 else "COMPLETED"
            tres = f"billing={cards},cpu={cards * 12},gres/gpu={cards},gres/gpu:a100={cards},node=1"
            who = ("lab", "rerank", "search-researcher", "lab", state)
            times = (clock(start - timedelta(hours=waited)), clock(start), clock(end), (ends - begins) * 3600)
            yield number, number, *who, *times, tres, tres, 1, node, "", "", cards * 12, name
            if name in BUSY:
                busy = f"gres/gpuutil={cards * BUSY[name]}"
                yield f"{number}.batch", number, *who, *times, tres, "", 1, node, 1, busy, cards * 12, "batch"
