"""How far published continued pretraining went: its tokens against those that its base had seen before.

Only runs of which both numbers were read where their authors give them. They span two orders of magnitude, from a
domain of medicine to a base that became a code model: the share says little about a single plan, and its range says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimates.engine.sampling import Range
from estimates.engine.summary import levels
from estimates.engine.values import Quantiles


@dataclass(frozen=True)
class Continued:
    """One published run."""

    name: str
    tokens: float
    base_tokens: float
    source: str

    @property
    def share(self) -> float:
        return self.tokens / self.base_tokens


RUNS = (
    Continued("Llama 3.1 Swallow 8B and 70B v0.1", 200e9, 15e12, "its model card; Llama 3.1 model card"),
    Continued("Meditron 7B and 70B", 48.1e9, 2e12, "epfLLM/meditron, README; Llama 2 model card"),
    Continued("DeepSeek Coder, longer window", 200e9, 1.8e12, "deepseek-ai/DeepSeek-Coder, README, section 3"),
    Continued(
        "DeepSeekMath 7B",
        500e9,
        4e12,
        "deepseek-ai/DeepSeek-Math, README; its base had seen 2T, and 2T of code after that",
    ),
    Continued(
        "Code Llama 7B, 13B and 34B",
        500e9,
        2e12,
        "Meta, Introducing Code Llama, 24 August 2023; Llama 2 model card",
    ),
    Continued("TinyLlama 1.1B v1.1", 0.5e12, 1.5e12, "its model card: 2T in all, 1.5T of them basic pretraining"),
    Continued("Code Llama 70B", 1e12, 2e12, "Meta, Introducing Code Llama, as of January 2024; Llama 2 model card"),
    Continued(
        "DeepSeek-Coder-7B-Base v1.5",
        2e12,
        2e12,
        "its model card; DeepSeek LLM (arXiv:2401.02954), conclusion",
    ),
)


def published_share() -> Range:
    """P10, P50 and P90 of the runs."""
    return Quantiles(*levels(np.sort([run.share for run in RUNS]), (0.1, 0.5, 0.9)).tolist())
