"""The engine: one plan with everything, thousands of plans at once, and the same graph sample by sample."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from bench.table import Measure
from estimates.engine.answer import SAMPLES, estimate, estimate_many
from estimates.engine.books import PRECISIONS, AcceleratorBook, AcceleratorSpec, PriceBook, PriceRow
from estimates.engine.evaluation import Evaluation, evaluate
from estimates.engine.leaves import Context, leaf_array
from estimates.engine.plan import Plan, parse_plan

TITLE = "Engine"
ROOT = Path(__file__).resolve().parents[1]
TODAY = date(2026, 12, 1)
PLANS = 10_000
MEASURED_PLANS = 1_000
BATCH_SAMPLES = 1_000
PLAIN_SAMPLES = 200


def books() -> dict[str, Any]:
    """The shipped catalogue of accelerators, and one price of each kind."""
    with (ROOT / "estimates" / "catalogue" / "accelerators.csv").open(encoding="utf-8", newline="") as lines:
        specs = [_spec(row) for row in csv.DictReader(lines)]
    prices = PriceBook(
        [
            _price("accelerator", "h100-sxm-80gb", "on_demand", "2.50"),
            _price("storage", "hot", "", "0.02"),
            _price("storage", "archive", "", "0.002"),
            _price("role", "research engineer", "", "18000"),
        ]
    )
    return {"prices": prices, "accelerators": AcceleratorBook(specs), "prices_on": TODAY}


def _spec(row: dict[str, str]) -> AcceleratorSpec:
    columns = {name: f"{name}_tops" if name == "int8" else f"{name}_tflops" for name in PRECISIONS}
    peaks = {name: float(row[column]) for name, column in columns.items() if row[column]}
    memory = float(row["memory_gb"]) if row["memory_gb"] else None
    return AcceleratorSpec(row["slug"], row["name"], row["vendor"], memory, None, peaks)


def _price(kind: str, item: str, mode: str, amount: str) -> PriceRow:
    start = date(2026, 1, 1)
    return PriceRow(f"{kind} {item}", kind, item, "", "", mode, "", Decimal(amount), "USD", start, "bench", True)


def documents(count: int) -> list[dict[str, Any]]:
    """Drafts of one scenario that differ in size, as those that one price change touches."""
    return [
        {
            "name": f"draft-{number}",
            "task": "pretrain",
            "start": "2027-01-01",
            "model": {
                "parameters": 7e9 + 1e6 * number,
                "layers": 32,
                "hidden_size": 4096,
                "sequence_length": 4096,
            },
            "data": {"tokens": {"low": 1.8e12, "mode": 2e12, "high": 2.4e12}, "raw_tb": 40, "clean_tb": 8},
            "compute": {
                "accelerator": "h100-sxm-80gb",
                "count": 128 + number % 512,
                "mfu": {"low": 0.33, "mode": 0.40, "high": 0.46},
            },
            "people": [{"role": "research engineer", "fte": 4, "months": 4}],
        }
        for number in range(count)
    ]


def best(action: Callable[[], Any], times: int) -> float:
    """The shortest of several runs, in seconds of this process."""
    found = []
    for _ in range(times):
        begun = time.process_time()
        action()
        found.append(time.process_time() - begun)
    return min(found)


def plain_python(evaluation: Evaluation, samples: int) -> float:
    """Seconds for the total of one plan, sample by sample, on plain numbers: the same formulas, nothing vectorised."""
    program = evaluation.program.only_for("total_cost")
    needed = {name for names in program.needs for name in names} & set(evaluation.leaves)
    arrays = {name: leaf_array([evaluation.leaves[name][0]], samples) for name in needed}
    begun = time.process_time()
    for sample in range(samples):
        leaves: dict[str, Any] = {}
        for name, array in arrays.items():
            column = array[..., 0, sample if array.shape[-1] > 1 else 0]
            leaves[name] = float(column) if column.ndim == 0 else column
        program.run(leaves)
    return time.process_time() - begun


def vectorised(evaluation: Evaluation, samples: int, times: int) -> float:
    """Seconds for the same total, all samples at once."""
    program = evaluation.program.only_for("total_cost")
    needed = {name for names in program.needs for name in names} & set(evaluation.leaves)
    arrays = {name: leaf_array([evaluation.leaves[name][0]], samples) for name in needed}
    return best(lambda: program.run(arrays), times)


def measure() -> list[Measure]:
    """One plan; a batch, in one process; and the plain baseline on the same graph."""
    shelf = books()
    plans = [parse_plan(document) for document in documents(MEASURED_PLANS)]
    estimate(plans[0], **shelf)
    one = best(lambda: estimate(plans[0], **shelf), 10)
    estimate_many(plans[:32], samples=BATCH_SAMPLES, **shelf)
    batch = best(lambda: estimate_many(plans, samples=BATCH_SAMPLES, **shelf), 2) / MEASURED_PLANS * PLANS
    return [
        Measure("one plan, 4,000 samples, all quantities, whole answer", "ms", 60, 15, one * 1000),
        Measure("10,000 plans × 1,000 samples, whole answers, one process", "s", 60, 20, batch, beside="not stored"),
        Measure(
            "total of one plan against plain Python, sample by sample",
            "times",
            30,
            100,
            _gain(plans[0], shelf),
            "higher",
        ),
    ]


def _gain(plan: Plan, shelf: dict[str, Any]) -> float:
    context = Context(plan, shelf["prices"], shelf["accelerators"], TODAY)
    evaluation = evaluate([context], SAMPLES)
    plain = plain_python(evaluation, PLAIN_SAMPLES) / PLAIN_SAMPLES * SAMPLES
    return plain / vectorised(evaluation, SAMPLES, 20)
