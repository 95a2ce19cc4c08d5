"""Every sentence of the product exists in Simplified Chinese, and says the same things."""

from __future__ import annotations

import gettext
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = Path("locale") / "zh_Hans" / "LC_MESSAGES"
SOURCES = (
    "api",
    "budgets",
    "config",
    "core",
    "estimates",
    "overruns",
    "retrospectives",
    "teams",
    "templates",
    "usage",
    "web",
)
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|\{\w+\}")


def entries(path: Path) -> list[dict[str, str]]:
    """The messages of a .po file: their parts by name, and whether they are fuzzy."""
    found = []
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        entry = {"fuzzy": "yes" if re.search(r"^#,.*fuzzy", block, re.M) else ""}
        for name, quoted in re.findall(r'^(msg\w+(?:\[\d\])?) ((?:"[^\n]*"\n?)+)', block, re.M):
            lines = re.findall(r'^"(.*)"$', quoted, re.M)
            entry[name] = "".join(lines).replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")
        if entry.get("msgid"):
            found.append(entry)
    return found


def translation_of(entry: dict[str, str]) -> str:
    return entry.get("msgstr") or entry.get("msgstr[0]", "")


def test_no_message_is_untranslated_or_guessed():
    untranslated = [
        entry["msgid"]
        for entry in entries(ROOT / CATALOGUE / "django.po")
        if entry["fuzzy"] or not translation_of(entry)
    ]

    assert untranslated == []


def test_translations_keep_every_placeholder():
    wrong = []
    for entry in entries(ROOT / CATALOGUE / "django.po"):
        wanted = set(PLACEHOLDER.findall(entry["msgid"] + entry.get("msgid_plural", "")))
        if set(PLACEHOLDER.findall(translation_of(entry))) != wanted:
            wrong.append(entry["msgid"])

    assert wrong == []


def test_the_compiled_catalogue_is_that_of_the_text():
    with (ROOT / CATALOGUE / "django.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)

    stale = [
        entry["msgid"]
        for entry in entries(ROOT / CATALOGUE / "django.po")
        if not entry.get("msgid_plural")
        and translation_of(entry)
        != (
            compiled.pgettext(entry["msgctxt"], entry["msgid"])
            if "msgctxt" in entry
            else compiled.gettext(entry["msgid"])
        )
    ]

    assert stale == []


def test_the_words_of_the_field_are_those_of_the_design():
    words = {entry["msgid"]: translation_of(entry) for entry in entries(ROOT / CATALOGUE / "django.po")}

    assert {
        word: words[word] for word in ("Committed", "warning line", "overrun", "transfer", "rollover", "Goodput")
    } == {
        "Committed": "预占",
        "warning line": "预警线",
        "overrun": "已超支",
        "transfer": "预算调剂",
        "rollover": "结转",
        "Goodput": "有效训练时间占比",
    }


@pytest.mark.skipif(not shutil.which("xgettext"), reason="gettext tools are not installed")
def test_no_sentence_of_the_code_is_missing_from_the_catalogue(tmp_path):
    for name in SOURCES:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "locale", tmp_path / "locale")
    command = [sys.executable, "-m", "django", "makemessages", "-l", "zh_Hans", "--no-location", "--no-wrap"]

    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)

    collected = entries(tmp_path / CATALOGUE / "django.po")
    assert [entry["msgid"] for entry in collected if entry["fuzzy"] or not translation_of(entry)] == []
