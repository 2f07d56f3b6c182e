"""Uploads added up by bucket, averages for a release, statistics that anybody may see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.protocols.clusters_common.messages import RATINGS, Obfuscation, SentRatings
from discreet.release import Release

Ints = npt.NDArray[np.int64]

GRID = 4_096
"""Standardised ratings are rounded to this part of the distance between two codes."""

_BLOCK = 1 << 21
"""Ratings that are held beside the sums."""
# Uploads held beside the sums, where each is small.
_MANY = 1 << 16


class Placed(NamedTuple):
    """What one person sent, and the bucket they are in."""

    bucket: int
    sent: SentRatings


@dataclass(eq=False, repr=False)
class Totals:
    """What uploads add up to.

    Attributes:
        terms: Their public terms.
        keys: bucket * items + item, rising, of every pair that some upload had.
        sums: The standardised ratings of each pair, in parts of a code.
        counts: How many they are.
        sizes: Uploads of each bucket, those without ratings too.
        raters: Those with ratings.
        mean_sums: The means of the uploads' ratings, summed over each bucket, in parts of a code.
        sent: Obfuscated ratings of each bucket.
        mid_sums: For each obfuscated rating the middle of the scale less its upload's mean, summed
            over each bucket: what a rating drawn evenly from the scale is expected to add.
        kinds: How many uploads were obfuscated, revealed, and without ratings.
    """

    terms: Obfuscation
    keys: Ints
    sums: Ints
    counts: Ints
    sizes: Ints
    raters: Ints
    mean_sums: Ints
    sent: Ints
    mid_sums: Ints
    kinds: Ints

    @classmethod
    def of(cls, terms: Obfuscation, buckets: int, people: Iterable[Placed]) -> Totals:
        """Add up what people sent as it comes, in blocks."""
        none = np.empty(0, np.int64)
        sizes, raters, means, sent, mids = np.zeros((5, buckets), np.int64)
        kinds = np.zeros(len(RATINGS), np.int64)
        totals = cls(terms, none, none, none, sizes, raters, means, sent, mids, kinds)
        for block in _blocks(people):
            totals.add(block)
        return totals

    def add(self, people: Sequence[Placed]) -> None:
        """Add one block."""
        hashes = np.array([person.bucket for person in people], np.int64)
        kinds = np.array([RATINGS.index(person.sent.kind) for person in people])
        lengths = np.array([len(person.sent.items) for person in people])
        items = np.concatenate([person.sent.items for person in people]).astype(np.int64)
        codes = np.concatenate([person.sent.codes for person in people]).astype(np.int64)
        owner = np.repeat(np.arange(len(people)), lengths)
        code_sums = np.bincount(owner, codes, len(people)).astype(np.int64)
        rated = lengths > 0
        means = np.zeros(len(people), np.int64)
        # On a grid, so that totals are whole numbers: the same in any order and any blocks.
        means[rated] = np.rint(code_sums[rated] * GRID / lengths[rated])
        # Each rating less its own upload's mean: c - sum(c)/n = (n c - sum(c))/n, rounded once.
        values = np.rint((lengths[owner] * codes - code_sums[owner]) * (GRID / lengths[owner]))
        self._merge(hashes[owner] * len(self.terms.catalog) + items, values.astype(np.int64))
        hidden = kinds == RATINGS.index("obfuscated")
        middle = self.terms.parts * GRID // 2
        np.add.at(self.sizes, hashes, 1)
        np.add.at(self.raters, hashes[rated], 1)
        np.add.at(self.mean_sums, hashes, means)
        np.add.at(self.sent, hashes[hidden], lengths[hidden])
        np.add.at(self.mid_sums, hashes[hidden], lengths[hidden] * (middle - means[hidden]))
        self.kinds += np.bincount(kinds, minlength=len(RATINGS))

    def _merge(self, keys: Ints, values: Ints) -> None:
        keys = np.concatenate((self.keys, keys))
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        # Keys are bucket * items + item. Sorted, equal ones stand together and are added up run by
        # run.
        begins = np.flatnonzero(np.diff(keys, prepend=-1))
        self.keys = keys[begins]
        if len(begins):
            sums = np.concatenate((self.sums, values))[order]
            counts = np.concatenate((self.counts, np.ones(len(values), np.int64)))[order]
            self.sums = np.add.reduceat(sums, begins)
            self.counts = np.add.reduceat(counts, begins)


def _blocks(people: Iterable[Placed]) -> Iterator[list[Placed]]:
    block: list[Placed] = []
    held = 0
    for person in people:
        block.append(person)
        held += len(person.sent.items)
        if held >= _BLOCK or len(block) >= _MANY:
            yield block
            block, held = [], 0
    if block:
        yield block


DENIABLE = (
    "what people sent holds their true ratings among made-up ones, which is plausible deniability "
    "and not differential privacy, and no epsilon bounds what it tells"
)
# Ratings in a bucket's average of an item before it counts as much as what it is shrunk
# towards. Chosen by hand.
THIN = 80.0
# People; smaller buckets would describe individuals. Chosen for safety.
LEAST_PEOPLE = 5
# Ratings of 0 added to each item's: shrinks the averages of rarely rated items. Chosen by hand.
_ITEM_DAMPING = 5.0

Arrays = dict[str, npt.NDArray[np.generic]]


@dataclass(frozen=True, eq=False)
class _Fakes:
    """What made-up ratings are expected to have added, from the public terms.

    Attributes:
        numbers: How many there are on each item of a bucket, where places are drawn evenly.
        means: What they are on average, standardised: about nothing around the person's mean; drawn
            evenly from the scale, its middle less the upload's mean.
        popular_share: What part of every count they are, where they go where true ratings are.
    """

    numbers: npt.NDArray[np.float64]
    means: npt.NDArray[np.float64]
    popular_share: float

    @classmethod
    def none(cls, totals: Totals) -> _Fakes:
        return cls(np.zeros(len(totals.sent)), np.zeros(len(totals.sent)), 0.0)

    @classmethod
    def expected(cls, totals: Totals, everybody: npt.NDArray[np.bool_]) -> _Fakes:
        terms, none = totals.terms, cls.none(totals)
        # Of an obfuscated upload: f fakes for every 100 true ratings.
        share = terms.fake_percent / (100 + terms.fake_percent)
        sent = totals.sent.astype(np.float64)
        if terms.fakes == "popular":
            # Uploads without fakes count too, so the share is of all counts and not of the
            # obfuscated ones.
            counted = totals.counts[everybody[totals.keys // len(terms.catalog)]].sum()
            return replace(none, popular_share=share * sent[everybody].sum() / counted)
        # Evenly drawn places: every item of a bucket has as many fakes as any other, on average.
        numbers = sent * (share / len(terms.catalog))
        if terms.fakes != "uniform":
            return replace(none, numbers=numbers)
        means = totals.mid_sums * _unit(terms) / np.maximum(sent, 1)
        return replace(none, numbers=numbers, means=means)


def averages(
    totals: Totals,
    *,
    thin: float = THIN,
    least_people: int = LEAST_PEOPLE,
    allow_for_fakes: bool = True,
    shown: npt.NDArray[np.bool_] | None = None,
) -> tuple[dict[str, Any], Arrays]:
    """The parameters and arrays of a release.

    Args:
        totals: Of everything that was sent.
        thin: With this many ratings, a bucket's average of an item counts as much as what it is
            shrunk towards; 0 falls back only where there are none.
        least_people: Smaller buckets are published by their size alone. Their ratings count in the
            averages over everybody, unless they are of fewer people than this altogether.
        allow_for_fakes: Tell predictors what fakes are expected to have added; averages are the
            paper's without.
        shown: Which buckets to publish; those of `least_people` or more if absent.

    Raises:
        InputError: No upload has ratings, or an argument is out of range.
    """
    if not 0 <= thin < 1e9 or least_people < 1:
        raise InputError("thin is 0 or above, and least_people 1 or above")
    if not totals.raters.any():
        raise InputError("no upload has ratings: there is nothing to average")
    if shown is None:
        shown = totals.raters >= least_people
    everybody = _everybody(totals, shown, least_people)
    fakes = _Fakes.expected(totals, everybody) if allow_for_fakes else _Fakes.none(totals)
    parameters = _parameters(totals, fakes, everybody) | {
        "thin": thin,
        "least_people": least_people,
    }
    return parameters, _item_arrays(totals, fakes, everybody) | _bucket_arrays(totals, fakes, shown)


def _everybody(
    totals: Totals, shown: npt.NDArray[np.bool_], least_people: int
) -> npt.NDArray[np.bool_]:
    """The buckets whose ratings count in the averages over everybody.

    All of them, unless the small ones together are so few people that everybody's averages less the
    shown buckets' would be about those few.
    """
    if totals.raters[~shown].sum() >= least_people:
        return np.ones_like(shown)
    if not shown.any():
        raise InputError(f"fewer than {least_people} uploads have ratings: too few to publish")
    return shown


def _parameters(totals: Totals, fakes: _Fakes, everybody: npt.NDArray[np.bool_]) -> dict[str, Any]:
    terms = totals.terms
    mean = totals.mean_sums[everybody].sum() / totals.raters[everybody].sum()
    return {
        "global_mean": terms.scale.lo + float(mean) * _unit(terms),
        "bits": terms.bits,
        "hash": terms.hash,
        "beacon": terms.beacon,
        "popular_share": fakes.popular_share,
        "fakes": terms.fakes,
        "fake_percent": terms.fake_percent,
        "suppress_percent": terms.suppress_percent,
        "least": terms.least,
        "uploads": dict(zip(RATINGS, totals.kinds.tolist(), strict=True)),
    }


def _item_arrays(totals: Totals, fakes: _Fakes, everybody: npt.NDArray[np.bool_]) -> Arrays:
    """The averages over everybody, without what fakes are expected to have added."""
    size = len(totals.terms.catalog)
    used = everybody[totals.keys // size]
    items = totals.keys[used] % size
    counts = np.bincount(items, totals.counts[used], size)
    sums = np.bincount(items, totals.sums[used], size) * _unit(totals.terms)
    expected = fakes.numbers[everybody].sum()
    mean = (fakes.numbers * fakes.means)[everybody].sum() / max(expected, 1e-9)
    # Where fakes go where true ratings are, a share of every count; else the same number from each.
    true = np.maximum(counts * (1 - fakes.popular_share) - expected, 0.0)
    ratio = totals.terms.fake_percent / 100
    # Each upload's standardised ratings sum to 0: true ones are off by what fakes are not.
    sums -= mean * (np.minimum(counts, expected) - ratio * true)
    effects = sums / (true + _ITEM_DAMPING)
    limit = totals.terms.scale.range
    return {
        "item_effects": np.clip(effects, -limit, limit).astype(np.float32),
        "item_counts": counts.astype(np.float32),
    }


def _bucket_arrays(totals: Totals, fakes: _Fakes, shown: npt.NDArray[np.bool_]) -> Arrays:
    """The sums and counts of the buckets that are shown, one bucket after the other."""
    size = len(totals.terms.catalog)
    buckets = totals.keys // size
    used = shown[buckets]
    per_bucket = np.bincount(buckets[used], minlength=len(shown))
    return {
        "bucket_sizes": totals.sizes.astype(np.int32),
        "bucket_raters": totals.raters.astype(np.int32),
        "bucket_fakes": np.where(shown, fakes.numbers, 0.0).astype(np.float32),
        "bucket_fake_means": np.where(shown, fakes.means, 0.0).astype(np.float32),
        "bucket_ends": np.cumsum(per_bucket, dtype=np.int64),
        "bucket_items": (totals.keys[used] % size).astype(np.int32),
        "bucket_sums": (totals.sums[used] * _unit(totals.terms)).astype(np.float32),
        "bucket_counts": totals.counts[used].astype(np.int32),
    }


def _unit(terms: Obfuscation) -> float:
    """Ratings, in units of the totals' grid."""
    return terms.scale.range / terms.parts / GRID


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
        empty: How many of them are empty.
        withheld: How many are not empty, and published by their size alone or not at all.
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
    arrays, parameters = release.arrays, release.parameters
    sizes = arrays["bucket_sizes"].astype(np.int64)
    ends = arrays["bucket_ends"].astype(np.int64)
    entries = ends - np.concatenate(([0], ends[:-1]))
    shown = entries > 0
    bucket = np.repeat(np.arange(len(sizes)), entries)
    seen = arrays["bucket_counts"].astype(np.float64)
    # c: how many of the bucket's people have the item for each who has not. Everybody: infinite.
    unseen = arrays["bucket_raters"].astype(np.float64)[bucket] - seen
    c = np.divide(seen, unseen, out=np.full(len(seen), np.inf), where=unseen > 0)
    largest = np.zeros(len(sizes))
    np.maximum.at(largest, bucket, c)
    items = len(release.catalog)
    typical = _median(np.where(shown, sizes, -1))
    uploads = parameters["uploads"]
    present = sizes[sizes > 0]
    buckets = int(parameters.get("clusters", len(sizes)))
    return Statistics(
        people=int(parameters.get("people", sizes.sum())),
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
        share_true=100 / (100 + parameters["fake_percent"]),
    )


def _histogram(values: npt.NDArray[np.float64], all_: int) -> tuple[int, ...]:
    """How many are in each bin; what is among `all_` and has no value is 0."""
    # A quotient like 3/10 may fall a rounding below its edge; 1e-12 is far above that and far below
    # a bin of 0.1.
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
