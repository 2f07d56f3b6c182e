"""A number for every rating that depends on a key, its user's name and its item's id alone.

Splits and the bound on each user's ratings go by these numbers, so they decide about each rating by
itself: one rating more, in whatever place and with whatever catalogue, leaves the numbers of all
others as they are (PROOF.md).

The hash mixes well and is not cryptographic: whoever knows the key can compute it, and could find
names that collide. Nothing secret rests on it, neither a guarantee nor anybody's privacy; stability
needs only that it is a function.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.domain import InputError
from discreet.ratings._ratings import Ratings, Stability

Hashes = npt.NDArray[np.uint64]

# Users whose names are held as text at a time: tens of megabytes. Chosen by hand.
_NAMES_AT_ONCE = 1 << 20
# Ratings whose hashes are held at a time: 8 bytes each. Chosen by hand.
_BLOCK = 1 << 22

# Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014): the increment, and
# the finalizer in Stafford's variant 13, which is a bijection of 64-bit words.
INCREMENT = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def derive_key(purpose: str, seed: int) -> int:
    """64 bits for one purpose and seed; those of two purposes have nothing to do with each other.

    Raises:
        InputError: The seed is not a whole number.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise InputError("a seed is a whole number")
    text = f"discreet keyed hash 1\n{purpose}\n{int(seed)}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


class Keyed:
    """Hashes of the ratings of some users, all under one key.

    Args:
        ratings: Everybody's, with names or without; without, a user's index stands for the name.
        key: 64 bits, from `derive_key`.
        with_users: Whether the hash depends on the user, and not on the item alone.
    """

    def __init__(self, ratings: Ratings, key: int, *, with_users: bool = True) -> None:
        count = ratings.user_count
        self._users = hash_names(ratings, key) if with_users else np.zeros(count, np.uint64)
        self._items = hash_texts(_as_text(pa.array(ratings.catalog.ids, pa.large_string())), key)

    def of(self, block: Ratings, first: int) -> Hashes:
        """One for each rating of a block, whose first user is the `first` of all."""
        users = self._users[first : first + block.user_count]
        hashes: Hashes = _hash_ratings(block.starts, block.items, users, self._items)
        return hashes


def hash_names(ratings: Ratings, key: int) -> Hashes:
    """One for each user; integers hash as the text that they print as."""
    out = np.empty(ratings.user_count, np.uint64)
    for first in range(0, len(out), _NAMES_AT_ONCE):
        last = min(first + _NAMES_AT_ONCE, len(out))
        if ratings.users is None:
            names: npt.NDArray[np.generic] = np.arange(first, last)
        else:
            names = ratings.users[first:last]
        out[first:last] = hash_texts(_names_as_text(names), key)
    return out


def hash_texts(texts: pa.LargeStringArray, key: int) -> Hashes:
    """One for each text, of its UTF-8 bytes."""
    hashes: Hashes = _hash_bytes(*_bytes_of(texts), np.uint64(key))
    return hashes


def _bytes_of(
    texts: pa.LargeStringArray,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Where each text begins, and the last one ends; and the bytes that this is about."""
    _, offsets, data = texts.buffers()
    # Of a slice only these are its own.
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return ends, np.frombuffer(data, np.uint8) if data is not None and data.size else _NOTHING


def _text_of(ends: npt.NDArray[np.int64], content: npt.NDArray[np.uint8]) -> pa.LargeStringArray:
    """The texts that `_bytes_of` took apart."""
    own = (pa.py_buffer(np.ascontiguousarray(each)) for each in (ends, content))
    return pa.LargeStringArray.from_buffers(len(ends) - 1, *own)


def _names_as_text(names: npt.NDArray[np.generic]) -> pa.LargeStringArray:
    if names.dtype.kind in "iu":
        return _as_text(pa.array(names))
    try:
        return _as_text(pa.array(names.astype(object), pa.large_string()))
    except UnicodeEncodeError:
        pass
    raise InputError("a user's name is not valid Unicode text")


def _as_text(array: pa.Array) -> pa.LargeStringArray:
    return array.cast(pa.large_string())


_NOTHING = np.empty(0, np.uint8)
_NOTHING.flags.writeable = False


@numba.njit(cache=True, nogil=True, inline="always")
def mix(word: np.uint64) -> np.uint64:
    """A bijection of 64 bits that looks random."""
    word = (word ^ (word >> np.uint64(30))) * _FIRST
    word = (word ^ (word >> np.uint64(27))) * _SECOND
    return word ^ (word >> np.uint64(31))


@numba.njit(cache=True, nogil=True)
def _hash_bytes(
    ends: npt.NDArray[np.int64], content: npt.NDArray[np.uint8], key: np.uint64
) -> Hashes:
    """Of each text: its length, then its words of 8 bytes, the first byte lowest, 0 behind."""
    out = np.empty(ends.size - 1, np.uint64)
    for text in range(out.size):
        begin, end = ends[text], ends[text + 1]
        state = mix(key + INCREMENT * np.uint64(end - begin))
        for word_at in range(begin, end, 8):
            word = np.uint64(0)
            for place in range(word_at, min(word_at + 8, end)):
                word |= np.uint64(content[place]) << np.uint64(8 * (place - word_at))
            state = mix((state ^ word) + INCREMENT)
        out[text] = state
    return out


@numba.njit(cache=True, parallel=True)
def _hash_ratings(
    starts: npt.NDArray[np.int64], items: npt.NDArray[np.int32], of_user: Hashes, of_item: Hashes
) -> Hashes:
    """The user's hash and then the item's, as two more words; the user is mixed once more."""
    out = np.empty(items.size, np.uint64)
    for user in numba.prange(starts.size - 1):
        state = mix(of_user[user] + INCREMENT)
        for place in range(starts[user], starts[user + 1]):
            out[place] = mix((state ^ of_item[items[place]]) + INCREMENT)
    return out


_BOUND_KEY = derive_key("bounded contributions", 0)
"""Public and the same for everybody: two engines, and two runs, keep the same ratings."""


def cap_periods(
    ratings: Ratings, seen: Mapping[str, npt.NDArray[Any]], most: int
) -> tuple[Ratings, dict[str, npt.NDArray[Any]]]:
    """The ratings of people who were in fewer than `most` periods before; and who was in how many.

    Whether somebody's ratings of a period are used depends on that person's periods alone: people
    are known by their names, letter for letter, so that no two are taken for one.

    Args:
        ratings: Of one period; private.
        seen: What the call for the period before returned, empty for the first: private.
        most: In how many periods a person's ratings are used at most.

    Raises:
        InputError: The users have no names to know them by.
    """
    if ratings.users is None:
        raise InputError("a bound on a person's periods needs the users' names")
    present = np.diff(ratings.starts) > 0
    known = _text_of(seen.get("cap:ends", np.zeros(1, np.int64)), seen.get("cap:names", _NOTHING))
    names = _names_as_text(ratings.users[present])
    # In the order in which they first occur: those who were known keep their places.
    everybody = pa.concat_arrays([known, names]).dictionary_encode()
    here = everybody.indices.to_numpy(zero_copy_only=False)[len(known) :]
    periods = np.zeros(len(everybody.dictionary), np.int64)
    periods[: len(known)] = seen.get("cap:periods", np.empty(0, np.int64))
    used = np.zeros(ratings.user_count, np.bool_)
    used[present] = periods[here] < most
    periods[here[used[present]]] += 1
    ends, content = _bytes_of(everybody.dictionary)
    after: dict[str, npt.NDArray[Any]] = {
        "cap:ends": ends,
        "cap:names": content,
        "cap:periods": periods,
    }
    kept = ratings._kept(np.repeat(used, np.diff(ratings.starts)))
    intake = replace(kept.intake, stability=kept.intake.stability.and_then(Stability.USER))
    return kept._derive(intake=intake), after


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
    keyed = Keyed(ratings, _BOUND_KEY, with_users=ratings.users is not None)
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
