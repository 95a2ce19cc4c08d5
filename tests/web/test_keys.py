"""Keys of rows in pages are what the address and the form send back: never written with thousands separators."""

from __future__ import annotations

import re
from pathlib import Path

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
KEY = re.compile(r"\{\{ [a-zA-Z_.]*\.(?:pk|team_id|project_id)(?!\|unlocalize)[^}]*\}\}")


def test_no_template_writes_a_key_as_an_amount():
    found = {
        str(path.relative_to(TEMPLATES)): KEY.findall(path.read_text())
        for path in TEMPLATES.rglob("*.html")
        if KEY.search(path.read_text())
    }

    assert found == {}
