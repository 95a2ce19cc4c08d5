"""The page `docs/truth.md`: the engine beside published runs, made from the published tables read in place.

`python -m tests.engine.truth_page` writes it. Figures of rows whose document was read are quoted; those of other rows
calibrate only, and of them the page shows how far the engine is off.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median

from tests.engine import truth
from tests.engine.truth import SHOWN_APART, Check, Form

PAGE = Path(__file__).resolve().parents[2] / "docs" / "truth.md"
NOT_QUOTED = "–"
CALIBRATES = " †"
IDS = re.compile(r" *\((?:full text |text |file )?ids? [^)]*\)")
"""How the published tables number what was read; nobody else can look it up."""

Row = Sequence[str]


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# The engine beside published runs"
    yield ""
    yield "Made by `python -m tests.engine.truth_page` from the published tables, read in place; do not edit. Nothing"
    yield "is tuned to single rows. What must hold is tested by `tests/engine/test_truth.py`."
    yield ""
    yield "Published figures are quoted only where the document itself was read. Rows marked † are known from a"
    yield f"transcription or from memory and calibrate only: their figures are left out (`{NOT_QUOTED}`), and only how"
    yield "far the engine is off is told. Hours are accelerator-hours; *error* is estimated ÷ published − 1."
    yield from _with_mfu()
    yield from _with_tflops()
    yield from _bands()
    yield from _throughput()
    yield from _tuning()
    yield from _closed_forms()
    yield from _sources()


def table(heads: Row, rows: Iterable[Row]) -> Iterator[str]:
    yield ""
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def percent(share: float, digits: int = 1, sign: str = "") -> str:
    return f"{share * 100:{sign}.{digits}f} %"


def middle_error(checks: Iterable[Check]) -> float:
    return median(abs(check.error) for check in checks)


def worst_error(checks: Iterable[Check]) -> float:
    return max(abs(check.error) for check in checks)


def hours(number: float) -> str:
    """Whole hours; of a few hundred the first decimal too."""
    return f"{number:,.0f}" if number >= 1000 else f"{number:,.1f}"


def quoted(check: Check, *numbers: float) -> Row:
    """The figures where they may be quoted."""
    return [hours(number) if check.quotable else NOT_QUOTED for number in numbers]


def named(check: Check) -> str:
    return check.name if check.quotable else check.name + CALIBRATES


def hours_row(check: Check) -> Row:
    entered = check.entered if check.quotable else NOT_QUOTED
    figures = quoted(check, check.published, check.estimated)
    return [named(check), entered, check.convention, *figures, percent(check.error, sign="+")]


HOURS_HEADS = ("run", "entered", "convention", "published", "estimated", "error")


# ---- the checks


def _with_mfu() -> Iterator[str]:
    checks = truth.with_their_mfu("A")
    scored = [check for check in checks if check.name not in SHOWN_APART]
    apart = [check for check in checks if check.name in SHOWN_APART]
    third = truth.with_their_mfu("T")
    yield "\n## Runs whose authors published an MFU"
    yield "\nThe authors' MFU with attention in their convention, the default model of failures. Must: median of the"
    yield f"absolute errors at most 8 %, none above 15 %. Found: {percent(middle_error(scored))} and"
    yield f"{percent(worst_error(scored))}, over {len(scored)} runs."
    yield from table(HOURS_HEADS, map(hours_row, scored))
    yield "\nApart, because their hours are not those of the work alone:"
    yield from table((*HOURS_HEADS, "why"), ([*hours_row(check), check.why] for check in apart))
    yield "\nApart, because their hours were told by third parties, restarts inside:"
    yield from table(HOURS_HEADS, map(hours_row, third))


def _with_tflops() -> Iterator[str]:
    yield "\n## Runs with achieved TFLOPS, and one with stated operations"
    yield "\nFigures that count recomputation are entered as such. Must: within 12 %."
    yield from table(HOURS_HEADS, map(hours_row, truth.with_their_tflops()))


def _bands() -> Iterator[str]:
    checks = truth.without_an_mfu()
    held = sum(check.held for check in checks)
    yield "\n## Runs with hours and no MFU"
    yield "\nFrom the published defaults alone: does the band from P10 to P90 hold the hours? Must: in 75 to 90 % of"
    yield f"the runs, with a median width below a factor 2.5. Found: {held} of {len(checks)}"
    yield f"({percent(held / len(checks), 0)}), a factor {median(check.high / check.low for check in checks):.2f}."
    yield from table(("run", "published", "P10", "P50", "P90", "P90 ÷ P10", "held"), map(_band, checks))


def _band(check: Check) -> Row:
    figures = quoted(check, check.published, check.low, check.estimated, check.high)
    return [named(check), *figures, f"{check.high / check.low:.2f}", "yes" if check.held else "no"]


def _throughput() -> Iterator[str]:
    checks = truth.throughput()
    series: dict[tuple[str, str, str], list[Check]] = defaultdict(list)
    for check in checks:
        series[named(check), check.row["gpu"], check.row["precision"]].append(check)
    yield "\n## MFU from tokens per second"
    yield "\nThe table of llm-foundry, attention in full. Must: every row within 0.2 %, or what cutting its tokens per"
    yield f"second to whole numbers leaves open. Found: median {percent(middle_error(checks), 2)}, worst"
    yield f"{percent(worst_error(checks), 2)}, over {len(checks)} rows."
    heads = ("model", "accelerator", "precision", "rows", "published MFU", "estimated", "worst error")
    yield from table(heads, ([*key, *_series(rows)] for key, rows in series.items()))


def _series(checks: Sequence[Check]) -> Row:
    published = spread(check.published for check in checks) if checks[0].quotable else NOT_QUOTED
    estimated = spread(check.estimated for check in checks) if checks[0].quotable else NOT_QUOTED
    return [str(len(checks)), published, estimated, percent(worst_error(checks), 2)]


def spread(shares: Iterable[float]) -> str:
    found = sorted(shares)
    low, high = percent(found[0]), percent(found[-1])
    return low if low == high else f"{low} – {high}"


def _tuning() -> Iterator[str]:
    checks = truth.tuning()
    yield "\n## Operations of fine-tuning"
    yield "\nTFLOPS from tokens per second: 6 operations a parameter and token in full, 4 with LoRA, without the lookup"
    yield f"of the embedding. Must: within 3.5 %. Found: worst {percent(worst_error(checks))}."
    yield from table(HOURS_HEADS, map(hours_row, checks))


def _closed_forms() -> Iterator[str]:
    yield "\n## Closed forms"
    yield "\nWorked examples by hand, inputs as they stand; no row claims that a run went so."
    yield from _forms(truth.closed_forms)
    yield "\nFailures and checkpoints:"
    yield from _forms(truth.failures)
    yield "\nA cluster of 131,072 accelerators that fails every 0.23 hours would lose more time than it works: the"
    yield "answer is infeasible, and its hours are not known."


def _forms(found: Callable[[], Iterator[Form]]) -> Iterator[str]:
    rows = ([form.name, form.inputs, _figure(form.by_hand, form), _figure(form.engine, form)] for form in found())
    yield from table(("form", "inputs", "by hand", "engine"), rows)


def _figure(number: float, form: Form) -> str:
    digits = 0 if form.by_hand >= 1000 else 3 if form.by_hand < 2 else 2
    return f"{number:,.{digits}f} {form.unit}".rstrip()


def _sources() -> Iterator[str]:
    """Where the quoted rows come from."""
    checks = [*truth.with_their_mfu("A"), *truth.without_an_mfu(), *truth.throughput(), *truth.tuning()]
    names: dict[str, list[str]] = defaultdict(list)
    for check in checks:
        if check.quotable:
            names[source_of(check)].append(check.name)
    yield "\n## Sources of the quoted figures\n"
    for source, quoting in names.items():
        yield f"- {', '.join(dict.fromkeys(quoting))}: {source}"


def source_of(check: Check) -> str:
    """The document, without the sections of a table that has many."""
    source = IDS.sub("", check.row["source"])
    return source.partition(": ")[0] if "llm-foundry" in source else source


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
