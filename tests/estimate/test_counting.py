"""Counts in rounds among fewer and fewer items: one unit, weighted by noise, the head foremost."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from discreet.domain import Noisy
from discreet.estimate import RepeatedCounts, believed_counts, narrowing_heads


@pytest.mark.parametrize("items", [0, 1, 100, 319, 320, 1682, 9724, 100_000])
def test_heads_become_smaller(items: int) -> None:
    sizes = narrowing_heads(items)
    assert bool(sizes) == (items >= 320)
    assert all(40 <= after < before for before, after in pairwise(sizes))
    assert all(size <= items / 8 + 1 for size in sizes)


def test_larger_votes_are_brought_to_the_first_unit() -> None:
    """Among the head every vote is worth three of the first round."""
    counts = RepeatedCounts.of(Noisy(np.array([40.0, 10.0, 20.0, 1.0]), 1.0))
    head = counts.head(2)
    assert head.tolist() == [0, 2]
    again = counts.with_head(head, Noisy(np.array([120.0, 60.0]), 1.0))
    assert again.value == pytest.approx([40.0, 10.0, 20.0, 1.0])
    assert again.precisions == pytest.approx([10.0, 1.0, 10.0, 1.0])
    assert again.counts.spread == 1.0


def test_what_is_known_better_counts_more() -> None:
    counts = RepeatedCounts.of(Noisy(np.array([8.0, 12.0]), 2.0))
    head = counts.head(2)
    again = counts.with_head(head, Noisy(np.array([12.0, 8.0]), 1.0))
    assert again.value == pytest.approx([0.2 * 8 + 0.8 * 12, 0.2 * 12 + 0.8 * 8])


def test_votes_among_fewer_items_are_never_taken_for_smaller() -> None:
    """A head was chosen for looking popular, so its later votes add up to less."""
    counts = RepeatedCounts.of(Noisy(np.array([50.0, 50.0]), 1.0))
    again = counts.with_head(counts.head(2), Noisy(np.array([10.0, 0.0]), 1.0))
    assert again.value == pytest.approx([30.0, 25.0])


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_nothing_at_all_stays_finite(spread: float) -> None:
    counts = RepeatedCounts.of(Noisy(np.full(3, -1.0), spread))
    again = counts.with_head(counts.head(2), Noisy(np.array([-5.0, 3.0]), spread))
    assert np.isfinite(again.value).all() and np.isfinite(again.precisions).all()


def test_rounds_find_the_popular_more_often_than_one_count_of_all() -> None:
    """People have 60 of 4,000 items; votes among fewer items are larger and the noise is not."""
    rng = np.random.default_rng(3)
    popular = 1 / (10 + np.arange(1, 4001))
    have = rng.random((300, 4000)) < 60 * popular / popular.sum()
    true = have.sum(axis=0)

    def votes(head: np.ndarray, share: float) -> Noisy:
        inside = have[:, head]
        each = inside / np.sqrt(np.maximum(inside.sum(axis=1, keepdims=True), 1))
        spread = 6 / share**0.5
        return Noisy(each.sum(axis=0) + rng.normal(0, spread, len(head)), spread)

    def found(value: np.ndarray) -> float:
        return float(true[np.argsort(-value)[:10]].sum())

    everything = np.arange(4000)
    once, rounds = [], []
    for _ in range(20):
        once.append(found(votes(everything, 1.0).value))
        counts = RepeatedCounts.of(votes(everything, 0.28))
        for size in (sizes := narrowing_heads(4000)):
            head = counts.head(size)
            counts = counts.with_head(head, votes(head, 0.72 / len(sizes)))
        rounds.append(found(counts.value))
    assert np.mean(rounds) > 1.03 * np.mean(once)


def test_counts_that_drown_are_believed_as_far_as_others_make_them_likely() -> None:
    """Most items are rare and some popular: expected counts are nearer the truth, item by item."""
    rng = np.random.default_rng(4)
    true = np.where(rng.random(3000) < 0.1, rng.gamma(2.0, 20.0, 3000), rng.gamma(1.0, 1.0, 3000))
    noisy = Noisy(true + rng.normal(0, 10, 3000), 10.0)
    believed = believed_counts(noisy)
    assert (believed >= 0).all()
    ordered = believed[np.argsort(noisy.value)]
    assert (np.diff(ordered) > -1e-6 * noisy.spread).all()
    before = np.maximum(noisy.value, 0.0)
    assert np.mean((believed - true) ** 2) < 0.6 * np.mean((before - true) ** 2)
    assert believed.sum() == pytest.approx(true.sum(), rel=0.1)


@pytest.mark.parametrize("value", [[], [3.0], [-5.0, -2.0], [0.0, 1e9], [50.0, 60.0, 70.0]])
@pytest.mark.parametrize("spread", [0.0, 1e-6, 1.0])
def test_counts_known_well_are_believed_as_they_are(value: list[float], spread: float) -> None:
    believed = believed_counts(Noisy(np.array(value), spread))
    assert believed.shape == (len(value),) and np.isfinite(believed).all() and (believed >= 0).all()
    clear = np.array(value) > 10 * spread
    assert believed[clear] == pytest.approx(np.array(value)[clear])
