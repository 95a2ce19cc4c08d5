"""The plan form in a real browser: the estimate follows as one types, without a reload and without a complaint."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from estimates.models import Estimate
from tests import browser
from tests.estimates import factories
from tests.web.test_in_browser import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
UNHURRIED = 1_000
"""Milliseconds between two choices of a person. Quicker ones overtake the answer to the choice before."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    yield from browser.launch()


@pytest.fixture
def prices(stage) -> None:
    factories.accelerator()
    factories.price(amount="2")
    for grade in ("hot", "archive"):
        factories.price(kind="storage", item=grade, mode="", amount="0.02")


@pytest.fixture
def visitor(stage, prices, chromium, live_server) -> Iterator[Visitor]:
    found = Visitor(chromium, live_server.url, stage.alice, viewport={"width": 1360, "height": 1000})
    yield found
    found.context.close()


@pytest.fixture
def form(stage, visitor) -> Page:
    """A plan that is filled in: 1,000 accelerator-hours at 2 USD."""
    page = visitor.goto(f"/proposals/new/?project={stage.project.slug}")
    page.fill("#field-model-parameters", "7B")
    page.fill("#field-data-tokens", "33.912B")
    page.select_option("#field-compute-accelerator", "h100-sxm-80gb")
    page.fill("#field-compute-count", "8")
    page.fill("#field-compute-mfu", "40%")
    expect(page.locator("#estimate .value")).to_contain_text("USD")
    return page


def total(page: Page) -> int:
    return int("".join(digit for digit in page.inner_text("#estimate .value") if digit.isdigit()))


def test_the_estimate_follows_as_one_types_without_a_reload(form, visitor):
    form.evaluate("window.stayed = true")
    before = total(form)

    form.fill("#field-data-tokens", "67.824B")
    expect(form.locator("#estimate .value")).not_to_contain_text(f"{before:,}")

    assert total(form) > 1.5 * before
    assert form.evaluate("window.stayed")
    assert form.evaluate("document.activeElement.id") == "field-data-tokens"
    assert visitor.violations == []


def test_a_wrong_figure_is_said_beside_its_field_and_taken_back(form, visitor):
    form.fill("#field-compute-count", "zero")
    expect(form.locator("#said-compute-count")).to_have_class("errorlist")
    expect(form.locator("#state-compute")).to_contain_text("1 to correct")

    form.fill("#field-compute-count", "16")

    expect(form.locator("#said-compute-count")).to_have_class("hint")
    expect(form.locator("#estimate .value")).to_contain_text("USD")
    assert visitor.violations == []


def test_a_number_becomes_a_range_and_the_chart_shows_it(form, visitor):
    form.get_by_role("button", name="as a range").first.click()
    ends = form.locator('[name^="f.compute.mfu~"]')
    expect(ends).to_have_count(3)
    ends.nth(0).fill("30%")
    ends.nth(2).fill("45%")

    expect(form.locator("#estimate svg", has_text="MFU")).to_be_visible()
    assert visitor.violations == []


def test_why_opens_a_tree_and_escape_closes_it(form, visitor):
    form.get_by_role("button", name="why?").click()
    dialog = form.locator("#plan-why")
    expect(dialog.locator(".tree")).to_contain_text("useful_accelerator_hours")

    form.keyboard.press("Escape")

    expect(dialog).to_be_hidden()
    assert visitor.violations == []


def test_the_plan_is_edited_as_text_and_comes_back_as_a_form(form, visitor):
    form.get_by_role("button", name="Edit as YAML").click()
    text = form.locator("#plan-yaml")
    expect(text).to_have_value(form.locator("#plan-yaml").input_value())
    before = total(form)
    text.fill(text.input_value().replace("tokens: 33.912B", "tokens: 67.824B"))
    expect(form.locator("#estimate .value")).not_to_contain_text(f"{before:,}")

    form.get_by_role("button", name="Back to the form").click()

    expect(form.locator("#field-data-tokens")).to_have_value("67.824B")
    assert visitor.violations == []


def test_on_a_narrow_screen_the_total_stays_in_sight(stage, prices, chromium, live_server):
    narrow = Visitor(chromium, live_server.url, stage.alice, viewport={"width": 390, "height": 844})

    page = narrow.goto(f"/proposals/new/?project={stage.project.slug}&template=pretrain")

    expect(page.locator(".plan-total")).to_be_in_viewport()
    expect(page.locator(".plan-total")).to_contain_text("USD")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert narrow.violations == []
    narrow.context.close()


def test_a_life_plan_is_made_in_the_form_from_nothing_to_a_saved_draft(stage, visitor):
    page = visitor.goto(f"/proposals/new/?project={stage.project.slug}")
    page.select_option("#field-task", "life")
    page.get_by_role("button", name="Vector store").click()
    expect(page.locator("#field-members-0-name")).to_have_value("Vector store")
    page.get_by_role("button", name="Data work").click()
    corpus = page.locator("#member-members-1")
    expect(corpus.locator("#field-members-1-after")).to_have_value("")
    corpus.get_by_role("button", name="Move up").click()
    expect(page.locator("#field-members-0-name")).to_have_value("Data work")
    page.fill("#field-members-0-name", "corpus")
    page.locator("#group-members-0-work-more > summary").click()
    page.fill("#field-members-0-data-licence_cost", "5000")
    expect(page.locator("#said-members-1-vectors-count")).to_contain_text("needed")
    page.fill("#field-members-1-vectors-count", "1M")
    expect(page.locator("#estimate .value")).to_contain_text("USD")
    # 5,000 of licences, and 20 GB of logs a day, kept for 30 days at 0.02 a GB
    expect(page.locator("#total-members-0")).to_contain_text("5,012 USD")

    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("Saved. It is a draft until you submit it.")).to_be_visible()

    kept = Estimate.objects.get().plan
    assert [(member["name"], member["task"]) for member in kept["members"]] == [
        ("corpus", "data_work"),
        ("Vector store", "vector_store"),
    ]
    assert visitor.violations == []


def test_a_closed_member_keeps_what_it_says_and_opens_with_it(stage, visitor):
    page = visitor.goto(f"/proposals/new/?project={stage.project.slug}&template=life")
    service = page.locator("#member-members-4")
    expect(page.locator("#field-members-4-inference-requests_per_day")).to_have_count(0)

    page.get_by_role("button", name="Evaluation", exact=True).click()
    expect(page.locator("#member-members-6")).to_be_visible()
    service.locator("> summary").click()

    expect(page.locator("#field-members-4-inference-requests_per_day")).to_have_value("400000")
    expect(page.locator("#field-members-4-after")).to_have_value("assistant")
    assert visitor.violations == []


def test_a_plan_that_becomes_a_life_keeps_what_was_typed_as_its_first_member(form, visitor):
    form.select_option("#field-task", "life")

    member = form.locator("#member-members-0")
    member.locator("> summary").click()
    expect(form.locator("#field-members-0-data-tokens")).to_have_value("33.912B")
    expect(form.locator("#field-members-0-compute-count")).to_have_value("8")
    expect(form.locator("#estimate .value")).to_contain_text("USD")

    form.wait_for_timeout(UNHURRIED)
    form.select_option("#field-task", "pretrain")
    expect(form.locator("#member-members-0")).to_have_count(0)
    form.wait_for_timeout(UNHURRIED)
    form.select_option("#field-task", "life")
    expect(form.locator("#member-members-0 > summary")).to_contain_text("Pretraining")
    assert visitor.violations == []


def test_comparisons_are_asked_for_when_opened_and_follow_as_one_types(form, visitor):
    compared = form.locator("#plan-compare")
    expect(compared.locator(".comparison")).to_have_count(0)

    compared.locator("> summary").click()
    cards = compared.locator(".comparison", has_text="More or fewer cards")
    expect(cards).to_contain_text("16 cards instead of 8")
    form.fill("#field-compute-count", "32")

    expect(cards).to_contain_text("64 cards instead of 32")
    expect(compared.locator("svg").first).to_be_visible()
    expect(form.locator("#estimate .factors")).to_contain_text("40.0 %")
    assert visitor.violations == []


def test_a_plan_is_written_explained_and_saved_by_keyboard_alone(stage, visitor):
    page = visitor.goto(f"/proposals/new/?project={stage.project.slug}")
    keys = page.keyboard

    def reach(selector: str) -> None:
        """Press Tab until the element has the focus."""
        for _press in range(120):
            if page.evaluate("wanted => document.activeElement.matches(wanted)", selector):
                return
            keys.press("Tab")
        raise AssertionError(f"{selector} is not reached by Tab")

    for selector, typed in (
        ("#field-model-parameters", "7B"),
        ("#field-data-tokens", "33.912B"),
        ("#field-compute-accelerator", "H"),
        ("#field-compute-count", "8"),
        ("#field-compute-mfu", "30%..40%..45%"),
    ):
        reach(selector)
        keys.type(typed)
    expect(page.locator("#estimate .value")).to_contain_text("USD")
    reach("#estimate button")
    keys.press("Enter")
    expect(page.locator("#plan-why .tree")).to_contain_text("useful_accelerator_hours")
    keys.press("Escape")
    expect(page.locator("#plan-why")).to_be_hidden()

    page.locator("#field-model-parameters").focus()
    keys.press("Enter")

    page.wait_for_url("**/proposals/*/")
    assert Estimate.objects.get().plan["compute"]["mfu"] == {"low": 0.3, "mode": 0.4, "high": 0.45}
    assert visitor.violations == []
