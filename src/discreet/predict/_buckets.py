"""Open clusters: the own mean, and how people of the same bucket rate an item beside theirs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, OwnRatings
from discreet.domain.cluster_hash import MOST_BITS, ClusterHash, to_grid
from discreet.predict._people import People
from discreet.predict._predictor import Floats, Predictor
from discreet.release import Release

_Ints = npt.NDArray[np.int64]
_NOWHERE = -1
"""Instead of a bucket, for somebody whose ratings say nothing: none, or all the same."""

_COLUMNS = (
    "item_effects",
    "bucket_sums",
    "bucket_counts",
    "bucket_fakes",
    "bucket_fake_means",
)


class BucketPredictor(Predictor):
    """Own mean + the bucket's average of the item, standardised.

    The hash is computed here, from own ratings that stay here. The average of a bucket is held back
    to that of its neighbours, the buckets at one bit's distance, and theirs to everybody's:
    (S + t E)/(C + t), with S and C the sum and the number of a bucket's ratings less what is
    expected to be made up, t the release's `thin`, and E the same of the neighbours together, whose
    own E is `item_effects`. Where t is 0, E counts only where C is 0.

    Args:
        release: Of method `open-clusters`.
        popularity: See `Predictor`.
        thin: Another t than the release's.
    """

    name: ClassVar[str] = "buckets"

    def __init__(
        self, release: Release, *, popularity: float = 0.0, thin: float | None = None
    ) -> None:
        super().__init__(release, popularity=popularity)
        told, arrays = release.parameters, release.arrays
        self._thin = float(told["thin"] if thin is None else thin)
        if not 0 <= self._thin < 1e9:
            raise InputError(f"thin is 0 or above, not {self._thin:g}")
        self._ends = arrays["bucket_ends"].astype(np.int64)
        self._items = arrays["bucket_items"].astype(np.int64)
        bits = told["bits"]
        if bits not in range(1, MOST_BITS + 1) or len(self._ends) != 2**bits:
            raise InputError(f"{len(self._ends):,} buckets do not fit a hash of {bits:g} bits")
        bits, self._own_share = int(bits), 1 - float(told["popular_share"])
        self._fake_ratio = float(told["fake_percent"]) / 100
        if not 0 < self._own_share <= 1:
            raise InputError("parameter 'popular_share' must be from 0 to below 1")
        self._check_buckets()
        self._hash = ClusterHash(
            release.catalog,
            bits,
            kind=str(told.get("hash", "orthogonal")),
            beacon=str(told.get("beacon", "")),
        )
        self._effects, self._sums, self._counts, self._fakes, self._fake_means = (
            arrays[name].astype(np.float64) for name in _COLUMNS
        )
        self._size = len(self._effects)

    def _check_buckets(self) -> None:
        rises = np.all(self._ends[1:] >= self._ends[:-1]) and self._ends[-1] == len(self._items)
        if not rises or self._items.max(initial=0) >= len(self.catalog):
            raise InputError("the release's buckets do not fit its arrays or its catalogue")

    def bucket(self, own: OwnRatings) -> int | None:
        """The person's hash value; None if their ratings do not tell one."""
        found = int(self._buckets(People.one(own))[0])
        return None if found == _NOWHERE else found

    def averages(self, bucket: int | None) -> Floats:
        """The standardised average of every item, as somebody of this bucket sees it."""
        if bucket is None or bucket == _NOWHERE:
            return self._effects
        near = [bucket ^ (1 << bit) for bit in range(self._hash.k)]
        return self._held_back([bucket], self._held_back(near, self._effects))

    def _held_back(self, buckets: list[int], towards: Floats) -> Floats:
        """The averages of these buckets together, held back where they are thin."""
        places = [self._slice(bucket) for bucket in buckets]
        items = np.concatenate([self._items[place] for place in places])
        sums, numbers = (
            np.bincount(items, np.concatenate([column[place] for place in places]), self._size)
            for column in (self._sums, self._counts)
        )
        fakes = self._fakes[buckets]
        expected = float(fakes.sum())
        mean = float(fakes @ self._fake_means[buckets]) / max(expected, 1e-9)
        counts: Floats = np.maximum(numbers * self._own_share - expected, 0.0)
        # Each upload's standardised ratings sum to 0: true ones are off by what fakes are not.
        true: Floats = sums - mean * (np.minimum(numbers, expected) - self._fake_ratio * counts)
        if self._thin == 0:
            return np.where(counts > 0, true / np.maximum(counts, 1e-9), towards)
        found: Floats = (true + self._thin * towards) / (counts + self._thin)
        return found

    def _slice(self, bucket: int) -> slice:
        return slice(int(self._ends[bucket - 1]) if bucket else 0, int(self._ends[bucket]))

    def _buckets(self, people: People) -> _Ints:
        """Each person's bucket, or nowhere."""
        codes = to_grid(self.release.scale, people.values)
        margins = self._hash.margins(people.starts, people.items, codes)
        told = (margins != 0).any(axis=1)
        return np.where(told, self._hash.of_margins(margins), _NOWHERE)

    def _means(self, people: People) -> Floats:
        """Own means; the mean of everybody's for those who rated nothing."""
        running = np.concatenate(([0.0], np.cumsum(people.values)))
        sums = running[people.starts[1:]] - running[people.starts[:-1]]
        counts = np.diff(people.starts)
        everybody = float(self.release.parameters["global_mean"])
        return np.where(counts > 0, sums / np.maximum(counts, 1), everybody)

    def _pairs(self, people: People, rows: _Ints, items: npt.NDArray[np.int32]) -> Floats:
        found: Floats = self._means(people)[rows]
        for bucket, where in _groups(self._buckets(people)[rows]):
            found[where] += self.averages(bucket)[items[where]]
        return found

    def _scores(self, people: People) -> npt.NDArray[np.float32]:
        found = np.empty((len(people), self._size), np.float32)
        means = self._means(people)
        for bucket, where in _groups(self._buckets(people)):
            found[where] = means[where, None] + self.averages(bucket)
        return found

    def _contributions(self, own: OwnRatings, items: npt.NDArray[np.int32]) -> Floats:
        """Its share of the own mean, and of what put the person into the bucket.

        A rating counts for the bucket by how much it pushes the hash's products the way they went.
        """
        everybody = float(self.release.parameters["global_mean"])
        count = max(len(own), 1)
        found: Floats = np.tile((own.values - everybody) / count, (len(items), 1))
        people = People.one(own)
        bucket = int(self._buckets(people)[0])
        if bucket == _NOWHERE:
            return found
        signs = 2 * ((bucket >> np.arange(self._hash.k)) & 1) - 1
        products = self._hash.vectors[:, own.items] * (own.values - own.values.mean())
        pushes = np.maximum(signs[:, None] * products, 0.0).sum(axis=0)
        beyond = (self.averages(bucket) - self._effects)[items]
        return found + np.outer(beyond, pushes / max(pushes.sum(), 1e-300))


def _groups(buckets: _Ints) -> Iterator[tuple[int, _Ints]]:
    """Each bucket that occurs, and where."""
    order = np.argsort(buckets, kind="stable")
    found, begins = np.unique(buckets[order], return_index=True)
    yield from zip(found.tolist(), np.split(order, begins[1:]), strict=True)
