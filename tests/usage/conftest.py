"""Originals of deliveries go to a folder of the test's own; work may stay queued."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def kept_files(settings, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path / "files"
    return settings.MEDIA_ROOT


@pytest.fixture
def no_worker(monkeypatch) -> None:
    """Work stays queued; the test runs it itself."""
    monkeypatch.setattr("overruns.tasks.import_soon", lambda import_id: None)
    monkeypatch.setattr("overruns.tasks.judge_soon", lambda: None)
