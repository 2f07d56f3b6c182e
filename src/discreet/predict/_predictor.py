"""What every predictor can do: predict, recommend, explain, one person or many."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from discreet.domain import Catalog, InputError, OwnRatings
from discreet.predict._people import People, Recommendation, Recommendations
from discreet.release import Release

Own = Mapping[str, float] | Iterable[str] | OwnRatings
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Own ratings that a recommendation names as its reasons, at most: what fits on a line.
_REASONS = 3
# Added to every item's count before its logarithm is taken, as a share of the mean count, so that
# counts near 0, which are mostly noise, are not far apart. Chosen by hand.
_COUNT_FLOOR = 0.1


class Predictor(abc.ABC):
    """Predictions from a release and a person's own ratings, which stay where they are.

    A predictor never changes: one serves many people, in threads too. Own ratings are a plain
    mapping from an item's id or title to a rating; names that the catalogue does not have are left
    out and reported (`read`, `Recommendations.unknown`).

    Args:
        release: What to predict from.
        popularity: How much popularity counts in the order of lists: an item with e times as many
            ratings is listed as if its expected rating were that much higher. Predictions and the
            scores shown do not depend on it.
    """

    name: ClassVar[str]

    def __init__(self, release: Release, *, popularity: float = 0.0) -> None:
        if not 0 <= popularity < 1e6:
            raise InputError(f"popularity is 0 or above, not {popularity:g}")
        self.release = release
        self._bonus = popularity * _log_counts(release) if popularity else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.release!r})"

    @property
    def catalog(self) -> Catalog:
        """The items that can be recommended."""
        return self.release.catalog

    def read(self, own: Own) -> OwnRatings:
        """Own ratings as catalogue indices and values, with the unknown names beside them.

        Raises:
            InputError: A rating is not on the scale, two names mean one item, or an index is
                outside the catalogue.
        """
        if isinstance(own, OwnRatings):
            People.one(own).check(len(self.catalog))
            return own
        return OwnRatings.of(own, self.catalog, self.release.scale)

    def predict(self, own: Own, items: Iterable[str | int] | None = None) -> Floats:
        """Expected ratings, clipped to the scale.

        Args:
            own: The person's own ratings.
            items: Ids, titles or catalogue indices; every item of the catalogue if absent.

        Raises:
            InputError: An item is unknown, or an own rating is not valid.
        """
        people = People.one(self.read(own))
        targets = self._indices(items)
        return self.predict_pairs(people, np.zeros(len(targets), np.int64), targets)

    def recommend(
        self,
        own: Own,
        n: int = 10,
        *,
        available: Iterable[str | int] | None = None,
        explain: bool = False,
    ) -> Recommendations:
        """The items with the highest expected ratings among those not rated yet, the best first.

        Args:
            own: The person's own ratings.
            n: How many, at most.
            available: Ids, titles or catalogue indices to choose among; all items if absent.
            explain: Name with each the own ratings that raise its score most.

        Raises:
            InputError: An own rating is not valid, or n is negative.
        """
        if n < 0:
            raise InputError(f"n is how many items to recommend, not {n}")
        ratings = self.read(own)
        ranks = self.scores(People.one(ratings), 0, 1)[0]
        open_, unknown = self._open(ratings, available)
        best = _best(ranks, open_, n)
        scores = (ranks if self._bonus is None else ranks - self._bonus)[best]
        if self.release.scale.presence:
            scores = probability(scores.astype(np.float64))
        reasons = self._reasons(ratings, best) if explain else [()] * len(best)
        ids, titles = self.catalog.ids, self.catalog.titles
        entries = (
            Recommendation(i, ids[i], titles[i], score, because)
            for i, score, because in zip(best.tolist(), scores.tolist(), reasons, strict=True)
        )
        return Recommendations(entries, (*ratings.unknown, *unknown))

    def explain(self, own: Own, item: str | int) -> list[tuple[str, float]]:
        """By how much each own rating moves this item's score, the largest first.

        They sum to the personal part of the score: its difference from the score of a person
        without ratings. For presence data, in logarithms of the probability.
        """
        ratings = self.read(own)
        moved = self._contributions(ratings, self._indices([item]))[0]
        order = np.argsort(-np.abs(moved), kind="stable")
        return [(self.catalog.titles[ratings.items[j]], float(moved[j])) for j in order]

    def predict_pairs(
        self, people: People, rows: npt.NDArray[np.integer], items: npt.NDArray[np.integer]
    ) -> Floats:
        """Expected ratings of person `rows[p]` for item `items[p]`, clipped to the scale.

        For presence data, roughly the probability that the person has the item.
        """
        people.check(len(self.catalog))
        if len(rows) != len(items):
            raise InputError(f"{len(rows):,} people beside {len(items):,} items")
        _check_range("rows", rows, len(people))
        _check_range("items", items, len(self.catalog))
        expected = self._pairs(
            people, rows.astype(np.int64, copy=False), items.astype(np.int32, copy=False)
        )
        if self.release.scale.presence:
            return probability(expected)
        return np.clip(expected, self.release.scale.lo, self.release.scale.hi)

    def scores(self, people: People, first: int, last: int) -> npt.NDArray[np.float32]:
        """What lists are ordered by, for the people from `first` to before `last`.

        Expected ratings of all items, not clipped, plus what popularity adds.
        """
        if not 0 <= first <= last <= len(people):
            raise InputError(f"people {first} to {last} are not among {len(people):,}")
        people = people.part(first, last)
        people.check(len(self.catalog))
        scores = self._scores(people)
        if self._bonus is not None:
            scores += self._bonus
        return scores

    @abc.abstractmethod
    def _pairs(
        self, people: People, rows: npt.NDArray[np.int64], items: npt.NDArray[np.int32]
    ) -> Floats:
        """Expected ratings, not clipped; every index was checked."""

    @abc.abstractmethod
    def _scores(self, people: People) -> npt.NDArray[np.float32]:
        """Expected ratings of all items, not clipped, one row per person; indices were checked."""

    @abc.abstractmethod
    def _contributions(self, own: OwnRatings, items: npt.NDArray[np.int32]) -> Floats:
        """A row for each item: what each own rating adds to its score."""

    def _indices(self, items: Iterable[str | int] | None) -> npt.NDArray[np.int32]:
        if items is None:
            return np.arange(len(self.catalog), dtype=np.int32)
        named = [item if isinstance(item, int | np.integer) else self.catalog.index(item)
                 for item in items]  # fmt: skip
        _check_range("items", np.array(named, dtype=np.int64), len(self.catalog))
        return np.array(named, dtype=np.int32)

    def _open(
        self, own: OwnRatings, available: Iterable[str | int] | None
    ) -> tuple[npt.NDArray[np.bool_], list[str]]:
        """Which items may be recommended, and available names that are not in the catalogue."""
        open_ = np.full(len(self.catalog), available is None)
        unknown = []
        for item in available if available is not None else ():
            index = self.catalog.find(item) if isinstance(item, str) else item
            if index is None:
                unknown.append(str(item))
            else:
                open_[self._indices([index])] = True
        open_[own.items] = False
        return open_, unknown

    def _reasons(
        self, own: OwnRatings, items: npt.NDArray[np.int32]
    ) -> list[tuple[tuple[str, float], ...]]:
        """For each item, the few own ratings that raise its score most."""
        contributions = self._contributions(own, items)
        order = np.argsort(-contributions, axis=1, kind="stable")[:, :_REASONS]
        titles = self.catalog.titles
        return [
            tuple((titles[own.items[j]], float(row[j])) for j in chosen if row[j] > 0)
            for row, chosen in zip(contributions, order, strict=True)
        ]


def groups(keys: Ints) -> Iterator[tuple[int, Ints]]:
    """Each key that occurs, and where."""
    order = np.argsort(keys, kind="stable")
    found, begins = np.unique(keys[order], return_index=True)
    if len(found):
        yield from zip(found.tolist(), np.split(order, begins[1:]), strict=True)


def probability(logarithms: Floats) -> Floats:
    """For presence data, whose scores are logarithms: roughly how likely a person has an item."""
    return np.asarray(np.exp(np.minimum(logarithms, 0.0)))


def _log_counts(release: Release) -> npt.NDArray[np.float32]:
    """How popular items are, as a logarithm."""
    counts = release.arrays["item_counts"].astype(np.float64)
    return np.asarray(np.log(counts + _COUNT_FLOOR * counts.mean() + 1e-9), np.float32)


def _best(
    scores: npt.NDArray[np.float32], open_: npt.NDArray[np.bool_], n: int
) -> npt.NDArray[np.int32]:
    """The `n` open items with the highest scores; the first in the catalogue among equals."""
    candidates = np.flatnonzero(open_)
    wanted = min(n, len(candidates))
    if wanted == 0:
        return np.empty(0, np.int32)
    known = scores[candidates]
    if wanted < len(known):
        # Everything from the n-th highest score on, so that equals at the edge keep their order.
        edge = np.partition(known, len(known) - wanted)[len(known) - wanted]
        candidates = candidates[known >= edge]
    order = np.argsort(-scores[candidates], kind="stable")[:wanted]
    return candidates[order].astype(np.int32)


def _check_range(what: str, indices: npt.NDArray[np.integer], length: int) -> None:
    if len(indices) and not (indices.min() >= 0 and indices.max() < length):
        raise InputError(f"{what} must lie between 0 and {length - 1:,}")
