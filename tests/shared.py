"""Published files that stand beside the repository. They are read in place; without them the tests skip, saying so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("HEADROOM_SHARED_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")


def shared(relative: str) -> Path:
    """The path of a published file, or a skip that names it."""
    path = SHARED / relative
    if not path.exists():
        pytest.skip(f"published data not found: shared/data/{relative} (set HEADROOM_SHARED_DATA to its folder)")
    return path
