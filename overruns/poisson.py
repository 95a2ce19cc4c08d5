"""How many events at a constant rate are still no surprise. Pure."""

from __future__ import annotations

import math


def upper_quantile(expected: float, share: float) -> int:
    """The fewest events that a Poisson count of this mean does not exceed with the probability `share`.

    Terms are taken in logarithms, so that a mean of thousands does not vanish.
    """
    if expected <= 0:
        return 0
    count, cumulated = 0, 0.0
    while True:
        cumulated += math.exp(count * math.log(expected) - expected - math.lgamma(count + 1))
        if cumulated >= share or count > expected + 20 * math.sqrt(expected) + 20:
            return count
        count += 1
