"""Ratings parted into what a model may see and what it is judged on.

Every split is a function of the ratings, its arguments and a seed. Where chance decides, it is a
keyed hash of the user's name and the item's id (`_keyed.py`), the key from the seed: so the side of
a rating does not depend on anybody else's ratings, on the order of rows or on the catalogue's.
How much one row can change of a part is in its `intake`; statements and proofs are in PROOF.md.

A seed need not be secret: a split is an experiment's design and protects nobody by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numba
import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.ratings._keyed import Hashes, Keyed, derive_key
from discreet.ratings._ratings import Ratings, Stability

# Ratings that are hashed and sorted at a time, about: 16 bytes each. Chosen by hand.
_BLOCK = 1 << 22
# Ratings of a user that the Netflix Prize drew its qualifying and probe sets from.
_NETFLIX_LATEST = 9
# The probability with which each of them was drawn.
_NETFLIX_SHARE = 1 / 3
# The most folds of cross-validation. Chosen by hand: each is a fit.
_MOST_FOLDS = 100
# The last second since 1970 that fits 32 bits, in the year 2106.
_LATEST_TIME = 2**32 - 1

_Mask = npt.NDArray[np.bool_]
_Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Split:
    """Two parts of the same ratings; both list every user, so that indices agree.

    The functions here make such parts; a split of your own can be made from any two `Ratings` that
    have the same scale, catalogue and users, and no rating in common.

    Raises:
        InputError: The parts do not belong together, or share a rating.
    """

    train: Ratings
    """What a model is fitted on."""
    test: Ratings
    """What it is judged on."""
    unknown: int = field(default=0, repr=False)
    """How many of the pairs given to `split_pairs` are no rating of the data."""

    def __post_init__(self) -> None:
        train, test = self.train, self.test
        if not (isinstance(train, Ratings) and isinstance(test, Ratings)):
            raise InputError("a split has two Ratings: train and test")
        if train.scale != test.scale:
            raise InputError(f"a split's parts have one scale, not {train.scale} and {test.scale}")
        same = train.catalog is test.catalog or train.catalog.digest() == test.catalog.digest()
        if not same:
            raise InputError("a split's parts have one catalogue; these differ")
        if train.user_count != test.user_count:
            raise InputError(
                "a split's parts list the same users, each at the same place; these do not have "
                "as many (Ratings.where keeps users without ratings)"
            )
        if not _same_names(train.users, test.users):
            raise InputError("a split's parts list the same users, each at the same place")
        if _have_common(train.starts, train.items, test.starts, test.items):
            raise InputError(
                "a split's parts share a rating: a model would be judged by what it was given"
            )


def _same_names(
    some: npt.NDArray[np.generic] | None, others: npt.NDArray[np.generic] | None
) -> bool:
    if some is None or others is None:
        return some is others
    return some is others or bool(np.array_equal(some, others))


@numba.njit(cache=True)
def _have_common(
    starts: _Indices, items: npt.NDArray[np.int32], others: _Indices, theirs: npt.NDArray[np.int32]
) -> bool:
    """Whether a user has an item in both; each user's items rise."""
    for user in range(len(starts) - 1):
        here, there = starts[user], others[user]
        while here < starts[user + 1] and there < others[user + 1]:
            if items[here] == theirs[there]:
                return True
            if items[here] < theirs[there]:
                here += 1
            else:
                there += 1
    return False


def split_random(ratings: Ratings, share: float = 0.1, seed: int = 0) -> Split:
    """Each rating goes to test with probability `share`: where its keyed hash is below it.

    One rating more moves itself alone (`Stability.RECORD`). Users and items may end up without a
    rating in train.

    Raises:
        InputError: `share` is not between 0 and 1.
    """
    _check_share(share)
    keyed = Keyed(ratings, derive_key("random split", seed))

    def choose(block: Ratings, first: int) -> _Mask:
        return _below(keyed.of(block, first), share)

    test, stability = _by_user(ratings, choose), _named(ratings, Stability.RECORD)
    return _part(ratings, test, "random split", stability, share=share)


def split_folds(ratings: Ratings, folds: int = 5, seed: int = 0) -> list[Split]:
    """`folds` splits, so that every rating is in the test part of exactly one: cross-validation.

    A rating's fold is where its keyed hash lies, so one rating more moves itself alone
    (`Stability.RECORD`), as in `split_random`.

    Raises:
        InputError: `folds` is not a whole number from 2 to 100.
    """
    if isinstance(folds, bool) or not isinstance(folds, int) or not 2 <= folds <= _MOST_FOLDS:
        raise InputError(f"folds is a whole number from 2 to {_MOST_FOLDS}, not {folds}")
    keyed = Keyed(ratings, derive_key("random split", seed))

    stability = _named(ratings, Stability.RECORD)

    def part(fold: int) -> Split:
        def choose(block: Ratings, first: int) -> _Mask:
            hashes = keyed.of(block, first)
            past = ~_below(hashes, fold / folds)
            return past if fold == folds - 1 else past & _below(hashes, (fold + 1) / folds)

        test = _by_user(ratings, choose)
        return _part(ratings, test, f"{folds}-fold split", stability, share=1 / folds)

    return [part(fold) for fold in range(folds)]


def split_leave_out(ratings: Ratings, n: int = 1, seed: int = 0) -> Split:
    """`n` ratings of each user, those with the smallest keyed hash, go to test.

    A user with `n` ratings or fewer keeps exactly one in train and gives all the others; a user
    with a single rating gives none.

    One rating more can move another of the same person (`Stability.USER`). No rule that leaves
    everybody one rating in train can avoid this: a user's only rating is in train, so if another
    beside it never moved it, all would stay in train and none would be left out.

    Raises:
        InputError: `n` is below 1.
    """
    _check_count(n)
    keyed = Keyed(ratings, derive_key("leave-out split", seed))

    def choose(block: Ratings, first: int) -> _Mask:
        ranks = rank_within(block.starts, keyed.of(block, first))
        return _lowest(block, ranks, np.minimum(n, np.diff(block.starts) - 1))

    name = f"split that leaves out {n} of each user"
    return _part(ratings, _by_user(ratings, choose), name, _named(ratings, Stability.USER))


def split_leave_latest(ratings: Ratings, n: int = 1) -> Split:
    """The `n` latest ratings of each user go to test; of equal times the later item is later.

    A user with `n` ratings or fewer keeps the first in train; a user with a single rating gives
    none. One rating more can move another of the same person (`Stability.USER`).

    Raises:
        InputError: `n` is below 1, or the ratings have no times.
    """
    _check_count(n)
    _times(ratings)

    def choose(block: Ratings, _: int) -> _Mask:
        ranks = _from_last(block, rank_within(block.starts, _times(block).astype(np.uint64)))
        return _lowest(block, ranks, np.minimum(n, np.diff(block.starts) - 1))

    name = f"split that leaves out the latest {n} of each user"
    return _part(ratings, _by_user(ratings, choose), name, Stability.USER)


def split_by_time(ratings: Ratings, share: float = 0.1) -> Split:
    """The latest `share` of all ratings, rounded to whole ratings, goes to test.

    Of equal times the rating further down in the order of `Ratings` counts as later.

    Where the boundary lies depends on everybody, so one person's ratings can move other people's
    (`Stability.NONE`): a release of a part protects nobody. `split_at_time` takes a boundary that
    you know.

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
    return _part(ratings, test, "split by time", Stability.NONE, share=share, by_time=True)


def split_at_time(ratings: Ratings, time: datetime | int) -> Split:
    """Ratings from a moment on go to test, those before it to train.

    Each rating's own time decides, so one more moves itself alone (`Stability.RECORD`). That holds
    for a boundary that is public: choose it without looking at these ratings.

    Args:
        ratings: With times.
        time: Seconds since 1970, or a date and time; without a time zone it is in UTC.

    Raises:
        InputError: The ratings have no times, or `time` is none.
    """
    boundary = _boundary(time)
    test = _times(ratings).astype(np.int64) >= boundary
    name = f"split at {datetime.fromtimestamp(boundary, UTC):%Y-%m-%d %H:%M:%S} UTC"
    return _part(ratings, test, name, Stability.RECORD, by_time=True)


def split_netflix(ratings: Ratings, seed: int = 0) -> Split:
    """The probe of the Netflix Prize: of each user's 9 latest ratings, each with probability 1/3.

    As there, a user with fewer than 18 ratings offers only the later half (rounded down), so that
    everybody keeps a rating in train. Of equal times, and of ratings that are offered, a keyed hash
    decides. One rating more can move another of the same person (`Stability.USER`).

    Raises:
        InputError: The ratings have no times.
    """
    _times(ratings)
    ties = Keyed(ratings, derive_key("netflix split, ties", seed))
    coins = Keyed(ratings, derive_key("netflix split, coins", seed))

    def choose(block: Ratings, first: int) -> _Mask:
        later = _times(block).astype(np.uint64) << np.uint64(32)
        keys = later | (ties.of(block, first) >> np.uint64(32))
        ranks = _from_last(block, rank_within(block.starts, keys))
        offered = _lowest(block, ranks, np.minimum(_NETFLIX_LATEST, np.diff(block.starts) // 2))
        return offered & _below(coins.of(block, first), _NETFLIX_SHARE)

    name = "split as in the Netflix Prize"
    return _part(ratings, _by_user(ratings, choose), name, _named(ratings, Stability.USER))


def split_pairs(ratings: Ratings, users: npt.ArrayLike, items: npt.ArrayLike) -> Split:
    """The ratings of the given (user, item) pairs go to test: a published probe set.

    Pairs that are no rating of the data (the user, the item or the pair is not there) are counted
    in `Split.unknown`, for the curator's eyes. A pair given twice is taken once.

    One rating more moves itself alone (`Stability.RECORD`): that holds for a list of names that is
    fixed and public, as `read_probe` finds them here. A list made by looking at these ratings, or
    one of indices that are not looked up anew when the users change, is none.

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
    unknown = int(np.count_nonzero(found < 0))
    stability = _named(ratings, Stability.RECORD)
    return _part(ratings, test, "split by a given list of pairs", stability, unknown=unknown)


def _part(
    ratings: Ratings,
    test: _Mask,
    name: str,
    stability: Stability,
    *,
    share: float | None = None,
    unknown: int = 0,
    by_time: bool = False,
) -> Split:
    """The two parts, each saying which it is; `share` is what the test part was asked to have."""
    shares = ("", "") if share is None else (f" ({100 - 100 * share:g} %)", f" ({100 * share:g} %)")
    train = ratings.intake.parted(
        f"the training part of a {name}{shares[0]}", stability, is_latest=by_time
    )
    held_out = ratings.intake.parted(f"the test part of a {name}{shares[1]}", stability)
    return Split(
        train=ratings._kept(~test)._derive(intake=train),
        test=ratings._kept(test)._derive(intake=held_out),
        unknown=unknown,
    )


def _named(ratings: Ratings, stability: Stability) -> Stability:
    """Without a name a user is known by a place, which a row more can change for everybody."""
    return Stability.NONE if ratings.users is None else stability


def _below(hashes: Hashes, share: float) -> _Mask:
    return hashes < np.uint64(int(share * 2**64))


def _boundary(time: datetime | int) -> int:
    if isinstance(time, datetime):
        # Times are whole seconds: those from the next whole second on are not before it.
        moment = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
        return _in_range(math.ceil(moment.timestamp()))
    if isinstance(time, bool) or not isinstance(time, int | np.integer):
        raise InputError("a boundary is a date and time, or whole seconds since 1970")
    return _in_range(int(time))


def _in_range(seconds: int) -> int:
    if not 0 <= seconds <= _LATEST_TIME:
        raise InputError("a boundary is from 1970 to 2106, where times of ratings are")
    return seconds


def _by_user(ratings: Ratings, choose: Callable[[Ratings, int], _Mask]) -> _Mask:
    """What `choose` says of every rating, asked block by block to bound the memory of sorting.

    It is given a block and the place of its first user among all.
    """
    chosen, first = [np.empty(0, dtype=np.bool_)], 0
    for block in ratings.blocks(_BLOCK):
        chosen.append(choose(block, first))
        first += block.user_count
    return np.concatenate(chosen)


@numba.njit(cache=True, parallel=True)
def rank_within(starts: _Indices, keys: Hashes) -> _Indices:
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
