"""Asked for, held and busy hours of a cluster: three numbers by month, and silence where nobody measured."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.urls import reverse

from core.months import Month
from usage.clusters.months import months_of
from usage.clusters.queries import days_of_cluster
from usage.clusters.utilised import ThreeHours, three_hours
from usage.models import Run, RunMetric

from .bills import deliver
from .test_clusters import hpc, job, log, no_worker  # noqa: F401

pytestmark = pytest.mark.django_db
HEADER = "JobID|JobIDRaw|State|Start|End|ElapsedRaw|Partition|AllocTRES|ReqTRES|TRESUsageInAve\n"


def measured_log(*rows: str) -> None:
    deliver(HEADER + "".join(rows), source="jobs")


def two_jobs() -> None:
    """Four cards from noon of 31 March to noon of 1 April, three of them busy; one card for six hours, unmeasured."""
    times = "2026-03-31T12:00:00|2026-04-01T12:00:00|86400"
    measured_log(
        f"1|1|COMPLETED|{times}|gpu|gres/gpu=4|gres/gpu=8|\n",
        f"1.batch|1.batch|COMPLETED|{times}||gres/gpu=4||gres/gpu:x=1,gres/gpuutil=300\n",
        "2|2|COMPLETED|2026-03-31T00:00:00|2026-03-31T06:00:00|21600|gpu|gres/gpu=1|gres/gpu=1|\n",
    )


def test_a_job_over_midnight_is_parted_and_the_unmeasured_is_left_out(hpc):  # noqa: F811
    two_jobs()

    found = three_hours(hpc.cluster, date(2026, 3, 1), date(2026, 4, 2))

    assert found[Month(2026, 3)] == ThreeHours(
        allocated=Decimal(54), requested=Decimal(102), requested_of=Decimal(54), utilised=Decimal(36),
        utilised_of=Decimal(48),
    )  # fmt: skip
    assert found[Month(2026, 4)].utilised_share == Decimal("0.75")
    assert (found[Month(2026, 4)].allocated, found[Month(2026, 4)].measured_share) == (48, 1)


def test_days_beyond_the_last_asked_for_are_left_out(hpc):  # noqa: F811
    two_jobs()

    found = three_hours(hpc.cluster, date(2026, 3, 1), date(2026, 4, 1))

    assert list(found) == [Month(2026, 3)]


def test_metrics_of_a_run_that_names_the_job_stand_in(hpc):  # noqa: F811
    two_jobs()
    run = Run.objects.create(slug="two", name="Two", job="2")
    for name, values in {"DCGM_FI_DEV_GPU_UTIL a": (40, 60), "loss": (9, 9)}.items():
        for step, value in enumerate(values):
            RunMetric.objects.create(
                run=run, name=name, step=step, at=datetime(2026, 3, 31, 1, tzinfo=UTC), value=value
            )

    found = three_hours(hpc.cluster, date(2026, 3, 1), date(2026, 4, 1))[Month(2026, 3)]
    RunMetric.objects.create(run=run, name="DCGM_FI_PROF_GR_ENGINE_ACTIVE a", step=1, value=0.25)
    of_engine = three_hours(hpc.cluster, date(2026, 3, 1), date(2026, 4, 1))[Month(2026, 3)]

    assert (found.utilised, found.utilised_of) == (39, 54)
    assert of_engine.utilised == Decimal("37.5")


def test_a_run_of_another_project_says_nothing_of_the_job(hpc):  # noqa: F811
    two_jobs()
    run = Run.objects.create(slug="two", name="Two", job="2", project=hpc.project)
    RunMetric.objects.create(run=run, name="DCGM_FI_DEV_GPU_UTIL a", step=1, value=50)

    found = three_hours(hpc.cluster, date(2026, 3, 1), date(2026, 4, 1))[Month(2026, 3)]

    assert found.utilised_of == 48


def test_a_log_that_measures_nothing_says_so(hpc, client):  # noqa: F811
    log(job(1, "one", 2), job(2, "one", 2, day=6))
    client.force_login(hpc.operator)

    page = client.get(reverse("cluster", args=["hpc"]), {"month": "2026-03"}).content.decode()

    assert "not measured" in page and "not said" in page
    assert "2026-03: of 96 there were 2 held, 0 in maintenance, 94 idle" in page


def test_months_stand_side_by_side_with_capacity_and_idle(hpc):  # noqa: F811
    two_jobs()

    march, april = months_of(hpc.cluster, days_of_cluster(hpc.cluster, date(2026, 3, 30), date(2026, 4, 2)))

    assert (march.month, march.capacity, march.allocated, march.idle) == (Month(2026, 3), 192, 54, 138)
    assert (april.capacity, april.allocated, april.hours.utilised) == (96, 48, 36)
