"""How far one record or one user moves the sums over pairs: searches for more than is proved."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain import PRESENCE, Scale
from discreet.measure.pairs import CosinePairs, DifferencePairs, PairWeights
from discreet.privacy import FIT_UNITS, Noise, Unit
from discreet.ratings import Ratings
from measure._neighbours import (
    SCALES,
    Person,
    catalog_of,
    length,
    pairs_on,
    people_on,
    person_on,
    ratings_of,
    share_of,
    stays_within,
)

ITEMS = 6
FIVE, JOKES = SCALES["five stars"], SCALES["jokes"]
every_unit = pytest.mark.parametrize("unit", FIT_UNITS)
every_noise = pytest.mark.parametrize("noise", Noise)
every_scale = pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
Statistic = DifferencePairs | CosinePairs
Sums = tuple[np.ndarray, ...]


def everything(items: int) -> np.ndarray:
    return np.arange(items, dtype=np.int32)


def sums(statistic: Statistic, people: list[Person], items: int) -> Sums:
    ratings = ratings_of(people, items, statistic.scale)
    return statistic.measure(ratings)


def bounds(statistic: Statistic) -> tuple[float, float]:
    if isinstance(statistic, CosinePairs):
        return statistic.sensitivity, statistic.parts[1].sensitivity
    return statistic.sensitivity, statistic.weight_sensitivity


def shares(statistic: Statistic, after: Sums, before: Sums) -> tuple[float, float]:
    """Movement of both sums as parts of their bounds, checked without rounding."""
    found = []
    for new, old, bound in zip(after, before, bounds(statistic), strict=True):
        moved = length(statistic.noise, new - old)
        assert stays_within(statistic.noise, moved, bound)
        found.append(share_of(statistic.noise, moved, bound))
    return found[0], found[1]


heads = st.sets(st.integers(0, ITEMS - 1), min_size=2).map(
    lambda chosen: np.array(sorted(chosen), dtype=np.int32)
)


def statistics_on(unit: Unit, scale: Scale) -> st.SearchStrategy[Statistic]:
    told = st.just(unit), st.sampled_from(Noise), heads, st.just(scale)
    if scale.presence:
        return st.builds(CosinePairs, *told)
    spreads = st.sampled_from([0.01, 0.3, 0.5])
    return st.one_of(st.builds(DifferencePairs, *told, spreads), st.builds(CosinePairs, *told))


@every_scale
@settings(max_examples=40)
@given(data=st.data())
def test_no_rating_moves_the_sums_further(scale: Scale, data: st.DataObject) -> None:
    pair = data.draw(pairs_on(scale, ITEMS))
    statistic = data.draw(statistics_on(Unit.RATING, scale))
    with_it, without = (sums(statistic, p, ITEMS) for p in (pair.with_it, pair.without))
    shares(statistic, with_it, without)


@every_scale
@settings(max_examples=40)
@given(data=st.data())
def test_no_user_moves_the_sums_further(scale: Scale, data: st.DataObject) -> None:
    people, extra = data.draw(people_on(scale, ITEMS, 2)), data.draw(person_on(scale, ITEMS))
    statistic = data.draw(statistics_on(Unit.USER, scale))
    more = sums(statistic, [*people, extra], ITEMS)
    shares(statistic, more, sums(statistic, people, ITEMS))


@every_unit
@every_noise
@pytest.mark.parametrize("items", [2, 3, 6, 40, 300])
def test_presence_reaches_its_bound(unit: Unit, noise: Noise, items: int) -> None:
    """Somebody with any number of items: the worst is the bound itself where records count."""
    statistic = CosinePairs(unit, noise, everything(items), PRESENCE)
    counts = range(items + 1) if items <= 40 else [0, 1, 2, 3, 150, 298, 299, 300]
    found = []
    for c in counts:
        own = dict.fromkeys(range(c), 1.0)
        fewer = [dict.fromkeys(range(c - 1), 1.0)] if unit is Unit.RATING and c else []
        after, before = (sums(statistic, people, items) for people in ([own], fewer))
        found.append(shares(statistic, after, before))
    worst = np.max(found, axis=0)
    least = 1 - 1e-9 if unit is Unit.RATING and items <= 40 else 0.95
    assert (worst > least).all()


def persons(scale: Scale, count: int) -> Iterator[Person]:
    """Everybody whose ratings lie at the ends of the scale."""
    for ends in itertools.product((scale.lo, scale.hi), repeat=count):
        yield dict(enumerate(ends))


@every_noise
@pytest.mark.parametrize("items", [2, 3, 5, 7])
def test_the_bounds_of_a_rating_are_exactly_the_worst_corner(noise: Noise, items: int) -> None:
    """By trying every corner of the scale; by the proof, none inside is worse."""
    statistic = DifferencePairs(Unit.RATING, noise, everything(items), FIVE)
    found = []
    for count in range(1, items + 1):
        for own in persons(FIVE, count):
            fewer = {i: own[i] for i in range(count - 1)}
            both = [sums(statistic, [person], items) for person in (own, fewer)]
            found.append(shares(statistic, *both))
    assert (np.max(found, axis=0) > 1 - 1e-9).all()


@every_noise
@pytest.mark.parametrize("spread", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("items", [2, 3, 6, 7])
def test_a_user_at_the_corners_nearly_reaches_the_bounds(
    noise: Noise, spread: float, items: int
) -> None:
    statistic = DifferencePairs(Unit.USER, noise, everything(items), FIVE, spread)
    nobody = sums(statistic, [], items)
    found = [
        shares(statistic, sums(statistic, [own], items), nobody)
        for count in range(items + 1)
        for own in persons(FIVE, count)
    ]
    assert (np.max(found, axis=0) > 0.98).all()


def one_person(statistic: Statistic, values: np.ndarray) -> tuple[list[int], int]:
    """What somebody with the first items adds products or differences of, and with which weight."""
    starts, items = np.array([0, len(values)]), everything(len(values))
    size = len(statistic.head)
    codes = statistic.scale.encode(values)
    own, weights = statistic._quantised(
        Ratings(statistic.scale, catalog_of(size), starts, items, codes), items
    )
    return own.tolist(), int(weights[0])


def gap_length(noise: Noise, q: list[int]) -> int:
    """Sum of |a - b|, or of its square, over all pairs: by sorting, in Python's integers."""
    if noise is Noise.GAUSSIAN:
        return len(q) * sum(v * v for v in q) - sum(q) ** 2
    return sum(v * (2 * n - len(q) + 1) for n, v in enumerate(sorted(q)))


def difference_share(statistic: DifferencePairs, values: np.ndarray) -> float:
    """How far the last of these ratings, or all of them as one user, move D; without a matrix."""
    noise, power = statistic.noise, 2 if statistic.noise is Noise.GAUSSIAN else 1
    q, w = one_person(statistic, values)
    if statistic.unit is Unit.USER:
        moved = w**power * gap_length(noise, q)
    else:
        _, before = one_person(statistic, values[:-1])
        row = sum(abs(v - q[-1]) ** power for v in q[:-1])
        moved = abs(w - before) ** power * gap_length(noise, q[:-1]) + w**power * row
    assert stays_within(noise, Fraction(moved), statistic.sensitivity)
    return share_of(noise, Fraction(moved), statistic.sensitivity)


@every_unit
@every_noise
@pytest.mark.parametrize("scale", [FIVE, JOKES], ids=["five stars", "jokes"])
@pytest.mark.parametrize("size", [250, 3_706, 17_770])
def test_people_of_any_size_stay_within_and_get_near(
    unit: Unit, noise: Noise, scale: Scale, size: int
) -> None:
    """Up to somebody with every item: all old ratings against the new one, halves, and any."""
    statistic = DifferencePairs(unit, noise, everything(size), scale, spread=0.3)
    rng = np.random.default_rng(7)
    best = 0.0
    for count in sorted({2, 3, 4, 5, 20, 249, 250, size - 1, size}):
        for split in (count - 1, count - 2, count // 2, 1):
            values = np.where(np.arange(count) < split, scale.lo, scale.hi)
            best = max(best, difference_share(statistic, values))
        if scale.levels is not None:
            difference_share(statistic, rng.choice(scale.levels, count))
    assert best > 0.995


@every_noise
@pytest.mark.parametrize("size", [20, 1000, 17_770])
def test_weights_of_a_rating_count_every_step(noise: Noise, size: int) -> None:
    """N, P and Q for every c up to the catalogue's size, in whole numbers, against the bounds."""
    weights = PairWeights(Unit.RATING, noise, size)
    w = weights.table.tolist()
    power = 2 if noise is Noise.GAUSSIAN else 1
    worst_count = worst_square = 0
    for c in range(size):
        drop, new = abs(w[c] - w[c + 1]) ** power, w[c + 1] ** power
        worst_count = max(worst_count, drop * (c * (c - 1) // 2) + new * c)
        worst_square = max(worst_square, drop * c + new)
    for worst, bound in (
        (worst_count, weights.count_bound),
        (worst_square, weights.square_bound),
    ):
        assert stays_within(noise, Fraction(worst), bound)
        assert share_of(noise, Fraction(worst), bound) > 1 - 1e-9


@every_noise
@pytest.mark.parametrize("kind", [DifferencePairs, CosinePairs])
@pytest.mark.parametrize("unit", FIT_UNITS)
def test_climbing_finds_no_way_over_the_bounds(noise: Noise, kind: type, unit: Unit) -> None:
    """Random restarts, then changes that are kept if they move the triangle further."""
    rng, items = np.random.default_rng(11), 7
    statistic = kind(unit, noise, everything(items), JOKES)
    best = 0.0
    for _ in range(4):
        count = int(rng.integers(2, items + 1))
        x, here = rng.uniform(-10, 10, count), 0.0
        for _ in range(60):
            step = 10 ** rng.uniform(-2, 1) * (rng.random(count) < 0.4)
            tried = np.clip(x + rng.normal(size=count) * step, -10, 10)
            own = dict(enumerate(tried.tolist()))
            fewer = [{i: own[i] for i in range(count - 1)}] if unit is Unit.RATING else []
            after, before = (sums(statistic, people, items) for people in ([own], fewer))
            share, _ = shares(statistic, after, before)
            if share >= here:
                x, here = tried, share
        best = max(best, here)
    assert best > 0.9


@every_noise
@pytest.mark.parametrize("count", [1, 2, 3, 300])
@pytest.mark.parametrize("kind", ["level", "signs", "one", "none"])
def test_extreme_users_of_the_cosine_stay_within(noise: Noise, count: int, kind: str) -> None:
    """All alike, alternating, one large rating among tiny ones, zeros: no weight runs away."""
    values = {
        "level": np.full(count, 10.0),
        "signs": np.where(np.arange(count) % 2, 10.0, -10.0),
        "one": np.where(np.arange(count) == 0, 10.0, 0.08),
        "none": np.zeros(count),
    }[kind]
    items = max(count, 2)
    statistic = CosinePairs(Unit.USER, noise, everything(items), JOKES)
    alone = sums(statistic, [dict(enumerate(values.tolist()))], items)
    product, square = shares(statistic, alone, sums(statistic, [], items))
    if kind == "none":
        assert product == square == 0
    else:
        assert max(product, square) > 0.9


@every_unit
@every_noise
def test_weights_are_the_stated_powers_rounded_down(unit: Unit, noise: Noise) -> None:
    getcontext().prec = 40
    weights = PairWeights(unit, noise, 17_770)
    table = weights.table
    assert table[0] == table[1] == table[2] and (np.diff(table) <= 0).all() and table[-1] > 200
    for c in (2, 3, 4, 5, 101, 17_770):
        if unit is Unit.USER:
            shared = Decimal(c * c // 4)
        else:
            shared = c - Decimal("0.75" if noise is Noise.GAUSSIAN else 1)
        exact = weights.whole / (shared.sqrt() if noise is Noise.GAUSSIAN else shared)
        assert 0 <= exact - int(table[c]) < 1


LIMITS = {
    (Unit.RATING, Noise.GAUSSIAN): (1.0, 1.0),
    (Unit.RATING, Noise.LAPLACE): (1.001, 1.53),
    (Unit.USER, Noise.GAUSSIAN): (1.0, math.sqrt(2)),
    (Unit.USER, Noise.LAPLACE): (1.0, 2.0),
}


@every_unit
@every_noise
@pytest.mark.parametrize("size", [2, 3, 10, 100, 3_706, 16_383, 17_770, 100_000])
def test_bounds_are_what_the_proof_says_for_any_catalogue(
    unit: Unit, noise: Noise, size: int
) -> None:
    """The grid costs next to nothing: 0.1 % of D and 2 % of N for L1, nothing for L2."""
    statistic = DifferencePairs(unit, noise, everything(size), FIVE, spread=0.5)
    limit, weight_limit = LIMITS[unit, noise]
    wide = statistic.sensitivity / statistic.grid / FIVE.range
    assert 0.89 < wide <= limit * (1 + 1e-9)
    assert statistic.weight_sensitivity / statistic.weight_grid <= weight_limit * (1 + 1e-9)
    if unit is Unit.USER:
        narrow = DifferencePairs(unit, noise, everything(size), FIVE, spread=0.3)
        assert narrow.sensitivity / statistic.sensitivity == pytest.approx(0.6, rel=0.01)


@every_noise
def test_the_searches_would_notice_a_bound_that_is_too_small(
    noise: Noise, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights on a coarse grid fall off cliffs, which the bound of exact weights leaves out."""
    size = 1000
    statistic = DifferencePairs(Unit.RATING, noise, everything(size), FIVE)
    booked = statistic.sensitivity
    exact = statistic._weights.table
    coarse = 2.0 ** (np.floor(np.log2(exact) * 2) / 2)
    monkeypatch.setattr(PairWeights, "table", coarse.astype(np.int64))
    assert statistic.sensitivity > 2 * booked
    cliff = int(np.flatnonzero(np.diff(coarse))[-1])
    values = np.where(np.arange(cliff + 1) < cliff // 2, FIVE.lo, FIVE.hi)
    difference_share(statistic, values)
    monkeypatch.setattr(DifferencePairs, "sensitivity", booked)
    with pytest.raises(AssertionError):
        difference_share(statistic, values)
