"""Small ratings with times, and series of them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.domain import Catalog, CatalogOrigin, Scale
from discreet.privacy import Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.ratings import Ratings
from discreet.series import Series

STARS = Scale(1, 5)
WEEKS = ("2026-W01", "2026-W02", "2026-W03", "2026-W04", "2026-W05")
MONDAY = int(datetime.datetime(2025, 12, 29, tzinfo=datetime.UTC).timestamp())
WEEK = 7 * 86_400
SMALL: dict[str, Any] = {"method": "cosine", "taste_share": 0.4, "head": 4}


def catalog_of(items: int) -> Catalog:
    return Catalog([f"i{n}" for n in range(items)], [f"Film {n}" for n in range(items)])


def films(weeks: Sequence[int], *, people: int = 20, items: int = 8, seed: int = 1) -> Ratings:
    """Ratings of these weeks, counted from 0; everybody rates in all of them."""
    rng = np.random.default_rng((seed, *weeks))
    each = [np.sort(rng.choice(items, 5, replace=False)) for _ in range(people)]
    flat = np.concatenate(each).astype(np.int32)
    week = rng.choice(weeks, len(flat))
    times = (MONDAY + WEEK * week + rng.integers(0, WEEK, len(flat))).astype(np.uint32)
    return Ratings(
        STARS,
        catalog_of(items),
        np.arange(people + 1, dtype=np.int64) * 5,
        flat,
        STARS.encode(rng.integers(1, 6, len(flat)).astype(np.float64)),
        times=times,
        users=np.array([f"u{n}" for n in range(people)]),
    )


def untimed(ratings: Ratings) -> Ratings:
    return replace(ratings, times=None)


def a_series(folder: Path, items: int = 8, **terms: Any) -> Series:
    wanted = {
        "protect": "user-week",
        "epsilon": 4.0,
        **({} if "method" in terms else SMALL),
        **terms,
    }
    catalog = catalog_of(items)
    assert catalog.origin is not CatalogOrigin.FROM_DATA
    return Series.create(folder / "films.series", scale=STARS, catalog=catalog, **wanted)


def a_ledger(folder: Path, epsilon: float = 20.0) -> Ledger:
    return Ledger.create(folder / "people.ledger", "people", [Limit(Unit.USER_WEEK, epsilon, 1e-5)])
