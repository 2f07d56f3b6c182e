"""Pairs with older records: exact integers, and no sequence of periods moves them too far."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain import PRESENCE, InputError
from discreet.measure import history_pairs as room
from discreet.measure import measure_all
from discreet.measure.history_pairs import FrozenWeights, HistoryNumbers, HistoryPairs
from discreet.measure.presence_pairs import (
    GRID,
    HeadWeights,
    PairMovement,
    PresencePairs,
    pair_weights,
)
from discreet.privacy import Noise, Unit
from discreet.ratings import Intake, Ratings
from discreet.ratings._ratings import build_ratings
from measure._neighbours import SCALES, catalog_of, ratings_of, share_of, stays_within

ITEMS = 7
Person = dict[int, int]
"""The time of each item."""
Tables = list[dict[tuple[int, int], int]]
"""Of each period, the sums by pair of items."""
L2 = Noise.GAUSSIAN
# Periods of 10 seconds; what is before 10 is history from the start.
ENDS = (10, 20, 30, 40, 50)
PERIODS = tuple(pairwise(ENDS))
SMALL = FrozenWeights(share=0.4, flat=3, most=ITEMS)
# A head for each period; each contains those before it.
Heads = list[set[int]]
whole_heads: Heads = [set(range(ITEMS))] * len(PERIODS)
times = st.one_of(st.integers(0, 60), st.sampled_from([0, 9, 10, 19, 20, 49, 50]))
person = st.dictionaries(st.integers(0, ITEMS - 1), times)


@st.composite
def growing(draw: st.DrawFn) -> Heads:
    """Heads that only grow."""
    first = [draw(st.integers(0, len(PERIODS))) for _ in range(ITEMS)]
    first[draw(st.integers(0, ITEMS - 1))] = 0
    return [{i for i, t in enumerate(first) if t <= at} for at in range(len(PERIODS))]


def timed(people: list[Person]) -> Ratings:
    plain = ratings_of([dict.fromkeys(p, 1.0) for p in people], ITEMS, PRESENCE)
    when = [p[item] for p in people for item in sorted(p)]
    return replace(plain, times=np.array(when, np.uint32))


def slow_pairs(
    weights: FrozenWeights, head: set[int], span: tuple[int, int], own: Person
) -> dict[tuple[int, int], int]:
    """One period of one person by the definition."""
    there = sorted(i for i, t in own.items() if i in head and t < span[1])
    new = {i for i in there if own[i] >= span[0]}
    found = {}
    for pair in combinations(there, 2):
        number = len(new & set(pair))
        if number:
            table = weights.within if number == 2 else weights.across
            found[pair] = int(table[len(new) if number == 2 else len(there)])
    return found


def slow_numbers(
    weights: FrozenWeights, head: set[int], span: tuple[int, int], own: Person
) -> tuple[int, int]:
    there = [i for i, t in own.items() if i in head and t < span[1]]
    m = sum(own[i] >= span[0] for i in there)
    z, x = int(weights.within[m]), int(weights.across[len(there)])
    squares = z * z * (m * (m - 1) // 2) // GRID + m * (len(there) - m) * (x * x // GRID)
    return z * m, squares


def series_of(weights: FrozenWeights, heads: Heads, own: Person) -> Tables:
    spans = zip(heads, PERIODS, strict=True)
    return [slow_pairs(weights, head, span, own) for head, span in spans]


def measured(weights: FrozenWeights, heads: Heads, people: list[Person]) -> Tables:
    """The same of everybody, as it is measured."""
    ratings, found = timed(people), []
    for head, span in zip(heads, PERIODS, strict=True):
        statistic = HistoryPairs(np.array(sorted(head), np.int32), *span, weights)
        ((triangle,),) = measure_all(ratings, statistic)
        places = np.triu_indices(len(head))
        cells = zip(*places, triangle, strict=True)
        names = sorted(head)
        found.append({(names[i], names[j]): int(v) for i, j, v in cells if i != j and v})
    return found


def movement(one: Tables, other: Tables) -> tuple[Fraction, int]:
    """The squared length over all periods, and how many periods move the same pair, at most."""
    squares, moved = 0, dict[tuple[int, int], int]()
    for a, b in zip(one, other, strict=True):
        for pair in a.keys() | b.keys():
            step = a.get(pair, 0) - b.get(pair, 0)
            if step:
                squares, moved[pair] = squares + step * step, moved.get(pair, 0) + 1
    return Fraction(squares), max(moved.values(), default=0)


def test_weights_are_the_definition_rounded_down() -> None:
    weights = FrozenWeights(share=0.25, flat=20, most=300)
    one = FrozenWeights(share=0.0, most=300)
    assert (
        one.within.tolist() == pair_weights(Unit.RATING, L2, 300).tolist() and not one.across.any()
    )
    for k in (2, 19, 20, 21, 57, 300):
        real = math.sqrt(0.25 * 0.75 / 20) * min(1, 20 / k) ** 2
        assert weights.across[k] == pytest.approx(real * GRID, abs=1)
        assert weights.within[k] == pytest.approx(math.sqrt(0.75) * one.within[k], abs=1.01)
    for table in (weights.within, weights.across, weights.chance_within, weights.chance_across):
        assert table.dtype == np.int64 and len(table) == 301
        with pytest.raises(ValueError, match="read-only"):
            table[3] = 1


@given(people=st.lists(person, max_size=4), heads=growing())
def test_sums_follow_the_definition(people: list[Person], heads: Heads) -> None:
    found = measured(SMALL, heads, people)
    for table, head, span in zip(found, heads, PERIODS, strict=True):
        right: dict[tuple[int, int], int] = {}
        for own in people:
            for pair, value in slow_pairs(SMALL, head, span, own).items():
                right[pair] = right.get(pair, 0) + value
        assert table == {pair: value for pair, value in right.items() if value}
        numbers = HistoryNumbers(np.array(sorted(head), np.int32), *span, SMALL)
        each = [slow_numbers(SMALL, head, span, own) for own in people]
        assert numbers.measure(timed(people)) == tuple(map(sum, zip((0, 0), *each, strict=True)))


@given(people=st.lists(person, max_size=4))
def test_without_older_records_they_are_the_pairs_of_the_period(people: list[Person]) -> None:
    weights = FrozenWeights(share=0.0, most=ITEMS)
    span, head = (10, 50), np.arange(0, ITEMS, 2, dtype=np.int32)
    inside = [{i: t for i, t in own.items() if 10 <= t < 50} for own in people]
    (right,) = PresencePairs(Unit.RATING, L2, head).measure(timed(inside))
    (found,) = HistoryPairs(head, *span, weights).measure(timed(people))
    off = np.not_equal(*np.triu_indices(len(head)))
    assert found[off].tolist() == right[off].tolist()
    mass, _ = HeadWeights(Unit.RATING, L2, head).measure(timed(inside))
    assert HistoryNumbers(head, *span, weights).measure(timed(people))[0] == mass


@settings(max_examples=150)
@given(
    own=person.filter(bool), others=st.lists(person, max_size=2), heads=growing(), data=st.data()
)
def test_one_record_moves_all_periods_together_within_the_bound(
    own: Person, others: list[Person], heads: Heads, data: st.DataObject
) -> None:
    gone = data.draw(st.sampled_from(sorted(own)))
    less = {item: time for item, time in own.items() if item != gone}
    worlds = [measured(SMALL, heads, [each, *others]) for each in (own, less)]
    squares, again = movement(*worlds)
    assert stays_within(L2, squares, SMALL.of_pairs)
    assert again <= 1  # a pair moves in one period, so that squares add up
    sums = [Fraction(0), Fraction(0)]
    for head, span in zip(heads, PERIODS, strict=True):
        statistic = HistoryNumbers(np.array(sorted(head), np.int32), *span, SMALL)
        one, other = (statistic.measure(timed([each, *others])) for each in (own, less))
        sums = [s + abs(a - b) for s, a, b in zip(sums, one, other, strict=True)]
    for moved, bound in zip(sums, (SMALL.of_mass, SMALL.of_chance), strict=True):
        assert moved <= Fraction(bound)


def lives(most: int) -> Iterator[list[tuple[int, int]]]:
    """All sequences of (older, new) beside one record, the first being that of its arrival."""

    def later(least: int) -> Iterator[list[tuple[int, int]]]:
        yield []
        for old in range(least, most):
            for new in range(1, most - old):
                for rest in later(old + new):
                    yield [(old, new), *rest]

    for old in range(most):
        for new in range(most - old):
            for rest in later(old + new):
                yield [(old, new), *rest]


def life_squares(weights: FrozenWeights, life: list[tuple[int, int]]) -> int:
    """The squared movement of the pairs by counting pairs, in Python's integers."""
    z, x = weights.within.tolist(), weights.across.tolist()
    total = 0
    for at, (o, m) in enumerate(life):
        k = o + m
        if at == 0:
            total += m * z[m + 1] ** 2 + m * (m - 1) // 2 * (z[m] - z[m + 1]) ** 2
        total += (o if at == 0 else m) * x[k + 1] ** 2 + m * o * (x[k] - x[k + 1]) ** 2
    return total


def life_chance(weights: FrozenWeights, life: list[tuple[int, int]]) -> int:
    q, x = weights.chance_within.tolist(), weights.chance_across.tolist()
    total = 0
    for at, (o, m) in enumerate(life):
        with_it = (o, m + 1) if at == 0 else (o + 1, m)
        sums = [
            (q[new] if at == 0 else 0) + new * old * x[old + new] for old, new in (with_it, (o, m))
        ]
        total += abs(sums[0] - sums[1])
    return total


@pytest.mark.parametrize("share", [0.0, 0.25, 0.9])
@pytest.mark.parametrize("flat", [2, 4, 20])
def test_every_sequence_of_periods_is_within_the_bounds_and_one_reaches_them(
    share: float, flat: int
) -> None:
    weights = FrozenWeights(share, flat, most=8)
    every = list(lives(8))
    pairs = max(life_squares(weights, life) for life in every)
    assert stays_within(L2, Fraction(pairs), weights.of_pairs)
    assert share_of(L2, Fraction(pairs), weights.of_pairs) > 1 - 1e-8
    # Within and across may move in opposite directions: there the bound adds their sizes.
    chance = max(life_chance(weights, life) for life in every)
    assert 0.95 * weights.of_chance < chance <= weights.of_chance


def test_counted_movements_are_what_is_measured() -> None:
    """Every way to spread six items over history, three periods and never; any of them gone."""
    weights = FrozenWeights(share=0.5, flat=2, most=6)
    heads, worst = [set(range(6))] * len(PERIODS), Fraction(0)
    for places in product((0, 15, 25, 35, 99), repeat=5):
        own = {item: time for item, time in enumerate(places) if time < 99}
        less = series_of(weights, heads, own)
        for time in (0, 15, 25):
            squares, again = movement(series_of(weights, heads, {**own, 5: time}), less)
            assert again <= 1 and stays_within(L2, squares, weights.of_pairs)
            worst = max(worst, squares)
    # Four periods are too few for the very worst sequence.
    assert share_of(L2, worst, weights.of_pairs) > 0.97


@pytest.mark.parametrize("most", [2, 30, 400])
def test_large_heads_are_bounded_as_the_proof_says(most: int) -> None:
    """By climbing over sequences from random ones; and close to 1 whatever the head is."""
    weights = FrozenWeights(most=most)
    rng, best = np.random.default_rng(most), Fraction(0)
    assert weights.of_pairs / GRID < 1 + 1e-4
    for _ in range(20):
        cuts = np.unique(rng.integers(0, most, rng.integers(1, min(most, 60) + 1))).tolist()
        here = Fraction(0)
        for _ in range(30):
            flip = set(rng.integers(0, most, 2).tolist())
            tried = sorted(set(cuts) ^ flip)
            life = [(a, b - a) for a, b in pairwise(tried)]
            squares = Fraction(life_squares(weights, life))
            assert stays_within(L2, squares, weights.of_pairs)
            if squares >= here:
                cuts, here = tried, squares
        best = max(best, here)
    assert best > Fraction(1, 2) * Fraction(weights.of_pairs) ** 2
    one_by_one = Fraction(life_squares(weights, [(k, 1) for k in range(most - 1)]))
    assert stays_within(L2, one_by_one, weights.of_pairs)
    assert share_of(L2, one_by_one, weights.of_pairs) > 0.99


def planted(monkeypatch: pytest.MonkeyPatch, across: np.ndarray) -> FrozenWeights:
    """Other weights across periods, in place of the right ones; nothing is kept of them."""
    none = np.zeros_like(across)
    squares = (across.astype(object) ** 2 // GRID).astype(np.int64)
    monkeypatch.setattr(room, "_tables", lambda _: (none, across, none, squares))
    monkeypatch.setattr(room, "_bounds", room._bounds.__wrapped__)
    return FrozenWeights(most=len(across) - 1)


def test_weights_for_a_single_release_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """m^-1/2 is right for one period; over many, a record is paid again and again."""
    table = pair_weights(Unit.RATING, L2, 60)
    claimed = PairMovement(Unit.RATING, L2, 60).of_pairs
    weights = planted(monkeypatch, table)
    life = [(0, 0), *((k, 1) for k in range(1, 59))]
    squares = Fraction(life_squares(weights, life))
    assert not stays_within(L2, squares, 1.8 * claimed)
    assert stays_within(L2, squares, weights.of_pairs)


def test_a_cliff_in_the_weights_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing for whoever has more than a cap: one record takes all of somebody's pairs away."""
    table = np.where(np.arange(61) <= 40, GRID // 7, 0)
    weights = planted(monkeypatch, table)
    squares = Fraction(life_squares(weights, [(20, 20)]))
    assert not stays_within(L2, squares, 2.5 * GRID)
    assert stays_within(L2, squares, weights.of_pairs)


def total(tables: Tables, pair: tuple[int, int]) -> int:
    return sum(table.get(pair, 0) for table in tables)


def test_deleting_single_records_would_break_the_bound() -> None:
    """Items that come and go keep k small: each period pays as much as the first."""
    weights = FrozenWeights(share=0.9, flat=2, most=400)
    full = int(weights.across[2])
    periods = 60
    squares = 0
    for at in range(1, periods):
        # Item 0 stays; item `at` is new, and gone by the next period.
        table = slow_pairs(
            weights, set(range(periods)), (10 * at, 10 * at + 10), {0: 0, at: 10 * at}
        )
        assert table == {(0, at): full}
        squares += full**2
    assert not stays_within(L2, Fraction(squares), 4 * weights.of_pairs)


def test_a_record_whose_time_changes_would_break_the_bound() -> None:
    """The same pair in every period: what a running total shows of it grows with the periods."""
    tables = [slow_pairs(SMALL, whole_heads[0], span, {0: 0, 1: span[0]}) for span in PERIODS]
    assert total(tables, (0, 1)) == len(PERIODS) * int(SMALL.across[2])
    kept = series_of(SMALL, whole_heads, {0: 0, 1: 12})
    assert total(kept, (0, 1)) == int(SMALL.across[2])


def test_an_item_that_comes_again_stays_in_its_first_period() -> None:
    """Of two rows of a person and an item the earlier counts, so the later changes nothing."""
    for rows in ([(0, 5), (1, 15), (1, 35)], [(1, 35), (0, 5), (1, 15)]):
        items, when = np.array(rows).T
        ratings = build_ratings(
            np.zeros(3, np.int32),
            items.astype(np.int32),
            PRESENCE.encode(np.ones(3)),
            when.astype(np.uint32),
            scale=PRESENCE,
            catalog=catalog_of(ITEMS),
            user_ids=None,
        )
        head = np.arange(2, dtype=np.int32)
        sums = [HistoryPairs(head, *span, SMALL).measure(ratings)[0][1] for span in PERIODS]
        assert sums == [int(SMALL.across[2]), 0, 0, 0]


def test_whoever_has_nothing_new_costs_nothing() -> None:
    entries = HistoryPairs(np.arange(ITEMS, dtype=np.int32), 20, 30, SMALL).entries(
        timed([{0: 1, 1: 2, 2: 35}, {0: 1, 3: 25, 4: 31}])
    )
    assert entries.items.tolist() == [-1, -1, -1, 0, 3, -1]


def test_what_cannot_be_measured_is_refused() -> None:
    head = np.arange(3, dtype=np.int32)
    for kind in (HistoryPairs, HistoryNumbers):
        with pytest.raises(InputError, match="with times"):
            kind(head, 10, 20).measure(replace(timed([{0: 1}]), times=None))
        stars = ratings_of([{0: 3.0}], ITEMS, SCALES["five stars"])
        with pytest.raises(InputError, match="presence"):
            kind(head, 10, 20).measure(replace(stars, times=np.array([12], np.uint32)))
        kept = replace(timed([{0: 1}]), intake=Intake(most_ratings=5))
        with pytest.raises(InputError, match="all of them"):
            kind(head, 10, 20).measure(kept)
        with pytest.raises(InputError, match="ends after"):
            kind(head, 20, 20)
        with pytest.raises(InputError, match="more items"):
            kind(head, 10, 20, FrozenWeights(most=2))
        with pytest.raises(InputError, match="rising order"):
            kind(head[::-1], 10, 20)
    for share in (1.0, -0.1, math.nan):
        with pytest.raises(InputError, match="share"):
            FrozenWeights(share=share)
    for flat, most in ((1, 9), (2.5, 9), (2, 1), (2, 10**6)):
        with pytest.raises(InputError, match="whole number"):
            FrozenWeights(flat=flat, most=most)  # type: ignore[arg-type]
