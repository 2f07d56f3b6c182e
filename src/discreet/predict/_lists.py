"""What lists are ordered by: what people have, what is popular, and how likely they like it.

For own items H an item's list score is b_j + s_j (u_j . q), with q the sum of u_l over H: it is
high if the item goes with what the person has. Without own items it is p_j, popularity. Items of
the head have rows u of their own; those of all others are multiples t_j of one common direction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, OwnRatings, Scale
from discreet.predict._people import People
from discreet.release import Release

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]

# People whose own items' rows are in memory at once: 256 people with 165 items each at rank 64
# take 10 MiB of float32. Chosen by hand; it does not change results.
_PEOPLE_AT_ONCE = 256
# Added to every item's count where counts order lists, as a share of the mean count, so that
# counts near 0, which are mostly noise, are not far apart. Chosen by hand.
_COUNT_FLOOR = 0.1
# From which rating on somebody likes an item, below the scale's end, and how doubtful that is: the
# standard deviation of a rating around it. Both in ranges of the scale: 3.5 and 1.5 on 1 to 5.
# Chosen on validation parts of MovieLens 1M.
_LIKE, _DOUBT = 0.375, 0.375
# The size of the largest 8-bit integer, and the largest that a score may become: ten times below
# where 32-bit floats end. Derived.
_LARGEST_ENTRY, _LARGEST_SCORE = 128, 3e37
# Terms of the normal distribution's power series. An expected rating lies on the scale, so that
# Phi is only ever needed from -5/3 to 1, where the terms left out sum to less than 1e-9: derived.
_TERMS = 13
_SERIES = tuple(
    (-0.5) ** n / (math.factorial(n) * (2 * n + 1) * math.sqrt(2 * math.pi)) for n in range(_TERMS)
)


@dataclass(frozen=True, eq=False, repr=False)
class ListScores:
    """The lists section of a release, ready for use.

    Attributes:
        popularity: p, the scores of a person without own items.
        start: b, where scores start for everybody else.
        gain: s, what u_j . q is multiplied by.
        positions: Each item's place in the head, -1 outside.
        head: The indices of the head's items, rising.
        rows: u of the head's items.
        tail: t, 0 for items of the head.
        axis: The direction of all items outside the head.
    """

    popularity: Singles
    start: Singles
    gain: Singles
    positions: npt.NDArray[np.int64]
    head: npt.NDArray[np.int64]
    rows: Singles
    tail: Singles
    axis: Singles

    @classmethod
    def of(cls, release: Release) -> ListScores | None:
        """The scores of a release; None if it has no lists section.

        Raises:
            InputError: Its numbers are so large that scores would leave the floats' range.
        """
        arrays = release.arrays
        if "list_rows" not in arrays:
            return None
        popularity, start, gain, tail, axis, scales = (
            arrays[f"list_{name}"].astype(np.float32)
            for name in ("popularity", "start", "gain", "tail", "axis", "scales")
        )
        longest = max(
            _LARGEST_ENTRY * float(scales.max(initial=0.0)),
            _size(tail) * _size(axis),
        )
        most = _size(gain) * len(axis) * len(tail) * longest**2
        if max(longest, most + _size(start)) > _LARGEST_SCORE:
            raise InputError("the release's lists hold numbers that are too large to be used")
        head = arrays["list_head"].astype(np.int64)
        positions = np.full(len(tail), -1)
        positions[head] = np.arange(len(head))
        tail[head] = 0.0
        rows = arrays["list_rows"].astype(np.float32) * scales
        return cls(popularity, start, gain, positions, head, rows, tail, axis)

    def scores(self, people: People) -> Singles:
        """The score of every item, one row per person."""
        found = self._products(self._sums(people))
        found *= self.gain
        found += self.start
        found[np.diff(people.starts) == 0] = self.popularity
        return found

    def contributions(self, own: OwnRatings, items: npt.NDArray[np.int32]) -> Floats:
        """s_j (u_l . u_j), a row for each item and a column for each own item."""
        products = self._rows(items).astype(np.float64) @ self._rows(own.items).T
        return np.asarray(self.gain[items, None] * products)

    def similarities(self, item: int) -> Floats:
        """The cosines of an item's row with those of all items; 0 outside the head.

        What is known of an item outside the head is how much it takes part in one direction, the
        same for all of them: not enough to say what it is like.
        """
        found = np.zeros(len(self.tail))
        if self.positions[item] >= 0:
            found[self.head] = cosines(self.rows, int(self.positions[item]))
        return found

    def _rows(self, items: npt.NDArray[np.int32]) -> Singles:
        """The rows u of any items."""
        found: Singles = self.tail[items, None] * self.axis
        inside = self.positions[items] >= 0
        found[inside] = self.rows[self.positions[items[inside]]]
        return found

    def _sums(self, people: People) -> Singles:
        """q, one row per person."""
        found = np.zeros((len(people), len(self.axis)), np.float32)
        for first in range(0, len(people), _PEOPLE_AT_ONCE):
            part = people.part(first, min(first + _PEOPLE_AT_ONCE, len(people)))
            some = first + np.flatnonzero(np.diff(part.starts))
            if len(some):
                begins = part.starts[some - first]
                found[some] = np.add.reduceat(self._rows(part.items), begins, axis=0)
        return found

    def _products(self, sums: Singles) -> Singles:
        """u_j . q of every item, one row per person."""
        found: Singles = np.outer(sums @ self.axis, self.tail)
        found[:, self.head] = sums @ self.rows.T
        return found


def _size(numbers: Singles) -> float:
    """The largest, whatever its sign."""
    return float(np.abs(numbers).max(initial=0.0))


def popularity_scores(release: Release) -> Singles:
    """In place of list scores, where a release has none: how many people rated an item."""
    counts = release.arrays["item_counts"].astype(np.float32)
    return counts + np.float32(_COUNT_FLOOR * counts.mean(dtype=np.float64))


def likes(values: Floats, scale: Scale) -> npt.NDArray[np.bool_]:
    """Which ratings say that somebody likes an item; of presence, all."""
    if scale.presence:
        return np.ones(len(values), bool)
    return np.asarray(values >= scale.hi - _LIKE * scale.range)


def has_and_likes(scores: Singles, expected: Singles, scale: Scale) -> Singles:
    """List scores times Phi((expected - like)/doubt) where they are positive, else as they are."""
    z = np.clip(expected, scale.lo, scale.hi)
    z -= scale.hi - _LIKE * scale.range
    z /= _DOUBT * scale.range
    squares = z * z
    likely = np.full_like(z, _SERIES[-1])
    for term in _SERIES[-2::-1]:
        likely *= squares
        likely += term
    likely *= z
    likely += 0.5
    return np.where(scores > 0, scores * likely, scores)


def cosines(rows: npt.NDArray[np.generic], row: int) -> Floats:
    """The cosine of one row with every row; 0 where a row is zero."""
    exact = rows.astype(np.float64)
    sizes = np.linalg.norm(exact, axis=1)
    products = exact @ exact[row]
    sizes *= sizes[row]
    return np.asarray(np.divide(products, sizes, out=np.zeros(len(exact)), where=sizes > 0))
