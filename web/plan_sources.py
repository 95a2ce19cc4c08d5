"""Where a figure comes from and what its formula says, in the language of the moment."""

from __future__ import annotations

from django.utils.translation import gettext


def note_text(note: str | None) -> str:
    """What a formula says of itself; `estimates/engine/notes.py` marks every note for translation."""
    return gettext(note) if note else ""


def source_text(source: str | None) -> str:
    """The engine marks its own sources for translation; what people wrote of a run stays as it is."""
    return gettext(source) if source else ""
