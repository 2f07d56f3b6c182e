"""Making ratings: items first, then users in blocks, on as many threads as numba may use."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

import numba
import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.ratings._ratings import Ratings
from discreet.ratings.synthetic._curves import Floats, user_activity
from discreet.ratings.synthetic._kernels import (
    Calendar,
    ItemTable,
    Spreads,
    choose_items,
    date_ratings,
    score,
)
from discreet.ratings.synthetic._presets import find_shape
from discreet.ratings.synthetic._shape import Shape
from discreet.ratings.synthetic._world import (
    ValueMap,
    make_catalog,
    make_items,
    with_even_habits,
)

Progress = Callable[[int, int], None]

_LARGEST_BLOCK = 1 << 20
_SMALLEST_BLOCK = 1 << 14
_SMALLEST_PILOT = 1 << 14
_LARGEST_PILOT = 1 << 18


def make_ratings(shape: Shape | str, *, seed: int = 0, progress: Progress | None = None) -> Ratings:
    """Made-up ratings of the given shape, the same for the same shape and seed.

    Exactly `shape.ratings` of them, by exactly `shape.users` users with at least one each. The
    result does not depend on the number of threads (`numba.set_num_threads`). The generator is
    fast, seeded and public: right for data that nobody needs protection from, and no source of
    noise for privacy.

    Args:
        shape: A shape, or the name of one of `SHAPES`.
        seed: A whole number from 0 to 2**64 - 1.
        progress: Called after every block of at most about a million ratings with how many are
            done and how many there will be. What it raises ends the work.

    Raises:
        InputError: There is no shape of that name, or the seed is out of range.
    """
    if isinstance(shape, str):
        shape = find_shape(shape)
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
