"""Making ratings: items first, then users in blocks, on as many threads as numba may use."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING

import numba
import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.domain import Catalog, InputError, Scale
from discreet.domain.lazy import LazyModule
from discreet.ratings._ratings import Ratings
from discreet.ratings.synthetic._curves import (
    Floats,
    choice_weights,
    item_popularity,
    user_activity,
)
from discreet.ratings.synthetic._kernels import (
    Calendar,
    ItemTable,
    Spreads,
    alias_table,
    choose_items,
    date_ratings,
    score,
)
from discreet.ratings.synthetic._shapes import Shape, find_shape

if TYPE_CHECKING:
    from scipy import special
else:
    special = LazyModule("scipy.special")
from discreet.ratings.synthetic._titles import made_up_titles

Progress = Callable[[int, int], None]

# Ratings that a thread makes at a time: few enough to stop soon. Chosen by hand.
_LARGEST_BLOCK = 1 << 20
# Enough to hide what a task costs. Chosen by hand.
_SMALLEST_BLOCK = 1 << 14
# Ratings of the sample that value frequencies are fitted to: a share of them is known to 0.4
# percentage points, the standard error with 16,384 draws.
_SMALLEST_PILOT = 1 << 14
# Beyond this the error is below 0.1 points.
_LARGEST_PILOT = 1 << 18
# Factor k has k to minus this power times the spread of the first; documented in `Shape.rank`.
_FACTOR_DECAY = 0.75
# The bell of value shares that are not given, as shares of the scale; chosen by hand, like the
# shares of the data sets in `SHAPES`.
_BELL_CENTRE = 0.65
# Its standard deviation, likewise.
_BELL_WIDTH = 0.27
# Intervals of a continuous scale whose shares are not given; as many as `SHAPES` has for Jester.
_CONTINUOUS_PARTS = 20
# The year of the newest title where ratings have no times.
_NO_SPAN_YEAR = 2000


def make_ratings(
    shape: Shape | str,
    *,
    ratings: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Ratings:
    """Made-up ratings of the given shape, the same for the same shape and seed.

    Exactly `shape.ratings` of them, by exactly `shape.users` users with at least one each. The
    result does not depend on the number of threads (`numba.set_num_threads`). The generator is
    fast, seeded and public: right for data that nobody needs protection from, and no source of
    noise for privacy.

    Args:
        shape: A shape, or the name of one of `SHAPES`.
        ratings: How many, with users and items in proportion; the shape's own if absent.
        seed: A whole number from 0 to 2**64 - 1.
        progress: Called after every block of at most about a million ratings with how many are
            done and how many there will be. What it raises ends the work.

    Raises:
        InputError: There is no shape of that name, or a number is out of range.

    Example:
        >>> import discreet
        >>> discreet.make_ratings("ml-100k", ratings=2000, seed=1)
        Ratings(private, catalogue of 352 items, scale 1..5 in steps of 1)
    """
    if isinstance(shape, str):
        shape = find_shape(shape)
    if ratings is not None:
        shape = shape.scaled(ratings=ratings)
    if not 0 <= seed < 2**64:
        raise InputError("the seed must be a whole number from 0 to 2**64 - 1")
    rng = np.random.default_rng(seed)
    activity = user_activity(shape)
    people = _People(
        shape, np.uint64(seed), _starts(activity, rng), make_items(shape, activity, rng)
    )
    values = ValueMap.fit(shape, _pilot(people, rng))
    columns = _Columns.empty(shape)
    _fill(people, values, columns, progress)
    catalog = make_catalog(shape, rng)
    names = np.arange(shape.users)
    return Ratings(
        shape.scale, catalog, people.starts, columns.items, columns.codes, columns.times, names
    )


def _starts(activity: npt.NDArray[np.int64], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(rng.permutation(activity))))


@dataclass(frozen=True)
class _Columns:
    """The result's columns, filled block by block."""

    items: npt.NDArray[np.int32]
    codes: npt.NDArray[np.uint8] | npt.NDArray[np.float32]
    times: npt.NDArray[np.uint32] | None

    @classmethod
    def empty(cls, shape: Shape) -> _Columns:
        n = shape.ratings
        codes = np.empty(n, np.float32) if shape.scale.step is None else np.empty(n, np.uint8)
        return cls(np.empty(n, np.int32), codes, np.empty(n, np.uint32) if shape.span else None)


@dataclass(frozen=True)
class _People:
    """Everything that a block of users is made from."""

    shape: Shape
    seed: np.uint64
    starts: npt.NDArray[np.int64]
    table: ItemTable

    def choose(self, first: int, last: int, out: npt.NDArray[np.int32]) -> None:
        """Fill in the items of the users `first` to `last - 1`."""
        starts = self.starts[first : last + 1]
        choose_items(self.seed, first, starts, self.shape.choice, self.table, out)

    def score(
        self, first: int, last: int, chosen: npt.NDArray[np.int32], *, habits: bool
    ) -> npt.NDArray[np.float32]:
        """Scores of the chosen items, with or without the users' effects and use of the scale."""
        shape = self.shape
        spreads = Spreads(
            user=math.sqrt(shape.user_variance) if habits else 0.0,
            taste=math.sqrt(shape.taste_variance),
            noise=math.sqrt(shape.noise_variance),
            range_use=float(shape.range_use) if habits else 0.0,
        )
        scores = np.empty(len(chosen), np.float32)
        score(self.seed, first, self.starts[first : last + 1], chosen, self.table, spreads, scores)
        return scores

    def set_times(self, first: int, last: int, out: npt.NDArray[np.uint32]) -> None:
        """Fill in the times of the users `first` to `last - 1`."""
        assert self.shape.span is not None
        begin, end = ((day - date(1970, 1, 1)).days * 86_400 for day in self.shape.span)
        calendar = Calendar(
            begin=begin,
            seconds=end - begin,
            growth=float(self.shape.growth),
            session=self.shape.session,
            returning=float(self.shape.returning),
        )
        date_ratings(self.seed, first, self.starts[first : last + 1], calendar, out)


def _pilot(people: _People, rng: np.random.Generator) -> Floats:
    """Scores of the first users' ratings, as a sample of everybody's."""
    size = min(max(people.shape.ratings // 32, _SMALLEST_PILOT), _LARGEST_PILOT)
    last = max(1, int(np.searchsorted(people.starts, size, side="right")) - 1)
    chosen = np.empty(int(people.starts[last]), np.int32)
    people.choose(0, last, chosen)
    scores = people.score(0, last, chosen, habits=False).astype(np.float64)
    return with_even_habits(scores, people.shape, rng)


def _make_block(people: _People, values: ValueMap, columns: _Columns, first: int, last: int) -> int:
    """Fill in the ratings of the users `first` to `last - 1`; how many they are."""
    begin, end = int(people.starts[first]), int(people.starts[last])
    chosen = columns.items[begin:end]
    people.choose(first, last, chosen)
    columns.codes[begin:end] = values.encode(people.score(first, last, chosen, habits=True))
    if columns.times is not None:
        people.set_times(first, last, columns.times[begin:end])
    return end - begin


def _fill(people: _People, values: ValueMap, columns: _Columns, progress: Progress | None) -> None:
    """Fill in everybody's ratings; an interrupt stops after the blocks that are under way."""
    threads = numba.get_num_threads()
    bounds = _bounds(people.starts, threads)
    done = 0
    pool = ThreadPoolExecutor(threads)
    try:
        blocks = [
            pool.submit(_make_block, people, values, columns, first, last)
            for first, last in pairwise(bounds)
        ]
        for block in as_completed(blocks):
            done += block.result()
            if progress is not None:
                progress(done, people.shape.ratings)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _bounds(starts: npt.NDArray[np.int64], threads: int) -> list[int]:
    """Where blocks of whole users begin, and the end: a few blocks a thread, none too large."""
    total = int(starts[-1])
    size = min(max(total // (4 * threads), _SMALLEST_BLOCK), _LARGEST_BLOCK)
    cuts = np.searchsorted(starts, np.arange(0, total, size))
    bounds: list[int] = np.unique(np.append(cuts, len(starts) - 1)).tolist()
    return bounds


def make_items(
    shape: Shape, activity: npt.NDArray[np.int64], rng: np.random.Generator
) -> ItemTable:
    """The items' weights, effects and taste factors, in random order of popularity.

    Effects and factors are scaled so that their variances over *ratings* are the shape's.
    """
    popularity = item_popularity(shape)
    weights = choice_weights(shape, activity, popularity)
    order = rng.permutation(shape.items)
    popularity, weights = popularity[order], weights[order]
    effects = _effects(shape, popularity, rng)
    factors = _factors(shape, popularity, rng)
    cut, other = alias_table(weights)
    return ItemTable(weights, cut, other, factors, effects)


def _effects(shape: Shape, popularity: Floats, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    fame = _standardised(np.log(popularity), np.ones(shape.items))
    luck = rng.standard_normal(shape.items)
    merit = shape.quality * fame + np.sqrt(1.0 - shape.quality**2) * luck
    spread = math.sqrt(shape.item_variance)
    return (spread * _standardised(merit, popularity)).astype(np.float32)


def _factors(shape: Shape, popularity: Floats, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    factors = rng.standard_normal((shape.items, shape.rank))
    factors /= np.arange(1, shape.rank + 1) ** _FACTOR_DECAY
    squares = np.average((factors**2).sum(1), weights=popularity)
    return np.ascontiguousarray(factors / np.sqrt(squares), dtype=np.float32)


def _standardised(values: Floats, weights: Floats) -> Floats:
    centred = values - np.average(values, weights=weights)
    spread = np.sqrt(np.average(centred**2, weights=weights))
    standard: Floats = centred / spread if spread > 0 else centred
    return standard


def make_catalog(shape: Shape, rng: np.random.Generator) -> Catalog:
    """The items' numbers as ids, and titles from before the first rating."""
    ids = pl.int_range(1, shape.items + 1, eager=True).cast(pl.String).to_list()
    last_year = shape.span[0].year - 1 if shape.span else _NO_SPAN_YEAR
    return Catalog(ids, made_up_titles(shape.items, last_year, rng))


@dataclass(frozen=True)
class ValueMap:
    """A rising map from scores to ratings as they are stored."""

    scale: Scale
    knots: npt.NDArray[np.float32]
    """Between neighbouring scores here lies one level, or one part of a continuous scale."""

    @classmethod
    def fit(cls, shape: Shape, scores: Floats) -> ValueMap:
        """The map that gives a sample of scores the value frequencies of the shape."""
        shares = np.asarray(shape.value_shares or bell(shape.scale), np.float64)
        reached = np.concatenate(([0.0], np.cumsum(shares) / shares.sum()))
        knots = np.quantile(scores, np.minimum(reached, 1.0))
        return cls(shape.scale, knots.astype(np.float32))

    def encode(
        self, scores: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.uint8] | npt.NDArray[np.float32]:
        """Ratings as `Scale.encode` stores them; scores beyond the last knots are extremes."""
        if self.scale.step is not None:
            return np.searchsorted(self.knots[1:-1], scores).astype(np.uint8)
        values = np.linspace(self.scale.lo, self.scale.hi, len(self.knots))
        return np.interp(scores, self.knots, values).astype(np.float32)


def bell(scale: Scale) -> tuple[float, ...]:
    """Value shares for a scale of which nothing is known: a bell above its middle."""
    levels = scale.levels
    if levels is None:
        inner = np.arange(1, _CONTINUOUS_PARTS) / _CONTINUOUS_PARTS
    else:
        inner = (np.arange(1, len(levels)) - 0.5) / (len(levels) - 1)
    below = np.concatenate(([0.0], special.ndtr((inner - _BELL_CENTRE) / _BELL_WIDTH), [1.0]))
    return tuple(np.diff(below).tolist())


def with_even_habits(scores: Floats, shape: Shape, rng: np.random.Generator) -> Floats:
    """Scores made without users' habits, with as many different habits as there are scores.

    A pilot has few users, and theirs would shift everybody's ratings; evenly spaced normal
    quantiles in random order do not.
    """
    even = special.ndtri((np.arange(len(scores)) + 0.5) / len(scores))
    used = np.exp(shape.range_use * rng.permutation(even))
    spread: Floats = used * scores + math.sqrt(shape.user_variance) * rng.permutation(even)
    return spread
