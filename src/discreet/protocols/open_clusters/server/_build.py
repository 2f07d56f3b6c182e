"""From uploads to a release.

For each bucket and item the release has the sum of the standardised ratings and how many they are,
as they came. What made-up ratings are expected to have added is told beside them, from the public
terms alone, so that predictors can take it off: a fake on every item as likely as on any other
pulls the averages of rarely rated items towards nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.privacy import Guarantee, Unit
from discreet.protocols.open_clusters.messages import PROTOCOL, RATINGS, Collection, Upload
from discreet.protocols.open_clusters.server._totals import GRID, Totals
from discreet.release import Release

DENIABLE = (
    "what people sent holds their true ratings among made-up ones, which is plausible deniability "
    "and not differential privacy, and no epsilon bounds what it tells"
)
_THIN = 80.0
_ITEM_DAMPING = 5.0
_LEAST_PEOPLE = 5


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
    def expected(cls, totals: Totals) -> _Fakes:
        collection, none = totals.collection, cls.none(totals)
        share = collection.fake_percent / (100 + collection.fake_percent)
        sent = totals.sent.astype(np.float64)
        if collection.fakes == "popular":
            return replace(none, popular_share=share * sent.sum() / totals.counts.sum())
        numbers = sent * (share / len(collection.catalog))
        if collection.fakes != "uniform":
            return replace(none, numbers=numbers)
        means = totals.mid_sums * _unit(collection) / np.maximum(sent, 1)
        return replace(none, numbers=numbers, means=means)


def read_upload(collection: Collection, content: Any) -> Upload:
    """An upload from a parsed JSON object.

    Raises:
        InputError: Says in one line why it is none that this collection takes.
    """
    return Upload.from_json(content, collection)


def build(
    collection: Collection,
    uploads: Iterable[Upload],
    *,
    thin: float = _THIN,
    least_people: int = _LEAST_PEOPLE,
    allow_for_fakes: bool = True,
) -> Release:
    """Averages by bucket, as a release of method `open-clusters`.

    Args:
        collection: The public terms.
        uploads: One a person, in any order; memory is bounded by the pairs of bucket and item that
            occur, not by how many uploads there are.
        thin: A bucket's average of an item counts as much as its neighbours' once so many ratings
            are in it, and theirs as much as everybody's; 0 falls back only where there are none.
        least_people: Smaller buckets are published by their size alone. Their ratings count in the
            averages over everybody, unless they are of fewer people than this altogether.
        allow_for_fakes: Tell predictors what fakes are expected to have added; averages are the
            paper's without.

    Raises:
        InputError: There are no uploads with ratings, or an argument makes no sense.
    """
    if not 0 <= thin < 1e9 or least_people < 1:
        raise InputError("thin is 0 or above, and least_people 1 or above")
    totals = Totals.of(collection, uploads)
    if not totals.raters.any():
        raise InputError("no upload has ratings: there is nothing to average")
    shown = totals.raters >= least_people
    everybody = _everybody(totals, shown, least_people)
    fakes = _Fakes.expected(totals) if allow_for_fakes else _Fakes.none(totals)
    return Release(
        method=PROTOCOL,
        scale=collection.scale,
        catalog=collection.catalog,
        guarantee=_guarantee(collection),
        parameters=_parameters(totals, fakes, everybody)
        | {"thin": thin, "least_people": least_people},
        arrays=_item_arrays(totals, fakes, everybody) | _bucket_arrays(totals, fakes, shown),
    )


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


def _guarantee(collection: Collection) -> Guarantee:
    event = collection.hash_event
    if event is None:
        return Guarantee(Unit.RATING, (), 0.0, not_private=(DENIABLE,))
    hash_alone = (
        f"randomized response covers the hash alone, with an epsilon of {event.epsilon:g} for one "
        "rating as for a whole person"
    )
    return Guarantee(Unit.RATING, (event,), 0.0, not_private=(DENIABLE, hash_alone))


def _parameters(totals: Totals, fakes: _Fakes, everybody: npt.NDArray[np.bool_]) -> dict[str, Any]:
    collection = totals.collection
    kinds = dict(zip(RATINGS, totals.kinds.tolist(), strict=True))
    mean = totals.mean_sums[everybody].sum() / totals.raters[everybody].sum()
    return {
        "global_mean": collection.scale.lo + float(mean) * _unit(collection),
        "bits": collection.bits,
        "hash": collection.hash,
        "beacon": collection.beacon,
        "hash_on": collection.hash_on,
        "popular_share": fakes.popular_share,
        "fakes": collection.fakes,
        "fake_percent": collection.fake_percent,
        "suppress_percent": collection.suppress_percent,
        "least": collection.least,
        "epoch": collection.epoch,
        "uploads": kinds,
    }


def _item_arrays(
    totals: Totals, fakes: _Fakes, everybody: npt.NDArray[np.bool_]
) -> dict[str, npt.NDArray[np.generic]]:
    """The averages over everybody, without what fakes are expected to have added."""
    size = len(totals.collection.catalog)
    used = everybody[totals.keys // size]
    items = totals.keys[used] % size
    counts = np.bincount(items, totals.counts[used], size)
    sums = np.bincount(items, totals.sums[used], size) * _unit(totals.collection)
    expected = fakes.numbers[everybody].sum()
    mean = (fakes.numbers * fakes.means)[everybody].sum() / max(expected, 1e-9)
    true = np.maximum(counts * (1 - fakes.popular_share) - expected, 0.0)
    ratio = totals.collection.fake_percent / 100
    # Each upload's standardised ratings sum to 0: true ones are off by what fakes are not.
    sums -= mean * (np.minimum(counts, expected) - ratio * true)
    effects = sums / (true + _ITEM_DAMPING)
    limit = totals.collection.scale.range
    return {
        "item_effects": np.clip(effects, -limit, limit).astype(np.float32),
        "item_counts": counts.astype(np.float32),
    }


def _bucket_arrays(
    totals: Totals, fakes: _Fakes, shown: npt.NDArray[np.bool_]
) -> dict[str, npt.NDArray[np.generic]]:
    """The sums and counts of the buckets that are shown, one bucket after the other."""
    size = len(totals.collection.catalog)
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
        "bucket_sums": (totals.sums[used] * _unit(totals.collection)).astype(np.float32),
        "bucket_counts": totals.counts[used].astype(np.int32),
    }


def _unit(collection: Collection) -> float:
    """Ratings, in units of the totals' grid."""
    return collection.scale.range / collection.parts / GRID
