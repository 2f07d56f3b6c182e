"""Ratings parted into what a model may see and what it is judged on.

Every split is a function of the ratings, its arguments and a seed. The seed drives numpy's
generator: a split is an experiment's design and protects nobody.

Draws are made in the order of `Ratings`: users in their order, each user's items rising by
catalogue index. Code that draws in the order of a file's lines with the same seed gets another
split of the same law.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.ratings._ratings import Ratings

_BLOCK = 1 << 22
_NETFLIX_LATEST = 9
_NETFLIX_SHARE = 1 / 3

_Mask = npt.NDArray[np.bool_]
_Indices = npt.NDArray[np.int64]
_Keys = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Split:
    """Two parts of the same ratings; both list every user, so that indices agree."""

    train: Ratings
    """What a model is fitted on."""
    test: Ratings
    """What it is judged on."""
    unknown: int = 0
    """How many of the pairs given to `split_pairs` are no rating of the data."""


def split_random(ratings: Ratings, share: float = 0.1, seed: int = 0) -> Split:
    """Each rating goes to test with probability `share`, independently.

    A rating is tested where `default_rng(seed).random(len(ratings))` is at least `1 - share`, in
    the order of `Ratings`. Users and items may end up without a rating in train.

    Raises:
        InputError: `share` is not between 0 and 1.
    """
    _check_share(share)
    generator = np.random.default_rng(seed)
    test = np.empty(len(ratings), dtype=np.bool_)
    for begin in range(0, len(test), _BLOCK):
        part = test[begin : begin + _BLOCK]
        np.greater_equal(generator.random(len(part)), 1 - share, out=part)
    return _part(ratings, test)


def split_leave_out(ratings: Ratings, n: int = 1, seed: int = 0) -> Split:
    """`n` ratings of each user, chosen at random, go to test.

    A user with `n` ratings or fewer keeps exactly one in train and gives all the others; a user
    with a single rating gives none.

    Raises:
        InputError: `n` is below 1.
    """
    _check_count(n)
    generator = np.random.default_rng(seed)

    def choose(block: Ratings) -> _Mask:
        keys = generator.integers(2**64 - 1, size=len(block), dtype=np.uint64, endpoint=True)
        ranks = rank_within(block.starts, keys)
        return _lowest(block, ranks, np.minimum(n, np.diff(block.starts) - 1))

    return _part(ratings, _by_user(ratings, choose))


def split_leave_latest(ratings: Ratings, n: int = 1) -> Split:
    """The `n` latest ratings of each user go to test; of equal times the later item is later.

    A user with `n` ratings or fewer keeps the first in train; a user with a single rating gives
    none.

    Raises:
        InputError: `n` is below 1, or the ratings have no times.
    """
    _check_count(n)
    _times(ratings)

    def choose(block: Ratings) -> _Mask:
        ranks = _from_last(block, rank_within(block.starts, _times(block).astype(np.uint64)))
        return _lowest(block, ranks, np.minimum(n, np.diff(block.starts) - 1))

    return _part(ratings, _by_user(ratings, choose))


def split_by_time(ratings: Ratings, share: float = 0.1) -> Split:
    """The latest `share` of all ratings, rounded to whole ratings, goes to test.

    Of equal times the rating further down in the order of `Ratings` counts as later.

    Raises:
        InputError: `share` is not between 0 and 1, or the ratings have no times.
    """
    _check_share(share)
    times = _times(ratings)
    wanted = round(share * len(times))
    test = np.zeros(len(times), dtype=np.bool_)
    if wanted:
        boundary = np.partition(times, len(times) - wanted)[len(times) - wanted]
        np.greater(times, boundary, out=test)
        at_boundary = np.flatnonzero(times == boundary)
        test[at_boundary[len(at_boundary) - (wanted - np.count_nonzero(test)) :]] = True
    return _part(ratings, test)


def split_netflix(ratings: Ratings, seed: int = 0) -> Split:
    """The probe of the Netflix Prize: of each user's 9 latest ratings, each with probability 1/3.

    As there, a user with fewer than 18 ratings offers only the later half (rounded down), so that
    everybody keeps a rating in train. Of equal times, chance decides which is later.

    Raises:
        InputError: The ratings have no times.
    """
    _times(ratings)
    shuffle, coin = np.random.default_rng(seed).spawn(2)

    def choose(block: Ratings) -> _Mask:
        ties = shuffle.integers(2**32 - 1, size=len(block), dtype=np.uint32, endpoint=True)
        keys = (_times(block).astype(np.uint64) << np.uint64(32)) | ties
        ranks = _from_last(block, rank_within(block.starts, keys))
        offered = _lowest(block, ranks, np.minimum(_NETFLIX_LATEST, np.diff(block.starts) // 2))
        return offered & (coin.random(len(block)) < _NETFLIX_SHARE)

    return _part(ratings, _by_user(ratings, choose))


def split_pairs(ratings: Ratings, users: npt.ArrayLike, items: npt.ArrayLike) -> Split:
    """The ratings of the given (user, item) pairs go to test: a published probe set.

    Pairs that are no rating of the data (the user, the item or the pair is not there) are counted
    in `Split.unknown`. A pair given twice is taken once.

    Args:
        ratings: The data that the pairs are taken from.
        users: Each pair's user, as an index into the ratings' users.
        items: Each pair's item, as a catalogue index.

    Raises:
        InputError: `users` and `items` are not two columns of whole numbers, equally long.
    """
    who, what = _indices(users), _indices(items)
    if len(who) != len(what):
        raise InputError(f"{len(who):,} users but {len(what):,} items do not make pairs")
    found = _find_ratings(ratings, who, what)
    test = np.zeros(len(ratings), dtype=np.bool_)
    test[found[found >= 0]] = True
    return _part(ratings, test, unknown=int(np.count_nonzero(found < 0)))


def _part(ratings: Ratings, test: _Mask, unknown: int = 0) -> Split:
    return Split(train=ratings.where(~test), test=ratings.where(test), unknown=unknown)


def _by_user(ratings: Ratings, choose: Callable[[Ratings], _Mask]) -> _Mask:
    """What `choose` says of every rating, asked block by block to bound the memory of sorting."""
    chosen = [choose(block) for block in ratings.blocks(_BLOCK)]
    return np.concatenate([np.empty(0, dtype=np.bool_), *chosen])


@numba.njit(cache=True, parallel=True)
def rank_within(starts: _Indices, keys: _Keys) -> _Indices:
    """Each rating's place among its user's by rising key; of equal keys the earlier comes first."""
    ranks = np.empty(keys.size, np.int64)
    for user in numba.prange(starts.size - 1):
        begin = starts[user]
        order = np.argsort(keys[begin : starts[user + 1]], kind="mergesort")
        for place in range(order.size):
            ranks[begin + order[place]] = place
    return ranks


def _from_last(block: Ratings, ranks: _Indices) -> _Indices:
    counts = np.diff(block.starts)
    return np.repeat(counts - 1, counts) - ranks


def _lowest(block: Ratings, ranks: _Indices, how_many: _Indices) -> _Mask:
    return ranks < np.repeat(how_many, np.diff(block.starts))


def _indices(column: npt.ArrayLike) -> _Indices:
    array = np.asarray(column)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError("the pairs must be given as indices: whole numbers in a plain column")
    return array.astype(np.int64)


def _find_ratings(ratings: Ratings, users: _Indices, items: _Indices) -> _Indices:
    """Where each pair's rating stands, or -1: a binary search in all the users' slices at once."""
    known = (users >= 0) & (users < ratings.user_count)
    slices = np.where(known, users, 0)
    low = np.where(known, ratings.starts[slices], 0)
    high = ends = np.where(known, ratings.starts[slices + known], 0)
    while (unsure := low < high).any():
        middle = (low + high) // 2
        below = ratings.items[np.where(unsure, middle, 0)] < items
        low = np.where(unsure & below, middle + 1, low)
        high = np.where(unsure & ~below, middle, high)
    inside = low < ends
    hit = np.zeros(len(low), dtype=np.bool_)
    hit[inside] = ratings.items[low[inside]] == items[inside]
    return np.where(hit, low, -1)


def _times(ratings: Ratings) -> npt.NDArray[np.uint32]:
    if ratings.times is None:
        raise InputError("this split goes by time, and these ratings have none: split at random")
    return ratings.times


def _check_share(share: float) -> None:
    if not 0 < share < 1:
        raise InputError(f"the share for testing must be between 0 and 1, not {share:g}")


def _check_count(n: int) -> None:
    if n < 1:
        raise InputError(f"the number of ratings to leave out must be 1 or more, not {n}")
