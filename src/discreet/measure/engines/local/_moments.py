"""Sums of outer products over users: the covariance's numerator and its weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.measure.engines.local._head import add_heads, heads_of, plan_heads
from discreet.measure.engines.local._layout import NARROW, Ints, make_runs, make_visits
from discreet.measure.engines.local._rows import add_rows
from discreet.measure.engines.local._triangle import entries_in, square

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False, repr=False)
class CoMoments:
    """Exact integer sums over users, one for every pair of items.

    Packed upper triangles with the diagonal, row-major, in the items' own order: see `index`.
    Private until noise is added, so there is no `repr` of the contents.
    """

    size: int
    """How many items."""
    cov: Ints
    """Sums of the products of two items' values, over users who have both."""
    wgt: Ints | None
    """Sums of squared votes over users who have both, if there were votes."""

    def index(self, i: int, j: int) -> int:
        """Where the pair of two items lies in a packed triangle."""
        low, high = min(i, j), max(i, j)
        return low * self.size - low * (low - 1) // 2 + high - low

    def square(
        self, packed: Ints, items: npt.ArrayLike | None = None, kind: npt.DTypeLike = np.float64
    ) -> npt.NDArray[Any]:
        """A packed triangle as a full symmetric matrix, of all items or of some in their order."""
        chosen = np.arange(self.size) if items is None else np.asarray(items, np.int64)
        return square(packed, chosen, self.size, kind)


def co_moments(
    starts: Ints,
    items: npt.NDArray[np.int32],
    values: npt.NDArray[np.int16],
    votes: npt.NDArray[np.int16] | None,
    size: int,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> CoMoments:
    """Sum the outer products of all users' values and votes, exactly.

    cov[i, j] sums `values[u, i] * values[u, j]`, and wgt[i, j] sums `votes[u]**2`, over the users
    u who have both i and j. The result does not depend on the number of threads. Sums are modulo
    2^64, which the noise that is added to them is too; below 2^33 users none can wrap. Ctrl-C is
    heard within about a second. Memory: about ten bytes an entry of the input and eight an entry of
    each triangle.

    Args:
        starts: int64[users + 1], where each user's entries begin, and the end.
        items: int32[n], items below `size`, rising within a user; negative ones are skipped.
        values: int16[n], one for each item.
        votes: int16[users], or None to leave out `wgt` and its cost.
        size: How many items there are.
        threads: How many threads to use; as many as numba may, if None.
        progress: Called in the calling thread with the pairs done and the pairs in all.
    """
    _check(starts, items, values, votes, size)
    crew = threads or numba.config.NUMBA_NUM_THREADS
    ballots = np.zeros(len(starts) - 1, np.int16) if votes is None else votes
    runs = make_runs(starts, items, values, ballots, size, threads=crew, narrow=size <= NARROW)
    report = _reporter(int((runs.counts * (runs.counts + 1) // 2).sum()), progress)
    outs = tuple(np.zeros(entries_in(size), np.int64) for _ in range(1 if votes is None else 2))
    zones = plan_heads(runs, len(outs))
    visits = make_visits(runs, heads_of(zones, len(runs.counts)), threads=crew)
    add_heads(runs, zones, outs, threads=crew, report=report)
    add_rows(runs, visits, outs, threads=crew, report=report)
    return CoMoments(size, outs[0], outs[1] if len(outs) == 2 else None)


def _reporter(total: int, progress: Progress | None) -> Callable[[int], None]:
    done = 0

    def report(pairs: int) -> None:
        nonlocal done
        done += pairs
        if progress is not None:
            progress(done, total)

    return report


def _check(
    starts: Ints,
    items: npt.NDArray[np.int32],
    values: npt.NDArray[np.int16],
    votes: npt.NDArray[np.int16] | None,
    size: int,
) -> None:
    for name, array, kind in (
        ("starts", starts, np.int64),
        ("items", items, np.int32),
        ("values", values, np.int16),
        ("votes", votes, np.int16),
    ):
        if array is not None and (array.dtype != kind or array.ndim != 1):
            raise InputError(f"{name} must be one-dimensional, of {np.dtype(kind).name}")
    if size < 1:
        raise InputError("the matrix needs at least one item")
    if len(starts) < 1 or starts[0] < 0 or starts[-1] > len(items) or np.any(np.diff(starts) < 0):
        raise InputError("starts must begin at 0 or later, never fall, and end within the items")
    if len(values) != len(items) or (votes is not None and len(votes) != len(starts) - 1):
        raise InputError("there must be one value an item and one vote a user")
