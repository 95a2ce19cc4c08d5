"""The engine against published runs and tables, read in place. Tuned to none of them."""

from __future__ import annotations

from statistics import median

import pytest

from tests.engine.published import SLUGS, Row, plan_of, quantities, rows, run_named

SHOWN_APART = ("GLM-130B", "PLaMo-13B", "PaLM-540B")
"""Their hours are calendar windows or hold known repeats; no estimate of the work can meet them."""
CAUSAL = ("DeepSeek-V3",)
"""Runs whose authors counted causal attention; the others count it in full."""
CERTAIN = {"reliability": "none", "model_error": "none"}


def error_of(row: Row) -> float:
    """Estimated ÷ published accelerator-hours − 1, from the published MFU and the default model of failures."""
    attention = "causal" if row["name"] in CAUSAL else "full"
    found = quantities(plan_of(row, mfu={"value": row["reported_mfu"], "attention": attention}))
    return found["accelerator_hours"]["p50"] / float(row["reported_gpu_hours"]) - 1


def test_runs_with_a_published_mfu_and_independent_hours_are_met() -> None:
    scored = [row for row in rows("training_runs.csv") if row["check_class"] == "A" and row["name"] not in SHOWN_APART]

    errors = {row["name"]: error_of(row) for row in scored}

    assert len(errors) >= 4
    assert median(abs(error) for error in errors.values()) <= 0.08, errors
    assert max(abs(error) for error in errors.values()) <= 0.15, errors


def test_hours_with_known_repeats_or_calendar_windows_lie_above_the_estimate() -> None:
    assert all(error_of(run_named(name)) < 0 for name in SHOWN_APART)


def test_hours_told_by_third_parties_are_met_roughly() -> None:
    told = [row for row in rows("training_runs.csv") if row["check_class"] == "T"]

    assert told
    assert all(abs(error_of(row)) <= 0.25 for row in told)


@pytest.mark.parametrize("name", ["OPT-175B", "BloombergGPT-50B"])
def test_achieved_tflops_that_count_recomputation_are_met_when_entered_as_such(name: str) -> None:
    row = run_named(name)

    found = quantities(
        plan_of(row, tflops_per_accelerator={"value": row["reported_tflops_per_gpu"], "counts": "hardware"})
    )

    assert found["accelerator_hours"]["p50"] == pytest.approx(float(row["reported_gpu_hours"]), rel=0.12)


def test_an_encoder_decoder_is_met_from_its_stated_operations() -> None:
    row = run_named("T5-11B")
    document = plan_of(row, tflops_per_accelerator={"value": row["reported_tflops_per_gpu"], "attention": "none"})
    document["model"] = {"architecture": "encoder_decoder", "training_flops": row["reported_train_flops"]}
    document |= CERTAIN

    assert quantities(document)["accelerator_hours"]["p50"] == pytest.approx(float(row["reported_gpu_hours"]), rel=0.01)


def test_without_an_mfu_the_band_holds_most_published_hours_and_is_no_wider_than_it_must_be() -> None:
    without = [row for row in rows("training_runs.csv") if row["check_class"] == "C" and row["accelerator"] in SLUGS]

    bands = {row["name"]: quantities(plan_of(row))["accelerator_hours"] for row in without}

    held = [
        row
        for row in without
        if bands[row["name"]]["p10"] <= float(row["reported_gpu_hours"]) <= bands[row["name"]]["p90"]
    ]
    assert len(without) >= 30
    assert 0.75 <= len(held) / len(without) <= 0.90
    assert median(band["p90"] / band["p10"] for band in bands.values()) < 2.5


def test_the_mfu_of_a_throughput_table_is_found_again_from_tokens_per_second() -> None:
    table = [row for row in rows("mfu_bench.csv") if "llm-foundry" in row["source"] and row["mfu"]]

    assert len(table) >= 150
    for row in table:
        speed = float(row["tokens_per_s_per_gpu"])
        document = {
            "task": "pretrain",
            "model": {
                "parameters": row["model_params"],
                "layers": row["n_layers"],
                "hidden_size": row["d_model"],
                "sequence_length": row["seq_len"],
            },
            "data": {"tokens": 1e9},
            "compute": {
                "peak_tflops": row["peak_tflops_used"],
                "count": row["count"],
                "tokens_per_second_per_accelerator": speed,
            },
            "experiments": "none",
            **CERTAIN,
        }
        found = quantities(document, samples=2)["mfu"]["p50"]
        assert found == pytest.approx(float(row["mfu"]), rel=max(0.002, 1 / speed)), row


TUNING = [
    ("full", 32_000, 4096, 6_738_417_664, 17_617, 702),
    ("full", 32_000, 5120, 13_015_866_880, 10_176, 787),
    ("full", 32_000, 8192, 68_976_653_312, 1_812, 747),
    ("lora", 32_000, 4096, 6_738_417_664, 25_206, 673),
    ("lora", 32_000, 5120, 13_015_866_880, 14_760, 764),
    ("lora", 32_000, 8192, 68_976_653_312, 2_621, 722),
]
"""Strategy, vocabulary, width, parameters, tokens per second, TFLOPS: NeMo 24.07, Llama 2, attention left out."""


@pytest.mark.parametrize(("strategy", "vocabulary", "width", "parameters", "speed", "tflops"), TUNING)
def test_full_and_lora_fine_tuning_ask_for_the_published_operations(
    strategy: str, vocabulary: int, width: int, parameters: int, speed: int, tflops: int
) -> None:
    document = {
        "task": "finetune",
        "model": {"parameters": parameters, "embedding_parameters": vocabulary * width},
        "data": {"tokens": 1},
        "finetune": {"strategy": strategy, "adapter_parameters": 1},
        "compute": {"peak_tflops": 989, "count": 8, "mfu": 0.4},
    }

    found = quantities(document, samples=2)["training_flops"]["p50"] * speed / 1e12

    assert found == pytest.approx(tflops, rel=0.035)


def test_the_closed_forms_of_time_are_met() -> None:
    megatron = {
        "task": "pretrain",
        "model": {"parameters": 175e9},
        "data": {"tokens": 300e9},
        "compute": {
            "peak_tflops": 312,
            "count": 1024,
            "tflops_per_accelerator": {"value": 140, "counts": "hardware", "attention": "none"},
        },
        **CERTAIN,
    }
    trillion = {
        **megatron,
        "model": {"parameters": 1.008e12},
        "data": {"tokens": 450e9},
        "compute": {**megatron["compute"], "count": 3072},
    }
    trillion["compute"]["tflops_per_accelerator"] = {"value": 163, "counts": "hardware", "attention": "none"}

    # 8 · tokens · parameters ÷ (accelerators · achieved operations)
    assert quantities(megatron)["elapsed_hours"]["p50"] / 24 == pytest.approx(33.9, abs=0.05)
    assert quantities(trillion)["elapsed_hours"]["p50"] / 24 == pytest.approx(83.9, abs=0.05)


@pytest.mark.parametrize(
    ("stall_seconds", "mtbf_hours", "minutes"),
    [(300, 3.09, 39.8), (30, 3.09, 13.3), (60, 1.80, 14.0), (60, 7.90, 30.1), (30, 0.23, 3.4)],
)
def test_the_interval_between_checkpoints_is_dalys(stall_seconds: float, mtbf_hours: float, minutes: float) -> None:
    document = cluster(1000, mtbf_hours, stall_seconds, restart_hours=0)

    assert quantities(document)["checkpoint_interval_hours"]["p50"] * 60 == pytest.approx(minutes, abs=0.06)


def test_a_cluster_that_loses_more_than_half_its_time_is_infeasible() -> None:
    found = quantities(cluster(131_072, 0.23, 30, restart_hours=1 / 6))

    assert found["first_order_loss"]["p50"] == pytest.approx(0.994, abs=0.002)
    assert found["accelerator_hours"]["p50"] is None


def cluster(count: int, mtbf_hours: float, stall_seconds: float, restart_hours: float) -> dict:
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


@pytest.mark.parametrize(("count", "goodput"), [(500, 0.98), (2_000, 0.97), (16_000, 0.92)])
def test_with_the_defaults_goodput_falls_with_the_size_of_the_cluster(count: int, goodput: float) -> None:
    document = {**cluster(count, 1, 1, 0), "reliability": None}

    assert quantities(document)["goodput"]["p50"] == pytest.approx(goodput, abs=0.005)


def test_the_pretraining_of_deepseek_v3_comes_out_as_its_report_says() -> None:
    row = run_named("DeepSeek-V3")
    document = {
        "task": "pretrain",
        "model": {"parameters": 37e9, "layers": 61, "attention_width": 20480, "sequence_length": 4096},
        "data": {"tokens": 14.8e12},
        "compute": {"peak_tflops": 989, "count": 2048, "mfu": {"value": 0.389, "attention": "causal"}},
        "experiments": "none",
        **CERTAIN,
    }

    found = quantities(document)

    assert found["ideal_accelerator_hours"]["p50"] == pytest.approx(float(row["reported_gpu_hours"]), rel=0.03)
    assert found["accelerator_hours"]["p50"] == found["ideal_accelerator_hours"]["p50"]
