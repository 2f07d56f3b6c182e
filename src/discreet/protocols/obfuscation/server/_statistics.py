"""What a release of clusters says about the people in its buckets.

For a bucket and an item, c is how many uploads have the item for each that has not: the bucket is
(c, 2)-diverse, and a person in it can deny having rated the item the better the smaller c is.
Counted on what was sent; what is true in it is known to nobody but the senders.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.release import Release

EDGES = tuple(round(0.1 * step, 1) for step in range(21))
"""Where the histograms' bins begin; the last has no end."""


@dataclass(frozen=True)
class Statistics:
    """Statistics of a release: nothing in them is not in it.

    Attributes:
        people: Uploads in all.
        obfuscated: With made-up ratings among the true ones.
        revealed: With true ratings alone.
        hash_only: Without ratings.
        buckets: How many there are.
        empty: How many of them have nobody.
        withheld: How many have somebody, and are published by their size alone or not at all.
        smallest: The size of the smallest bucket that has anybody.
        largest: The size of the largest.
        mean_size: Of all buckets that are published.
        size_variance: Of them.
        c_edges: Where the bins of the histograms begin; the last has no end.
        c_histogram: Pairs of bucket and item by c, over the buckets that are shown.
        c_typical: Items by c in the bucket of median size.
        c_largest_histogram: Buckets by their largest c.
        c_largest: The largest c of each bucket that is shown; None where everybody has an item.
        share_true: N / (N + M) by the public terms, for an obfuscated upload.
    """

    people: int
    obfuscated: int
    revealed: int
    hash_only: int
    buckets: int
    empty: int
    withheld: int
    smallest: int
    largest: int
    mean_size: float
    size_variance: float
    c_edges: tuple[float, ...]
    c_histogram: tuple[int, ...]
    c_typical: tuple[int, ...]
    c_largest_histogram: tuple[int, ...]
    c_largest: tuple[float | None, ...]
    share_true: float

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"words": self.sentences()}

    def sentences(self) -> list[str]:
        """The same in plain words."""
        worst = [c for c in self.c_largest if c is not None]
        said = [
            "This is plausible deniability and not differential privacy.",
            f"Of the items in an obfuscated upload, {self.share_true:.0%} are true by the "
            "collection's terms; of popular items more.",
            f"{self.people:,} people are in {self.buckets - self.empty:,} of {self.buckets:,} "
            "buckets.",
        ]
        if self.largest:
            said.append(
                f"Of the buckets that are published the largest has {self.largest:,} people, the "
                f"mean is {self.mean_size:.1f} with a variance of {self.size_variance:.1f}."
            )
        if len(worst) < len(self.c_largest):
            said.append(
                f"In {len(self.c_largest) - len(worst):,} buckets there is an item that everybody "
                "has, which nobody there can deny."
            )
        elif worst:
            said.append(
                f"The item that is hardest to deny is in {max(worst) / (1 + max(worst)):.0%} of "
                "its bucket's uploads."
            )
        return said


def report(release: Release) -> Statistics:
    """The statistics of a release of clusters.

    Raises:
        InputError: It is of another method.
    """
    if "bucket_sizes" not in release.arrays:
        raise InputError(f"statistics of buckets are of clusters, not of '{release.method}'")
    arrays, told = release.arrays, release.parameters
    sizes = arrays["bucket_sizes"].astype(np.int64)
    ends = arrays["bucket_ends"].astype(np.int64)
    entries = ends - np.concatenate(([0], ends[:-1]))
    shown = entries > 0
    bucket = np.repeat(np.arange(len(sizes)), entries)
    seen = arrays["bucket_counts"].astype(np.float64)
    unseen = arrays["bucket_raters"].astype(np.float64)[bucket] - seen
    c = np.divide(seen, unseen, out=np.full(len(seen), np.inf), where=unseen > 0)
    largest = np.zeros(len(sizes))
    np.maximum.at(largest, bucket, c)
    items = len(release.catalog)
    typical = _median(np.where(shown, sizes, -1))
    uploads = told["uploads"]
    present = sizes[sizes > 0]
    buckets = int(told.get("clusters", len(sizes)))
    return Statistics(
        people=int(told.get("people", sizes.sum())),
        obfuscated=uploads["obfuscated"],
        revealed=uploads["revealed"],
        hash_only=uploads["none"],
        buckets=buckets,
        empty=int(np.count_nonzero(sizes == 0)),
        withheld=int(np.count_nonzero((sizes > 0) & ~shown)) + buckets - len(sizes),
        smallest=int(present.min()) if len(present) else 0,
        largest=int(sizes.max(initial=0)),
        mean_size=float(sizes.mean()) if len(sizes) else 0.0,
        size_variance=float(sizes.var()) if len(sizes) else 0.0,
        c_edges=EDGES,
        c_histogram=_histogram(c, int(shown.sum()) * items),
        c_typical=_histogram(c[bucket == typical], items if shown.any() else 0),
        c_largest_histogram=_histogram(largest[shown], int(shown.sum())),
        c_largest=tuple(float(x) if np.isfinite(x) else None for x in largest[shown]),
        share_true=100 / (100 + told["fake_percent"]),
    )


def _histogram(values: npt.NDArray[np.float64], all_: int) -> tuple[int, ...]:
    """How many are in each bin; what is among `all_` and has no value is 0."""
    places = np.searchsorted(np.array(EDGES), values + 1e-12, side="right") - 1
    counts = np.bincount(places, minlength=len(EDGES))
    counts[0] += all_ - len(values)
    return tuple(counts.tolist())


def _median(sizes: npt.NDArray[np.int64]) -> int:
    """The bucket in the middle of those with a size of 0 or above."""
    known = np.flatnonzero(sizes >= 0)
    if not len(known):
        return 0
    return int(known[np.argsort(sizes[known], kind="stable")[len(known) // 2]])
