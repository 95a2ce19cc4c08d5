"""Published defaults name only what was read at its source (decision 0027)."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

import pytest

from estimates.engine import baselines
from estimates.engine.baselines import Known
from tests.shared import shared

TABLES = {"truth/failures.csv": "run", "truth/training_runs.csv": "name"}


def sources() -> Iterator[str]:
    """Every sentence that tells where a default comes from."""
    for value in vars(baselines).values():
        for known in value.values() if isinstance(value, dict) else [value]:
            if isinstance(known, Known):
                yield known.source


def names(read: bool) -> set[str]:
    """The first words of the runs that were read, or of those that were not."""
    found = set()
    for table, column in TABLES.items():
        with shared(table).open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                if (row["read_or_recalled"] == "READ") == read:
                    found.add(re.split(r"[ (-]", row[column])[0])
                    if not read and (author := re.match(r"[A-Z][a-z]+(?= 20)", row.get("source", ""))):
                        found.add(author[0])
    return found


def test_a_default_names_no_run_that_was_not_read() -> None:
    hidden = names(read=False) - names(read=True)

    assert {"PaLM", "MegaScale", "Aegis", "Kokolis", "Vicuna"} <= hidden
    for source in sources():
        assert not hidden.intersection(re.findall(r"[A-Za-z0-9.]+", source)), source


@pytest.mark.parametrize(
    ("run", "figures"),
    [
        ("Llama 3 405B pretraining snapshot", {"unexpected_interruptions": "419", "gpus": "16384", "days": "54"}),
        ("OPT-175B main run", {"interruptions": "105", "gpus": "992", "days": "56"}),
        ("GLM-130B", {"interruptions": "8", "gpus": "768", "days": "60"}),
    ],
)
def test_the_figures_that_are_quoted_are_those_of_the_table(run: str, figures: dict[str, str]) -> None:
    with shared("truth/failures.csv").open(encoding="utf-8", newline="") as lines:
        row = next(row for row in csv.DictReader(lines) if row["run"] == run)

    assert row["read_or_recalled"] == "READ"
    assert {name: row[name] for name in figures} == figures
    told = " ".join(sources()).replace(",", "")
    assert all(figure in told for figure in figures.values())
