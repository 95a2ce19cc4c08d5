"""The input embedding is looked up, not multiplied: small models have much of it."""

from __future__ import annotations

from datetime import date

from estimates.engine.answer import estimate
from estimates.engine.books import AcceleratorBook, PriceBook
from estimates.engine.plan import parse_plan
from tests.engine.plans import small_plan


def training_flops(**model: float) -> float:
    """The operations of 1e9 tokens, without anything uncertain."""
    document = small_plan(
        model=model,
        data={"tokens": 1e9},
        compute={"peak_tflops": 312, "memory_gb": 40, "count": 8, "mfu": 0.3, "price_per_accelerator_hour": 1},
        experiments="none",
        reliability="none",
        model_error="none",
    )
    answer = estimate(
        parse_plan(document), prices=PriceBook(), accelerators=AcceleratorBook(), prices_on=date(2027, 1, 1), samples=20
    )
    return answer["quantities"]["training_flops"]["p50"]


def test_the_embedding_of_a_small_model_is_left_out_of_the_operations() -> None:
    # 162,322,944 parameters, of which the input embedding is 50,304 tokens · 768
    assert training_flops(parameters=162_322_944, embedding_parameters=50_304 * 768) == 6 * 123_689_472 * 1e9


def test_the_embedding_is_a_part_of_the_active_parameters() -> None:
    assert training_flops(parameters=10e9, active_parameters=2e9, embedding_parameters=0.5e9) == 6 * 1.5e9 * 1e9
