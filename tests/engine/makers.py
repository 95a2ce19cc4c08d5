"""Plain makers of plans and books for the tests of the engine."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

from estimates.engine import answer
from estimates.engine.books import AcceleratorBook, AcceleratorSpec, PriceBook, PriceRow
from estimates.engine.plan import Plan, parse_plan

TODAY = date(2026, 11, 30)
H100 = AcceleratorSpec("h100-sxm-80gb", "H100 SXM", "NVIDIA", 80, 3350, {"bf16": 989.0, "fp8": 1979.0}, 700, 900)
A100 = AcceleratorSpec("a100-sxm-80gb", "A100 SXM", "NVIDIA", 80, 2039, {"bf16": 312.0, "fp16": 312.0}, 400, 600)
CATALOGUE = AcceleratorBook([H100, A100])


def price(
    kind: str, item: str, amount: str, *, mode: str = "", valid_from: date = date(2026, 6, 1), **more: Any
) -> PriceRow:
    """A verified price in US dollars."""
    facts = {"provider": "", "region": "", "currency": "USD", "verified": True, "unit": "", "source": "a test"} | more
    key = (kind, item, mode, valid_from, facts["provider"], facts["region"], amount)
    return PriceRow(
        id=str(key), kind=kind, item=item, mode=mode, amount=Decimal(amount), valid_from=valid_from, **facts
    )


STORAGE = (price("storage", "hot", "0.02"), price("storage", "archive", "0.002"))
PRICES = PriceBook(
    [
        *STORAGE,
        price("accelerator", "h100-sxm-80gb", "2.00", mode="on_demand"),
        price("accelerator", "h100-sxm-80gb", "1.20", mode="committed"),
        price("accelerator", "h100-sxm-80gb", "0.80", mode="spot"),
        price("accelerator", "a100-sxm-80gb", "1.00", mode="on_demand"),
        price("purchase", "h100-sxm-80gb", "30000"),
        price("electricity", "industrial", "0.10"),
        price("network", "egress", "0.09"),
        price("network", "cross_region", "0.02"),
        price("network", "cross_zone", "0.01"),
        price("network", "peak_bandwidth", "100"),
        price("role", "research engineer", "20000"),
    ]
)


def pretrain(**changes: Any) -> dict[str, Any]:
    """A plan without uncertainty: 6e21 FLOP at 500 TFLOPS are 10,000 ÷ 3 accelerator-hours, 52.08 h on 64 cards."""
    document: dict[str, Any] = {
        "name": "plain",
        "task": "pretrain",
        "currency": "USD",
        "start": "2027-01-01",
        "model": {"parameters": 1e9},
        "data": {"tokens": 1e12},
        "compute": {
            "accelerator": "h100-sxm-80gb",
            "peak_tflops": 1000,
            "memory_gb": 80,
            "count": 64,
            "mfu": {"value": 0.5, "attention": "none"},
        },
        "reliability": "none",
        "experiments": "none",
        "model_error": "none",
        "contingency": 0,
    }
    return changed(document, **changes)


def changed(document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A copy with some keys set; `compute__count` is `compute: {count: …}`."""
    copy: dict[str, Any] = {key: dict(value) if isinstance(value, dict) else value for key, value in document.items()}
    for path, value in changes.items():
        section, _, key = path.partition("__")
        if not key:
            copy[section] = value
            continue
        inner = copy.get(section)
        copy[section] = inner = dict(inner) if isinstance(inner, dict) else {}
        *between, last = key.split("__")
        for step in between:
            inner[step] = dict(inner.get(step) or {})
            inner = inner[step]
        inner[last] = value
    return copy


def plan(document: dict[str, Any]) -> Plan:
    return parse_plan(document)


def estimated(
    document: dict[str, Any], *, prices: PriceBook = PRICES, prices_on: date = TODAY, **more: Any
) -> dict[str, Any]:
    """The answer for a document."""
    return answer.estimate(parse_plan(document), prices=prices, accelerators=CATALOGUE, prices_on=prices_on, **more)


def p50(answered: dict[str, Any], quantity: str) -> float:
    return answered["quantities"][quantity]["p50"]
