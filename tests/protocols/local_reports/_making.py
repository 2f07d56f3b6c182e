"""Small collections and made-up people for tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from discreet.domain import Catalog, OwnRatings, Scale
from discreet.predict import People
from discreet.privacy import Randomness, SeededRandomness
from discreet.protocols.local_reports.client import draw_report
from discreet.protocols.local_reports.messages import Collection, Report

MECHANISMS = ("rounded-response", "randomized-response", "modified-laplace")
FIVE_STARS = Scale(1, 5)


def make_collection(
    items: int,
    mechanism: Any = "modified-laplace",
    epsilon: float = 1.0,
    epoch: int = 1,
    scale: Scale = FIVE_STARS,
) -> Collection:
    return Collection(Catalog([f"i{i}" for i in range(items)]), scale, mechanism, epsilon, epoch)


def own_of(ratings: dict[int, float]) -> OwnRatings:
    items = np.array(sorted(ratings), dtype=np.int32)
    return OwnRatings(items, np.array([ratings[int(i)] for i in items], dtype=np.float64))


def make_people(
    users: int, items: int, seed: int, *, share: float = 0.3, taste: float = 0.8
) -> People:
    """Popular and unpopular items, good and bad ones, kind and strict people, one taste."""
    rng = np.random.default_rng(seed)
    popularity = np.minimum(share * 2 * rng.random(items) + 0.05, 0.95)
    shown = rng.random((users, items)) < popularity
    levels = 3.4 + 0.5 * rng.standard_normal(items)
    table = levels + 0.4 * rng.standard_normal((users, 1))
    sides = np.where(np.arange(items) % 2, 1.0, -1.0)
    table += taste * np.outer(rng.standard_normal(users), sides)
    table += 0.6 * rng.standard_normal(table.shape)
    ratings = np.clip(np.rint(table), 1, 5)
    starts = np.concatenate(([0], np.cumsum(shown.sum(axis=1))))
    return People(starts.astype(np.int64), np.nonzero(shown)[1].astype(np.int32), ratings[shown])


def send_all(
    collection: Collection, people: People, randomness: Randomness | None = None
) -> Iterator[Report]:
    randomness = randomness or SeededRandomness("reports")
    for person in range(len(people)):
        part = slice(people.starts[person], people.starts[person + 1])
        yield draw_report(
            collection, OwnRatings(people.items[part], people.values[part]), randomness
        )
