"""Collections and people for the tests of open clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.domain import Catalog, Scale
from discreet.privacy import SeededRandomness
from discreet.protocols.clusters_common.client import History, Terms
from discreet.protocols.clusters_common.messages import SentRatings
from discreet.protocols.open_clusters.messages import Collection, Upload

FIVE_STARS = Scale(1, 5)


def catalog_of(d: int) -> Catalog:
    return Catalog([str(i) for i in range(d)], [f"title {i}" for i in range(d)])


def terms(d: int = 1_000, scale: Scale = FIVE_STARS, **told: Any) -> Collection:
    return Collection(catalog_of(d), scale, **told)


def person(d: int, count: int, seed: int = 0, parts: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Items in rising order and codes, mostly above the middle."""
    rng = np.random.default_rng(seed)
    items = np.sort(rng.choice(d, count, replace=False)).astype(np.int32)
    return items, np.clip(np.rint(rng.normal(0.65 * parts, parts / 4, count)), 0, parts).astype(
        np.uint8
    )


def obfuscated(collection: Collection, count: int, seed: int = 0, **told: Any) -> Upload:
    """A first upload of somebody with so many ratings."""
    own = person(len(collection.catalog), count, seed)
    randomness = SeededRandomness(f"upload {seed}")
    sent = History().advance(*own, collection, Terms.of(collection, **told), randomness).sent
    value = collection.cluster_hash.value(*(sent if collection.hash_on == "obfuscated" else own))
    return Upload(collection.digest, value, SentRatings("obfuscated", *sent))


def revealed(collection: Collection, items: Any, codes: Any) -> Upload:
    own = np.array(items, np.int32), np.array(codes, np.uint8)
    value = collection.cluster_hash.value(*own)
    return Upload(collection.digest, value, SentRatings("revealed", *own))
