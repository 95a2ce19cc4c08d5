"""What kinds of sources there are beside those that deliver files."""

from __future__ import annotations

BY_HAND = "manual"
"""The format of the source whose records people book; it takes no files, and no rule places its records."""
