"""The number of fakes is binomial and every set of places is as likely as any other."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.stats import binom, chisquare

from discreet.privacy import SeededRandomness
from discreet.protocols.local_reports.client import FakeCount, _edges, draw_places

_ALPHA = 1e-4


@pytest.mark.parametrize("law", [FakeCount(9, 1, 0.5), FakeCount(40, 5, 1.0), FakeCount(6, 2, 3.0)])
def test_numbers_have_the_binomial_law(law: FakeCount) -> None:
    randomness = SeededRandomness(f"numbers {law}")
    draws = np.array([law.draw(randomness) for _ in range(20_000)])
    share = law.odds / (1 + law.odds)
    expected = binom.pmf(np.arange(law.items + 1), law.items, share) * len(draws)
    seen = np.bincount(draws, minlength=law.items + 1)
    rare = expected < 10
    groups = [np.append(each[~rare], each[rare].sum()) for each in (seen, expected)]
    keep = groups[1] > 1
    assert (
        chisquare(
            groups[0][keep], groups[1][keep] * groups[0][keep].sum() / groups[1][keep].sum()
        ).pvalue
        > _ALPHA
    )


@pytest.mark.parametrize("law", [FakeCount(17_770, 1, 0.5), FakeCount(3_883, 5, 4.0)])
def test_the_table_is_as_precise_as_the_proof_says(law: FakeCount) -> None:
    first, edges = _edges(law)
    with mpmath.workprec(200):
        odds = law.ways * mpmath.exp(-mpmath.mpf(law.exponent))
        term, total, exact = (1 + odds) ** -law.items, mpmath.mpf(0), []
        for number in range(first + len(edges)):
            total += term
            term *= odds * (law.items - number) / (number + 1)
            exact.append(total)
        worst = max(abs(e - float(t)) for e, t in zip(exact[first:], edges, strict=True))
    assert worst < 2.0**-34
    assert len(edges) < law.items
    assert float(edges[0]) < 2.0**-60 or first == 0


def test_the_slow_path_agrees_with_the_table() -> None:
    law = FakeCount(30, 5, 1.5)
    first, edges = _edges(law)
    randomness = SeededRandomness("slow")
    for word in SeededRandomness("words").words(200):
        quick = first + int(np.searchsorted(edges, int(word) * 2.0**-64, side="right"))
        assert law.settle(int(word), 64, randomness) == quick
    # Few bits do not tell: more are drawn until they do, and the ends of [0, 1] are cells too.
    assert 0 <= law.settle(0, 0, randomness) <= 30
    assert law.settle(0, 64, randomness) == 0
    assert law.settle(2**64 - 1, 64, randomness) >= 25


def test_extreme_odds_are_no_trouble() -> None:
    randomness = SeededRandomness("extreme")
    assert FakeCount(0, 1, 1.0).draw(randomness) == 0
    assert FakeCount(1000, 1, 25.0).draw(randomness) == 0
    assert FakeCount(1000, 5, 50.0).draw(randomness) == 0
    few = [FakeCount(1 << 20, 1, 0.005).draw(randomness) for _ in range(20)]
    assert np.abs(np.array(few) - (1 << 19)).max() < 5000


@pytest.mark.parametrize(("count", "among"), [(2, 5), (3, 5), (1, 4), (3, 6)])
def test_every_set_of_places_is_as_likely(count: int, among: int) -> None:
    randomness = SeededRandomness(f"places {count} {among}")
    sets = dict.fromkeys(itertools.combinations(range(among), count), 0)
    for _ in range(400 * len(sets)):
        sets[tuple(draw_places(count, among, randomness).tolist())] += 1
    assert len(sets) == math.comb(among, count)
    assert chisquare(list(sets.values())).pvalue > _ALPHA


def test_all_or_nothing_can_be_chosen() -> None:
    randomness = SeededRandomness("all")
    assert draw_places(0, 7, randomness).tolist() == []
    assert draw_places(7, 7, randomness).tolist() == list(range(7))
    assert draw_places(0, 0, randomness).tolist() == []
