"""A made-up crowd of two kinds of people, whose lists and ratings show which kind they are."""

from __future__ import annotations

import numpy as np

from discreet.domain import PRESENCE, Scale
from discreet.ratings import Ratings, Split, split_random
from measure._neighbours import catalog_of

ITEMS, USERS, EACH = 120, 3000, 15


def two_kinds(scale: Scale = PRESENCE) -> Split:
    """Each kind has a half of the items, the better known the more, twenty times as often.

    On a scale, each kind has an opinion of its own of every item.
    """
    rng = np.random.default_rng(3)
    popular = 1 / np.arange(1, ITEMS + 1)
    half, kind = np.arange(ITEMS) % 2, np.arange(USERS) % 2
    odds = popular * np.where(half == kind[:, None], 20.0, 1.0)
    keys = np.log(rng.random((USERS, ITEMS))) / odds
    chosen = np.sort(np.argsort(-keys, axis=1)[:, :EACH], axis=1)
    starts = np.arange(USERS + 1, dtype=np.int64) * EACH
    values = np.ones(chosen.shape)
    if not scale.presence:
        liked = 3.3 + rng.normal(0, 0.7, (2, ITEMS))[kind[:, None], chosen]
        liked += np.where(half[chosen] == kind[:, None], 0.5, -0.5)
        values = np.clip(np.rint(liked + rng.normal(0, 0.7, chosen.shape)), scale.lo, scale.hi)
    items = chosen.ravel().astype(np.int32)
    names = np.arange(len(starts) - 1)
    made = Ratings(
        scale, catalog_of(ITEMS), starts, items, scale.encode(values.ravel()), users=names
    )
    return split_random(made, 0.2, 1)
