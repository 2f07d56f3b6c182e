"""Pairs of items: exact integers that follow their definitions, whatever the blocks and threads."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain import PRESENCE, InputError, Scale
from discreet.measure._request import Budget, Spender
from discreet.measure.pairs import CosinePairs, DifferencePairs
from discreet.privacy import FIT_UNITS, Noise, Unit
from discreet.ratings.synthetic import find_shape, make_ratings
from discreet.release import packed_size
from measure._neighbours import SCALES, Person, people_on, ratings_of, use_small_blocks

ITEMS = 6
SAFE = 1 - 2.0**-30
every_scale = pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
every_unit = pytest.mark.parametrize("unit", FIT_UNITS)
every_noise = pytest.mark.parametrize("noise", Noise)
heads = st.sets(st.integers(0, ITEMS - 1), min_size=2).map(
    lambda chosen: np.array(sorted(chosen), dtype=np.int32)
)
units, noises = st.sampled_from(FIT_UNITS), st.sampled_from(Noise)
Statistic = DifferencePairs | CosinePairs


def everything(items: int) -> np.ndarray:
    return np.arange(items, dtype=np.int32)


def difference_pairs(scale: Scale) -> st.SearchStrategy[DifferencePairs]:
    spreads = st.sampled_from([0.05, 0.3, 0.5])
    return st.builds(DifferencePairs, units, noises, heads, st.just(scale), spreads)


def cosine_pairs(scale: Scale) -> st.SearchStrategy[CosinePairs]:
    return st.builds(CosinePairs, units, noises, heads, st.just(scale))


def every_statistic(scale: Scale) -> st.SearchStrategy[Statistic]:
    if scale.presence:
        return cosine_pairs(scale)
    return st.one_of(difference_pairs(scale), cosine_pairs(scale))


def slow_weight(statistic: Statistic, count: int, q: list[int]) -> int:
    """W of somebody with these numbers inside the head, with Python's own."""
    weights = statistic._weights
    l1 = statistic.noise is Noise.LAPLACE
    if statistic.unit is Unit.RATING:
        return int(weights.table[count])
    if isinstance(statistic, CosinePairs):
        s1, s2, s4 = (sum(abs(v) ** n for v in q) for n in (1, 2, 4))
        length = max(s1 * s1 - s2, s2) if l1 else math.sqrt(max(s2 * s2 - s4, s4))
        return int(SAFE * weights.whole * statistic._top**2 / length) if length else 0
    if statistic.spread == 0.5:
        return int(weights.table[count])
    gaps = [a - b for a, b in itertools.combinations(q, 2)]
    own = sum(map(abs, gaps)) if l1 else math.sqrt(sum(g * g for g in gaps))
    allowed = SAFE * math.floor(2 * statistic.spread * statistic._top * weights.whole)
    return min(int(weights.table[count]), math.floor(allowed / own) if own else 1 << 62)


def slow_number(statistic: Statistic, value: float) -> int:
    """Q of a rating."""
    scale = statistic.scale
    if isinstance(statistic, DifferencePairs):
        return round((value - scale.lo) / scale.range * statistic._top)
    return round(value / max(abs(scale.lo), abs(scale.hi)) * statistic._top)


def slow_sums(statistic: Statistic, people: list[Person]) -> list[list[int]]:
    """Packed triangles of D and N, or of P with the row of Q behind it."""
    head = statistic.head.tolist()
    first, second = np.zeros((2, len(head), len(head)), dtype=object)
    for person in people:
        # Ratings of a continuous scale are kept in 32 bits.
        kept = {head.index(i): float(np.float32(person[i])) for i in person if i in head}
        q = {place: slow_number(statistic, value) for place, value in sorted(kept.items())}
        w = slow_weight(statistic, len(q), list(q.values()))
        for (j, a), (k, b) in itertools.combinations(q.items(), 2):
            first[j, k] += w * (a - b) if isinstance(statistic, DifferencePairs) else w * a * b
            second[j, k] += w
        for j, a in q.items():
            second[j, j] += w * a * a
    upper = np.triu_indices(len(head))
    if isinstance(statistic, CosinePairs):
        return [first[upper].tolist(), np.diag(second).tolist()]
    np.fill_diagonal(second, 0)
    return [first[upper].tolist(), second[upper].tolist()]


def measured(statistic: Statistic, people: list[Person]) -> list[list[int]]:
    ratings = ratings_of(people, ITEMS, statistic.scale)
    return [part.tolist() for part in statistic.measure(ratings)]


@pytest.mark.parametrize("scale", [*SCALES.values(), PRESENCE], ids=[*SCALES, "presence"])
@settings(max_examples=40)
@given(data=st.data())
def test_sums_follow_the_definition(scale: Scale, data: st.DataObject) -> None:
    people, statistic = data.draw(people_of(scale)), data.draw(every_statistic(scale))
    assert measured(statistic, people) == slow_sums(statistic, people)


def people_of(scale: Scale, most: int = 5) -> st.SearchStrategy[list[Person]]:
    if scale.presence:
        rated = st.sets(st.integers(0, ITEMS - 1))
        return st.lists(rated.map(lambda own: dict.fromkeys(own, 1.0)), max_size=most)
    return people_on(scale, ITEMS, most)


@every_scale
@settings(max_examples=20)
@given(data=st.data(), size=st.integers(1, 9), threads=st.integers(1, 4))
def test_sums_are_everybodys_own_whatever_the_blocks_and_threads(
    scale: Scale, data: st.DataObject, size: int, threads: int
) -> None:
    people, statistic = data.draw(people_of(scale)), data.draw(every_statistic(scale))
    alone = [measured(statistic, [person]) for person in people]
    whole = measured(statistic, people)
    with pytest.MonkeyPatch.context() as patch:
        use_small_blocks(patch, size, threads)
        assert measured(statistic, people) == whole
    for part, total in enumerate(whole if alone else []):
        assert np.sum([own[part] for own in alone], axis=0, dtype=object).tolist() == total


@every_unit
@every_noise
def test_thousands_of_users_give_the_same_integers_on_one_thread_and_two(
    unit: Unit, noise: Noise, monkeypatch: pytest.MonkeyPatch
) -> None:
    ratings = make_ratings(find_shape("ml-1m").scaled(ratings=60_000), seed=4)
    head = np.arange(0, len(ratings.catalog), 2, dtype=np.int32)
    results = []
    for size, threads in ((1 << 17, 1), (1 << 17, 2), (999, 2)):
        use_small_blocks(monkeypatch, size, threads)
        slope = DifferencePairs(unit, noise, head, ratings.scale).measure(ratings)
        cosine = CosinePairs(unit, noise, head, ratings.scale).measure(ratings)
        results.append((*slope, *cosine))
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(one, two)
    assert all(array.any() and array.dtype == np.int64 for array in results[0])


@every_noise
@every_unit
def test_equal_weights_give_the_textbooks_differences(unit: Unit, noise: Noise) -> None:
    """Where everybody rates three items, D/N is the plain mean over those who rated both.

    Spread 1/2 lets nobody count less for the ratings themselves.
    """
    rng, scale = np.random.default_rng(3), SCALES["half stars"]
    people = [
        {int(i): float(rng.integers(1, 11)) / 2 for i in rng.choice(ITEMS, 3, replace=False)}
        for _ in range(200)
    ]
    statistic = DifferencePairs(unit, noise, everything(ITEMS), scale, spread=0.5)
    differences, weights = statistic.measure(ratings_of(people, ITEMS, scale))
    for at, (j, k) in enumerate(zip(*np.triu_indices(ITEMS), strict=True)):
        both = [p[int(j)] - p[int(k)] for p in people if j in p and k in p]
        if j == k:
            assert differences[at] == weights[at] == 0
            continue
        mean = differences[at] / statistic.grid
        mean /= weights[at] / statistic.weight_grid
        assert mean == pytest.approx(np.mean(both), abs=1e-12)


POWERS = {
    (Unit.RATING, Noise.GAUSSIAN): lambda c: (c - 0.75) ** -0.5,
    (Unit.RATING, Noise.LAPLACE): lambda c: 1 / (c - 1),
    (Unit.USER, Noise.GAUSSIAN): lambda c: (c * c // 4) ** -0.5,
    (Unit.USER, Noise.LAPLACE): lambda c: 1 / (c * c // 4),
}


@every_unit
@every_noise
def test_differences_agree_with_a_weighted_mean_in_floats(unit: Unit, noise: Noise) -> None:
    """To the grid: a weight of somebody with all 40 items has at least 8 bits in L1, 11 in L2."""
    ratings = make_ratings(find_shape("ml-100k").scaled(ratings=3_000), seed=1)
    items = len(ratings.catalog)
    statistic = DifferencePairs(unit, noise, everything(items), ratings.scale, spread=0.5)
    differences, weights = statistic.measure(ratings)
    d, n = np.zeros((2, items, items))
    for user in range(ratings.user_count):
        block = ratings.select_users(user, user + 1)
        values, c = block.values(), len(block)
        if c > 1:
            w = POWERS[unit, noise](c)
            d[np.ix_(block.items, block.items)] += w * (values[:, None] - values)
            n[np.ix_(block.items, block.items)] += w
    upper = np.triu_indices(items)
    there = (n[upper] > 0) & (upper[0] < upper[1])
    mean = differences[there] / statistic.grid
    mean /= weights[there] / statistic.weight_grid
    np.testing.assert_allclose(mean, (d[upper] / np.maximum(n[upper], 1e-9))[there], atol=0.02)
    np.testing.assert_allclose(
        weights / statistic.weight_grid, np.where(there, n[upper], 0), rtol=0.02
    )


@every_noise
@pytest.mark.parametrize("scale", [*SCALES.values(), PRESENCE], ids=[*SCALES, "presence"])
def test_equal_weights_give_the_textbooks_cosine(noise: Noise, scale: Scale) -> None:
    """The weight of everybody's three ratings cancels; presence is all ones."""
    rng = np.random.default_rng(5)
    levels = scale.levels if scale.levels is not None else np.linspace(scale.lo, scale.hi, 65)
    values = np.ones(1) if scale.presence else levels
    people = [
        {int(i): float(rng.choice(values)) for i in rng.choice(ITEMS, 3, replace=False)}
        for _ in range(300)
    ]
    statistic = CosinePairs(Unit.RATING, noise, everything(ITEMS), scale)
    products, squares = statistic.measure(ratings_of(people, ITEMS, scale))
    table = np.array([[p.get(i, 0.0) for i in range(ITEMS)] for p in people])
    cosine = table.T @ table / np.outer(*[np.linalg.norm(table, axis=0)] * 2)
    j, k = np.triu_indices(ITEMS)
    ours = products / np.sqrt(squares[j] * squares[k].astype(float))
    tolerance = 1e-2 if scale.step is None else 1e-9
    np.testing.assert_allclose(ours, np.where(j < k, cosine[j, k], 0), atol=tolerance)


@pytest.mark.parametrize("scale", [*SCALES.values(), PRESENCE], ids=[*SCALES, "presence"])
@settings(max_examples=30)
@given(data=st.data())
def test_a_cosine_is_never_above_one(scale: Scale, data: st.DataObject) -> None:
    """Exactly: P^2 <= Q Q, which weights of their own for each would not keep."""
    people, statistic = data.draw(people_of(scale)), data.draw(cosine_pairs(scale))
    products, squares = measured(statistic, people)
    pairs = zip(*np.triu_indices(len(statistic.head)), strict=True)
    for product, (j, k) in zip(products, pairs, strict=True):
        assert product * product <= squares[j] * squares[k]


@every_unit
@every_noise
@pytest.mark.parametrize("people", [[], [{}], [{}, {5: 4.0}], [{0: 3.0}]], ids=str)
def test_people_without_pairs_add_none(unit: Unit, noise: Noise, people: list[Person]) -> None:
    """Nobody, empty users, ratings outside the head, one rating within it."""
    scale, head = SCALES["five stars"], np.array([0, 2, 4], dtype=np.int32)
    slope = measured(DifferencePairs(unit, noise, head, scale), people)
    assert slope == [[0] * 6, [0] * 6]
    products, squares = measured(CosinePairs(unit, noise, head, scale), people)
    assert products == [0] * 6
    assert squares[1:] == [0, 0] and (squares[0] > 0) == any(0 in p for p in people)


@every_unit
@every_noise
def test_ratings_outside_the_head_change_nothing(unit: Unit, noise: Noise) -> None:
    scale, head = SCALES["five stars"], np.array([1, 3], dtype=np.int32)
    inside = [{1: 5.0, 3: 2.0}, {3: 1.0}]
    more = [{0: 1.0, 1: 5.0, 3: 2.0, 5: 5.0}, {2: 2.0, 3: 1.0}]
    for statistic in (
        DifferencePairs(unit, noise, head, scale),
        CosinePairs(unit, noise, head, scale),
    ):
        assert measured(statistic, inside) == measured(statistic, more)
    assert measured(DifferencePairs(unit, noise, head, scale), more)[0][1] > 0


def test_the_triangle_is_packed_as_releases_are_and_noise_takes_it() -> None:
    scale, people = SCALES["five stars"], [{0: 5.0, 1: 1.0, 2: 2.0}]
    statistic = DifferencePairs(Unit.RATING, Noise.GAUSSIAN, everything(3), scale)
    differences, weights = statistic.measure(ratings_of(people, 3, scale))
    assert len(differences) == packed_size(3)
    spender = Spender(Budget(Unit.RATING, Noise.GAUSSIAN, math.inf, 0.0), None, "pairs")
    noisy = spender.release(statistic.parts[0], differences, 1.0).value
    w = 2.25**-0.5
    wanted = [0, 4 * w, 3 * w, 0, -1 * w, 0]
    np.testing.assert_allclose(noisy, wanted, rtol=1e-3)
    np.testing.assert_allclose(weights[1] / statistic.weight_grid, w, rtol=1e-3)


def test_progress_counts_every_pair_once_and_may_interrupt() -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    ratings = make_ratings(find_shape("ml-100k").scaled(ratings=5_000), seed=2)
    head, seen = everything(len(ratings.catalog)), list[tuple[int, int]]()
    statistic = CosinePairs(Unit.RATING, Noise.GAUSSIAN, head, ratings.scale)
    whole = statistic.measure(ratings, progress=lambda *done: seen.append(done))[0]
    counts = np.diff(ratings.starts)
    assert seen == sorted(seen)
    assert {total for _, total in seen} == {seen[-1][0], int((counts * (counts - 1) // 2).sum())}
    with pytest.raises(KeyboardInterrupt):
        statistic.measure(ratings, progress=interrupt)
    np.testing.assert_array_equal(statistic.measure(ratings)[0], whole)


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ([3], "at least 2 items"),
        ([], "at least 2 items"),
        ([2, 1], "rising order"),
        ([1, 1], "rising order"),
        ([-1, 1], "rising order"),
        ([[0, 1], [2, 3]], "one-dimensional"),
        (range((1 << 20) + 1), "at most 1,048,576"),
    ],
    ids=["one", "none", "falling", "twice", "negative", "square", "too many"],
)
def test_bad_heads_are_refused(head: Sequence[int], words: str) -> None:
    for kind in (DifferencePairs, CosinePairs):
        with pytest.raises(InputError, match=words):
            kind(Unit.USER, Noise.LAPLACE, np.array(head, np.int32), SCALES["five stars"])


def test_what_does_not_fit_is_refused() -> None:
    scale = SCALES["five stars"]
    with pytest.raises(InputError, match="presence has no differences"):
        DifferencePairs(Unit.RATING, Noise.GAUSSIAN, everything(3), PRESENCE)
    for spread in (0.0, 0.6, math.nan):
        with pytest.raises(InputError, match="spread"):
            DifferencePairs(Unit.USER, Noise.GAUSSIAN, everything(3), scale, spread)
    statistic = DifferencePairs(Unit.USER, Noise.LAPLACE, everything(3), scale)
    with pytest.raises(InputError, match="in steps of 1, not on 0"):
        statistic.measure(ratings_of([], 3, SCALES["thumbs"]))
    with pytest.raises(InputError, match="beyond the catalogue's 2"):
        statistic.measure(ratings_of([], 2, scale))


def test_nothing_private_is_shown() -> None:
    scale = SCALES["five stars"]
    ratings = ratings_of([{0: 5.0, 1: 1.0}], 2, scale)
    for kind in (DifferencePairs, CosinePairs):
        moments = kind(Unit.RATING, Noise.GAUSSIAN, everything(2), scale).measure(ratings)
        assert "array" not in repr(moments)
