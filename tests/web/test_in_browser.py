"""The pages in a real browser: nothing the policy forbids, usable by keyboard, narrow screens, both themes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.test import Client
from playwright.sync_api import Browser, Page

from teams.models import User
from tests import browser

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAGES = [
    *("/", "/account/", "/activity/", "/notifications/", "/api/", "/styles/", "/no/such/page/"),
    *("/projects/", "/new-project/", "/projects/base-7b/", "/projects/base-7b/lines/new/"),
    *("/proposals/", "/proposals/new/", "/proposals/new/?project=base-7b"),
    *("/warnings/", "/retrospectives/", "/prices/"),
]
OF_THE_OPERATOR = ["/", "/usage/", "/usage/imports/", "/usage/imports/new/", "/usage/rules/", "/usage/rules/new/"]
PICTURES = os.environ.get("HEADROOM_PICTURES", "")
"""A folder to keep pictures in, for judging by eye."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    yield from browser.launch()


@pytest.fixture(autouse=True)
def with_gallery(settings) -> None:
    settings.ROOT_URLCONF = "tests.web.gallery"


class Visitor:
    """A signed-in person's browser window, and what it complained about."""

    def __init__(self, chromium: Browser, address: str, person: User | None, **options) -> None:
        self.address = address
        self.complaints: list[str] = []
        self.context = chromium.new_context(**options)
        if person:
            client = Client()
            client.force_login(person)
            cookie = client.cookies[django_settings.SESSION_COOKIE_NAME].value
            self.context.add_cookies([{"name": "sessionid", "value": cookie, "url": address}])
        self.page: Page = self.context.new_page()
        self.page.on("console", lambda said: said.type == "error" and self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def goto(self, path: str) -> Page:
        self.page.goto(self.address + path, wait_until="load")
        return self.page

    @property
    def violations(self) -> list[str]:
        return [said for said in self.complaints if "404 (Not Found)" not in said]

    def picture(self, name: str) -> None:
        if PICTURES:
            self.page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


@pytest.fixture
def visit(chromium, live_server, stage):
    windows: list[Visitor] = []

    def open_window(person: User | None = stage.manager, **options) -> Visitor:
        windows.append(Visitor(chromium, live_server.url, person, **options))
        return windows[-1]

    yield open_window
    for window in windows:
        window.context.close()


NAMELESS = """
  [...document.querySelectorAll('a, button, input:not([type=hidden]), select, textarea, svg[role=img]')]
    .filter(element => !(element.getAttribute('aria-label') || element.textContent.trim() || element.labels?.length
      || element.title || element.getAttribute('aria-labelledby')))
    .map(element => element.outerHTML.slice(0, 120))
"""
TWICE = "[...document.querySelectorAll('[id]')].map(e => e.id).filter((id, i, all) => all.indexOf(id) !== i)"


def test_every_page_keeps_the_policy_names_its_controls_and_repeats_no_id(visit):
    window = visit(viewport={"width": 1360, "height": 1240})

    nameless, twice = {}, {}
    for path in PAGES:
        page = window.goto(path)
        nameless[path], twice[path] = page.evaluate(NAMELESS), page.evaluate(TWICE)
        window.picture(f"light{path.replace('/', '_')}")

    assert window.violations == []
    assert {path: found for path, found in nameless.items() if found} == {}
    assert {path: found for path, found in twice.items() if found} == {}


def test_pages_of_the_operator_keep_the_policy_and_fit_a_phone(visit, stage):
    window = visit(stage.operator, viewport={"width": 390, "height": 844})

    widths = {path: window.goto(path).evaluate("document.documentElement.scrollWidth") for path in OF_THE_OPERATOR}

    assert window.violations == []
    assert {path: width for path, width in widths.items() if width > 390} == {}


def test_no_page_is_wider_than_a_phone_in_the_dark(visit):
    window = visit(viewport={"width": 390, "height": 844}, color_scheme="dark")

    widths = {}
    for path in PAGES:
        widths[path] = window.goto(path).evaluate("document.documentElement.scrollWidth")
        window.picture(f"narrow{path.replace('/', '_')}")

    assert {path: width for path, width in widths.items() if width > 390} == {}


def test_the_admin_panel_works_under_the_policy(visit, stage):
    User.objects.filter(pk=stage.keeper.pk).update(is_staff=True, is_superuser=True, theme="dark")
    window = visit(stage.keeper)

    window.goto("/admin/")
    for path in ("/admin/teams/team/", f"/admin/teams/team/{stage.team.pk}/change/", "/admin/teams/exchangerate/add/"):
        window.goto(path)

    ground = window.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert window.violations == []
    assert ground == "oklch(0.19 0.012 260)"  # our dark ground, by the person's choice


def test_one_signs_in_and_out_with_the_keyboard_alone(visit):
    window = visit(None)
    page = window.goto("/login/")

    page.keyboard.type("alice@example.com")  # the first field has the focus
    page.keyboard.press("Tab")
    page.keyboard.type("correct horse battery")
    page.keyboard.press("Enter")
    page.wait_for_url(window.address + "/")
    page.wait_for_load_state("networkidle")
    page.keyboard.press("Tab")
    first = page.evaluate("document.activeElement.textContent.trim()")
    page.keyboard.press("Enter")
    at_content = page.evaluate("document.activeElement.id")
    page.locator(".person > summary").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Sign out").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/login/")

    assert first == "Skip to the content"
    assert at_content == "main"


def test_the_menu_opens_on_a_phone_and_closes_with_escape(visit):
    page = visit(viewport={"width": 390, "height": 844}).goto("/account/")
    links = page.get_by_role("link", name="Activity")

    hidden = links.is_visible()
    page.get_by_role("button", name="Menu").press("Enter")
    shown = links.is_visible()
    page.keyboard.press("Escape")

    assert (hidden, shown, links.is_visible()) == (False, True, False)


def test_the_theme_follows_the_person_before_the_system(visit, stage):
    window = visit(color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"

    by_system = window.goto("/account/").evaluate(ground)
    window.page.locator(".page").get_by_role("button", name="Dark").click()
    window.page.wait_for_load_state("networkidle")
    chosen = window.page.evaluate(ground)

    assert by_system != chosen
    assert window.page.locator("html").get_attribute("data-theme") == "dark"
    assert window.page.locator(".page").get_by_role("button", name="Dark").get_attribute("aria-pressed") == "true"
