"""The table that `make bench` prints: what, must, aim, measured, and what it was measured against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """One number. `better` is "lower" for times and sizes, "higher" for ratios and rates."""

    what: str
    unit: str
    must: float
    aim: float
    measured: float
    better: str = "lower"
    beside: str = ""

    @property
    def verdict(self) -> str:
        def reaches(limit: float) -> bool:
            return self.measured <= limit if self.better == "lower" else self.measured >= limit

        return "aim reached" if reaches(self.aim) else "must reached" if reaches(self.must) else "MISSED"


def print_table(title: str, measures: Sequence[Measure]) -> None:
    """Print one subject's measures."""
    print(f"\n{title}")
    width = max(len(measure.what) for measure in measures)
    print(f"  {'what'.ljust(width)}  {'must':>10} {'aim':>10} {'measured':>12}  unit")
    for measure in measures:
        print(
            f"  {measure.what.ljust(width)}  {measure.must:>10,.4g} {measure.aim:>10,.4g} {measure.measured:>12,.4g}"
            f"  {measure.unit}  {measure.verdict}" + (f"  ({measure.beside})" if measure.beside else ""),
            flush=True,
        )
