"""What a process has loaded stays, and is not looked through for garbage again."""

from __future__ import annotations

import gc

from config.collector import settle


def test_what_is_loaded_is_not_looked_through_again():
    before = gc.get_threshold()
    try:
        settle()

        assert gc.get_freeze_count() > 50_000
        assert len(gc.get_objects()) < 1_000
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
