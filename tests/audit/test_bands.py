"""Intervals around what attacks find."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from discreet.audit._bands import mean_band, success_band


@pytest.mark.parametrize(("won", "tries"), [(0, 50), (7, 50), (50, 50)])
def test_bands_of_successes_are_clopper_and_pearsons(won: int, tries: int) -> None:
    known = binomtest(won, tries).proportion_ci(0.95, "exact")
    assert success_band(np.arange(tries) < won) == pytest.approx((known.low, known.high))


def test_bands_of_means_stay_between_0_and_1() -> None:
    assert mean_band(np.ones(9)) == (1.0, 1.0)
    low, high = mean_band(np.array([0.0, 1.0] * 50))
    assert (low, high) == pytest.approx((0.4015, 0.5985), abs=1e-3)
