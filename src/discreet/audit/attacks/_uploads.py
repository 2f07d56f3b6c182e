"""Everybody's first upload to clusters, or local report, made by the client's own code."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audit.attacks._data import Ints
from discreet.domain import OwnRatings
from discreet.domain.cluster_hash import to_grid
from discreet.privacy import SeededRandomness
from discreet.protocols.clusters_common.client import History, Terms
from discreet.protocols.clusters_common.messages import Codes, Items
from discreet.protocols.local_reports import messages as local
from discreet.protocols.local_reports.client import draw_report
from discreet.protocols.open_clusters.messages import Collection
from discreet.ratings import Ratings


def collection_of(ratings: Ratings, **terms: Any) -> Collection:
    """Terms for these ratings; without a floor of items unless one is given."""
    return Collection(ratings.catalog, ratings.scale, **({"least": 0} | terms))


def true_hashes(ratings: Ratings, collection: Collection) -> Ints:
    """Everybody's hash value, of their true ratings."""
    codes = to_grid(ratings.scale, ratings.values())
    return collection.cluster_hash.values(ratings.starts, ratings.items, codes)


def uploads(
    ratings: Ratings, collection: Collection, seed: str, terms: Terms | None = None
) -> list[tuple[Items, Codes]]:
    """What each person sends: items that look rated, and codes beside them."""
    source, terms = SeededRandomness(seed), terms or Terms.of(collection)
    codes = to_grid(ratings.scale, ratings.values())
    ends = zip(ratings.starts[:-1].tolist(), ratings.starts[1:].tolist(), strict=True)
    return [
        History()
        .advance(ratings.items[first:last], codes[first:last], collection, terms, source)
        .sent
        for first, last in ends
    ]


def report_table(
    ratings: Ratings, epsilon: float, seed: str
) -> tuple[Ints, npt.NDArray[np.float64]]:
    """Everybody's report by randomized response, symbol 0 for "not rated", and its law.

    The law has for each true symbol the chances of what is reported.
    """
    mechanism = local.Mechanism.RANDOMIZED_RESPONSE
    collection = local.Collection(ratings.catalog, ratings.scale, mechanism, epsilon)
    source, values = SeededRandomness(seed), ratings.values()
    symbols = np.zeros((ratings.user_count, len(ratings.catalog)), np.int64)
    ends = zip(ratings.starts[:-1].tolist(), ratings.starts[1:].tolist(), strict=True)
    for person, (first, last) in enumerate(ends):
        own = OwnRatings(ratings.items[first:last], values[first:last])
        report = draw_report(collection, own, source)
        symbols[person, report.items] = report.values
    law = collection.response
    return symbols, np.array([law.probabilities(each) for each in range(law.symbols)])


def upload_tables(
    ratings: Ratings, fake_percent: int, seed: str, **terms: Any
) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """The codes of everybody's upload, -1 where nothing looks rated, and which are true.

    Args:
        ratings: Everybody's.
        fake_percent: For a hundred true ratings.
        seed: Of the fakes.
        terms: Further terms; `popularity` for popular fakes.
    """
    known = {"popularity": terms.pop("popularity", None)}
    collection = collection_of(ratings, fake_percent=fake_percent, **terms)
    sent = uploads(ratings, collection, seed, Terms.of(collection, **known))
    codes = np.full((ratings.user_count, len(ratings.catalog)), -1, np.int64)
    owner = np.repeat(np.arange(len(sent)), [len(items) for items, _ in sent])
    codes[owner, np.concatenate([items for items, _ in sent])] = np.concatenate(
        [values for _, values in sent]
    )
    true = np.zeros(codes.shape, np.bool_)
    true[ratings.user_of_rating(), ratings.items] = True
    return codes, true & (codes >= 0)
