"""From loose columns to `Ratings`: grouped by user, sorted by item, duplicates folded."""

from __future__ import annotations

from typing import TypeVar

import numba
import numpy as np
import numpy.typing as npt

from discreet.domain import Catalog, Scale
from discreet.ratings._ratings import MOST_RATINGS, Intake, Ratings

# Ratings of a user below which an insertion sort beats the general one; chosen by hand, as usual.
_INSERTION_SORT_BELOW = 24

_T = TypeVar("_T", bound=np.generic)
_Users = npt.NDArray[np.int32] | npt.NDArray[np.int64]
_Codes = npt.NDArray[np.uint8] | npt.NDArray[np.float32]


def build_ratings(
    users: _Users,
    items: npt.NDArray[np.int32],
    values: _Codes,
    times: npt.NDArray[np.uint32] | None,
    *,
    scale: Scale,
    catalog: Catalog,
    user_ids: npt.NDArray[np.generic] | None,
    skipped: int = 0,
    intake: Intake | None = None,
) -> Ratings:
    """Sort and fold columns whose rows come in any order.

    Of several rows with the same user and item the last one wins; if they say only presence, the
    one with the earliest time does, so that the rows' order does not count. How many were replaced
    is kept in `Ratings.duplicates`. The result depends on the columns alone, never on the thread
    count. Columns that are already in order are used as they are, without a copy.

    Beyond its inputs this takes 4 bytes a row for the order, and the columns of the result.

    Args:
        users: Each row's user, a number below the count of users.
        items: Each row's catalogue index.
        values: Each row's rating, as `scale.encode` stores it.
        times: Each row's time in seconds since 1970, if known.
        scale: The scale of the ratings.
        catalog: The catalogue that `items` points into.
        user_ids: What the source calls each user, in the order of the numbers in `users`; their
            count is the count of users. Where None, the largest number in `users` says it.
        skipped: How many bad rows were left out before.
        intake: How they were read and chosen.
    """
    rows, count = len(users), _user_count(users, user_ids)
    assert rows == len(items) == len(values) and rows <= MOST_RATINGS
    assert times is None or len(times) == rows
    if rows:
        assert int(users.min()) >= 0 and int(users.max()) < count
        assert int(items.min()) >= 0 and int(items.max()) < len(catalog)
    starts = _starts(users, count)
    duplicates = 0
    # Readers of files that are in order, and generators, need none of this.
    if not _in_order(users, items):
        order = _grouped(users, starts)
        items = _sorted_within(items, order, starts)
        if scale.presence and times is not None:
            _choose_earliest(items, order, starts, times)
        kept = _fold(items, order, starts)
        duplicates = rows - kept
        items, order = items[:kept], order[:kept]
        values = _gather(values, order)
        times = None if times is None else _gather(times, order)
    return Ratings(
        scale=scale,
        catalog=catalog,
        starts=starts,
        items=items,
        codes=values,
        times=times,
        users=user_ids,
        duplicates=duplicates,
        skipped=skipped,
        intake=intake or Intake(),
    )


def _user_count(users: _Users, user_ids: npt.NDArray[np.generic] | None) -> int:
    if user_ids is not None:
        return len(user_ids)
    return int(users.max()) + 1 if len(users) else 0


@numba.njit(cache=True)
def _starts(users: _Users, count: int) -> npt.NDArray[np.int64]:
    """Where each user's rows begin once they are grouped."""
    starts = np.zeros(count + 1, np.int64)
    for row in range(users.size):
        starts[users[row] + 1] += 1
    for user in range(count):
        starts[user + 1] += starts[user]
    return starts


@numba.njit(cache=True)
def _in_order(users: _Users, items: npt.NDArray[np.int32]) -> bool:
    """Whether (user, item) rises strictly from row to row."""
    for row in range(1, users.size):
        before, here = users[row - 1], users[row]
        if here < before or (here == before and items[row] <= items[row - 1]):
            return False
    return True


@numba.njit(cache=True)
def _grouped(users: _Users, starts: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
    """The rows' numbers, user by user, in input order within a user (a counting sort)."""
    order = np.empty(users.size, np.uint32)
    # Where the next row of each user goes. Rows are visited in order, so a user's stay in order.
    cursor = starts[:-1].copy()
    for row in range(users.size):
        user = users[row]
        order[cursor[user]] = row
        cursor[user] += 1
    return order


@numba.njit(cache=True, parallel=True)
def _sorted_within(
    items: npt.NDArray[np.int32], order: npt.NDArray[np.uint32], starts: npt.NDArray[np.int64]
) -> npt.NDArray[np.int32]:
    """Each user's items in rising order; `order` is rearranged alike, equal items keep theirs."""
    out = np.empty(items.size, np.int32)
    for user in numba.prange(starts.size - 1):
        begin, end = starts[user], starts[user + 1]
        rising = True
        for place in range(begin, end):
            out[place] = items[order[place]]
            rising = rising and (place == begin or out[place - 1] <= out[place])
        if not rising:
            _sort_together(out[begin:end], order[begin:end])
    return out


@numba.njit(cache=True)
def _sort_together(items: npt.NDArray[np.int32], order: npt.NDArray[np.uint32]) -> None:
    """Sort both by item. `order` rises on entry, so item and order in one key make it stable."""
    keys = np.empty(items.size, np.int64)
    for place in range(items.size):
        # Items are below 2^31 and rows below 2^32: both fit, and the item decides first.
        keys[place] = (np.int64(items[place]) << 32) | np.int64(order[place])
    if keys.size < _INSERTION_SORT_BELOW:
        _insertion_sort(keys)
    else:
        keys.sort()
    for place in range(items.size):
        items[place] = keys[place] >> 32
        order[place] = keys[place] & 0xFFFFFFFF


@numba.njit(cache=True)
def _insertion_sort(keys: npt.NDArray[np.int64]) -> None:
    for place in range(1, keys.size):
        key, hole = keys[place], place
        while hole > 0 and keys[hole - 1] > key:
            keys[hole] = keys[hole - 1]
            hole -= 1
        keys[hole] = key


@numba.njit(cache=True, parallel=True)
def _choose_earliest(
    items: npt.NDArray[np.int32],
    order: npt.NDArray[np.uint32],
    starts: npt.NDArray[np.int64],
    times: npt.NDArray[np.uint32],
) -> None:
    """Put the earliest row of equal items at their end, where `_fold` takes it."""
    for user in numba.prange(starts.size - 1):
        for place in range(starts[user] + 1, starts[user + 1]):
            again = items[place] == items[place - 1]
            # The earliest so far is carried along a run of equal items, to its last place.
            if again and times[order[place - 1]] < times[order[place]]:
                order[place] = order[place - 1]


@numba.njit(cache=True)
def _fold(
    items: npt.NDArray[np.int32], order: npt.NDArray[np.uint32], starts: npt.NDArray[np.int64]
) -> int:
    """Keep the last of equal items within each user, in place; returns how many rows are left."""
    kept = 0
    begin = starts[0]
    for user in range(starts.size - 1):
        end = starts[user + 1]
        for place in range(begin, end):
            # `kept` never passes `place`, so nothing is overwritten before it was read.
            if place + 1 == end or items[place + 1] != items[place]:
                items[kept], order[kept] = items[place], order[place]
                kept += 1
        begin = end
        starts[user + 1] = kept
    return kept


@numba.njit(cache=True, parallel=True)
def _gather(column: npt.NDArray[_T], order: npt.NDArray[np.uint32]) -> npt.NDArray[_T]:
    """`column[order]`, without the 8-byte copy of `order` that numpy would make."""
    out = np.empty(order.size, column.dtype)
    for place in numba.prange(order.size):
        out[place] = column[order[place]]
    return out
