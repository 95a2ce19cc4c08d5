"""A storm of deliveries: fifty statements, each three times, out of order, by three workers at once. Every crossing is
told exactly once."""

from __future__ import annotations

import io
import random
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.utils import timezone

from budgets.queries import line_status
from core.months import Month, Period
from overruns.models import Crossing, Flag
from overruns.tasks import import_then_judge, judge_touched
from teams.models import Notification, OutboxMessage
from tests.budgets import factories
from tests.loop.bill import focus_bill
from tests.usage import factories as usage
from usage import services
from usage.models import AllocationRule, Import

pytestmark = pytest.mark.django_db(transaction=True)

STATEMENTS, TIMES, WORKERS = 50, 3, 3
JANUARY = Period(date(2027, 1, 1), date(2027, 2, 1))


@pytest.fixture
def deliveries(stage, settings, tmp_path):
    """The ids of the imports, in the order in which workers get them: the n-th statement says 20 × n dollars."""
    settings.MEDIA_ROOT = tmp_path
    AllocationRule.objects.create(position=1, name="all", conditions=[], project=stage.project, category="compute")
    source = usage.source()
    order = [number for number in range(1, STATEMENTS + 1) for _time in range(TIMES)]
    random.Random(7).shuffle(order)
    received = []
    for number in order:
        bill = focus_bill(Decimal(20 * number), Month.of(JANUARY.start), account="acct-1", days=JANUARY)
        issued = {"issued_at": (date(2027, 2, 1) + timedelta(days=number)).isoformat()}
        delivery = services.receive_file(
            source=source, by=None, name=f"{number}.csv", stream=io.BytesIO(bill), format="", settings=issued
        )
        received.append(delivery.pk)
    return received


def work(import_id: int) -> None:
    try:
        import_then_judge(import_id)
    finally:
        connection.close()


def test_every_crossing_is_told_exactly_once(stage, deliveries):
    line = factories.line(stage.project, granted=1000)
    factories.line(stage.other_project, granted=1)

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(work, deliveries))
    for import_id in services.imports_to_take_up(timezone.now()):
        import_then_judge(import_id)
    judge_touched()

    assert not Import.objects.filter(status__in=["queued", "running", "failed"]).exists()
    assert line_status(line).actual == 1000
    crossed = Crossing.objects.filter(kind="crossed", flag__threshold__basis="actual")
    assert sorted(crossed.values_list("flag__threshold__share", flat=True)) == [Decimal("0.8"), Decimal(1)]
    assert set(Flag.objects.filter(threshold__basis="actual").values_list("state", flat=True)) == {"above"}
    told = Notification.objects.values_list("kind", "user__email")
    team = {"manager@example.com", "alice@example.com", "bob@example.com"}
    assert sorted(told.filter(kind="line_warning")) == [("line_warning", email) for email in sorted(team)]
    overrun = [("line_overrun", email) for email in sorted(team | {"finance@example.com"})]
    assert sorted(told.filter(kind="line_overrun")) == overrun
    assert OutboxMessage.objects.filter(kind__in=["line_warning", "line_overrun"]).count() == 7
