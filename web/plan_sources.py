"""Where a figure comes from, in the language of the moment."""

from __future__ import annotations

from django.utils.translation import gettext


def source_text(source: str | None) -> str:
    """The engine marks its own sources for translation; what people wrote of a run stays as it is."""
    return gettext(source) if source else ""
