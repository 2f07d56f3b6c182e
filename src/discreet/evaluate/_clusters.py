"""Open clusters on data at hand: everybody's client simulated, for the curator's eyes only."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discreet.domain.cluster_hash import to_grid
from discreet.privacy import SeededRandomness
from discreet.protocols.clusters_common.client import History, Terms
from discreet.protocols.clusters_common.messages import SentRatings
from discreet.protocols.open_clusters.messages import Collection, Upload
from discreet.ratings import Ratings


def simulated_uploads(
    ratings: Ratings,
    collection: Collection,
    *,
    terms: Terms | None = None,
    seed: int | str = 0,
    reveal: bool = False,
) -> Iterator[Upload]:
    """The first upload of every user who has ratings, as their client would make it.

    Args:
        ratings: Everybody's.
        collection: The public terms, of the same catalogue and scale.
        terms: Everybody's own; the collection's if absent.
        seed: Of suppression and fakes, which therefore protect nobody.
        reveal: Everybody reveals all their ratings: clusters alone, without obfuscation.
    """
    terms = terms or Terms.of(collection)
    randomness = SeededRandomness(seed)
    codes = to_grid(ratings.scale, ratings.values())
    hashes = collection.cluster_hash.values(ratings.starts, ratings.items, codes)
    kind = "revealed" if reveal else "obfuscated"
    for user in np.flatnonzero(np.diff(ratings.starts)):
        part = slice(ratings.starts[user], ratings.starts[user + 1])
        own = ratings.items[part], codes[part]
        value = int(hashes[user])
        if not reveal:
            sent = History().advance(*own, collection, terms, randomness).sent
            if collection.hash_on == "obfuscated":
                value = collection.cluster_hash.value(*sent)
            own = sent
        yield Upload(collection.digest, value, SentRatings(kind, *own))
