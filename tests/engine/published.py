"""Published runs and tables as plans: read in place, with the shipped catalogue of accelerators."""

from __future__ import annotations

import csv
from datetime import date
from pathlib import Path
from typing import Any

from estimates.engine.answer import estimate
from estimates.engine.books import PRECISIONS, AcceleratorBook, AcceleratorSpec, PriceBook
from estimates.engine.plan import parse_plan
from tests.shared import shared

CATALOGUE = Path(__file__).resolve().parents[2] / "estimates" / "catalogue" / "accelerators.csv"
SLUGS = {
    "A100-40GB": "a100-sxm-40gb",
    "A100-80GB": "a100-sxm-80gb",
    "A800-80GB": "a800-sxm-80gb",
    "H100-SXM-80GB": "h100-sxm-80gb",
    "H800-SXM": "h800-sxm-80gb",
    "V100-32GB": "v100-sxm2-32gb",
    "TPUv2": "tpu-v2",
    "TPUv3": "tpu-v3",
    "TPUv4": "tpu-v4",
}

Row = dict[str, str]


def rows(name: str) -> list[Row]:
    """One table of published figures."""
    with shared(f"truth/{name}").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def run_named(name: str) -> Row:
    return next(row for row in rows("training_runs.csv") if row["name"] == name)


def catalogue() -> AcceleratorBook:
    """The accelerators the product ships with."""
    with CATALOGUE.open(encoding="utf-8", newline="") as lines:
        return AcceleratorBook([_spec(row) for row in csv.DictReader(lines)])


def _spec(row: Row) -> AcceleratorSpec:
    columns = {name: f"{name}_tops" if name == "int8" else f"{name}_tflops" for name in PRECISIONS}
    peaks = {name: float(row[column]) for name, column in columns.items() if row[column]}
    memory, bandwidth = (float(row[key]) if row[key] else None for key in ("memory_gb", "bandwidth_gbs"))
    return AcceleratorSpec(row["slug"], row["name"], row["vendor"], memory, bandwidth, peaks)


def plan_of(row: Row, **compute: Any) -> dict[str, Any]:
    """A published run as a plan: its model, data and hardware; how fast it ran is said by `compute`."""
    model: dict[str, Any] = {"parameters": row["params_total"], "active_parameters": row["params_active"]}
    if row["n_layers"]:
        model |= {"layers": row["n_layers"], "hidden_size": row["d_model"], "sequence_length": row["seq_len"]}
    if row["d_attn_effective"]:
        model["attention_width"] = row["d_attn_effective"]
    return {
        "task": "pretrain",
        "model": model,
        "data": {"tokens": row["tokens"]},
        "compute": {"accelerator": SLUGS[row["accelerator"]], "count": row["accelerator_count"] or 1024, **compute},
        "experiments": "none",
    }


def quantities(document: dict[str, Any], samples: int = 1000) -> dict[str, dict[str, Any]]:
    """What the engine says of a plan, by the catalogue and without prices."""
    answer = estimate(
        parse_plan(document),
        prices=PriceBook(),
        accelerators=catalogue(),
        prices_on=date(2027, 1, 1),
        samples=samples,
    )
    return answer["quantities"]
