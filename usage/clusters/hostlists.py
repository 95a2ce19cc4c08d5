"""Slurm's short form of node names: `gpu[01-03,07],login1` stands for five of them."""

from __future__ import annotations

import re
from itertools import product

MOST = 20_000
"""Nodes of one job; a longer list is no list of nodes."""
PART = re.compile(r"(?:[^\[\],]|\[[^\[\]]*\])+")
PIECE = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
SPAN = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
NO_NODES = frozenset(["", "None assigned", "(null)", "None", "Unknown"])


def nodes_of(listed: str) -> tuple[str, ...]:
    """The names of a list, none where it names no nodes or cannot be read."""
    text = listed.strip()
    if text in NO_NODES or text.count("[") != text.count("]"):
        return ()
    found: list[str] = []
    for part in PART.findall(text):
        names = _expanded(part.strip())
        if not names or len(found) + len(names) > MOST:
            return ()
        found += names
    return tuple(dict.fromkeys(found))


def _expanded(part: str) -> list[str]:
    """`rack[1-2]n[01-02]` gives four names; a span too wide or turned round gives none."""
    choices: list[list[str]] = []
    size = 1
    for spans, plain in PIECE.findall(part):
        choices.append([plain] if plain else _numbers(spans))
        size *= len(choices[-1])
        if not 0 < size <= MOST:
            return []
    return ["".join(pieces) for pieces in product(*choices)]


def _numbers(spans: str) -> list[str]:
    found: list[str] = []
    for span in spans.split(","):
        match = SPAN.fullmatch(span.strip())
        if match is None:
            return []
        first, last = match.group(1), match.group(2) or match.group(1)
        if not 0 <= int(last) - int(first) < MOST - len(found):
            return []
        found += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
    return found
