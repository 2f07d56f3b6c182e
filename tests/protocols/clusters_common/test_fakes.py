"""The laws of made-up ratings: where they go, what they are, and the hash they keep."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from discreet.domain import InputError
from discreet.privacy import SeededRandomness
from discreet.protocols.clusters_common.client import History, Terms
from discreet.protocols.clusters_common.client._history import (
    choose_places,
    draw_codes,
)
from discreet.protocols.clusters_common.messages import FAKES
from protocols.open_clusters._terms import person, terms

ALPHA = 1e-4


def test_uniform_ratings_are_uniform() -> None:
    found = draw_codes("uniform", 3.5, 4, (50_000,), SeededRandomness(1))
    assert stats.chisquare(np.bincount(found, minlength=5)).pvalue > ALPHA
    wide = draw_codes("uniform", 3.5, 255, (500, 400), SeededRandomness(2))
    assert wide.shape == (500, 400) and wide.dtype == np.uint8
    assert stats.chisquare(np.bincount(wide.ravel(), minlength=256)).pvalue > ALPHA


@pytest.mark.parametrize(("mean", "parts"), [(2.6, 4), (0.2, 4), (9.0, 9)])
def test_ratings_around_the_mean_are_a_rounded_normal(mean: float, parts: int) -> None:
    found = draw_codes("around-mean", mean, parts, (50_000,), SeededRandomness(3))
    edges = np.concatenate(([-np.inf], np.arange(parts) + 0.5, [np.inf]))
    law = np.diff(stats.norm(mean, parts / 4).cdf(edges))
    likely = law > 1e-3
    counts = np.bincount(found, minlength=parts + 1)
    expected = 50_000 * law
    merged = [np.append(c[likely], c[~likely].sum()) for c in (counts, expected)]
    keep = merged[1] > 0
    assert stats.chisquare(merged[0][keep], merged[1][keep]).pvalue > ALPHA


def test_places_are_all_as_likely_and_never_taken() -> None:
    free = np.ones(40, np.bool_)
    free[::4] = False
    seen = np.zeros(40, np.int64)
    randomness = SeededRandomness(4)
    for _ in range(4_000):
        places = choose_places(free, 10, None, randomness)
        assert len(places) == 10 and (np.diff(places) > 0).all()
        seen[places] += 1
    assert not seen[~free].any()
    # Each is drawn in a third of the draws, and draws without replacement scatter less.
    spread = 4_000 * (1 / 3) * (2 / 3)
    assert ((seen[free] - 4_000 / 3) ** 2).sum() / spread < stats.chi2(30).isf(ALPHA)


def test_popular_places_follow_popularity_and_leave_nobody_out() -> None:
    popularity = np.array([0.0, 1, 2, 3, 4, 10])
    weights = popularity + 0.1 * popularity.mean()
    seen = np.zeros(6, np.int64)
    randomness = SeededRandomness(5)
    for _ in range(20_000):
        seen[choose_places(np.ones(6, np.bool_), 1, popularity, randomness)] += 1
    assert stats.chisquare(seen, 20_000 * weights / weights.sum()).pvalue > ALPHA
    assert seen[0] > 0


def test_no_more_places_than_there_are() -> None:
    free = np.array([True, False, True])
    assert choose_places(free, 5, None, SeededRandomness(6)).tolist() == [0, 2]
    assert choose_places(~free, 0, None, SeededRandomness(6)).tolist() == []


@pytest.mark.parametrize("bits", [4, 8, 16])
@pytest.mark.parametrize("percent", [100, 200])
def test_fakes_can_keep_the_hash(bits: int, percent: int) -> None:
    told = terms(bits=bits, fakes="same-hash", fake_percent=percent)
    loose = terms(bits=bits, fakes="around-mean", fake_percent=percent)
    kept = lucky = 0
    for seed in range(20):
        own = person(1_000, 60, seed)
        wanted = told.cluster_hash.value(*own)
        randomness = SeededRandomness(f"{bits} {percent} {seed}")
        sent = History().advance(*own, told, Terms.of(told), randomness).sent
        kept += told.cluster_hash.value(*sent) == wanted
        sent = History().advance(*own, loose, Terms.of(loose), randomness).sent
        lucky += loose.cluster_hash.value(*sent) == wanted
    assert kept == 20
    assert lucky < 15


def test_fakes_that_keep_the_hash_are_still_around_the_mean() -> None:
    told = terms(5_000, fakes="same-hash", fake_percent=300)
    own = person(5_000, 400, 1)
    history = History().advance(*own, told, Terms.of(told), SeededRandomness(8))
    assert abs(history.fake_codes.mean() - own[1].mean()) < 0.15
    assert 0.8 < history.fake_codes.std() < 1.1


@pytest.mark.parametrize("kind", FAKES)
def test_a_large_catalogue_gets_all_its_fakes(kind: str) -> None:
    told = terms(17_770, fakes=kind, fake_percent=200)
    own = person(17_770, 500)
    mine = Terms.of(told, popularity=np.arange(17_770.0))
    assert told.cluster_hash.value(*own) >= 0
    history = History().advance(*own, told, mine, SeededRandomness(9))
    assert len(history.fake_items) == 1_000


def test_popular_fakes_need_popularity() -> None:
    told = terms(fakes="popular")
    for wrong in (None, np.ones(999), np.full(1_000, np.nan), -np.ones(1_000)):
        with pytest.raises(InputError, match="popularity"):
            Terms.of(told, popularity=wrong)


def test_terms_may_be_stricter_and_not_weaker() -> None:
    told = terms(fake_percent=100, suppress_percent=10)
    assert Terms.of(told, fake_percent=200, suppress_percent=30).fake_percent == 200
    for weaker in ({"fake_percent": 99}, {"suppress_percent": 0}):
        with pytest.raises(InputError, match="at least the collection's"):
            Terms.of(told, **weaker)
    with pytest.raises(InputError, match="'fakes'"):
        Terms.of(told, fakes="honest")
