"""The checks against published runs: which rows, how each is entered, and what the engine says of it. Tuned to none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.engine.published import SLUGS, Row, plan_of, quantities, rows, run_named

SHOWN_APART = {
    "GLM-130B": "the hours are the calendar window of the allocation, restarts and debugging inside",
    "PLaMo-13B": "the hours are a calendar window of just under a month",
    "PaLM-540B": "the hours hold downtime and steps repeated after about twenty rewinds",
}
"""No estimate of the work can meet these hours."""
CAUSAL = ("DeepSeek-V3",)
"""Runs whose authors counted causal attention; the others count it in full."""
CERTAIN = {"reliability": "none", "model_error": "none"}
HARDWARE = ("OPT-175B", "BloombergGPT-50B")
STATED = "T5-11B"
WIDTHS = {"7B": 4096, "13B": 5120, "70B": 8192}
"""Hidden sizes of Llama 2, for the lookup table that is no work."""
VOCABULARY = 32_000


@dataclass(frozen=True)
class Check:
    """One published figure beside what the engine says of it."""

    row: Row
    published: float
    estimated: float
    entered: str
    """The figure from which the engine estimates."""
    convention: str
    why: str = ""
    low: float = 0.0
    high: float = 0.0

    @property
    def name(self) -> str:
        return self.row.get("name") or self.row["model"]

    @property
    def quotable(self) -> bool:
        """Whether the document itself was read; other rows calibrate, and are not quoted as published."""
        return self.row["read_or_recalled"] == "READ"

    @property
    def error(self) -> float:
        return self.estimated / self.published - 1

    @property
    def held(self) -> bool:
        return self.low <= self.published <= self.high


def runs(check_class: str) -> list[Row]:
    return [row for row in rows("training_runs.csv") if row["check_class"] == check_class]


@cache
def with_their_mfu(check_class: str) -> tuple[Check, ...]:
    """All runs of a class from the MFU of their authors, with the default model of failures."""
    return tuple(map(with_its_mfu, runs(check_class)))


def with_its_mfu(row: Row) -> Check:
    attention = "causal" if row["name"] in CAUSAL else "full"
    found = quantities(plan_of(row, mfu={"value": row["reported_mfu"], "attention": attention}))
    mfu = f"MFU {float(row['reported_mfu']):.1%}"
    why = SHOWN_APART.get(row["name"], "")
    return hours_check(row, found["accelerator_hours"], mfu, f"attention: {attention}", why)


def hours_check(row: Row, hours: dict[str, Any], entered: str, convention: str, why: str = "") -> Check:
    published = float(row["reported_gpu_hours"])
    return Check(row, published, hours["p50"], entered, convention, why, hours["p10"], hours["p90"])


@cache
def with_their_tflops() -> tuple[Check, ...]:
    """Runs whose achieved speed counts recomputation, entered as such; and one whose operations are stated."""
    return (*map(with_its_tflops, HARDWARE), with_stated_operations())


def with_its_tflops(name: str) -> Check:
    row = run_named(name)
    speed = row["reported_tflops_per_gpu"]
    found = quantities(plan_of(row, tflops_per_accelerator={"value": speed, "counts": "hardware"}))
    return hours_check(row, found["accelerator_hours"], f"{speed} TFLOPS", "counts: hardware")


def with_stated_operations() -> Check:
    row = run_named(STATED)
    speed = row["reported_tflops_per_gpu"]
    document = plan_of(row, tflops_per_accelerator={"value": speed, "attention": "none"}) | CERTAIN
    document["model"] = {"architecture": "encoder_decoder", "training_flops": row["reported_train_flops"]}
    entered = f"{speed} TFLOPS, {row['reported_train_flops']} FLOP"
    return hours_check(row, quantities(document)["accelerator_hours"], entered, "stated training_flops, no failures")


@cache
def without_an_mfu() -> tuple[Check, ...]:
    """Runs with hours and no MFU, from the published defaults: the band from P10 to P90."""
    known = [row for row in runs("C") if row["accelerator"] in SLUGS]
    return tuple(hours_check(row, quantities(plan_of(row))["accelerator_hours"], "", "defaults") for row in known)


@cache
def throughput() -> tuple[Check, ...]:
    """The MFU of llm-foundry's table from its tokens per second."""
    table = [row for row in rows("mfu_bench.csv") if "llm-foundry" in row["source"] and row["mfu"]]
    return tuple(Check(row, float(row["mfu"]), mfu_of(row), "tokens per second", "attention: full") for row in table)


def mfu_of(row: Row) -> float:
    model = {"layers": "n_layers", "hidden_size": "d_model", "sequence_length": "seq_len"}
    document = {
        "task": "pretrain",
        "model": {"parameters": row["model_params"], **{key: row[column] for key, column in model.items()}},
        "data": {"tokens": 1e9},
        "compute": {
            "peak_tflops": row["peak_tflops_used"],
            "count": row["count"],
            "tokens_per_second_per_accelerator": row["tokens_per_s_per_gpu"],
        },
        "experiments": "none",
        **CERTAIN,
    }
    return float(quantities(document, samples=2)["mfu"]["p50"])


def allowed(check: Check) -> float:
    """How far the MFU of a throughput row may be off: its tokens per second are cut to whole numbers."""
    return max(0.002, 1 / float(check.row["tokens_per_s_per_gpu"]))


@cache
def tuning() -> tuple[Check, ...]:
    """TFLOPS of fine-tuning from tokens per second: 6 operations a parameter and token in full, 4 with LoRA."""
    table = [row for row in rows("mfu_bench.csv") if row["task"] in ("SFT", "LoRA") and "NeMo 24.07" in row["source"]]
    return tuple(map(tuning_check, table))


def tuning_check(row: Row) -> Check:
    strategy = "lora" if row["task"] == "LoRA" else "full"
    width = next(width for size, width in WIDTHS.items() if f"-{size}" in row["model"])
    document = {
        "task": "finetune",
        "model": {"parameters": row["model_params"], "embedding_parameters": VOCABULARY * width},
        "data": {"tokens": 1},
        "finetune": {"strategy": strategy, "adapter_parameters": 1},
        "compute": {"peak_tflops": 989, "count": 8, "mfu": 0.4},
    }
    speed = float(row["tokens_per_s_per_gpu"])
    estimated = quantities(document, samples=2)["training_flops"]["p50"] * speed / 1e12
    entered = f"{speed:,.0f} tokens per second"
    return Check(row, float(row["tflops_per_gpu"]), estimated, entered, f"strategy: {strategy}, attention: none")


# ---- closed forms


@dataclass(frozen=True)
class Form:
    """A worked example: its inputs, the result by hand, and the engine's."""

    name: str
    inputs: str
    by_hand: float
    engine: float
    unit: str
    within: float
    """How far the engine may be off: what rounding by hand leaves open."""

    @property
    def is_met(self) -> bool:
        return abs(self.engine - self.by_hand) <= self.within


def answered(document: dict[str, Any], name: str) -> float:
    whole = {"task": "pretrain", "experiments": "none", **CERTAIN} | document
    return float(quantities(whole, samples=2)[name]["p50"])


def days_of(parameters: float, tokens: float, count: int, tflops: float) -> float:
    speed = {"value": tflops, "counts": "hardware", "attention": "none"}
    compute = {"peak_tflops": 312, "count": count, "tflops_per_accelerator": speed}
    return answered(
        {"model": {"parameters": parameters}, "data": {"tokens": tokens}, "compute": compute}, "elapsed_days"
    )


def rented(hours: float, rent: float, count: int = 8) -> float:
    """What hours cost by a run of so many of them: tokens and speed are chosen to need them."""
    return answered(hours_plan(hours, count, price_per_accelerator_hour=rent), "compute_cost")


def hours_plan(hours: float, count: int, **compute: float) -> dict[str, Any]:
    return {
        "model": {"parameters": 7e9},
        "data": {"tokens": hours * 3600 * 1000},
        "compute": {"peak_tflops": 989, "count": count, "tokens_per_second_per_accelerator": 1000, **compute},
    }


def mfu_from(speed: float, peak: float, tokens: float, model: dict[str, float]) -> float:
    compute = {"peak_tflops": peak, "count": 8, "tokens_per_second_per_accelerator": speed}
    return answered({"model": model, "data": {"tokens": tokens}, "compute": compute}, "mfu") * 100


def counted(attention: str) -> float:
    model = {"parameters": 37e9, "layers": 61, "attention_width": 20480, "sequence_length": 4096}
    compute = {"peak_tflops": 989, "count": 2048, "mfu": {"value": 0.389, "attention": attention}}
    return answered({"model": model, "data": {"tokens": 14.8e12}, "compute": compute}, "counted_flops")


def achieved(tflops: float) -> float:
    compute = {"peak_tflops": 989, "count": 16_384, "tflops_per_accelerator": tflops}
    return answered({"model": {"parameters": 405e9}, "data": {"tokens": 15e12}, "compute": compute}, "mfu") * 100


def closed_forms() -> Iterator[Form]:
    """Hours and money of section 3.6 of the published checks."""
    for size, tokens, count, tflops, days, within in (
        (175e9, 300e9, 1024, 140, 33.9, 0.05),
        (1.008e12, 450e9, 3072, 163, 83.9, 0.05),
        (13e9, 300e9, 256, 45, 31.35, 0.02),
    ):
        said = f"{size / 1e9:,.0f}B parameters, {tokens / 1e9:.0f}B tokens, {count:,} × {tflops} TFLOPS"
        yield Form("8 · tokens · parameters ÷ speed", said, days, days_of(size, tokens, count, tflops), "days", within)
    speed = {"value": 24.6, "attention": "none"}
    compute = {"peak_tflops": 125, "count": 10_000, "tflops_per_accelerator": speed}
    stated = {"model": {"training_flops": 3.14e23}, "data": {"tokens": 300e9}, "compute": compute}
    days = answered(stated, "elapsed_days")
    yield Form("stated operations ÷ speed", "3.14e23 FLOP, 10,000 × 24.6 TFLOPS", 14.77, days, "days", 0.005)
    for hours, count, days in ((2.664e6, 2048, 54.2), (180_000, 2048, 3.66), (809_472, 992, 34.0)):
        found = answered(hours_plan(hours, count), "elapsed_days")
        yield Form("hours ÷ accelerators", f"{hours:,.0f} h on {count:,}", days, found, "days", 0.05)
    for hours, rent in ((2.788e6, 2), (100_320, 2), (142_541, 5), (20 * 64, 4), (226.75 * 8 * 24, 2)):
        yield Form("hours · rent", f"{hours:,.0f} h at {rent} USD", hours * rent, rented(hours, rent), "USD", 0.5)
    yield from steps()
    yield Form("achieved ÷ peak", "400 of 989 TFLOPS", 40.4, achieved(400), "% MFU", 0.05)
    found = mfu_from(1920 * 2048 / 60.1 / 2240, 312, 1e9, {"parameters": 530e9})
    said = "530B parameters, 1,920 · 2,048 tokens in 60.1 s on 2,240, without attention"
    yield Form("6 · N · tokens per second ÷ peak", said, 29.8, found, "% MFU", 0.05)
    tokens = 8_757_706_752
    found = mfu_from(tokens / 10_949.5 / 8, 989, tokens, {"training_flops": 4.330784e19})
    yield Form("stated operations ÷ time and peak", "4.330784e19 FLOP in 10,949.5 s on 8", 50.0, found, "% MFU", 0.05)
    found = mfu_from(1e12 / (6.35e6 / 27.5 * 3600), 989, 1e12, {"parameters": 28.8e9})
    yield Form("6 · N · tokens per hour ÷ peak", "28.8B active, 1T tokens in 230,909 h", 21.0, found, "% MFU", 0.05)
    ratio = counted("full") / counted("causal")
    yield Form("full ÷ causal attention", "37B active, 61 layers, width 20,480, 4,096", 1.121, ratio, "", 0.0006)


def steps() -> Iterator[Form]:
    """A run told by its steps: 286,102 of 524,288 tokens, 1.7 s each, on a machine of 8 at 14 USD an hour."""
    compute = {
        "peak_tflops": 312,
        "count": 8,
        "tokens_per_second_per_accelerator": 524_288 / 1.7 / 8,
        "price_per_accelerator_hour": 14 / 8,
    }
    document = {"model": {"parameters": 774e6}, "data": {"tokens": 286_102 * 524_288}, "compute": compute}
    for unit, name, by_hand, within in (("h", "elapsed_hours", 135.1, 0.05), ("USD", "compute_cost", 1891, 1.0)):
        yield Form(
            "steps · seconds", "286,102 steps of 1.7 s, 14 USD/h", by_hand, answered(document, name), unit, within
        )


STALLS = (
    (300, 3.09, 39.8, 28.6),
    (30, 3.09, 13.3, 12.7),
    (60, 1.80, 14.0, 22.9),
    (60, 7.90, 30.1, 8.6),
    (30, 0.23, 3.4, 99.4),
)
"""Seconds of stall, hours between failures; the interval in minutes, the loss in percent with a restart of 10 min."""


def failures() -> Iterator[Form]:
    """Intervals, losses and failure rates of section 3.7 of the published checks."""
    for stall, mtbf, minutes, loss in STALLS:
        said = f"stall {stall} s, a failure every {mtbf} h"
        found = quantities(cluster(1000, mtbf, stall, 0), samples=2)["checkpoint_interval_hours"]["p50"] * 60
        yield Form("Daly's interval", said, minutes, found, "min", 0.06)
        found = quantities(cluster(1000, mtbf, stall, 1 / 6), samples=2)["first_order_loss"]["p50"] * 100
        yield Form("first-order loss", f"{said}, restart 10 min", loss, found, "%", 0.15)
    for count, hours in ((16_384, 1.80), (131_072, 0.225), (1_024, 28.8)):
        document = cluster(count, 1000 * 24 / 6.5 * 8 / count, 30, 0)
        found = quantities(document, samples=2)["cluster_mtbf_hours"]["p50"]
        said = f"6.5 failures per 1,000 node-days, {count:,} accelerators"
        yield Form("time between failures", said, hours, found, "h", hours * 0.003)


def cluster(count: int, mtbf_hours: float, stall_seconds: float, restart_hours: float) -> dict[str, Any]:
    """A plan on a cluster of so many accelerators that fails so often as a whole."""
    return {
        "task": "pretrain",
        "model": {"parameters": 7e9},
        "data": {"tokens": 2e12},
        "compute": {"peak_tflops": 989, "count": count, "mfu": 0.4},
        "reliability": {
            "accelerator_mtbf_hours": mtbf_hours * count,
            "checkpoint_stall_hours": stall_seconds / 3600,
            "restart_hours": restart_hours,
        },
        "experiments": "none",
    }
