"""Plain makers of accelerators, prices and plans, with honest defaults."""

from __future__ import annotations

from typing import Any

from estimates import services
from estimates.models import Accelerator, Estimate, Price
from teams.models import Project, User


def accelerator(slug: str = "h100-sxm-80gb", **fields: Any) -> Accelerator:
    columns: dict[str, Any] = {
        "name": "H100 SXM 80 GB",
        "vendor": "NVIDIA",
        "aliases": ["h100"],
        "memory_gb": 80,
        "bandwidth_gbs": 3350,
        "bf16_tflops": 989,
        "fp16_tflops": 989,
        "fp8_tflops": 1979,
        "board_w": 700,
        "interconnect_gbs": 900,
        "verification": "verified",
    }
    return Accelerator.objects.create(slug=slug, **{**columns, **fields})


def price(by: User | None = None, **fields: Any) -> Price:
    columns: dict[str, Any] = {
        "kind": "accelerator",
        "item": "h100-sxm-80gb",
        "provider": "nebius",
        "mode": "on_demand",
        "amount": "2",
        "currency": "USD",
        "valid_from": "2026-01-01",
        "source": "https://example.com/prices",
        "verified": True,
    }
    return services.add_price(by=by, **{**columns, **fields})


def plan(**changes: Any) -> dict[str, Any]:
    """Pretraining of 7B parameters on 1,000 accelerator-hours' worth of tokens, computing only.

    6 · 7e9 · 3.3912e10 FLOP at 989 TFLOPS and an MFU of 0.4 are 1,000.10 hours.
    """
    return {
        "name": "base",
        "task": "pretrain",
        "currency": "USD",
        "start": "2027-01-01",
        "model": {"parameters": "7e9"},
        "data": {"tokens": "3.3912e10"},
        "compute": {"accelerator": "h100-sxm-80gb", "count": 8, "mfu": {"value": 0.4, "attention": "none"}},
        "reliability": "none",
        "experiments": "none",
        "model_error": "none",
        "storage": {"log_gb_per_day": 0, "keep_last": 0, "keep_milestones": 0},
        "network": {"interconnect_share": 0},
        "contingency": 0,
        **changes,
    }


def estimate(by: User, project: Project | None, **changes: Any) -> Estimate:
    return services.create_estimate(by=by, project=project, plan=plan(**changes), samples=200)
