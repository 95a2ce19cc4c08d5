"""Estimates on the database: a preview as one types, and every draft that a price change touches, computed and kept
again by two worker processes. Everything happens in a test database that is removed afterwards."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.conf import settings  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django.urls import reverse  # noqa: E402

from bench.engine import documents  # noqa: E402
from bench.table import Measure  # noqa: E402
from estimates import answers, queries, services, tasks  # noqa: E402
from estimates.engine.plan import parse_plan  # noqa: E402
from estimates.models import Estimate, EstimatePrice  # noqa: E402
from teams.models import Membership, Project, Role, Team, User  # noqa: E402
from web.plan_yaml import yaml_of  # noqa: E402

TITLE = "Estimates, stored"
DRAFTS, FEW = 10_000, 2_500
SAMPLES = 1_000
WORKERS = 2
PREVIEWS = 200
NOW = datetime(2026, 12, 1, 9, tzinfo=ZoneInfo("UTC"))
ROOT = Path(__file__).resolve().parents[1]
KEY_COLUMNS = ("kind", "item", "provider", "region", "mode", "currency")


def measure() -> list[Measure]:
    with test_database() as name:
        alice, project = people()
        services.load_catalogue(now=NOW)
        add_price("18000", "2026-06-01", kind="role", item="research engineer", provider="", mode="")
        add_price("2.50", "2026-06-01")
        preview = preview_seconds(alice)
        keep_drafts(alice, project, FEW)
        few = recomputed("2.40", "2026-07-01", name)
        keep_drafts(alice, project, DRAFTS - FEW)
        many = recomputed("2.30", "2026-08-01", name)
    return [
        Measure("preview request, p95", "ms", 120, 60, preview * 1000),
        Measure(
            f"{DRAFTS:,} drafts × {SAMPLES:,} samples after a price change",
            "s",
            30,
            10,
            many.seconds,
            beside=f"processor time: {many.busy:.0f} s of both workers, {many.database_busy:.0f} s of the database",
        ),
        Measure("memory of a worker", "MB", 600, 200, many.memory),
        Measure(
            "time of a draft, all against a quarter of them", "×", 1.25, 1.05, many.busy / DRAFTS / (few.busy / FEW)
        ),
    ]


@contextmanager
def test_database() -> Iterator[str]:
    """A database of its own, and its name."""
    kept = connection.settings_dict["NAME"]
    connection.settings_dict["TEST"]["NAME"] = f"bench_{kept}"
    name = connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "testserver"]
    try:
        yield name
    finally:
        connection.creation.destroy_test_db(kept, verbosity=0)


def people() -> tuple[User, Project]:
    team = Team.objects.create(name="Bench", slug="bench")
    alice = User.objects.create_user("alice@example.com", "bench", name="Alice")
    Membership.objects.create(user=alice, team=team, role=Role.MEMBER)
    return alice, Project.objects.create(team=team, name="Bench", slug="bench", currency="USD")


def add_price(amount: str, valid_from: str, **changes: str) -> None:
    """A price of what all plans rent, or of something else."""
    offer = {"kind": "accelerator", "item": "h100-sxm-80gb", "provider": "nebius", "mode": "on_demand", **changes}
    services.add_price(
        by=None, amount=amount, currency="USD", valid_from=valid_from, source="bench", verified=True, now=NOW, **offer
    )


def preview_seconds(alice: User) -> float:
    """The 95th percentile of the request that answers while one types, over a whole plan."""
    text = yaml_of(parse_plan((ROOT / "docs" / "plans" / "template-pretrain.yaml").read_bytes()).document)
    client = Client()
    client.force_login(alice)
    times = []
    for number in range(PREVIEWS):
        begun = time.perf_counter()
        answer = client.post(
            reverse("plan-preview"), {"plan_yaml": text.replace("count: 256", f"count: {256 + number}")}
        )
        times.append(time.perf_counter() - begun)
        assert answer.status_code == 200
    return sorted(times)[int(0.95 * PREVIEWS)]


def keep_drafts(alice: User, project: Project, count: int) -> None:
    """So many drafts with their answers and the prices they asked for."""
    made = Estimate.objects.count()
    plans = [parse_plan(document) for document in documents(made + count)[made:]]
    world = queries.world_of(project.team_id, on=NOW.date())
    for start in range(0, count, 500):
        portion = plans[start : start + 500]
        results = queries.answers_for([(plan.document, SAMPLES) for plan in portion], prices_on=NOW.date())
        drafts = []
        for plan, result in zip(portion, results, strict=True):
            assert result.answer is not None
            draft = Estimate(project=project, created_by=alice, samples=SAMPLES, prices_on=NOW.date(), computed_at=NOW)
            answers.fill(draft, plan, result.answer, queries.ground_of(plan.document, world, on=NOW.date()))
            drafts.append(draft)
        Estimate.objects.bulk_create(drafts)
        EstimatePrice.objects.bulk_create(
            EstimatePrice(estimate=draft, **dict(zip(KEY_COLUMNS, key, strict=True)))
            for draft in drafts
            for key in draft.answer["price_keys"]
        )


@dataclass(frozen=True)
class Recomputation:
    """What it took from the price change to the last draft stored. On a machine that does other things the seconds of
    the clock say little, those of the processors more."""

    seconds: float
    memory: float
    """The most of a worker, in MB."""
    busy: float
    """Processor seconds of both workers."""
    database_busy: float
    """Processor seconds of their sessions in the database; 0 where it is on another machine."""


def recomputed(amount: str, valid_from: str, database: str) -> Recomputation:
    connection.ensure_connection()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    workers = [started_worker(database) for _number in range(WORKERS)]
    for worker in workers:
        assert worker.stdout is not None and worker.stdout.readline().strip() == "ready"
    begun = time.perf_counter()
    add_price(amount, valid_from)
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    said = [[float(word) for word in worker.communicate()[0].split()] for worker in workers]
    seconds = time.perf_counter() - begun
    assert not Estimate.objects.stale().exists(), "drafts are left over"
    memory, busy, database_busy = zip(*said, strict=True)
    return Recomputation(seconds, max(memory), sum(busy), sum(database_busy))


def started_worker(database: str) -> Any:
    own = connection.settings_dict
    address = f"{own['HOST']}:{own['PORT']}" if own["PORT"] else own["HOST"]
    url = f"postgres://{own['USER']}:{own['PASSWORD']}@{address}/{database}"
    if own["HOST"].startswith("/"):
        url = f"postgres://{own['USER']}:{own['PASSWORD']}@/{database}?host={own['HOST']}"
    return subprocess.Popen(
        [sys.executable, "-m", "bench.estimates"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": url},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def work() -> None:
    """What one worker process does: wait for the word, compute what is stale, say what memory and time that took."""
    Estimate.objects.stale().exists()
    print("ready", flush=True)
    sys.stdin.readline()
    begun, session_begun = time.process_time(), session_seconds()
    tasks.recompute_stale()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(memory, time.process_time() - begun, session_seconds() - session_begun, flush=True)


def session_seconds() -> float:
    """Processor seconds of our session in the database so far, where it runs on this machine."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        status = Path(f"/proc/{cursor.fetchone()[0]}/stat")
    if not status.exists() or "postgres" not in (words := status.read_text()):
        return 0.0
    user, system = words.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    work()
