"""Free directions: standardised whatever the columns are, and rows that are never too long."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain import Noisy
from discreet.estimate import Effects, free_directions, short_rows, standardised
from discreet.estimate._directions import FREE_SIZE

Floats = npt.NDArray[np.float64]


def moments_of(columns: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Mean and variance over ratings."""
    shares = counts / counts.sum()
    mean = shares @ columns
    return mean, shares @ (columns - mean) ** 2


def test_columns_have_mean_0_and_variance_1_over_ratings() -> None:
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 1000, 300).astype(float)  # some items nobody rated
    columns = np.column_stack([rng.uniform(5, 9, 300), rng.uniform(-1e-3, 1e-3, 300)])
    mean, variance = moments_of(standardised(columns, counts), counts)
    assert mean == pytest.approx([0, 0], abs=1e-12) and variance == pytest.approx([1, 1])


def test_far_away_entries_are_clipped() -> None:
    columns = np.zeros((1000, 1))
    columns[:2, 0] = 50.0, -50.0
    found = standardised(columns, np.ones(1000))
    assert found[:3, 0].tolist() == [3.0, -3.0, 0.0]


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3, 2026.0])
def test_a_constant_column_becomes_0(value: float) -> None:
    counts = np.random.default_rng(2).uniform(0, 9, 57)
    columns = np.column_stack([np.full(57, value), np.arange(57.0)])
    found = standardised(columns, counts)
    assert not found[:, 0].any() and found[:, 1].any()


def test_what_only_unrated_items_have_is_constant_over_ratings() -> None:
    found = standardised(np.array([[1.0], [1.0], [4.0]]), np.array([3.0, 5.0, 0.0]))
    assert found.tolist() == [[0.0], [0.0], [0.0]]


def test_one_item_has_no_directions() -> None:
    assert standardised(np.array([[4.0, -2.0]]), np.array([3.0])).tolist() == [[0.0, 0.0]]


def effects_of(counts: Floats, levels: Floats, spread: float, doubt: float = 1e-9) -> Effects:
    """Released effects of which so much is unknown."""
    people, variances = Noisy(float(np.abs(counts).sum()), 1.0), np.full(len(counts), doubt)
    return Effects(3.0, 0.1, levels, variances, counts, spread, people)


@pytest.mark.parametrize("width", [1.0, 4.0, 20.0])
def test_popularity_and_effect_are_directions_of_the_stated_size(width: float) -> None:
    rng = np.random.default_rng(3)
    effects = effects_of(10 ** rng.uniform(2, 3, 500), rng.normal(0, 0.3, 500), 0.1)
    found = free_directions(effects, width)
    assert found.shape == (500, 2)
    _, variance = moments_of(found, effects.known_counts)
    # Clipped at 3 standard deviations, hence a little less.
    assert variance == pytest.approx([(FREE_SIZE * width / 4) ** 2] * 2, rel=0.1)


def test_directions_are_shorter_the_less_is_known() -> None:
    rng = np.random.default_rng(6)
    counts, levels = 10 ** rng.uniform(1, 3, 300), rng.normal(0, 0.3, 300)
    lengths = [
        np.sqrt((free_directions(effects_of(counts, levels, 1.0, doubt), 4.0) ** 2).mean())
        for doubt in (0.0, 0.01, 0.1, 1.0)
    ]
    assert lengths == sorted(lengths, reverse=True) and lengths[3] < lengths[0]


def test_counts_below_0_do_no_harm() -> None:
    rng = np.random.default_rng(4)
    effects = effects_of(rng.normal(0, 50, 80), rng.normal(0, 0.3, 80), 50.0)
    own = free_directions(effects, 4.0)
    assert np.all(np.isfinite(own)) and own.any(axis=0).all()


def test_what_says_nothing_is_no_direction() -> None:
    """Where no effect is known, and every count is the same."""
    counts = np.random.default_rng(5).uniform(10, 1000, 60)
    known, equal = effects_of(counts, np.zeros(60), 1.0), effects_of(np.ones(60), np.zeros(60), 0.1)
    assert free_directions(known, 4.0).shape == (60, 1)
    assert free_directions(equal, 4.0).shape == (60, 0)


entries = st.one_of(
    st.floats(-3, 3), st.sampled_from([0.0, 1e-300, 1e-160, 1e-13, 1e-12, -1e6, 1e100])
)


@settings(max_examples=200)
@given(
    st.lists(st.lists(entries, min_size=3, max_size=3), min_size=1, max_size=8),
    st.lists(st.floats(-1e6, 1e9), min_size=8, max_size=8),
    st.sampled_from([1e-6, 0.5, 1.0, 1.3, 50.0]),
)
def test_short_rows_are_never_longer_than_1(
    rows: list[list[float]], counts: list[float], most: float
) -> None:
    factors = np.array(rows)
    found = short_rows(factors, np.array(counts[: len(factors)]), most)
    assert np.all(np.isfinite(found))
    assert (np.sqrt((found**2).sum(axis=1)) <= 1).all()
    assert (found * factors >= 0).all()


def test_short_rows_keep_proportions_below_the_cut_and_directions_above() -> None:
    factors = np.array([[3.0, 4.0], [0.3, 0.4], [30.0, 40.0]])
    counts = np.array([99.0, 99.0, -5.0])
    found = short_rows(factors, counts, 1.3)
    longest = 1.3 * np.sqrt((100 * 25 + 100 * 0.25 + 2500) / 201)
    assert found[:2] == pytest.approx(factors[:2] / longest)
    assert found[2] == pytest.approx([0.6, 0.8]) and np.hypot(*found[2]) < 1


def test_rows_of_0_stay_0() -> None:
    assert not short_rows(np.zeros((4, 2)), np.ones(4), 1.3).any()
