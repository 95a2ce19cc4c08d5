"""Ranges become samples: exact quantiles, the same stream for the same path, even coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest

from estimates.engine.sampling import beta_quantiles, draw, pert_quantiles, quantile, stream
from estimates.engine.values import Pert, Point, Quantiles


def test_a_pert_with_its_mode_at_the_low_end_has_the_quantiles_of_a_power_law() -> None:
    found = pert_quantiles(Pert(0, 0, 1), 1000)

    shares = (np.arange(1000) + 0.5) / 1000
    assert found == pytest.approx(1 - (1 - shares) ** (1 / 5), abs=1e-10)


def test_a_symmetric_pert_satisfies_its_distribution_function() -> None:
    found = pert_quantiles(Pert(10, 20, 30), 500)

    x = (found - 10) / 20
    assert x**3 * (10 - 15 * x + 6 * x**2) == pytest.approx((np.arange(500) + 0.5) / 500, abs=1e-10)


@pytest.mark.parametrize("mode", [0.0, 0.001, 0.137, 0.5, 0.86, 1.0])
def test_interpolated_pert_quantiles_agree_with_the_beta_quantiles_themselves(mode: float) -> None:
    shares = (np.arange(400) + 0.5) / 400

    assert pert_quantiles(Pert(0, mode, 1), 400) == pytest.approx(
        beta_quantiles(1 + 4 * mode, 5 - 4 * mode, shares), abs=1e-10
    )


def test_the_mean_of_a_pert_is_a_sixth_of_low_and_four_modes_and_high() -> None:
    drawn = draw([Pert(0.33, 0.40, 0.46)], "compute.mfu", 4000)

    assert drawn.mean() == pytest.approx((0.33 + 4 * 0.40 + 0.46) / 6, abs=1e-6)


def test_three_quantiles_are_met_and_the_ends_are_flat() -> None:
    value = Quantiles(100.0, 200.0, 800.0)

    assert [quantile(value, share) for share in (0.1, 0.5, 0.9)] == pytest.approx([100, 200, 800])
    assert quantile(value, 0.001) == quantile(value, 0.01)
    assert quantile(value, 0.999) == quantile(value, 0.99)
    # straight in logarithms: half way from P50 to P90 in normal scores is the geometric mean
    assert quantile(value, 0.7391658) == pytest.approx(400, rel=1e-3)


def test_a_point_is_one_number_for_all_samples() -> None:
    assert draw([Point(3.0), Point(4.0)], "x", 100).tolist() == [[3.0], [4.0]]


def test_the_same_path_has_the_same_stream_and_another_path_another_one() -> None:
    assert (stream("compute.mfu", 100) == stream("compute.mfu", 100)).all()
    assert (stream("compute.mfu", 100) != stream("data.tokens", 100)).any()


def test_the_stream_of_a_path_is_the_same_on_every_machine() -> None:
    assert stream("compute.mfu", 8).tolist() == FIRST_STREAM


FIRST_STREAM = [4, 0, 6, 7, 1, 5, 3, 2]


def test_streams_of_two_inputs_are_all_but_uncorrelated() -> None:
    one, other = (draw([Pert(0, 1, 2)], path, 4000)[0] for path in ("a", "b"))

    assert abs(np.corrcoef(one, other)[0, 1]) < 0.05


def test_quantile_of_a_pert_is_the_one_of_its_samples() -> None:
    value = Pert(1, 2, 5)

    assert quantile(value, 0.5) == pytest.approx(np.median(pert_quantiles(value, 4001)), rel=1e-9)
    assert math.isclose(quantile(Pert(2, 2, 2), 0.9), 2.0)
