"""Small data sets, their neighbours, and how far apart integer statistics of them are, exactly."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import strategies as st

from discreet.domain import Catalog, Scale
from discreet.measure import Spender, over_blocks
from discreet.measure.centring import GRID, HuberCentring, ItemLevels
from discreet.measure.user_votes import UserVotes
from discreet.privacy import Noise
from discreet.ratings import Ratings

Person = dict[int, float]
Ints = npt.NDArray[np.int64]

SCALES = {
    "five stars": Scale(1, 5),
    "half stars": Scale(0.5, 5, 0.5),
    "thumbs": Scale(0, 1),
    "thirds": Scale(0, 1, 1 / 3),
    "jokes": Scale(-10, 10, None),
}
FAR = 1 << 42
"""Further away, in grid units, than any clamp here: such a rating is at the clamp whatever b is."""


@functools.cache
def catalog_of(items: int) -> Catalog:
    return Catalog([str(i) for i in range(items)])


def ratings_of(people: Sequence[Person], items: int, scale: Scale) -> Ratings:
    starts = np.concatenate(([0], np.cumsum([len(p) for p in people]))).astype(np.int64)
    flat = np.array([i for p in people for i in sorted(p)], dtype=np.int32)
    values = np.array([p[i] for p in people for i in sorted(p)], dtype=np.float64)
    return Ratings(scale, catalog_of(items), starts, flat, scale.encode(values))


def timed_by_values(ratings: Ratings) -> Ratings:
    """The same records, made as many seconds after 1970 as their values say: 10 for a rating of 1.

    Neighbours that differ in a value then differ in a time.
    """
    times = np.rint(10 * ratings.values()).astype(np.uint32)
    return replace(ratings, times=times)


def values_on(scale: Scale) -> st.SearchStrategy[float]:
    if scale.presence:
        return st.just(1.0)
    if scale.levels is not None:
        return st.sampled_from(scale.levels.tolist())
    return st.floats(scale.lo, scale.hi, width=32)


def person_on(scale: Scale, items: int) -> st.SearchStrategy[Person]:
    return st.dictionaries(st.integers(0, items - 1), values_on(scale))


def people_on(scale: Scale, items: int, most: int = 4) -> st.SearchStrategy[list[Person]]:
    return st.lists(person_on(scale, items), max_size=most)


def levels_on(scale: Scale, items: int) -> st.SearchStrategy[ItemLevels]:
    """Released levels G + M_i, all of them on the scale, as the effects' clipping leaves them.

    Multiples of 2^-40, so that no residual is so small that its square is lost.
    """
    level = st.floats(scale.lo, scale.hi).map(lambda value: round(value * 2**40) / 2**40)
    return st.builds(
        lambda mean, each: ItemLevels(mean, np.array(each) - mean),
        level,
        st.lists(level, min_size=items, max_size=items),
    )


@dataclass(frozen=True)
class Pair:
    """Two data sets that differ in one rating, of person `who`."""

    without: list[Person]
    with_it: list[Person]
    who: int


@st.composite
def pairs_on(draw: st.DrawFn, scale: Scale, items: int, most: int = 3) -> Pair:
    """Neighbours that differ in one rating; now and then it is its owner's only or last one."""
    with_it = draw(people_on(scale, items, most).filter(any))
    who = draw(st.sampled_from([n for n, person in enumerate(with_it) if person]))
    gone = draw(st.sampled_from(sorted(with_it[who])))
    without = [dict(person) for person in with_it]
    del without[who][gone]
    return Pair(without, with_it, who)


def length(noise: Noise, moved: Iterable[Any]) -> Fraction:
    """The L1 norm, or the square of the L2 norm, of a vector of whole numbers."""
    whole = [int(v) for v in moved]
    if noise is Noise.LAPLACE:
        return Fraction(sum(abs(v) for v in whole))
    return Fraction(sum(v * v for v in whole))


def stays_within(noise: Noise, size: Fraction, bound: float) -> bool:
    """Whether what `length` returned is at most `bound`, without rounding."""
    return size <= (Fraction(bound) if noise is Noise.LAPLACE else Fraction(bound) ** 2)


def share_of(noise: Noise, size: Fraction, bound: float) -> float:
    """The norm that `length` returned, as a part of `bound`."""
    return float(size) / bound if noise is Noise.LAPLACE else math.sqrt(size) / bound


@dataclass(frozen=True)
class Moved:
    """Of a matrix: `length` of the strict upper triangle and of the diagonal."""

    triangle: Fraction
    diagonal: Fraction


def outer_movement(noise: Noise, after: Ints, before: Ints) -> Moved:
    """How far a a^T is from b b^T, in whole numbers, without making either matrix.

    Twice the squared triangle is |a|^4 + |b|^4 - 2 (a.b)^2 less the diagonal's squares.
    """
    diagonal = length(noise, after * after - before * before)
    if noise is Noise.GAUSSIAN:
        a, b = after.tolist(), before.tolist()
        aa, bb = sum(v * v for v in a), sum(v * v for v in b)
        ab = sum(v * w for v, w in zip(a, b, strict=True))
        return Moved((aa * aa + bb * bb - 2 * ab * ab - diagonal) / 2, diagonal)
    total = 0
    for row in range(0, len(after), 512):
        part = slice(row, row + 512)
        total += int(np.abs(np.outer(after[part], after) - np.outer(before[part], before)).sum())
    return Moved((total - diagonal) / 2, diagonal)


def packed_movement(noise: Noise, size: int, moved: Ints) -> Moved:
    """The same of a measured, packed triangle with its diagonal."""
    rows, columns = np.triu_indices(size)
    return Moved(length(noise, moved[rows != columns]), length(noise, moved[rows == columns]))


def levels_that_leave(x: Sequence[int] | Ints, items: int) -> ItemLevels:
    """Levels on five stars under which a rating of 3 of item j leaves exactly x_j grid units."""
    effects = np.zeros(items)
    effects[: len(x)] = -np.asarray(x, dtype=np.float64) / GRID
    return ItemLevels(3.0, effects)


def threes(items: npt.ArrayLike, catalog: int) -> Ratings:
    """One person who rates some items 3 of five stars."""
    rated = np.asarray(items, dtype=np.int32)
    starts, codes = np.array([0, len(rated)]), np.full(len(rated), 2, dtype=np.uint8)
    return Ratings(SCALES["five stars"], catalog_of(catalog), starts, rated, codes)


def edge_of(centring: HuberCentring, old: int) -> int:
    """Where `old` equal x must lie so that all their y are B, and fall at once if b rises.

    sum of y = c B = beta b gives b = c B/beta, and x = b + B.
    """
    return centring.reach + old * centring.reach // centring.fictitious


def slow_residual(levels: ItemLevels, item: int, value: float) -> int:
    """The definition of X with Python's numbers."""
    return round((value - levels.global_mean) * GRID) - round(float(levels.effects[item]) * GRID)


def slow_level(x: Sequence[int], reach: int, fictitious: int) -> int:
    """The largest integer b with sum of clip(x - b) >= beta b, by halving."""

    def balance(b: int) -> int:
        return sum(min(max(v - b, -reach), reach) for v in x) - fictitious * b

    low, high = -reach * len(x) - 1, reach * len(x) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if balance(middle) >= 0 else (low, middle)
    return low


def slow_user_residuals(votes: UserVotes, person: Person) -> dict[int, float]:
    """X = r - G - M, less the posterior mean of the person's level."""
    levels = votes.levels
    x = {i: person[i] - levels.global_mean - float(levels.effects[i]) for i in sorted(person)}
    if votes.prior is not None and x:
        total, weight = 0.0, votes.prior
        for item, value in x.items():
            total += float(votes.precisions[item]) * value
            weight += float(votes.precisions[item])
        x = {item: value - total / weight for item, value in x.items()}
    return x


def use_small_blocks(patch: pytest.MonkeyPatch, size: int, threads: int) -> None:
    """Make every statistic work in blocks of about `size` ratings, on so many threads."""
    patch.setattr(over_blocks, "__defaults__", (size,))
    patch.setattr(numba.config, "NUMBA_NUM_THREADS", threads)


@dataclass
class Replay:
    """Records what a fit releases; then gives the same outputs to a neighbour's fit.

    Two fits that see the same outputs may differ in their exact statistics by no more than the
    sensitivities that were booked, and in nothing else at all.
    """

    outputs: list[tuple[str, np.ndarray, np.ndarray, float]] = field(default_factory=list)
    at: int = -1

    def perturb(
        self, spender: Spender, exact: np.ndarray, sensitivity: float, share: float, label: str
    ) -> tuple[np.ndarray, float]:
        before = exact.copy()
        noisy, spread = self.original(spender, exact, sensitivity, share, label)
        if self.at < 0:
            self.outputs.append((label, before, noisy.copy(), sensitivity))
            return noisy, spread
        told, other, same, booked = self.outputs[self.at]
        self.at += 1
        assert (told, booked, before.shape) == (label, sensitivity, other.shape)
        noise = spender.budget.noise
        assert stays_within(noise, length(noise, (before - other).ravel()), sensitivity)
        return same.copy(), spread

    original = staticmethod(Spender.perturb)

    def method(self) -> Callable[..., tuple[np.ndarray, float]]:
        """For the place of `Spender.perturb`."""

        def bound(spender: Spender, *args: Any) -> tuple[np.ndarray, float]:
            return self.perturb(spender, *args)

        return bound


@contextmanager
def spying() -> Iterator[Replay]:
    replay = Replay()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Spender, "perturb", replay.method())
        yield replay
