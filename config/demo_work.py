"""What ran in the example organisation and what came of it: a run with its job log, hours of a service, what lies in
storage, a piece of work that is done and taught something, and a closed month of which more became known later."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

from budgets.models import Asset, Proposal
from budgets.services import assets, closing, proposals
from core.months import Month
from overruns import tasks as overruns
from retrospectives import services as retrospectives
from retrospectives.measured import Measured
from retrospectives.models import Retrospective
from teams.models import Project, User
from usage import rules
from usage import services as usage
from usage.formats.metrics.contract import Point
from usage.models import Source
from usage.runs import services as runs

SACCT = (
    "JobID JobIDRaw Cluster Account User Partition State Submit Start End ElapsedRaw AllocTRES NCPUS JobName".split()
)
RUN_DAYS = 12
POINTS_A_DAY = 24
STEPS_A_POINT = 250
FAILED_ON = 7
"""The day of the run on which a node failed and the work of some hours was lost."""
TERABYTE = 10**12


def deliver(
    slug: str, name: str, file: str, rows: Iterable[Sequence[object]], by: User, settings: dict[str, object]
) -> None:
    """Open a source and deliver one table to it."""
    send(usage.open_source(by=by, slug=slug, name=name, settings=settings), file, rows, by)


def send(source: Source, file: str, rows: Iterable[Sequence[object]], by: User) -> None:
    """Deliver one table."""
    text = io.StringIO(newline="")
    csv.writer(text, delimiter="|" if file.endswith(".txt") else ",", lineterminator="\n").writerows(rows)
    stream = io.BytesIO(text.getvalue().encode())
    delivery = usage.receive_file(source=source, by=by, name=file, stream=stream)
    overruns.import_then_judge(delivery.pk)


def show_run(project: Project, proposal: Proposal, researcher: User, operator: User, now: datetime) -> None:
    """A main run that lost a node, began again from its checkpoint, and still runs."""
    began = midnight(now) - timedelta(days=RUN_DAYS)
    rules.add_rule(
        by=operator,
        name="Jobs of the foundation team",
        conditions=[{"field": "account", "operator": "equals", "values": ["foundation"]}],
        project=project,
    )
    quantities_only: dict[str, object] = {"money": "none", "timezone": "UTC"}
    deliver("cluster-jobs", "Jobs of the cluster", "sacct.txt", jobs(began, now), operator, quantities_only)
    run = runs.open_run(
        by=researcher,
        slug="base-7b-main",
        name="Base-7B main run",
        project=project,
        reference=proposal.reference,
        job="48211",
    )
    runs.report_points(run, by=researcher, points=list(course(began)))


def jobs(began: datetime, now: datetime) -> Iterator[Sequence[object]]:
    """What `sacct -P` says of the job: once ended by a failed node, once running."""
    failed = began + timedelta(days=FAILED_ON, hours=9)
    again = failed + timedelta(minutes=38)
    cards = "billing=256,cpu=3072,gres/gpu:h100=256,gres/gpu=256,node=32"
    yield SACCT
    for start, end, state in ((began, failed, "NODE_FAIL"), (again, None, "RUNNING")):
        seconds = int(((end or midnight(now)) - start).total_seconds())
        times = (clock(start), clock(start), clock(end) if end else "Unknown")
        who = ("48211", "48211", "north", "foundation", "researcher", "gpu")
        yield *who, state, *times, seconds, cards, 3072, "base-7b-main"


def clock(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}"


def course(began: datetime) -> Iterator[Point]:
    """Loss, tokens a second and MFU by the hour; after the failure the last hours are run once more."""
    lost = 6
    failed = FAILED_ON * POINTS_A_DAY + 9
    for number in range(RUN_DAYS * POINTS_A_DAY):
        step = STEPS_A_POINT * (number + 1 if number < failed else number + 1 - lost)
        at = began + timedelta(hours=number + 1, minutes=38 if number >= failed else 0)
        wave = math.sin(number / 3) + math.sin(number / 1.3)
        yield Point("loss", step, at, round(1.9 + 6.5 * (step / 250 + 3) ** -0.55 + wave * 0.012, 4))
        yield Point("tokens_per_second", step, at, round(2_410_000 + wave * 21_000, 1))
        yield Point("mfu", step, at, round(0.392 + wave * 0.004, 4))


def show_services(operator: User, now: datetime) -> None:
    """Two weeks of an assistant that is asked for by day, and of its retrieval."""
    deliver(
        "gateway",
        "Gateway of the services",
        "services.csv",
        hours_asked(midnight(now) - timedelta(days=14)),
        operator,
        {},
    )


ASKED = (("assistant", 2600, 1450, 310, 900), ("retrieval", 7100, 380, 0, 85))
"""Services: requests of a middling hour, tokens in and out of each, p95 latency in ms."""


def hours_asked(since: datetime) -> Iterator[Sequence[object]]:
    names = ("hour", "service", "requests", "input_tokens", "output_tokens", "p95_latency_ms", "timeouts", "cache_hits")
    yield names
    for number in range(14 * 24):
        hour = since + timedelta(hours=number)
        crowd = 1 + math.sin((hour.hour - 2) / 24 * 2 * math.pi)
        for service, scale, tokens, answer, latency in (
            ("assistant", 2600, 1450, 310, 900),
            ("retrieval", 7100, 380, 0, 85),
        ):
            asked = int(scale * (crowd + 0.15) * (0.7 if hour.weekday() >= 5 else 1))
            slow = int(latency * (1 + 0.35 * crowd))
            missed = asked // 900 if crowd > 1.8 else 0
            yield f"{hour:%Y-%m-%dT%H:%M:%SZ}", service, asked, asked * tokens, asked * answer, slow, missed, asked // 6


def show_storage(operator: User, now: datetime) -> None:
    """What lies in the bucket of the foundation team: checkpoints, a corpus and its copy, logs nobody reads."""
    deliver("lake", "Lake", "inventory.csv", things_held(midnight(now)), operator, {})


def things_held(today: datetime) -> Iterator[Sequence[object]]:
    yield "bucket", "key", "size", "last_modified", "last_access", "storage_class", "etag"

    def thing(key: str, size: int, days: int, read: int, kind: str, etag: str) -> Sequence[object]:
        modified, accessed = today - timedelta(days=days), today - timedelta(days=read)
        return "lake", key, size, f"{modified:%Y-%m-%dT%H:%M:%SZ}", f"{accessed:%Y-%m-%dT%H:%M:%SZ}", kind, etag

    for number in range(1, 13):
        for shard in range(1, 5):
            key = f"runs/base-7b-main/checkpoints/step_{number * 6000}/model-{shard:05d}.safetensors"
            yield thing(
                key, 21 * TERABYTE // 1000, 13 - number, 13 - number, "STANDARD", f"{number:02d}{shard:02d}" * 8
            )
    for part in range(1, 41):
        yield thing(f"data/web/part-{part:04d}.parquet", TERABYTE // 8, 140, 12, "STANDARD", f"a{part:03d}" * 8)
        if part <= 12:
            yield thing(f"home/copy/part-{part:04d}.parquet", TERABYTE // 8, 120, 118, "STANDARD", f"a{part:03d}" * 8)
    for part in range(1, 25):
        yield thing(f"logs/2025/trace-{part:03d}.jsonl", TERABYTE // 20, 400, 390, "STANDARD_IA", f"c{part:03d}" * 8)


def finish(proposal: Proposal, manager: User, now: datetime) -> None:
    """Work that is done: its proposal is closed, what was measured is written down, and the next estimate learns."""
    proposals.close_proposal(proposal, by=manager, reason="The ladder is done.", now=now)
    proposal.refresh_from_db()
    found = retrospectives.open_for_proposal(proposal, by=manager, now=now)
    retrospectives.write_retrospective(
        found,
        by=manager,
        cause="Two rungs were run twice after the learning rate was found too high; speed was as planned.",
        acceptance=Retrospective.Acceptance.MET,
        acceptance_note="The loss of the largest rung lies on the line of the smaller ones.",
    )
    retrospectives.write_measurement(
        found,
        by=manager,
        measured=Measured(
            accelerator_hours=Decimal(1850),
            experiment_share=Decimal("0.22"),
            mfu=Decimal("0.37"),
            goodput=Decimal("0.93"),
            rollback_share=Decimal("0.012"),
            interruptions=Decimal(1),
            price_per_accelerator_hour=Decimal("2.41"),
        ),
        runs=4,
        since=(now - timedelta(days=70)).date(),
        until=(now - timedelta(days=12)).date(),
        accelerator="h100-sxm-80gb",
    )
    retrospectives.add_action(
        found,
        by=manager,
        text="Sweep the learning rate on the smallest rung first",
        owner=proposal.requester,
        due_on=(now + timedelta(days=20)).date(),
    )
    retrospectives.close_retrospective(found, by=manager, now=now)


def offer(proposal: Proposal, user_of_it: Project, manager: User, month: Month) -> None:
    """What the finished work made is an asset, and another project uses it."""
    said = assets.NewAsset(
        name="Base-1B",
        kind=Asset.Kind.MODEL,
        cost=Decimal(54000),
        starts_on=month,
        life_in=Asset.Life.MONTHS,
        life=18,
        owner=manager,
        licence=Asset.Licence.OWN,
        compliance=Asset.Compliance.CLEARED,
        is_offered=True,
        proposal=proposal,
    )
    made = assets.add_asset(proposal.project, said, by=manager)
    assets.use_asset(made, user_of_it, by=manager, since=month)


def close_first_month(month: Month, finance: User) -> None:
    """The books of the first month, whose bills a provider may still change: accepted, and so it comes."""
    closing.close_month(
        month, by=finance, accepted=["scopes"], reason="The bills of the quarter are known well enough."
    )


def midnight(now: datetime) -> datetime:
    return datetime.combine(now.astimezone(UTC).date(), time(), tzinfo=UTC)
