"""Figures about ratings for the person who holds them. None of them is private."""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import Scale
from discreet.ratings._ratings import Ratings

# Ratings that are looked at a time: their values take 32 MiB. Chosen by hand.
_BLOCK = 1 << 22
# Intervals that a continuous scale is counted in.
_BINS = 10
_QUANTILES = {"least": 0.0, "25%": 0.25, "median": 0.5, "75%": 0.75, "95%": 0.95, "most": 1.0}

_Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Figures:
    """What ratings look like, exactly: for the curator's eyes only.

    Whoever sees these figures learns something about single people.
    """

    ratings: int
    users: int
    """Users with at least one rating."""
    items: int
    """Items in the catalogue."""
    rated_items: int
    """Items with at least one rating."""
    density: float
    """The share of (user, item) cells that are rated."""
    per_user: dict[str, int]
    """Ratings per user, by quantile."""
    per_item: dict[str, int]
    """Ratings per item of the catalogue, by quantile."""
    mean: float | None
    deviation: float | None
    """The standard deviation of all ratings."""
    values: dict[str, int]
    """How many ratings have each value, or lie in each tenth of a continuous scale."""
    duplicates: int
    skipped: int
    first: datetime | None
    """When the earliest rating was given, where known."""
    last: datetime | None
    nbytes: int
    """Bytes of memory that the ratings take."""

    def __repr__(self) -> str:
        return "Figures(private)"

    def as_json(self) -> dict[str, Any]:
        """Plain data for a JSON document; times in ISO 8601."""
        plain = asdict(self)
        for name in ("first", "last"):
            plain[name] = plain[name] and plain[name].isoformat()
        return plain


def figures(ratings: Ratings) -> Figures:
    """Count everything that `Figures` lists, in blocks of bounded memory."""
    activity = np.diff(ratings.starts)
    activity = activity[activity > 0]
    popularity = np.zeros(len(ratings.catalog), dtype=np.int64)
    names = _value_names(ratings.scale)
    counts, total, squares = np.zeros(len(names), dtype=np.int64), 0.0, 0.0
    for block in ratings.blocks(_BLOCK):
        distances = block.values() - ratings.scale.mid
        total += float(distances.sum())
        squares += float(distances @ distances)
        counts += np.bincount(_bins(block), minlength=len(counts))
        popularity += np.bincount(block.items, minlength=len(popularity))
    n = len(ratings)
    cells = len(activity) * len(popularity)
    return Figures(
        ratings=n,
        users=len(activity),
        items=len(popularity),
        rated_items=int(np.count_nonzero(popularity)),
        density=n / cells if n else 0.0,
        per_user=_quantiles(activity),
        per_item=_quantiles(popularity),
        mean=ratings.scale.mid + total / n if n else None,
        deviation=math.sqrt(max(squares / n - (total / n) ** 2, 0.0)) if n else None,
        values=dict(zip(names, counts.tolist(), strict=True)),
        duplicates=ratings.duplicates,
        skipped=ratings.skipped,
        first=_moment(ratings, latest=False),
        last=_moment(ratings, latest=True),
        nbytes=ratings.nbytes,
    )


def _value_names(scale: Scale) -> list[str]:
    if scale.levels is not None:
        return [f"{level:g}" for level in np.round(scale.levels, 9)]
    edges = np.linspace(scale.lo, scale.hi, _BINS + 1)
    return [f"{a:g} to {b:g}" for a, b in itertools.pairwise(edges)]


def _bins(block: Ratings) -> npt.NDArray[np.integer[Any]]:
    """Which of the named values each rating has."""
    if block.codes.dtype == np.uint8:
        return block.codes.astype(np.intp)
    share = (block.values() - block.scale.lo) / block.scale.range
    return np.clip((share * _BINS).astype(np.intp), 0, _BINS - 1)


def _quantiles(counts: _Counts) -> dict[str, int]:
    if not len(counts):
        return {}
    found = np.quantile(counts, list(_QUANTILES.values()), method="inverted_cdf")
    return dict(zip(_QUANTILES, found.astype(np.int64).tolist(), strict=True))


def _moment(ratings: Ratings, *, latest: bool) -> datetime | None:
    if ratings.times is None or not len(ratings):
        return None
    seconds = ratings.times.max() if latest else ratings.times.min()
    return datetime.fromtimestamp(int(seconds), UTC)
