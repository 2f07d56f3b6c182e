"""Open clusters: the own mean, and how people of the same bucket rate an item beside theirs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, OwnRatings
from discreet.domain.cluster_hash import MOST_BITS, ClusterHash, to_grid
from discreet.predict._bucket_averages import BucketAverages
from discreet.predict._people import People
from discreet.predict._predictor import Floats, Predictor
from discreet.release import Release

_Ints = npt.NDArray[np.int64]
_NOWHERE = -1
"""Instead of a bucket, for somebody whose ratings say nothing: none, or all the same."""


class BucketPredictor(Predictor):
    """Own mean + the bucket's average of the item, standardised.

    The hash is computed here, from own ratings that stay here. The average of a bucket is held back
    to that of its neighbours, the buckets at one bit's distance, and theirs to everybody's; see
    `BucketAverages`.

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
        self._level = float(release.parameters["global_mean"])
        self._averages = BucketAverages(release, thin)
        self._effects = self._averages.everybody
        told = release.parameters
        bits, buckets = told["bits"], len(self._averages)
        if bits not in range(1, MOST_BITS + 1) or buckets != 2**bits:
            raise InputError(f"{buckets:,} buckets do not fit a hash of {bits:g} bits")
        self._hash = ClusterHash(
            release.catalog,
            int(bits),
            kind=str(told.get("hash", "orthogonal")),
            beacon=str(told.get("beacon", "")),
        )

    def bucket(self, own: OwnRatings) -> int | None:
        """The person's hash value; None if their ratings do not tell one."""
        found = int(self._buckets(People.one(own))[0])
        return None if found == _NOWHERE else found

    def averages(self, bucket: int | None) -> Floats:
        """The standardised average of every item, as somebody of this bucket sees it."""
        if bucket is None or bucket == _NOWHERE:
            return self._effects
        near = [bucket ^ (1 << bit) for bit in range(self._hash.k)]
        together = self._averages.together
        return together([bucket], together(near, self._effects))

    def _buckets(self, people: People) -> _Ints:
        """Each person's bucket, or nowhere."""
        codes = to_grid(self.release.scale, people.values)
        margins = self._hash.margins(people.starts, people.items, codes)
        told = (margins != 0).any(axis=1)
        return np.where(told, self._hash.of_margins(margins), _NOWHERE)

    def _pairs(self, people: People, rows: _Ints, items: npt.NDArray[np.int32]) -> Floats:
        found: Floats = people.means(self._level)[rows]
        for bucket, where in _groups(self._buckets(people)[rows]):
            found[where] += self.averages(bucket)[items[where]]
        return found

    def _scores(self, people: People) -> npt.NDArray[np.float32]:
        found = np.empty((len(people), len(self._effects)), np.float32)
        means = people.means(self._level)
        for bucket, where in _groups(self._buckets(people)):
            found[where] = means[where, None] + self.averages(bucket)
        return found

    def _contributions(self, own: OwnRatings, items: npt.NDArray[np.int32]) -> Floats:
        """Its share of the own mean, and of what put the person into the bucket.

        A rating counts for the bucket by how much it pushes the hash's products the way they went.
        """
        count = max(len(own), 1)
        found: Floats = np.tile((own.values - self._level) / count, (len(items), 1))
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
