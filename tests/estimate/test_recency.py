"""When "lately" was: the window of recent records, and how much older ones count."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.domain import Noisy
from discreet.estimate import WINDOW, drift_of, find_window, recent_weights
from discreet.estimate._recency import _HALF_LIFE, _LONGEST, _SHORTEST, popular_now


def test_the_window_holds_its_part_of_the_records() -> None:
    counts = np.zeros(40)
    counts[10:20] = 10.0
    window = find_window(Noisy(counts, 0.0))
    assert window is not None
    assert (window.first, window.last, window.total) == (18, 19, 100.0)
    assert counts[window.first :].sum() >= WINDOW * counts.sum() > counts[window.first + 1 :].sum()


def test_what_is_hidden_by_noise_is_no_period() -> None:
    rng = np.random.default_rng(1)
    assert find_window(Noisy(np.clip(rng.normal(0, 1, 2000), -3.9, 3.9), 1.0)) is None
    assert find_window(Noisy(np.zeros(5), 0.0)) is None
    lone = np.zeros(2000)
    lone[700] = 50.0
    window = find_window(Noisy(lone + np.clip(rng.normal(0, 1, 2000), -3.9, 3.9), 1.0))
    assert window is not None and window.first == window.last == 700


@pytest.mark.parametrize(
    ("noise", "half_life"), [(0.0, _SHORTEST), (0.05 / _HALF_LIFE, 0.05), (9.0, _LONGEST)]
)
def test_a_record_counts_half_after_a_half_life_of_others(noise: float, half_life: float) -> None:
    """Half of a period's own records follow it on average."""
    each = 1.0
    counts = Noisy(np.full(20, each), 0.0)
    weights = recent_weights(counts, 100.0, noise)
    assert np.all(np.diff(weights) > 0) and weights[-1] < 1
    after = (np.arange(20)[::-1] + 0.5) * each
    assert weights == pytest.approx(2 ** (-after / (half_life * 100.0)))


def test_noise_below_zero_makes_no_weight_above_one() -> None:
    weights = recent_weights(Noisy(np.array([-5.0, 3.0, -40.0, 0.0]), 10.0), 0.0, 1.0)
    assert np.all((weights >= 0) & (weights <= 1))


@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_without_drift_there_is_none(spread: float) -> None:
    counts = Noisy(np.linspace(1, 100, 50), 0.0)
    noise = np.random.default_rng(5).normal(0, spread, 50)
    assert drift_of(counts, Noisy(0.1 * counts.value + noise, spread)) <= 1e-12
    assert drift_of(counts, Noisy(np.zeros(50) + noise, spread)) == 0
    assert drift_of(Noisy(np.zeros(50), 1.0), Noisy(np.zeros(50), 1.0)) == 0


def test_a_whole_change_is_all_drift() -> None:
    counts = Noisy(np.array([9.0, 9.0, 0.0, 0.0]), 0.0)
    assert drift_of(counts, Noisy(np.array([0.0, 0.0, 5.0, 7.0]), 0.0)) == 1
    half = drift_of(counts, Noisy(np.array([5.0, 5.0, 5.0, 5.0]), 0.0))
    assert half == pytest.approx(0.5)


def test_items_that_did_not_change_at_all_keep_their_popularity() -> None:
    """Nor does a change of exactly 0 leave the floats' range."""
    p = np.array([4.0, 2.0, 0.0, 2.0])
    np.testing.assert_allclose(popular_now(p, Noisy(100 * p, 0.5)), 1.0)


def test_a_period_of_noise_is_not_the_present() -> None:
    """One release in sixteen has four standard deviations of noise in some empty period."""
    counts = np.zeros(1776)
    counts[500:520], counts[1700] = 1000.0, 45.0
    window = find_window(Noisy(counts, 10.0))
    assert window is not None and window.last == 519
