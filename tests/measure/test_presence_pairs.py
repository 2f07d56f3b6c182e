"""Presence pairs: weights as large as they can be, exact integers, and neighbours at the bound."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain import InputError
from discreet.measure import measure_all
from discreet.measure.presence_pairs import (
    GRID,
    HeadWeights,
    PairMovement,
    PresencePairs,
    pair_weights,
)
from discreet.privacy import FIT_UNITS, Noise, Unit
from measure._neighbours import SCALES, length, ratings_of, share_of, stays_within

every_unit = pytest.mark.parametrize("unit", FIT_UNITS)
every_noise = pytest.mark.parametrize("noise", Noise)
SCALE = SCALES["five stars"]
People = list[set[int]]


def exact_weights(unit: Unit, noise: Noise, most: int) -> list[Decimal]:
    """The definition, with fifty digits."""
    getcontext().prec = 50
    w = [Decimal(0), Decimal(1), Decimal(1)]
    for m in range(2, most + 1):
        pairs = Decimal(m * (m - 1)) / 2
        if noise is Noise.LAPLACE:
            w[m:] = [1 / pairs if unit is Unit.USER else 1 / Decimal(m)]
        elif unit is Unit.USER:
            w[m:] = [1 / (2 * pairs).sqrt()]
        if unit is Unit.RATING and noise is Noise.GAUSSIAN:
            # b from (m + s) b^2 - 2 s w b + s w^2 - 1 = 0, s being the pairs of old items.
            a, b, c = m + pairs, -2 * pairs * w[m], pairs * w[m] ** 2 - 1
            w.append((-b + (b * b - 4 * a * c).sqrt()) / (2 * a))
    return w[: most + 1]


def slow_sums(unit: Unit, noise: Noise, head: list[int], people: People) -> list[list[int]]:
    """Pairs, mass and weight with Python's integers."""
    table = [int(w * GRID) for w in exact_weights(unit, noise, len(head))]
    pairs = dict.fromkeys(combinations(head, 2), 0)
    mass = weight = 0
    for person in people:
        own = sorted(person & set(head))
        z = table[len(own)]
        mass, weight = mass + z * len(own), weight + z
        for pair in combinations(own, 2):
            pairs[pair] += z
    return [list(pairs.values()), [mass], [weight]]


def measured(
    unit: Unit, noise: Noise, head: list[int], people: People, items: int
) -> list[list[int]]:
    """What is released, without noise."""
    ratings = ratings_of([dict.fromkeys(each, 3.0) for each in people], items, SCALE)
    places = np.array(head, np.int32)
    (pairs,), sums = (
        measure_all(ratings, statistic)[0]
        for statistic in (PresencePairs(unit, noise, places), HeadWeights(unit, noise, places))
    )
    rows, columns = np.triu_indices(len(head))
    return [pairs[rows != columns].tolist(), *([each] for each in sums)]


def bounds(unit: Unit, noise: Noise, size: int) -> tuple[float, float, float]:
    movement = PairMovement(unit, noise, size)
    return movement.of_pairs, movement.of_mass, movement.of_weight


@every_unit
@every_noise
def test_weights_are_the_definition_rounded_down(unit: Unit, noise: Noise) -> None:
    table = pair_weights(unit, noise, 3000)
    assert table.tolist() == [int(w * GRID) for w in exact_weights(unit, noise, 3000)]
    assert table.tolist()[:50] == pair_weights(unit, noise, 49).tolist()
    assert np.all(np.diff(table[1:]) <= 0)
    with pytest.raises(ValueError, match="read-only"):
        table[3] = 1


@every_unit
@every_noise
@given(
    head=st.sets(st.integers(0, 7), min_size=1),
    people=st.lists(st.sets(st.integers(0, 7)), max_size=5),
)
def test_sums_follow_the_definition(
    unit: Unit, noise: Noise, head: set[int], people: People
) -> None:
    places = sorted(head)
    assert measured(unit, noise, places, people, 8) == slow_sums(unit, noise, places, people)


@every_unit
@every_noise
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_every_neighbour_of_a_small_table_is_within_the_bounds_and_one_reaches_them(
    unit: Unit, noise: Noise, size: int
) -> None:
    """Everybody's possible history, and every record or the whole person taken away."""
    items = size + 1  # the last is outside the head
    limits, worst = bounds(unit, noise, size), [0.0, 0.0, 0.0]
    everything = [
        set(own) for count in range(items + 1) for own in combinations(range(items), count)
    ]
    other = set(range(0, items, 2))
    sums = {
        frozenset(own): measured(unit, noise, list(range(size)), [own, other], items)
        for own in everything
    }
    nobody = measured(unit, noise, list(range(size)), [other], items)
    assert sums[frozenset()] == nobody
    for own in everything:
        less = [nobody] if unit is Unit.USER else [sums[frozenset(own - {each})] for each in own]
        for before in less:
            for at, limit in enumerate(limits):
                moved = np.subtract(sums[frozenset(own)][at], before[at])
                size_moved = length(noise, moved)
                assert stays_within(noise, size_moved, limit)
                worst[at] = max(worst[at], share_of(noise, size_moved, limit or 1.0))
    assert min(worst[1:]) > 1 - 1e-9
    assert worst[0] > 1 - 1e-9 if size > 1 else worst[0] == limits[0] == 0


@every_unit
@every_noise
@pytest.mark.parametrize("size", [100, 1500, 25_000])
def test_large_heads_are_bounded_exactly_by_their_integers(
    unit: Unit, noise: Noise, size: int
) -> None:
    """In Python's integers, for every number of old items; the largest is the bound itself."""
    z = pair_weights(unit, noise, size).tolist()
    worst = [Fraction(0)] * 3
    for m in range(size):
        old, new, before, after = m * (m - 1) // 2, m, z[m], z[m + 1]
        if unit is Unit.USER:
            old, new, before = 0, (m + 1) * m // 2, 0
        drop = abs(before - after)
        if noise is Noise.LAPLACE:
            pairs = new * after + old * drop
        else:
            pairs = new * after**2 + old * drop**2
        moved = (after * (m + 1) - before * m, after - before)
        numbers = [length(noise, [each]) for each in moved]
        worst = [max(*both) for both in zip(worst, [Fraction(pairs), *numbers], strict=True)]
    for size_moved, limit in zip(worst, bounds(unit, noise, size), strict=True):
        assert stays_within(noise, size_moved, limit)
        assert share_of(noise, size_moved, limit) > 1 - 1e-9


@pytest.mark.parametrize("size", [2, 50, 1500])
def test_the_bounds_are_those_of_the_proof(size: int) -> None:
    near = 1e-4
    gaussian, laplace = Noise.GAUSSIAN, Noise.LAPLACE
    of = {
        (unit, noise): PairMovement(unit, noise, size).of_pairs / GRID
        for unit in FIT_UNITS
        for noise in Noise
    }
    assert of[Unit.USER, gaussian] == pytest.approx(math.sqrt(0.5), rel=1e-6)
    assert of[Unit.USER, laplace] == pytest.approx(1.0, rel=1e-6)
    assert of[Unit.RATING, gaussian] == pytest.approx(1.0, rel=near)
    m = size - 1
    assert of[Unit.RATING, laplace] == pytest.approx((3 * m - 1) / (2 * m + 2), abs=5e-3)
    assert of[Unit.RATING, laplace] < 1.5 + near


def test_the_grid_costs_little_even_for_the_largest_head() -> None:
    for noise, most in ((Noise.GAUSSIAN, 1.001), (Noise.LAPLACE, 1.76)):
        assert PairMovement(Unit.RATING, noise, 25_000).of_pairs / GRID < most


def test_greedy_weights_lie_between_two_roots_and_none_could_be_larger() -> None:
    w = exact_weights(Unit.RATING, Noise.GAUSSIAN, 2000)
    more = Decimal(10) ** -30
    for m in range(2, 2000):
        assert 1 / Decimal(m).sqrt() <= w[m] <= 1 / Decimal(m - 1).sqrt() + more
        old = Decimal(m * (m - 1)) / 2
        moved = [m * b * b + old * (w[m] - b) ** 2 for b in (w[m + 1], w[m + 1] + more)]
        assert abs(moved[0] - 1) < Decimal(10) ** -40 and moved[1] > 1
    assert w[2000] * Decimal(2000).sqrt() < Decimal("1.001")


@every_unit
@every_noise
def test_climbing_from_random_people_finds_no_way_over_the_bounds(unit: Unit, noise: Noise) -> None:
    """A record more or less, or a person; changes that move the pairs further are kept."""
    rng = np.random.default_rng(5)
    items, head = 12, [0, 1, 3, 4, 5, 7, 8, 9, 11]
    limits = bounds(unit, noise, len(head))

    def shares(person: set[int], new: int) -> list[float]:
        gone = set() if unit is Unit.USER else person - {new}
        worlds = (measured(unit, noise, head, [p], items) for p in (person | {new}, gone))
        found = []
        for more, less, limit in zip(*worlds, limits, strict=True):
            moved = length(noise, np.subtract(more, less))
            assert stays_within(noise, moved, limit)
            found.append(share_of(noise, moved, limit))
        return found

    best = 0.0
    for _ in range(4):
        person = set(rng.choice(items, int(rng.integers(items + 1)), replace=False).tolist())
        here = 0.0
        for _ in range(25):
            tried = person ^ {int(each) for each in rng.integers(0, items, rng.integers(1, 4))}
            found = shares(tried, int(rng.integers(items)))[0]
            if found >= here:
                person, here = tried, found
        best = max(best, here)
    assert best > 0.9


def test_weights_of_records_do_not_protect_users() -> None:
    """Somebody who has the whole head moves the pairs far beyond either bound."""
    z = pair_weights(Unit.RATING, Noise.GAUSSIAN, 50).tolist()
    moved = z[50] * math.sqrt(50 * 49 / 2)
    assert moved > 4 * max(PairMovement(unit, Noise.GAUSSIAN, 50).of_pairs for unit in FIT_UNITS)


def test_a_head_that_is_no_head_is_refused() -> None:
    for bad in ([], [-1, 2], [3, 3], [4, 1]):
        for statistic in (PresencePairs, HeadWeights):
            with pytest.raises(InputError, match="rising order"):
                statistic(Unit.USER, Noise.GAUSSIAN, np.array(bad, np.int32))
