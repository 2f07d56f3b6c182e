"""At most so many ratings of a user: what makes a promise per rating one per user too."""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import numpy.typing as npt

from discreet.ratings._keyed import Hashes, Keyed, derive_key
from discreet.ratings._ratings import Ratings

_BLOCK = 1 << 22
"""Ratings whose hashes are held at a time: 8 bytes each."""

_KEY = derive_key("bounded contributions", 0)
"""Public and the same for everybody: two engines, and two runs, keep the same ratings."""


def bound_contributions(ratings: Ratings, most: int) -> Ratings:
    """Keep at most `most` ratings of every user: those whose keyed hash is smallest.

    Which ratings of a user are kept depends on that user's name and items alone: on nobody else's
    ratings, not on values or times, not on the order of rows. One rating more changes at most two
    of its user's kept records: it may come in, and another may go (PROOF.md). Releases made from
    the result say so, and say what they promise to a whole user.

    Where users have no names, the hash is of the item alone, since a user's place says nothing once
    a row is added. Everybody over the bound then keeps the same items first, which is as stable
    but less representative.

    Args:
        ratings: Private.
        most: The bound, 1 or more; choose it without looking at these ratings.

    Raises:
        InputError: `most` is not a whole number from 1 to 2^31 - 1.
    """
    before = ratings.intake.most_ratings
    intake = replace(ratings.intake, most_ratings=most)
    if before is not None and before < most:
        intake = ratings.intake
    keyed = Keyed(ratings, _KEY, with_users=ratings.users is not None)
    keep = np.empty(len(ratings), np.bool_)
    done, first = 0, 0
    for block in ratings.blocks(_BLOCK):
        _mark_smallest(block.starts, keyed.of(block, first), most, keep[done : done + len(block)])
        done, first = done + len(block), first + block.user_count
    return ratings._kept(keep)._derive(intake=intake)


@numba.njit(cache=True, parallel=True)
def _mark_smallest(
    starts: npt.NDArray[np.int64], hashes: Hashes, most: int, keep: npt.NDArray[np.bool_]
) -> None:
    """Mark `most` ratings of each user, or all of fewer; of equal hashes the first items."""
    for user in numba.prange(starts.size - 1):
        begin, end = starts[user], starts[user + 1]
        if end - begin <= most:
            keep[begin:end] = True
        else:
            keep[begin:end] = False
            order = np.argsort(hashes[begin:end], kind="mergesort")
            for place in range(most):
                keep[begin + order[place]] = True
