"""MLflow's file store: a folder of a run with `metrics/NAME`, lines of milliseconds, value, step. Also one such file.

A step that stands twice was computed again after a resume.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ...reading.text import storable
from .contract import Head, Log, MetricFormat, Point, lines_of, moment, number_of

LINE = re.compile(r"([0-9]{12,14}) (\S+) ([0-9]{1,18})(?: .*)?")
LONGEST_FACT = 500
FACT_FOLDERS = ("params", "tags")


def recognise(head: Head) -> str:
    if head.path.is_dir():
        return "the folder is a run of MLflow's file store" if (head.path / "metrics").is_dir() else ""
    lines = head.lines[:5]
    if lines and all(LINE.fullmatch(line.strip()) for line in lines):
        return "every line is milliseconds, value and step, as in MLflow's file store"
    return ""


def read(log: Log) -> Iterator[Point]:
    if not log.path.is_dir():
        yield from _series(log, log.path, log.path.name)
        return
    log.facts.update(facts_of(log.path))
    folder = log.path / "metrics"
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield from _series(log, path, path.relative_to(folder).as_posix())


def _series(log: Log, path: Path, name: str) -> Iterator[Point]:
    for line in lines_of(path):
        if not line.strip():
            continue
        match = LINE.fullmatch(line.strip())
        known, number = number_of(match.group(2)) if match else (False, None)
        if match is None or not known:
            log.ignore("cut_line", line)
            continue
        yield Point(name, int(match.group(3)), moment(int(match.group(1)) / 1000), number)


def facts_of(folder: Path) -> dict[str, str]:
    """Parameters and tags: one small file each."""
    return {
        path.name: beginning_of(path)
        for kind in FACT_FOLDERS
        if (folder / kind).is_dir()
        for path in sorted((folder / kind).iterdir())
        if path.is_file() and not path.is_symlink()
    }


def beginning_of(path: Path) -> str:
    """What a small text says; of a large one the beginning."""
    with path.open(encoding="utf-8", errors="replace") as file:
        return storable(file.read(LONGEST_FACT).strip())


FORMAT = MetricFormat("mlflow", "MLflow file store", recognise, read)
