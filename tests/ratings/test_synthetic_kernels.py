"""The kernels against slow twins and against probabilities worked out by hand."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from discreet.ratings._keyed import mix
from discreet.ratings.synthetic import _kernels as random
from discreet.ratings.synthetic._kernels import (
    Calendar,
    ItemTable,
    Spreads,
    alias_table,
    choose_items,
    date_ratings,
    emit,
    propose,
    race,
    score,
)

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
SEED = np.uint64(11)


def twin_mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def twin_stream(seed: int, purpose: int, user: int) -> int:
    return twin_mix((twin_mix((seed + purpose * GOLDEN) & MASK) + user * GOLDEN) & MASK)


def twin_uniform(name: int, n: int) -> float:
    return ((twin_mix((name + (n + 1) * GOLDEN) & MASK) >> 12) + 0.5) / 2**52


def twin_normal(name: int, n: int) -> float:
    radius = math.sqrt(-2 * math.log(twin_uniform(name, 2 * n)))
    return radius * math.cos(2 * math.pi * twin_uniform(name, 2 * n + 1))


def twin_taste(user: int, rank: int) -> npt.NDArray[np.float64]:
    name = twin_stream(int(SEED), int(random.TASTE), user)
    return np.array([twin_normal(name, k) for k in range(rank)])


def item_table(weights: Any, rank: int = 3) -> ItemTable:
    weights = np.asarray(weights, np.float64)
    rng = np.random.default_rng(2)
    factors = rng.standard_normal((len(weights), rank)).astype(np.float32)
    effects = rng.standard_normal(len(weights)).astype(np.float32)
    cut, other = alias_table(weights)
    return ItemTable(weights, cut, other, factors, effects)


def chosen_by(users: int, wanted: int, choice: float, items: ItemTable) -> npt.NDArray[np.int32]:
    starts = np.arange(0, users * wanted + 1, wanted)
    out = np.empty(users * wanted, np.int32)
    choose_items(SEED, 0, starts, choice, items, out)
    return out.reshape(users, wanted)


def test_the_hash_is_splitmix64() -> None:
    # The published first outputs of SplitMix64 from state 0.
    known = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    states = [np.uint64((k * GOLDEN) & MASK) for k in (1, 2, 3)]
    assert [int(mix(s)) for s in states] == known
    assert [random.uniform(np.uint64(0), n) for n in range(3)] == [
        ((k >> 12) + 0.5) / 2**52 for k in known
    ]


def test_uniform_draws_stay_below_one() -> None:
    # Undo the hash, so that the draw has all its bits set, and again none.
    for bits, expected in ((MASK, 1 - 2.0**-53), (0, 2.0**-53)):
        name = (undo_mix(bits) - GOLDEN) & MASK
        assert random.uniform(np.uint64(name), 0) == expected


def undo_mix(x: int) -> int:
    x ^= (x >> 31) ^ (x >> 62)
    x = (x * pow(0x94D049BB133111EB, -1, 2**64)) & MASK
    x ^= (x >> 27) ^ (x >> 54)
    x = (x * pow(0xBF58476D1CE4E5B9, -1, 2**64)) & MASK
    return x ^ (x >> 30) ^ (x >> 60)


def test_streams_and_normals_are_their_twins() -> None:
    for seed, user in itertools.product((0, 1, MASK), (0, 7, 480_188)):
        name = random.stream(np.uint64(seed), random.NOISE, user)
        assert int(name) == twin_stream(seed, int(random.NOISE), user)
        assert random.normal(np.uint64(name), 5) == pytest.approx(twin_normal(int(name), 5))


def test_normals_are_standard() -> None:
    draws = np.array([random.normal(np.uint64(99), n) for n in range(20_000)])
    assert abs(draws.mean()) < 5 / math.sqrt(20_000)
    assert draws.var() == pytest.approx(1, abs=5 * math.sqrt(2 / 20_000))


def test_purposes_are_different() -> None:
    names = ("PROPOSAL", "RACE", "TASTE", "HABIT", "NOISE", "CALENDAR", "TIMES")
    assert len({int(getattr(random, name)) for name in names}) == len(names)


@pytest.mark.parametrize(
    "weights", [[1.0], [1.0, 1.0], [0.1, 5.0, 2.0, 0.4], [1e-9, 1.0, 1e3], list(range(1, 200))]
)
def test_the_alias_table_holds_exactly_the_weights(weights: list[float]) -> None:
    cut, other = alias_table(np.array(weights, np.float64))
    share = np.minimum(cut, 1.0)
    held = share.copy()
    np.add.at(held, other, 1.0 - share)
    assert held / len(weights) == pytest.approx(np.array(weights) / np.sum(weights))


@pytest.mark.parametrize("count", [1, 63, 64, 65, 1_000])
def test_emit_lists_marks_in_order_and_clears_them(count: int) -> None:
    rng = np.random.default_rng(count)
    picked = np.sort(rng.choice(count, size=max(1, count // 3), replace=False))
    marks = np.zeros((count + 63) // 64, np.uint64)
    for item in picked.tolist():
        marks[item // 64] |= np.uint64(1 << (item % 64))
    out = np.empty(len(picked), np.int32)
    emit(marks, out)
    assert out.tolist() == picked.tolist()
    assert not marks.any()


def test_race_takes_the_first_to_arrive() -> None:
    items = item_table(np.linspace(0.2, 3, 90))
    taste = twin_taste(4, 3).astype(np.float32)
    liking = items.factors @ taste
    rates = items.weights / (1 + np.exp(-0.8 * liking))
    draws = np.array([twin_uniform(77, item) for item in range(90)])
    arrivals = -np.log(draws) / rates
    arrivals[[3, 70]] = np.inf  # marked already
    marks = np.zeros(2, np.uint64)
    marks[0] |= np.uint64(1 << 3)
    marks[1] |= np.uint64(1 << (70 - 64))
    race(np.uint64(77), 30, 0.8, taste, items, marks)
    out = np.empty(32, np.int32)
    emit(marks, out)
    assert out.tolist() == sorted([3, 70, *np.argsort(arrivals)[:30].tolist()])


def test_proposals_stop_at_the_wanted_number_and_at_the_budget() -> None:
    items = item_table(np.ones(1_000))
    taste = np.zeros(3, np.float32)
    marks = np.zeros(16, np.uint64)
    assert propose(np.uint64(5), 10, 10_000, 1.0, taste, items, marks) == 10
    assert sum(int(word).bit_count() for word in marks) == 10
    marks[:] = 0
    found = propose(np.uint64(5), 900, 200, 1.0, taste, items, marks)
    assert 0 < found < 200  # about half of the proposals are accepted
    assert sum(int(word).bit_count() for word in marks) == found


def inclusion(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The chance to be among two drawn in proportion to weights without replacement, by hand."""
    p = weights / weights.sum()
    second = [sum(p[j] * p[i] / (1 - p[j]) for j in range(len(p)) if j != i) for i in range(len(p))]
    return p + np.array(second)


@pytest.mark.parametrize("count", [5, 12])  # the first races, the second proposes
def test_two_of_a_few_have_the_right_chances(count: int) -> None:
    weights = np.geomspace(1, 8, count)
    users = 40_000
    chosen = chosen_by(users, 2, 0.0, item_table(weights))
    assert (chosen[:, 0] < chosen[:, 1]).all()
    shares = np.bincount(chosen.ravel(), minlength=count) / users
    expected = inclusion(weights)
    errors = np.sqrt(expected * (1 - expected) / users)
    assert (np.abs(shares - expected) < 5 * errors).all()


def test_racing_after_proposals_has_the_same_chances() -> None:
    weights = np.array([1.0, 2.0, 3.0, 6.0])
    items = item_table(weights)
    taste = np.zeros(3, np.float32)
    users = 20_000
    counts = np.zeros(4)
    out = np.empty(2, np.int32)
    marks = np.zeros(1, np.uint64)
    for user in range(users):
        name = random.stream(SEED, random.PROPOSAL, user)
        left = 2 - propose(np.uint64(name), 2, 2, 1.0, taste, items, marks)
        if left:
            name = random.stream(SEED, random.RACE, user)
            race(np.uint64(name), left, 1.0, taste, items, marks)
        emit(marks, out)
        counts[out] += 1
    expected = inclusion(weights)
    errors = np.sqrt(expected * (1 - expected) / users)
    assert (np.abs(counts / users - expected) < 5 * errors).all()


@pytest.mark.parametrize("wanted", [20, 120])  # of 300: the first proposes, the second races
def test_people_choose_what_they_will_like(wanted: int) -> None:
    items = item_table(np.ones(300))
    chosen = chosen_by(200, wanted, 1.0, items)
    liking = np.array([items.factors @ twin_taste(user, 3) for user in range(200)])
    of_chosen = np.take_along_axis(liking, chosen.astype(np.int64), axis=1).mean()
    assert of_chosen > liking.mean() + 0.25
    indifferent = chosen_by(200, wanted, 0.0, items)
    of_any = np.take_along_axis(liking, indifferent.astype(np.int64), axis=1).mean()
    assert abs(of_any - liking.mean()) < 0.1


def test_a_block_is_its_users_one_by_one() -> None:
    items = item_table(np.geomspace(1, 50, 40))
    counts = [3, 40, 1, 12]
    starts = np.concatenate(([0], np.cumsum(counts)))
    whole = np.empty(starts[-1], np.int32)
    choose_items(SEED, 10, starts, 1.0, items, whole)
    for u, count in enumerate(counts):
        alone = np.empty(count, np.int32)
        choose_items(SEED, 10 + u, starts[u : u + 2], 1.0, items, alone)
        assert alone.tolist() == whole[starts[u] : starts[u + 1]].tolist()


def test_scores_are_their_sum_of_parts() -> None:
    items = item_table(np.ones(30))
    spreads = Spreads(user=0.4, taste=0.5, noise=0.8, range_use=0.2)
    starts = np.array([100, 102, 105])
    chosen = np.array([3, 9, 0, 1, 29], np.int32)
    out = np.empty(5, np.float32)
    score(SEED, 6, starts, chosen, items, spreads, out)
    expected = []
    for user, item in zip([6, 6, 7, 7, 7], chosen.tolist(), strict=True):
        habit = twin_stream(int(SEED), int(random.HABIT), user)
        noise = twin_normal(twin_stream(int(SEED), int(random.NOISE), user), item)
        own = 0.5 * float(items.factors[item] @ twin_taste(user, 3))
        own += float(items.effects[item]) + 0.8 * noise
        expected.append(0.4 * twin_normal(habit, 0) + math.exp(0.2 * twin_normal(habit, 1)) * own)
    assert out == pytest.approx(expected, rel=1e-5)


def test_dates_are_their_twins() -> None:
    calendar = Calendar(begin=1_000_000, seconds=900_000, growth=2.0, session=4, returning=0.7)
    counts = [9, 1, 30]
    starts = np.concatenate(([50], 50 + np.cumsum(counts)))
    out = np.empty(40, np.uint32)
    date_ratings(SEED, 3, starts, calendar, out)
    expected = [when for u, c in enumerate(counts) for when in twin_dates(3 + u, c, calendar)]
    assert np.abs(out.astype(np.int64) - np.array(expected)).max() <= 1


def twin_dates(user: int, count: int, calendar: Calendar) -> list[int]:
    habit = twin_stream(int(SEED), int(random.CALENDAR), user)
    name = twin_stream(int(SEED), int(random.TIMES), user)
    returns = twin_uniform(habit, 0) < calendar.returning
    sittings = 1 + (count // calendar.session if returns else 0)
    length = min(15 * count / sittings, calendar.seconds - 1)
    arrival = math.sqrt(twin_uniform(habit, 1))
    dates = []
    for n in range(count):
        sitting = math.floor(sittings * twin_uniform(name, 2 * n) ** 2)
        later = (1 - arrival) * twin_uniform(habit, 1 + sitting) if sitting else 0.0
        since = (arrival + later) * (calendar.seconds - 1 - length)
        dates.append(math.floor(calendar.begin + since + length * twin_uniform(name, 2 * n + 1)))
    return dates
