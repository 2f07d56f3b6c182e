"""RMSE, MAE, NDCG and recall.

Lists are judged over the whole catalogue without the items that the person rated in training. Items
with equal scores share their places evenly: NDCG and recall are the expected values over all orders
of equals, so that a model that cannot tell items apart gets what chance would get.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numba
import numpy as np
import numpy.typing as npt

from discreet.predict import People

Floats = npt.NDArray[np.float64]
Scores = npt.NDArray[np.float32]


class Scorer(Protocol):
    """What can be judged: every predictor of `discreet.predict`, and the baselines."""

    def predict_pairs(
        self, people: People, rows: npt.NDArray[np.integer], items: npt.NDArray[np.integer]
    ) -> Floats:
        """Expected ratings of person `rows[p]` for item `items[p]`, cut to the scale."""

    def scores(self, people: People, first: int, last: int) -> Scores:
        """A new array with the scores of all items for the people from `first` to before `last`."""


def rmse(predicted: Floats, true: Floats) -> float:
    """The root of the mean squared error."""
    return float(np.sqrt(np.mean((predicted - true) ** 2)))


def mae(predicted: Floats, true: Floats) -> float:
    """The mean absolute error."""
    return float(np.mean(np.abs(predicted - true)))


@dataclass(frozen=True, eq=False, repr=False)
class Places:
    """Where each person's relevant items stand in the person's list.

    Attributes:
        starts: Where each person's relevant items begin; one longer than there are people.
        above: For each relevant item, how many candidates score higher.
        tied: How many candidates have its very score, itself included; 0 if it has no place.
    """

    starts: npt.NDArray[np.int64]
    above: npt.NDArray[np.int64]
    tied: npt.NDArray[np.int64]

    @classmethod
    def joined(cls, parts: list[Places]) -> Places:
        """The places of one group of people after another."""
        counts = np.concatenate([np.diff(part.starts) for part in parts])
        return cls(
            np.concatenate(([0], np.cumsum(counts))),
            np.concatenate([part.above for part in parts]),
            np.concatenate([part.tied for part in parts]),
        )


def places(
    scores: Scores,
    people: People,
    starts: npt.NDArray[np.int64],
    relevant: npt.NDArray[np.int32],
) -> Places:
    """Find the relevant items' places in lists of everything that a person did not rate yet.

    Args:
        scores: A row a person, a column an item; overwritten where the person rated the item.
        people: The training ratings of the same people.
        starts: Where each person's relevant items begin.
        relevant: Catalogue indices, none of them rated in training.
    """
    above = np.zeros(len(relevant), np.int64)
    tied = np.zeros(len(relevant), np.int64)
    find_places(scores, people.starts, people.items, starts, relevant, above, tied)
    return Places(starts, above, tied)


@numba.njit(cache=True, parallel=True)
def find_places(
    scores: Scores,
    own_starts: npt.NDArray[np.int64],
    own_items: npt.NDArray[np.int32],
    starts: npt.NDArray[np.int64],
    relevant: npt.NDArray[np.int32],
    above: npt.NDArray[np.int64],
    tied: npt.NDArray[np.int64],
) -> None:
    """Fill `above` and `tied`; what was rated already drops to minus infinity first."""
    nowhere = np.float32(-np.inf)
    for person in numba.prange(len(starts) - 1):
        row = scores[person]
        for rating in range(own_starts[person], own_starts[person + 1]):
            row[own_items[rating]] = nowhere
        for place in range(starts[person], starts[person + 1]):
            score = row[relevant[place]]
            if not score > nowhere:
                continue
            higher, equal = 0, 0
            for item in range(len(row)):
                higher += row[item] > score
                equal += row[item] == score
            above[place] = higher
            tied[place] = equal


def ndcg_at(found: Places, n: int) -> float:
    """Normalised discounted cumulative gain of lists of length n, averaged over people.

    A relevant item at place p gains 1 / log2(p + 1), counted from 1; the sum is divided by the best
    that the person's number of relevant items allows. People without a relevant item are left out;
    without anybody left it is 0.
    """
    discounts = np.concatenate(([0.0], np.cumsum(1 / np.log2(np.arange(2, n + 2)))))
    best = discounts[np.minimum(np.diff(found.starts), n)]
    return _mean_share(found, discounts, best)


def recall_at(found: Places, n: int) -> float:
    """The share of a person's relevant items that a list of length n has, averaged over people.

    People without a relevant item are left out; without anybody left it is 0.
    """
    hits = np.arange(n + 1, dtype=np.float64)
    return _mean_share(found, hits, np.diff(found.starts).astype(np.float64))


def _mean_share(found: Places, gains: Floats, best: Floats) -> float:
    """The mean over people of gain / best, where `gains[k]` is the gain of the k first places.

    An item tied over places a + 1 to a + t has each of them with probability 1/t.
    """
    n = len(gains) - 1
    begin, end = (np.minimum(edge, n) for edge in (found.above, found.above + found.tied))
    expected = (gains[end] - gains[begin]) / np.maximum(found.tied, 1)
    running = np.concatenate(([0.0], np.cumsum(expected)))
    totals = running[found.starts[1:]] - running[found.starts[:-1]]
    asked = best > 0
    return float(np.mean(totals[asked] / best[asked])) if asked.any() else 0.0
