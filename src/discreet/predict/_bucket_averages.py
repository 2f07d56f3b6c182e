"""What a release of clusters says about each bucket, with what is made up taken off."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.release import Release

Floats = npt.NDArray[np.float64]
_COLUMNS = (
    "item_effects",
    "bucket_sums",
    "bucket_counts",
    "bucket_fakes",
    "bucket_fake_means",
)


class BucketAverages:
    """The average standardised rating of each bucket and item.

    It is held back: (S + t E)/(C + t), with S and C the sum and the number of a bucket's ratings
    less what is expected to be made up, t how many ratings count as much as E, which is told. Where
    t is 0, E counts only where C is 0.

    Args:
        release: Of a method with buckets.
        thin: Another t than the release's.

    Raises:
        InputError: The release's arrays do not fit each other, or t is none.
    """

    def __init__(self, release: Release, thin: float | None = None) -> None:
        told, arrays = release.parameters, release.arrays
        self.thin = float(told["thin"] if thin is None else thin)
        if not 0 <= self.thin < 1e9:
            raise InputError(f"thin is 0 or above, not {self.thin:g}")
        self.ends = arrays["bucket_ends"].astype(np.int64)
        self.items = arrays["bucket_items"].astype(np.int64)
        self._own_share = 1 - float(told["popular_share"])
        self._fake_ratio = float(told["fake_percent"]) / 100
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
        """The averages of all items in these buckets together, held back to `towards`."""
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
        return self._held_back(true, counts, towards)

    def entries(self) -> Floats:
        """The average of each entry of the release by itself, held back to everybody's."""
        bucket = np.repeat(np.arange(len(self)), np.diff(self.ends, prepend=0))
        true, counts = self._without_fakes(
            self._sums, self._counts, self._fakes[bucket], self._fake_means[bucket]
        )
        return self._held_back(true, counts, self.everybody[self.items])

    def _without_fakes(
        self, sums: Floats, numbers: Floats, expected: Floats | float, mean: Floats | float
    ) -> tuple[Floats, Floats]:
        counts: Floats = np.maximum(numbers * self._own_share - expected, 0.0)
        # Each upload's standardised ratings sum to 0: true ones are off by what fakes are not.
        return sums - mean * (np.minimum(numbers, expected) - self._fake_ratio * counts), counts

    def _held_back(self, true: Floats, counts: Floats, towards: Floats) -> Floats:
        if self.thin == 0:
            return np.where(counts > 0, true / np.maximum(counts, 1e-9), towards)
        found: Floats = (true + self.thin * towards) / (counts + self.thin)
        return found

    def _slice(self, bucket: int) -> slice:
        return slice(int(self.ends[bucket - 1]) if bucket else 0, int(self.ends[bucket]))
