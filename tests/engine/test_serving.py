"""Inference and vectors: published sizes, bounds and identities, and small services worked out by hand."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from estimates.engine.answer import estimate
from estimates.engine.books import AcceleratorBook, AcceleratorSpec, PriceBook, PriceRow
from estimates.engine.inference import kv_bytes_per_token, memory_step_seconds
from estimates.engine.plan import parse_plan

STORAGE = [
    PriceRow(1, "storage", "hot", "p", "", "", "GB-month", Decimal("0.02"), "USD", date(2020, 1, 1), verified=True),
    PriceRow(
        2, "storage", "archive", "p", "", "", "GB-month", Decimal("0.001"), "USD", date(2020, 1, 1), verified=True
    ),
]


CARD = AcceleratorBook([AcceleratorSpec("x", "X", "", 80, 2000, {"bf16": 100.0})])


def answer(document: dict[str, Any]) -> dict[str, Any]:
    return estimate(
        parse_plan({"start": "2027-01-01", "storage": {"log_gb_per_day": 0}, **document}),
        prices=PriceBook(STORAGE),
        accelerators=AcceleratorBook(),
        prices_on=date(2027, 1, 1),
        samples=20,
    )


def median(found: dict[str, Any], name: str) -> float:
    return found["quantities"][name]["p50"]


def service(**inference: Any) -> dict[str, Any]:
    """An encoder of 0.5e9 parameters on cards of 100 TFLOPS at 36 %: 120 tokens take 1/300 s."""
    return {
        "task": "inference",
        "model": {"architecture": "encoder", "parameters": 0.5e9},
        "compute": {"peak_tflops": 100, "memory_gb": 80, "mfu": 0.36, "price_per_accelerator_hour": 2},
        "inference": {"kind": "encoder", "requests_per_day": 864_000, "input_tokens": 120, **inference},
    }


@pytest.mark.parametrize(
    ("layers", "key_value_width", "size"),
    [(32, 32 * 128, 524_288), (32, 8 * 128, 131_072), (80, 8 * 128, 327_680), (126, 8 * 128, 516_096)],
    ids=["Llama-2-7B", "Llama-3-8B", "Llama-3-70B", "Llama-3.1-405B"],
)
def test_the_cache_of_a_token_is_two_entries_a_layer(layers: int, key_value_width: int, size: int) -> None:
    assert kv_bytes_per_token(np.array(layers), np.array(key_value_width), np.array(2)) == size


def test_layers_with_a_sliding_window_keep_no_more_of_the_cache_than_the_window() -> None:
    window = {"tokens": 400, "share_of_layers": 0.75}
    document = service(kind="decoder", input_tokens=900, output_tokens=200, kv_bytes_per_token=1e6, months=1)
    document["model"] = {"parameters": 0.5e9, "attention_window": window}

    # 900 tokens and half of 200: three quarters of the layers keep 400 of the thousand
    document["compute"] |= {"accelerator": "x", "precision": "bf16"}
    books = {"prices": PriceBook(STORAGE), "accelerators": CARD, "prices_on": date(2027, 1, 1), "samples": 20}
    assert median(estimate(parse_plan(document), **books), "mean_context") == pytest.approx(0.75 * 400 + 0.25 * 1000)


def test_a_step_cannot_be_faster_than_reading_the_weights() -> None:
    # 70,553,706,496 parameters of 2 bytes over 8 cards of 3.35 TB/s
    seconds = memory_step_seconds(
        weights_read_gb=np.array(141.107412992),
        batch_cache_gb=np.array(0.0),
        bandwidth_gbs=np.array(3350.0),
        bandwidth_share=np.array(1.0),
        replica_accelerators=np.array(8.0),
    )

    assert seconds == pytest.approx(5.26e-3, rel=2e-3)


def test_an_encoder_holds_what_its_mean_load_needs_in_whole_replicas() -> None:
    # 10 requests a second of 1/300 s keep a thirtieth of a card busy; one card is held for 12 · 730.5 hours
    found = answer(service())

    assert median(found, "peak_accelerators") == 1
    assert median(found, "total_accelerator_hours") == pytest.approx(8766)
    assert median(found, "useful_accelerator_hours") == pytest.approx(8766 / 30)
    assert found["cost"]["by_line"]["compute"]["p50"] == pytest.approx(17_532)
    assert found["cost"]["by_cause"]["hidden"]["p50"] == pytest.approx(17_532 * 29 / 30)


def test_the_peak_decides_what_is_held_unless_the_service_is_elastic() -> None:
    # 3,000 requests a second on average need 10 cards, three times as many at the peak
    load = {"requests_per_day": 259_200_000, "peak_factor": 3, "months": 1}

    held = answer(service(**load, elastic=False))
    elastic = answer(service(**load))

    assert median(held, "peak_accelerators") == 30
    assert median(held, "total_accelerator_hours") == pytest.approx(30 * 730.5)
    assert median(elastic, "total_accelerator_hours") == pytest.approx(10 * 730.5)


def test_what_the_cache_answers_needs_no_card() -> None:
    load = {"requests_per_day": 259_200_000, "months": 1, "elastic": False}

    assert median(answer(service(**load)), "peak_accelerators") == 10
    assert median(answer(service(**load, cache_hit=0.5)), "peak_accelerators") == 5


def test_a_named_peak_counts_by_its_own_height() -> None:
    event = {"name": "sale", "factor": 5, "hours": 10}
    load = {"requests_per_day": 259_200_000, "months": 1, "peak_factor": 3, "events": [event]}

    found = answer(service(**load))

    assert median(found, "peak_accelerators") == 50
    # 10 cards all month, and 40 more for 10 hours
    assert median(found, "total_accelerator_hours") == pytest.approx(10 * 730.5 + 40 * 10)


def test_the_short_form_is_unit_cost_times_requests_times_peak() -> None:
    found = answer(
        {
            "task": "inference",
            "inference": {"requests_per_day": 100_000, "unit_cost_per_request": 0.01, "peak_factor": 1.5, "months": 2},
        }
    )

    # two months of 30.4375 days
    assert found["cost"]["total"]["p50"] == pytest.approx(100_000 * 60.875 * 0.01 * 1.5)
    assert found["price_missing"] == []
    assert all(figures["p50"] is not None for figures in found["quantities"].values())


def vectors(**more: Any) -> dict[str, Any]:
    return {"task": "vector_store", "vectors": {"count": 1_000_000, "dimensions": 1024, **more}}


def test_a_million_vectors_need_what_qdrant_publishes() -> None:
    # 1,000,000 · 1,024 · 4 bytes · 1.5 = 6,144,000,000 bytes
    assert median(answer(vectors()), "vector_index_gb") == pytest.approx(6.144)


def test_vectors_grow_are_copied_and_lie_hot_or_cold() -> None:
    found = answer(vectors(months=3, growth_per_month=0.1, replicas=2, hot_share=0.25))

    kept = 6.144 * 2 * (1 + 1.1 + 1.21)
    assert median(found, "vector_gb_months") == pytest.approx(kept)
    assert found["cost"]["total"]["p50"] == pytest.approx(kept * (0.25 * 0.02 + 0.75 * 0.001))
    assert median(found, "final_vectors") == pytest.approx(1_210_000)


def test_a_store_may_shrink() -> None:
    assert median(answer(vectors(months=3, growth_per_month=-0.5)), "final_vectors") == pytest.approx(250_000)


def test_embedding_is_one_forward_pass_over_the_corpus() -> None:
    # 2 · 0.5e9 · 36e9 operations at 36 TFLOPS: 1e6 seconds
    document = vectors(embedding_tokens=36e9)
    document["model"] = {"parameters": 0.5e9}
    document["compute"] = {"peak_tflops": 100, "mfu": 0.36, "count": 4, "price_per_accelerator_hour": 1}

    assert median(answer(document), "embedding_accelerator_hours") == pytest.approx(1e6 / 3600)


def test_a_tier_works_and_idles_at_its_own_price() -> None:
    tiers = [
        {"name": "first", "share": 0.75, "price_per_accelerator_hour": 3},
        {"name": "rest", "share": 0.25, "price_per_accelerator_hour": 1},
    ]
    found = answer(service(months=1, tiers=tiers))

    # 1/30 of a card works: 0.025 in the first tier, 0.025 ÷ 3 in the rest; each holds one
    assert median(found, "compute_cost") == pytest.approx(730.5 * (0.025 * 3 + 0.025 / 3))
    assert median(found, "idle_cost") == pytest.approx(730.5 * (0.975 * 3 + 1 - 0.025 / 3))


def test_the_tiers_of_an_own_service_pay_no_rent() -> None:
    document = service(months=1, tiers=[{"name": "first", "share": 0.75}, {"name": "rest", "share": 0.25}])
    own = {"capital": 40_000, "life_hours": 40_000, "occupancy": 1, "board_kw": 1, "pue": 1, "electricity_price": 0.5}
    document["compute"] = {"peak_tflops": 100, "memory_gb": 80, "mfu": 0.36, "mode": "own", "own": own}

    # two cards held for a month at 1 + 0.5 an hour
    assert answer(document)["cost"]["total"]["mean"] == pytest.approx(2 * 730.5 * 1.5)
