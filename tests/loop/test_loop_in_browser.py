"""The whole loop as people walk it: a plan, its approval, a bill, the flag. Browser, broker and worker are real."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from budgets.models import BudgetLine, Proposal
from budgets.queries import line_status
from core.months import Month, Period
from core.vocabulary import Category
from estimates import services as estimates
from teams.models import Notification, User
from tests import browser, outside
from tests.factories import PASSWORD
from tests.letters import letters
from tests.loop.bill import focus_bill
from usage import rules
from usage import services as usage

pytestmark = [pytest.mark.browser, pytest.mark.worker, pytest.mark.django_db(transaction=True)]
SECONDS_TO_THE_FLAG = 10


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    yield from browser.launch()


@pytest.fixture
def worker(transactional_db, settings, tmp_path) -> Iterator[None]:
    """A Celery worker of its own, with the clock, on the database and the broker of the tests."""
    settings.MEDIA_ROOT = tmp_path / "files"
    celery = [sys.executable, "-m", "celery", "-A", "config", "worker", "-B", "-s", str(tmp_path / "beat")]
    process = subprocess.Popen(
        [*celery, "-c", "1", "-Q", "imports,estimates,default", "-l", "WARNING"],
        cwd=settings.BASE_DIR,
        env=outside.environment(settings.MEDIA_ROOT, EMAIL_URL="dummymail://"),
        start_new_session=True,
    )
    yield
    os.killpg(process.pid, signal.SIGTERM)
    process.wait(timeout=90)


@pytest.fixture
def ready(stage):
    """The catalogue of prices, a source, and a rule that places the usage of one account."""
    estimates.load_catalogue()
    usage.open_source(by=stage.operator, slug="cloud", name="Cloud bills", format="focus")
    rules.add_rule(
        by=stage.operator,
        name="Account of Base 7B",
        conditions=[{"field": "account", "operator": "equals", "values": ["acct-base"]}],
        project=stage.project,
    )
    return stage


@pytest.fixture
def enter(chromium, live_server):
    """Opens a window of a person who signs in as people do."""
    windows = []

    def window(person: User) -> Page:
        windows.append(chromium.new_context(viewport={"width": 1360, "height": 1240}, base_url=live_server.url))
        page = windows[-1].new_page()
        page.goto("/login/")
        page.get_by_label("E-mail").fill(person.email)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/")
        return page

    yield window
    for context in windows:
        context.close()


def write_and_submit(page: Page, slug: str, start: str) -> None:
    """Fill the plan in, watch the estimate follow without a reload, and submit."""
    page.goto(f"/projects/{slug}/")
    page.get_by_role("link", name="New proposal").first.click()
    page.evaluate("window.sameDocument = true")
    for name, value in {
        "f.name": "Base 1B",
        "f.start": start,
        "f.model.parameters": "1B",
        "f.data.tokens": "200B",
        "f.compute.count": "64",
        "f.compute.mfu": "40%",
    }.items():
        page.locator(f"[name='{name}']").fill(value)
    page.locator("[name='f.compute.accelerator']").select_option("h100-sxm-80gb")
    expect(page.locator("#estimate")).to_contain_text("P10", timeout=30_000)
    first = page.locator("#estimate").inner_text()
    page.locator("[name='f.data.tokens']").fill("400B")
    expect(page.locator("#estimate")).not_to_have_text(first, timeout=30_000)
    expect(page.locator("#estimate")).to_contain_text("USD")
    assert page.evaluate("window.sameDocument"), "the page was loaded again"
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/proposals/*/")


def approve(page: Page) -> None:
    """Find what waits on the first page and approve it."""
    page.goto("/")
    page.get_by_role("link", name="Base 1B").first.click()
    page.get_by_role("button", name="Approve", exact=True).first.click()
    page.locator("dialog[open] button[name=outcome]").click()
    expect(page.get_by_text("approved").first).to_be_visible()


def upload(page: Page, content: bytes) -> None:
    """Deliver a bill by the page, and follow it until it is live."""
    page.goto("/usage/imports/new/")
    page.locator("select[name=source]").select_option("cloud")
    page.locator("input[type=file]").set_input_files({"name": "bill.csv", "mimeType": "text/csv", "buffer": content})
    page.locator("main form:has(input[type=file]) button[type=submit]").click()
    page.wait_for_url("**/usage/imports/*/", timeout=30_000)


def test_a_plan_is_written_approved_spent_and_flagged(ready, worker, enter):
    stage = ready
    month = Month.of(timezone.now().date())
    write_and_submit(enter(stage.alice), stage.project.slug, month.start.isoformat())
    proposal = Proposal.objects.get()
    assert (proposal.state, proposal.requester) == ("submitted", stage.alice)

    approve(enter(stage.manager))
    proposal.refresh_from_db()
    compute = BudgetLine.objects.get(project=stage.project, category=Category.COMPUTE)
    promised = line_status(compute)
    assert (proposal.state, promised.headroom) == ("approved", 0)
    assert promised.committed == promised.budget > 0

    spent = (promised.budget * Decimal("1.1")).quantize(Decimal("0.01"))
    watcher = enter(stage.alice)
    operator = enter(stage.operator)
    upload(
        operator, focus_bill(spent, month, account="acct-base", days=Period(month.start, month.start + timedelta(1)))
    )
    uploaded = time.monotonic()
    watcher.goto(f"/projects/{stage.project.slug}/")
    while "overrun" not in watcher.locator("main").inner_text():
        assert time.monotonic() - uploaded < SECONDS_TO_THE_FLAG, "no flag within ten seconds of the upload"
        time.sleep(0.2)
        watcher.reload()

    expect(operator.get_by_text("live").first).to_be_visible(timeout=30_000)
    assert line_status(compute).actual == spent
    told = Notification.objects.filter(user=stage.manager, kind="line_overrun")
    subjects = [letter.subject for letter in letters(stage.manager) if "limit" in letter.subject.lower()]
    assert (told.count(), len(subjects)) == (1, 1)
