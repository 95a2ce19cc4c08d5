"""Tags as writers write them: JSON, JSON without braces, Python repr, lists of pairs, `a:b|c:d`. Never evaluated."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

from ..reading.notes import Notes
from ..reading.numbers import NULLS
from ..reading.text import storable

REFERENCE_TAGS = ("headroom_proposal", "headroom-proposal")
"""Tags that say whose proposal the work belongs to."""
UNREADABLE = "(unreadable)"
ENDED = re.compile(r"; *(?=key:|$)")
"""Between the pairs of `key:a value:b; key:c value:d;`."""


def read_tags(text: str, notes: Notes) -> dict[str, str]:
    """Flat text → text. What cannot be read is kept whole and counted: no bill is lost for a tag."""
    cleaned = text.strip()
    if cleaned in NULLS or cleaned in ("{}", "[]"):
        return {}
    for reader in (_json, _json_without_braces, _pairs, _literal):
        found = reader(cleaned, notes)
        if found is not None:
            return {storable(name): storable(value) for name, value in found.items()}
    notes.warn("tags_unreadable", detail=cleaned[:80])
    return {UNREADABLE: cleaned}


def _json(text: str, notes: Notes) -> dict[str, str] | None:
    if text[0] not in "{[":
        return None
    try:
        return flat(json.loads(text, object_pairs_hook=lambda pairs: _last_wins(pairs, notes)))
    except (ValueError, RecursionError):
        return None


def _json_without_braces(text: str, notes: Notes) -> dict[str, str] | None:
    return _json("{" + text + "}", notes) if text[0] == '"' else None


def _pairs(text: str, notes: Notes) -> dict[str, str] | None:
    """`key:x value:y; …` and `a:b|c:d` or `a:b;c:d`."""
    if text.startswith("key:"):
        pairs = [part.removeprefix("key:").partition(" value:") for part in ENDED.split(text) if part.strip()]
        if all(separator for _key, separator, _value in pairs):
            return _last_wins([(key.strip(), value.strip()) for key, _separator, value in pairs], notes)
    if text[0] in "{[":
        return None
    parts = [part.strip() for part in re.split(r"[|;]", text) if part.strip()]
    if not parts or not all(":" in part or "=" in part for part in parts):
        return None
    split = [re.split(r"[:=]", part, maxsplit=1) for part in parts]
    return _last_wins([(key.strip(), value.strip()) for key, value in split], notes)


def _literal(text: str, notes: Notes) -> dict[str, str] | None:
    if text[0] not in "{[" or len(text) > 100_000:
        return None
    try:
        return flat(ast.literal_eval(text))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def _last_wins(pairs: list[tuple[str, Any]], notes: Notes) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        notes.warn("tag_repeated")
    return found


def flat(value: Any) -> dict[str, str] | None:
    """A mapping, or a list of `{key, value}` pairs, with every value as text."""
    if isinstance(value, Mapping):
        return {str(key): as_text(item) for key, item in value.items()}
    if isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
        lowered = [{str(name).lower(): part for name, part in item.items()} for item in value]
        if all({"key", "value"} <= item.keys() for item in lowered):
            return {str(item["key"]): as_text(item["value"]) for item in lowered}
        merged: dict[str, str] = {}
        for item in value:
            merged.update(flat(item) or {})
        return merged
    return None


def as_text(value: Any) -> str:
    """A tag's value: text as it is, `true`, a number, or JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False, default=str)


def reference_of(tags: Mapping[str, str]) -> str:
    """The proposal a tag names, "" where none does. Prefixes such as `user:` are looked through, case is not."""
    for name, value in tags.items():
        bare = name.rpartition("/")[2].rpartition(":")[2].casefold()
        if bare in REFERENCE_TAGS or bare == "user_headroom_proposal":
            return value.strip()[:60]
    return ""
