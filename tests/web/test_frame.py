"""The frame: what the policy allows, what the templates may say, what the rail shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted(path for folder in ("templates",) for path in (ROOT / folder).rglob("*.html"))
PAGES = [path for path in TEMPLATES if "notifications" not in path.relative_to(ROOT / "templates").parts[0]]
"""E-mails may have inline styles; pages may not."""
FORBIDDEN = {
    r"\sstyle\s*=": "a style attribute",
    r"<style\b": "a style element",
    r"<script(?![^>]*\bsrc=)": "an inline script",
    r"\son[a-z]+\s*=\s*[\"']": "an event attribute",
    r"hx-on": "hx-on",
    r"javascript:|\"js:|'js:": "a script in a value",
    r"hx-trigger=\"[^\"]*\[": "a trigger filter, which is evaluated",
    r"(?:src|href)=[\"']https?://(?!www\.w3\.org)": "something loaded from elsewhere",
}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT / "templates")))
def test_no_template_asks_for_what_the_policy_forbids(path):
    text = path.read_text()

    found = [what for pattern, what in FORBIDDEN.items() if re.search(pattern, text)]

    assert found == []


def test_every_icon_a_template_names_is_in_the_sprite_and_no_other():
    sprite = set(re.findall(r'<symbol id="([^"]+)"', (ROOT / "static/icons/tabler.svg").read_text()))
    text = "\n".join(path.read_text() for path in TEMPLATES)
    code = "\n".join(path.read_text() for path in (ROOT / "web").rglob("*.py"))

    named = set(re.findall(r'{% icon "([^"]+)"', text)) | set(re.findall(r'symbol="([^"]+)"', text))
    in_code = {name for name in sprite if f'"{name}"' in code}

    assert named <= sprite
    assert sprite - named - in_code == set()


def test_a_page_carries_the_strict_policy(client):
    answer = client.get("/login/")

    policy = answer["Content-Security-Policy"]
    assert "script-src 'self'" in policy and "style-src 'self'" in policy
    assert "unsafe" not in policy


def test_what_is_vendored_has_its_licence_beside_it():
    assert (ROOT / "static/vendor/htmx/LICENSE").is_file()
    assert (ROOT / "static/icons/LICENSE").is_file()


def links_of(part: str, page: str) -> dict[str, str]:
    """Where the links of the rail or of the tabs lead, by their words."""
    found = re.search(rf'<nav class="{part}".*?</nav>', page, re.DOTALL)
    links = re.findall(r'<a[^>]*href="([^"]*)"[^>]*>([^<]*)', found[0]) if found else []
    return {words: address for address, words in links}


def current_of(part: str, page: str) -> list[str]:
    found = re.search(rf'<nav class="{part}".*?</nav>', page, re.DOTALL)
    return re.findall(r'aria-current="page">([^<]*)', found[0]) if found else []


def test_finance_finds_the_closing_among_the_books(client, stage):
    client.force_login(stage.finance)

    home = client.get("/").content.decode()
    books = client.get(links_of("rail-links", home)["Books"]).content.decode()

    assert links_of("tabs", home) == {}
    assert links_of("tabs", books) == {
        "Bookings": "/usage/bookings/",
        "Every month": "/usage/recurring/",
        "Statements": "/usage/statements/",
        "Restatements": "/usage/restatements/",
        "Exchange rates": "/rates/",
        "Closing": "/closing/",
    }


def test_tabs_lead_a_member_only_where_a_member_may_go(client, stage):
    client.force_login(stage.alice)

    usage = links_of("tabs", client.get("/usage/").content.decode())
    books = links_of("tabs", client.get("/usage/bookings/").content.decode())

    assert list(usage) == ["Overview", "Clusters", "Services"]
    assert "Closing" not in books
    for address in [*usage.values(), *books.values()]:
        assert client.get(address).status_code == 200


def test_a_page_within_a_tab_marks_its_tab_and_its_place(client, stage):
    client.force_login(stage.operator)

    page = client.get("/usage/reassignments/").content.decode()

    assert current_of("rail-links", page) == ["Usage"]
    assert current_of("tabs", page) == ["Allocation"]


def test_the_first_view_is_small_when_compressed(client, stage):
    import gzip

    client.force_login(stage.manager)
    page = client.get("/account/").content
    files = ["css/tokens.css", "css/headroom.css", "vendor/htmx/htmx.min.js", "js/headroom.js", "icons/tabler.svg"]

    whole = sum(len(gzip.compress((ROOT / "static" / name).read_bytes())) for name in files)
    whole += len(gzip.compress(page))

    assert whole < 120 * 1024
