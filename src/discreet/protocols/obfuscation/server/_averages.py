"""From sums to what a release holds.

For each bucket and item the release has the sum of the standardised ratings and how many they are,
as they came. What made-up ratings are expected to have added is told beside them, from the public
terms alone, so that predictors can take it off: a fake on every item as likely as on any other
pulls the averages of rarely rated items towards nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.protocols.obfuscation.messages import RATINGS, Obfuscation
from discreet.protocols.obfuscation.server._totals import GRID, Totals

DENIABLE = (
    "what people sent holds their true ratings among made-up ones, which is plausible deniability "
    "and not differential privacy, and no epsilon bounds what it tells"
)
THIN = 80.0
LEAST_PEOPLE = 5
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
        share = terms.fake_percent / (100 + terms.fake_percent)
        sent = totals.sent.astype(np.float64)
        if terms.fakes == "popular":
            counted = totals.counts[everybody[totals.keys // len(terms.catalog)]].sum()
            return replace(none, popular_share=share * sent[everybody].sum() / counted)
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
        thin: A bucket's average of an item counts as much as what it is held back to once so many
            ratings are in it; 0 falls back only where there are none.
        least_people: Smaller buckets are published by their size alone. Their ratings count in the
            averages over everybody, unless they are of fewer people than this altogether.
        allow_for_fakes: Tell predictors what fakes are expected to have added; averages are the
            paper's without.
        shown: Which buckets to publish; those of `least_people` or more if absent.

    Raises:
        InputError: Nobody sent ratings, or an argument makes no sense.
    """
    if not 0 <= thin < 1e9 or least_people < 1:
        raise InputError("thin is 0 or above, and least_people 1 or above")
    if not totals.raters.any():
        raise InputError("no upload has ratings: there is nothing to average")
    if shown is None:
        shown = totals.raters >= least_people
    everybody = _everybody(totals, shown, least_people)
    fakes = _Fakes.expected(totals, everybody) if allow_for_fakes else _Fakes.none(totals)
    told = _parameters(totals, fakes, everybody) | {"thin": thin, "least_people": least_people}
    return told, _item_arrays(totals, fakes, everybody) | _bucket_arrays(totals, fakes, shown)


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
