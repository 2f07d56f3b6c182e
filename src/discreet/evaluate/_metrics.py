"""Errors of predicted ratings, and how good lists are.

Lists are judged over the whole catalogue without the items that the person rated in training. Items
with equal scores share their places evenly: every figure of lists is the expected value over all
orders of equals, independent between people, so that a model that cannot tell items apart gets what
chance would get.

Figures are means over people; `among` marks the people to average over, everybody by default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numba
import numpy as np
import numpy.typing as npt

from discreet.predict import People

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Scores = npt.NDArray[np.float32]

# Items that a thread looks at together, so that no two threads write to the same place; a few cache
# lines of scores. Chosen by hand; it does not change results.
_COLUMNS = 256


class Scorer(Protocol):
    """What can be judged: every predictor of `discreet.predict`, the baselines, and your models.

    `people` holds the own ratings of several people in columns, as catalogue indices and values:
    `people[p].items` and `people[p].values` are those of person p. A scorer that makes lists and
    predicts no ratings says so by `predicts_ratings = False`; then `predict_pairs` is never called.

    Example:
        >>> import numpy as np
        >>> class Alphabet:  # lists everything from the first item to the last
        ...     predicts_ratings = False
        ...
        ...     def __init__(self, train):
        ...         self.items = len(train.catalog)
        ...
        ...     def scores(self, people, first, last):
        ...         return np.tile(-np.arange(self.items, dtype=np.float32), (last - first, 1))
        >>> import discreet
        >>> ratings = discreet.make_ratings("ml-100k", ratings=2000, seed=1)
        >>> rows = discreet.evaluate(ratings, models=["popularity"], own={"alphabet": Alphabet})
        >>> [row.model for row in rows]
        ['popularity', 'alphabet']
    """

    def predict_pairs(
        self, people: People, rows: npt.NDArray[np.integer], items: npt.NDArray[np.integer]
    ) -> Floats:
        """Expected ratings of person `rows[p]` for item `items[p]`, clipped to the scale."""

    def scores(self, people: People, first: int, last: int) -> Scores:
        """A new array with the scores of all items for the people from `first` to before `last`."""


def rmse(predicted: Floats, true: Floats | float) -> float:
    """The root of the mean squared error."""
    return float(np.sqrt(np.mean((predicted - true) ** 2)))


def mae(predicted: Floats, true: Floats | float) -> float:
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
        scores: A row per person, a column per item; overwritten where the person rated the item.
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


def ndcg_of(found: Places, n: int) -> Floats:
    """Each person's normalised discounted cumulative gain of a list of length n.

    A relevant item at place p gains 1 / log2(p + 1), counted from 1; the sum is divided by the best
    that the person's number of relevant items allows. Not a number for people without a relevant
    item, as in all of these.
    """
    discounts = np.concatenate(([0.0], np.cumsum(1 / np.log2(np.arange(2, n + 2)))))
    best = discounts[np.minimum(np.diff(found.starts), n)]
    return _shares(found, discounts, best)


def recall_of(found: Places, n: int) -> Floats:
    """The share of each person's relevant items that a list of length n has."""
    hits = np.arange(n + 1, dtype=np.float64)
    return _shares(found, hits, np.diff(found.starts).astype(np.float64))


def hit_rate_of(found: Places, n: int) -> Floats:
    """The probability that each person's list of length n has at least one relevant item."""
    hits = np.empty(len(found.starts) - 1)
    find_hits(found.starts, found.above, found.tied, n, hits)
    return hits


def reciprocal_rank_of(found: Places) -> Floats:
    """1 / p, where p is the place of each person's first relevant item in the whole list."""
    reciprocals = np.empty(len(found.starts) - 1)
    find_reciprocals(found.starts, found.above, found.tied, reciprocals)
    return reciprocals


def ndcg_at(found: Places, n: int, among: Mask | None = None) -> float:
    """The mean of `ndcg_of` over people with a relevant item; 0 without any."""
    return mean_known(ndcg_of(found, n), among)


def recall_at(found: Places, n: int, among: Mask | None = None) -> float:
    """The mean of `recall_of` over people with a relevant item; 0 without any."""
    return mean_known(recall_of(found, n), among)


def hit_rate_at(found: Places, n: int, among: Mask | None = None) -> float:
    """The mean of `hit_rate_of` over people with a relevant item; 0 without any."""
    return mean_known(hit_rate_of(found, n), among)


def mean_reciprocal_rank(found: Places, among: Mask | None = None) -> float:
    """The mean of `reciprocal_rank_of` over people with a relevant item; 0 without any."""
    return mean_known(reciprocal_rank_of(found), among)


def mean_known(figures: Floats, among: Mask | None = None) -> float:
    """The mean of the marked people's figures without those that are not numbers; 0 of none."""
    known = ~np.isnan(figures)
    if among is not None:
        known &= among
    return float(figures[known].mean()) if known.any() else 0.0


def _shares(found: Places, gains: Floats, best: Floats) -> Floats:
    """Each person's gain / best, where `gains[k]` is the gain of the k first places.

    An item tied over places a + 1 to a + t has each of them with probability 1/t. Not a number for
    people for whom `best` is 0.
    """
    n = len(gains) - 1
    begin, end = (np.minimum(edge, n) for edge in (found.above, found.above + found.tied))
    expected = (gains[end] - gains[begin]) / np.maximum(found.tied, 1)
    running = np.concatenate(([0.0], np.cumsum(expected)))
    totals = running[found.starts[1:]] - running[found.starts[:-1]]
    shares: Floats = np.divide(totals, best, out=np.full(len(best), np.nan), where=best > 0)
    return shares


@numba.njit(cache=True)
def first_run(person: int, starts: Ints, above: Ints, tied: Ints) -> tuple[int, int, int]:
    """The highest run of equals that has a relevant item of this person.

    How many candidates score higher, how many are in the run, and how many of these are relevant:
    0 if no relevant item has a place.
    """
    higher, equal, relevant = 0, 0, 0
    for place in range(starts[person], starts[person + 1]):
        if tied[place] == 0:
            continue
        if relevant == 0 or above[place] < higher:
            higher, equal, relevant = above[place], tied[place], 1
        elif above[place] == higher:
            relevant += 1
    return higher, equal, relevant


@numba.njit(cache=True, parallel=True)
def find_hits(starts: Ints, above: Ints, tied: Ints, n: int, hits: Floats) -> None:
    """Fill in the probability that somebody's first `n` places have a relevant item.

    Of the run's t places the list has k. All r relevant ones are among the other t - k with
    probability (t-k)/t * (t-k-1)/(t-1) * ..., r factors. Runs further down do not matter: the list
    reaches them only if it has the whole of this one.
    """
    for person in numba.prange(len(starts) - 1):
        if starts[person] == starts[person + 1]:
            hits[person] = np.nan
            continue
        higher, equal, relevant = first_run(person, starts, above, tied)
        outside = equal - min(max(n - higher, 0), equal)
        missed = 1.0
        for drawn in range(relevant):
            missed *= max(outside - drawn, 0) / (equal - drawn)
        hits[person] = 1.0 - missed


@numba.njit(cache=True, parallel=True)
def find_reciprocals(starts: Ints, above: Ints, tied: Ints, reciprocals: Floats) -> None:
    """Fill in the expected reciprocal of the first relevant item's place.

    Of t places, r of them relevant in random order, the first relevant one is m with probability
    p(m): p(1) = r/t, and p(m + 1) = p(m) (t-m-r+1) / (t-m).
    """
    for person in numba.prange(len(starts) - 1):
        if starts[person] == starts[person + 1]:
            reciprocals[person] = np.nan
            continue
        higher, equal, relevant = first_run(person, starts, above, tied)
        total = 0.0
        if relevant > 0:
            chance = relevant / equal
            for place in range(1, equal - relevant + 2):
                total += chance / (higher + place)
                if place < equal:
                    chance *= (equal - place - relevant + 1) / (equal - place)
        reciprocals[person] = total


class Shown:
    """What people's lists of length `n` show, added up over blocks of people.

    Args:
        n: How long lists are; shorter where somebody has fewer candidates.
        surprise: What each item adds to a list's novelty: -log2 of the share of users who have it.
        groups: Into how many groups people are parted.
    """

    def __init__(self, n: int, surprise: Floats, groups: int = 1) -> None:
        self.n = n
        self.surprise = surprise
        # For each group and item, the probability that it is in nobody's list.
        self._missed = np.ones((groups, len(surprise)))
        self._novelties: list[Floats] = []

    def add(self, scores: Scores, group: Ints) -> None:
        """Add people's lists.

        Args:
            scores: A row per person, as `places` leaves it: what they rated is at minus infinity.
            group: Each person's group.
        """
        edges = np.empty(len(scores), np.float32)
        chances, novelties = np.empty(len(scores)), np.empty(len(scores))
        find_edges(scores, self.n, self.surprise, edges, chances, novelties)
        multiply_missed(scores, edges, chances, group, self._missed)
        self._novelties.append(novelties)

    def coverage(self, groups: list[int]) -> float:
        """The share of the catalogue that is in the list of anybody in these groups."""
        return float(1.0 - np.mean(np.prod(self._missed[groups], axis=0)))

    def novelties(self) -> Floats:
        """For each person, the mean surprise of what the list has; not a number if it is empty."""
        return np.concatenate([np.empty(0), *self._novelties])


@numba.njit(cache=True, parallel=True)
def find_edges(
    scores: Scores, n: int, surprise: Floats, edges: Scores, chances: Floats, novelties: Floats
) -> None:
    """Where each person's list of length `n` ends, and how novel it is.

    Fills `edges` with the lowest score that a list has, `chances` with the probability that an item
    of that very score is in it, and `novelties` with the expected mean surprise. A list with fewer
    candidates than `n` ends at minus infinity, where the chance is 0.
    """
    for person in numba.prange(len(scores)):
        row = scores[person]
        best = np.full(n, np.float32(-np.inf))  # in rising order
        for item in range(len(row)):
            if row[item] > best[0]:
                place = 1
                while place < n and best[place] < row[item]:
                    best[place - 1] = best[place]
                    place += 1
                best[place - 1] = row[item]
        edge = best[0]
        higher, equal, sure, unsure = 0, 0, 0.0, 0.0
        for item in range(len(row)):
            if row[item] > edge:
                higher += 1
                sure += surprise[item]
            elif row[item] == edge:
                equal += 1
                unsure += surprise[item]
        chance = (n - higher) / equal if edge > -np.inf else 0.0
        length = n if edge > -np.inf else higher
        edges[person] = edge
        chances[person] = chance
        novelties[person] = (sure + chance * unsure) / length if length else np.nan


@numba.njit(cache=True, parallel=True)
def multiply_missed(
    scores: Scores, edges: Scores, chances: Floats, group: Ints, missed: Floats
) -> None:
    """Multiply each item's `missed` by the probability that it is not in a person's list."""
    items = missed.shape[1]
    for chunk in numba.prange((items + _COLUMNS - 1) // _COLUMNS):
        begin, end = chunk * _COLUMNS, min((chunk + 1) * _COLUMNS, items)
        for person in range(len(scores)):
            row, edge, left = scores[person], edges[person], 1.0 - chances[person]
            lost = missed[group[person]]
            for item in range(begin, end):
                if row[item] > edge:
                    lost[item] = 0.0
                elif row[item] == edge:
                    lost[item] *= left
