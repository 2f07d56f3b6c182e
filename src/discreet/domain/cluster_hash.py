r"""The public hash that puts people of like taste into one bucket, computed at home.

Everybody computes the same one: clients to report their bucket, predictors to look theirs up, a
browser too. So it is specified to the bit, and every hash bit is the sign of an exact integer.

From a catalogue of d items with digest D (`Catalog.digest`, 32 bytes) and a public text, the
beacon:

1. seed = SHA-256("discreet cluster hash 1\n" D beacon), texts as UTF-8.
2. The key of round r, vector v, attempt a is SHA-256(seed r v a), numbers as 4 bytes big-endian.
   Its stream is AES-256 in counter mode under this key, counter from 0, over zeros.
3. Component j is x_j = 2 (sum of bytes 8j to 8j+7 of the stream) - 2040, which is close to normal.
4. In float64, each operation rounded as IEEE 754 says, sums from j = 0 upwards one by one: y = x;
   for each earlier unit vector e, in order: t = sum y_j e_j, then y_j = y_j - (t e_j). Then
   n = sum y_j y_j, length = sqrt(n), e_j = y_j / length.
5. The vector is refused, and the next attempt made, if n 2^20 <= sum x_j x_j (it lies too close to
   the earlier ones) or if max |y_j| sqrt(d) 100 > Z length, from the left: no item may decide a
   bit. Z is `_LARGEST[m - 2]`, m the smallest number with 2^m >= 4 k d: the normal quantile of
   1 - 2^-m in hundredths, rounded up, and 150 at least. After 64 attempts at a vector round r + 1
   begins at vector 0.
6. q_j = floor(e_j 2^24 + 0.5), an integer.

A plain locality-sensitive hash leaves out t and both refusals.

A person with n ratings, as codes c_j on the scale's grid and with S their sum, has bit v set if
n (sum q_j c_j) - S (sum q_j) >= 0. That is the sign of the standardised ratings' product with the
vector, times n; a tie counts as set, so somebody whose ratings are all equal, or who has none, has
all bits set. The hash value is the sum of 2^v over the set bits.
"""

from __future__ import annotations

import hashlib
import math
from functools import cached_property

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from discreet.domain._catalog import Catalog
from discreet.domain._scale import Scale
from discreet.domain.errors import InputError

# The most bits of a hash value: 65,536 buckets are more than any collection fills.
MOST_BITS = 16
# The most items: margins of more would not fit 64-bit integers (see `ClusterHash.margins`).
MOST_ITEMS = 1_000_000
KINDS = ("orthogonal", "lsh")
# Steps of the grid that ratings on a continuous scale are rounded to: codes fit one byte.
GRID = 255

# All that follows is part of the specification above: a change would be another hash.
_MARK = b"discreet cluster hash 1\n"
# Bytes of the stream that are added up to one component (step 3).
_BYTES = 8
# Twice the mean of that sum: it makes components symmetric around 0 (step 3).
_CENTRE = 255 * _BYTES
# Units of a rounded component in 1 (step 6).
_UNIT = 2.0**24
# A vector is refused if this much or more of its squared length was projected away (step 5).
_CLOSE = 2.0**20
# Attempts at a vector before the next round begins (step 5).
_ATTEMPTS = 64
# Rounds before the hash gives up. Chosen for safety: the first nearly always succeeds.
_ROUNDS = 64
# Z of step 5, by m - 2.
# fmt: off
_LARGEST = (
    150, 150, 154, 187, 216, 242, 267, 289, 310, 330, 349, 367, 385, 401, 417, 433, 448, 463, 477,
    491, 504, 517, 530, 542, 555, 567, 579, 590, 601, 613, 624, 634, 645, 655, 666, 676, 686, 696,
    705,
)
# fmt: on

Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]


class ClusterHash:
    """The hash of one catalogue.

    Args:
        catalog: The items, which decide the vectors.
        k: How many bits, 1 to 16.
        kind: `orthogonal`, or `lsh` for plain random vectors as a baseline.
        beacon: A text that the operator could not choose (a public draw, a day's closing prices),
            or nothing: whoever chooses it can try many, and keep the vectors that suit them.

    Raises:
        InputError: k is not from 1 to 16, the catalogue has fewer items than k or more than a
            million, or the kind is unknown.
    """

    def __init__(
        self, catalog: Catalog, k: int, *, kind: str = "orthogonal", beacon: str = ""
    ) -> None:
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MOST_BITS:
            raise InputError(f"a cluster hash has 1 to {MOST_BITS} bits")
        if len(catalog) > MOST_ITEMS:
            raise InputError(f"a cluster hash takes at most {MOST_ITEMS:,} items")
        if len(catalog) < k:
            raise InputError(
                f"{k} orthogonal vectors need {k} items or more; the catalogue has {len(catalog)}"
            )
        if kind not in KINDS:
            raise InputError(f"a cluster hash is one of {', '.join(KINDS)}")
        self.k, self.kind, self.items = k, kind, len(catalog)
        self._seed = hashlib.sha256(
            _MARK + bytes.fromhex(catalog.digest()) + beacon.encode()
        ).digest()

    def __repr__(self) -> str:
        return f"ClusterHash({self.k} bits, {self.kind}, {self.items:,} items)"

    @cached_property
    def vectors(self) -> npt.NDArray[np.int32]:
        """The q of all items, one row per vector, in units of 2^-24."""
        for round_ in range(_ROUNDS):
            rows = self._round(round_)
            if rows is not None:
                units = np.floor(np.array(rows) * _UNIT + 0.5).astype(np.int32)
                units.flags.writeable = False
                return units
        raise InputError(f"no {self.k} vectors without a large component for {self.items} items")

    @property
    def largest(self) -> float:
        """A bound on the components of the unit vectors."""
        m = (4 * self.k * self.items - 1).bit_length()
        return min(1.0, _LARGEST[m - 2] / 100 / math.sqrt(self.items))

    def values(
        self, starts: Ints, items: npt.NDArray[np.integer], codes: npt.NDArray[np.integer]
    ) -> Ints:
        """The hash value of each person: those from `starts[p]` to before `starts[p + 1]`.

        Args:
            starts: Where each person's ratings begin; one longer than there are people.
            items: Catalogue indices.
            codes: The ratings beside them on the scale's grid (`to_grid`).
        """
        return self.of_margins(self.margins(starts, items, codes))

    def value(self, items: npt.NDArray[np.integer], codes: npt.NDArray[np.integer]) -> int:
        """The hash value of one person."""
        return int(self.values(np.array([0, len(items)]), items, codes)[0])

    def of_margins(self, margins: Ints) -> Ints:
        """The hash values of the rows of `margins`."""
        found: Ints = (margins >= 0) @ (1 << np.arange(self.k, dtype=np.int64))
        return found

    def margins(
        self, starts: Ints, items: npt.NDArray[np.integer], codes: npt.NDArray[np.integer]
    ) -> Ints:
        """One row per person, one column per bit: n (sum q c) - S (sum q), exactly.

        |sum q c| and 255 |sum q| are at most 255 2^24 sqrt n, so up to 2^20 items int64 holds it.
        """
        wide = codes.astype(np.int64)
        counts, sums = np.diff(starts), _sums(wide, starts)
        found = np.empty((len(starts) - 1, self.k), np.int64)
        for bit, vector in enumerate(self.vectors):
            q = vector[items].astype(np.int64)
            found[:, bit] = counts * _sums(q * wide, starts) - sums * _sums(q, starts)
        return found

    def _round(self, round_: int) -> list[_Floats] | None:
        """All unit vectors of a round, or None if one of them could not be found."""
        found: list[_Floats] = []
        for vector in range(self.k):
            for attempt in range(_ATTEMPTS):
                unit = self._unit(found, self._draw(round_, vector, attempt))
                if unit is not None:
                    found.append(unit)
                    break
            else:
                return None
        return found

    def _draw(self, round_: int, vector: int, attempt: int) -> _Floats:
        numbers = b"".join(n.to_bytes(4, "big") for n in (round_, vector, attempt))
        key = hashlib.sha256(self._seed + numbers).digest()
        stream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
        drawn = np.frombuffer(stream.update(bytes(_BYTES * self.items)), np.uint8)
        sums = drawn.reshape(self.items, _BYTES).sum(axis=1, dtype=np.int64)
        return np.asarray(2 * sums - _CENTRE, np.float64)

    def _unit(self, earlier: list[_Floats], drawn: _Floats) -> _Floats | None:
        y = drawn
        if self.kind == "orthogonal":
            for unit in earlier:
                y = y - _in_order(y * unit) * unit
        square = _in_order(y * y)
        length = math.sqrt(square)
        if self.kind == "orthogonal":
            m = (4 * self.k * self.items - 1).bit_length()
            reach = float(np.abs(y).max()) * math.sqrt(self.items) * 100.0
            if square * _CLOSE <= _in_order(drawn * drawn) or reach > _LARGEST[m - 2] * length:
                return None
        return y / length if length > 0 else None


def grid_parts(scale: Scale) -> int:
    """The largest code of the grid: a stepped scale's own levels, or 255 on a continuous one."""
    return GRID if scale.step is None else round(scale.range / scale.step)


def to_grid(scale: Scale, values: npt.NDArray[np.float64]) -> npt.NDArray[np.uint8]:
    """Ratings as codes: floor((r - lo) parts / (hi - lo) + 1/2)."""
    codes = np.floor((values - scale.lo) * grid_parts(scale) / scale.range + 0.5)
    return np.clip(codes, 0, grid_parts(scale)).astype(np.uint8)


def from_grid(scale: Scale, codes: npt.NDArray[np.generic]) -> _Floats:
    """The ratings that codes stand for."""
    return scale.lo + scale.range * codes.astype(np.float64) / grid_parts(scale)


def _in_order(terms: _Floats) -> float:
    """The sum from the first term to the last in order; numpy's own sum adds in pairs."""
    return float(np.add.accumulate(terms)[-1])


def _sums(terms: Ints, starts: Ints) -> Ints:
    """Sums over each person's ratings."""
    running = np.concatenate(([0], np.cumsum(terms)))
    found: Ints = running[starts[1:]] - running[starts[:-1]]
    return found
