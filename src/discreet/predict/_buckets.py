"""Open clusters: the own mean, and how people of the same bucket rate an item beside theirs."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, OwnRatings
from discreet.domain.cluster_hash import MOST_BITS, ClusterHash, to_grid
from discreet.predict._people import People
from discreet.predict._predictor import Floats, Ints, Order, Predictor, groups
from discreet.release import Release

# The bucket of a person whose ratings say nothing, none or all the same; buckets count from 0.
_NOWHERE = -1

_COLUMNS = (
    "item_effects",
    "bucket_sums",
    "bucket_counts",
    "bucket_fakes",
    "bucket_fake_means",
)


class BucketAverages:
    """The average standardised rating of each bucket and item.

    It is shrunk: (S + t E)/(C + t), with S and C the sum and the number of a bucket's ratings
    without the expected fakes, and t the number of ratings that counts as much as the average E it
    is shrunk to. Where t is 0, E counts only where C is 0.

    Args:
        release: Of a method with buckets.
        thin: The t to use instead of the release's.

    Raises:
        InputError: The release's arrays do not fit each other, or t is out of range.
    """

    def __init__(self, release: Release, thin: float | None = None) -> None:
        parameters, arrays = release.parameters, release.arrays
        self.thin = float(parameters["thin"] if thin is None else thin)
        if not 0 <= self.thin < 1e9:
            raise InputError(f"thin is 0 or above, not {self.thin:g}")
        self.ends = arrays["bucket_ends"].astype(np.int64)
        self.items = arrays["bucket_items"].astype(np.int64)
        self._own_share = 1 - float(parameters["popular_share"])
        self._fake_ratio = float(parameters["fake_percent"]) / 100
        if not 0 < self._own_share <= 1:
            raise InputError("parameter 'popular_share' must be from 0 to below 1")
        last = int(self.ends[-1]) if len(self.ends) else 0
        rises = np.all(self.ends[1:] >= self.ends[:-1]) and last == len(self.items)
        if not rises or self.items.max(initial=0) >= len(release.catalog):
            raise InputError("the release's buckets do not fit its arrays or its catalogue")
        self.everybody, self._sums, self._counts, self._fakes, self._fake_means = (
            arrays[name].astype(np.float64) for name in _COLUMNS
        )

    def __len__(self) -> int:
        return len(self.ends)

    def together(self, buckets: list[int], towards: Floats) -> Floats:
        """The averages of all items in these buckets together, shrunk to `towards`."""
        places = [self._slice(bucket) for bucket in buckets]
        items = np.concatenate([self.items[place] for place in places])
        sums, numbers = (
            np.bincount(
                items, np.concatenate([column[place] for place in places]), len(towards)
            ).astype(np.float64)  # without any entry they are whole numbers
            for column in (self._sums, self._counts)
        )
        fakes = self._fakes[buckets]
        expected = float(fakes.sum())
        mean = float(fakes @ self._fake_means[buckets]) / max(expected, 1e-9)
        true, counts = self._without_fakes(sums, numbers, expected, mean)
        return self._shrunk(true, counts, towards)

    def entries(self) -> Floats:
        """The average of each entry of the release by itself, shrunk to everybody's."""
        bucket = np.repeat(np.arange(len(self)), np.diff(self.ends, prepend=0))
        true, counts = self._without_fakes(
            self._sums, self._counts, self._fakes[bucket], self._fake_means[bucket]
        )
        return self._shrunk(true, counts, self.everybody[self.items])

    def _without_fakes(
        self, sums: Floats, numbers: Floats, expected: Floats | float, mean: Floats | float
    ) -> tuple[Floats, Floats]:
        counts: Floats = np.maximum(numbers * self._own_share - expected, 0.0)
        # An upload's standardised ratings, true and fake, sum to 0: where fakes are below average,
        # true ratings are above it, and the other way round.
        return sums - mean * (np.minimum(numbers, expected) - self._fake_ratio * counts), counts

    def _shrunk(self, true: Floats, counts: Floats, towards: Floats) -> Floats:
        if self.thin == 0:
            return np.where(counts > 0, true / np.maximum(counts, 1e-9), towards)
        found: Floats = (true + self.thin * towards) / (counts + self.thin)
        return found

    def _slice(self, bucket: int) -> slice:
        return slice(int(self.ends[bucket - 1]) if bucket else 0, int(self.ends[bucket]))


class BucketPredictor(Predictor):
    """Own mean + the bucket's average of the item, standardised.

    The hash is computed here, from own ratings that stay here. The average of a bucket is shrunk
    to that of its neighbours, the buckets at one bit's distance, and theirs to everybody's; see
    `BucketAverages`.

    Args:
        release: Of method `open-clusters`.
        order: See `Predictor`.
        thin: The t to use instead of the release's.
    """

    name: ClassVar[str] = "buckets"

    def __init__(
        self, release: Release, *, order: Order = "best", thin: float | None = None
    ) -> None:
        super().__init__(release, order=order)
        self._level = float(release.parameters["global_mean"])
        self._averages = BucketAverages(release, thin)
        self._effects = self._averages.everybody
        parameters = release.parameters
        bits, buckets = parameters["bits"], len(self._averages)
        if bits not in range(1, MOST_BITS + 1) or buckets != 2**bits:
            raise InputError(f"{buckets:,} buckets do not fit a hash of {bits:g} bits")
        self._hash = ClusterHash(
            release.catalog,
            int(bits),
            kind=str(parameters.get("hash", "orthogonal")),
            beacon=str(parameters.get("beacon", "")),
        )

    def bucket(self, own: OwnRatings) -> int | None:
        """The person's hash value; None if their ratings do not determine one."""
        found = int(self._buckets(People.one(own))[0])
        return None if found == _NOWHERE else found

    def averages(self, bucket: int | None) -> Floats:
        """The standardised average of every item, as a person of this bucket sees it."""
        if bucket is None or bucket == _NOWHERE:
            return self._effects
        near = [bucket ^ (1 << bit) for bit in range(self._hash.k)]
        together = self._averages.together
        return together([bucket], together(near, self._effects))

    def _buckets(self, people: People) -> Ints:
        """Each person's bucket, or nowhere."""
        codes = to_grid(self.release.scale, people.values)
        margins = self._hash.margins(people.starts, people.items, codes)
        decided = (margins != 0).any(axis=1)
        return np.where(decided, self._hash.of_margins(margins), _NOWHERE)

    def _pairs(self, people: People, rows: Ints, items: npt.NDArray[np.int32]) -> Floats:
        found: Floats = people.means(self._level)[rows]
        for bucket, where in groups(self._buckets(people)[rows]):
            found[where] += self.averages(bucket)[items[where]]
        return found

    def _scores(self, people: People) -> npt.NDArray[np.float32]:
        found = np.empty((len(people), len(self._effects)), np.float32)
        means = people.means(self._level)
        for bucket, where in groups(self._buckets(people)):
            found[where] = means[where, None] + self.averages(bucket)
        return found

    def _contributions(
        self, own: OwnRatings, items: npt.NDArray[np.int32]
    ) -> tuple[Floats, Floats]:
        """Its share of the own mean, and of what put the person into the bucket.

        A rating counts for the bucket by how much it pushes the hash's products the way they went.
        """
        mean: Floats = (own.values - self._level) / max(len(own), 1)
        bucket = int(self._buckets(People.one(own))[0])
        if bucket == _NOWHERE:
            return mean, np.zeros((len(items), len(own)))
        signs = 2 * ((bucket >> np.arange(self._hash.k)) & 1) - 1
        products = self._hash.vectors[:, own.items] * (own.values - own.values.mean())
        pushes = np.maximum(signs[:, None] * products, 0.0).sum(axis=0)
        beyond = (self.averages(bucket) - self._effects)[items]
        return mean, np.outer(beyond, pushes / max(pushes.sum(), 1e-300))
