"""Continued pretraining as a share of what its base has seen: given, or as published runs took it."""

from __future__ import annotations

import pytest

from estimates.engine.continued import RUNS
from estimates.engine.plan import PlanRefused, parse_plan
from tests.engine.makers import estimated, p50, pretrain


def continued(**data: object) -> dict:
    """Of 1e9 parameters at 500 TFLOPS: 1e12 tokens are 10,000 ÷ 3 hours."""
    return pretrain(task="continued_pretrain", data=data)


def test_a_given_share_makes_the_tokens_of_the_run() -> None:
    answered = estimated(continued(base_tokens="2T", share_of_base="25%"))

    assert p50(answered, "paid_tokens") == pytest.approx(5e11)
    assert p50(answered, "accelerator_hours") == pytest.approx(10_000 / 3 / 2)


def test_a_share_that_is_left_out_is_that_of_published_runs_and_is_told() -> None:
    left_out = estimated(continued(base_tokens="2T"))
    by_word = estimated(continued(base_tokens="2T", share_of_base="baseline"))

    told = next(item for item in left_out["assumptions"] if item["input"] == "share_of_base")
    # between 0.125 and 0.25 lies the middle of eight
    assert told["p50"] == pytest.approx(0.1875)
    assert told["p10"] < 0.03 < 0.5 < told["p90"]
    assert left_out["quantities"]["paid_tokens"] == by_word["quantities"]["paid_tokens"]
    assert p50(left_out, "paid_tokens") == pytest.approx(0.1875 * 2e12, rel=1e-2)


def test_the_total_is_told_to_depend_on_the_share() -> None:
    ranked = [item["input"] for item in estimated(continued(base_tokens="2T"))["sensitivity"]]

    assert ranked[0] == "data.share_of_base"


def test_published_runs_are_shares_of_what_their_base_had_seen() -> None:
    shares = {run.name: run.share for run in RUNS}

    assert shares["Code Llama 7B, 13B and 34B"] == 0.25
    assert shares["Code Llama 70B"] == 0.5
    assert shares["Meditron 7B and 70B"] == pytest.approx(0.02405)


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (continued(base_tokens="2T", tokens="1T"), "data.tokens"),
        (continued(base_tokens="2T", epochs=2), "data.epochs"),
        (continued(tokens="1T", share_of_base=0.5), "data.base_tokens"),
        (continued(base_tokens="2T", share_of_base=25), "data.share_of_base"),
        (continued(), "data.tokens"),
        (pretrain(data={"base_tokens": "2T"}), "data.tokens"),
    ],
)
def test_what_contradicts_or_lacks_is_refused_at_its_place(document: dict, path: str) -> None:
    with pytest.raises(PlanRefused) as refused:
        parse_plan(document)

    assert path in {fault.path for fault in refused.value.faults}
