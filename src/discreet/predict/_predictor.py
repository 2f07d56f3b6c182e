"""What every predictor can do: predict, recommend, explain, one person or many."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from discreet.domain import Catalog, InputError, OwnRatings
from discreet.predict._people import People
from discreet.predict._recommendation import Recommendation, Recommendations
from discreet.predict._threads import one_at_a_time
from discreet.release import Release

Own = Mapping[str, float] | Iterable[str] | OwnRatings
Floats = npt.NDArray[np.float64]

_REASONS = 3


class Predictor(abc.ABC):
    """Predictions from a release and a person's own ratings, which stay where they are.

    Nothing here changes after it is made: one predictor serves many people, in threads too.
    Own ratings are a plain mapping from an item's id or title to a rating; names that the catalogue
    does not have are left out and reported (`read`, `Recommendations.unknown`).

    Args:
        release: What to predict from.
        popularity: How much being popular counts in lists, beside the expected rating: an item
            that e times as many people rated comes as if it were expected to be rated that much
            higher. Predictions and the scores that are shown are the same whatever it is.
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
            InputError: A rating is not on the scale, two names mean one item, or an index is none
                of the catalogue's.
        """
        if isinstance(own, OwnRatings):
            People.one(own).check(len(self.catalog))
            return own
        return OwnRatings.of(own, self.catalog, self.release.scale)

    def predict(self, own: Own, items: Iterable[str | int] | None = None) -> Floats:
        """Expected ratings, cut to the scale.

        Args:
            own: The person's own ratings.
            items: Ids, titles or catalogue indices; every item of the catalogue if absent.

        Raises:
            InputError: An item or an own rating is not what it should be.
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
            explain: Say with each which own ratings speak most for it.

        Raises:
            InputError: An own rating is not what it should be, or n is negative.
        """
        if n < 0:
            raise InputError(f"n is how many items to recommend, not {n}")
        ratings = self.read(own)
        ranks = self.scores(People.one(ratings), 0, 1)[0]
        open_, unknown = self._open(ratings, available)
        best = _best(ranks, open_, n)
        scores = (ranks if self._bonus is None else ranks - self._bonus)[best]
        if self.release.scale.presence:
            scores = chance(scores.astype(np.float64))
        reasons = self._reasons(ratings, best) if explain else [()] * len(best)
        ids, titles = self.catalog.ids, self.catalog.titles
        entries = (
            Recommendation(i, ids[i], titles[i], score, because)
            for i, score, because in zip(best.tolist(), scores.tolist(), reasons, strict=True)
        )
        return Recommendations(entries, (*ratings.unknown, *unknown))

    def explain(self, own: Own, item: str | int) -> list[tuple[str, float]]:
        """By how much each own rating moves this item's score, the largest first.

        Together they are the personal part of the score: what it differs by from the score of
        somebody who rated nothing. Of presence alone, in logarithms of the chance.
        """
        ratings = self.read(own)
        moved = self._contributions(ratings, self._indices([item]))[0]
        order = np.argsort(-np.abs(moved), kind="stable")
        return [(self.catalog.titles[ratings.items[j]], float(moved[j])) for j in order]

    def predict_pairs(
        self, people: People, rows: npt.NDArray[np.integer], items: npt.NDArray[np.integer]
    ) -> Floats:
        """Expected ratings of person `rows[p]` for item `items[p]`, cut to the scale.

        Of presence alone, how likely it is that they have it, about.
        """
        people.check(len(self.catalog))
        if len(rows) != len(items):
            raise InputError(f"{len(rows):,} people beside {len(items):,} items")
        _check_range("rows", rows, len(people))
        _check_range("items", items, len(self.catalog))
        wanted = (rows.astype(np.int64, copy=False), items.astype(np.int32, copy=False))
        with one_at_a_time:
            expected = self._pairs(people, *wanted)
        if self.release.scale.presence:
            return chance(expected)
        return np.clip(expected, self.release.scale.lo, self.release.scale.hi)

    def scores(self, people: People, first: int, last: int) -> npt.NDArray[np.float32]:
        """What lists are ordered by, for the people from `first` to before `last`.

        Expected ratings of all items, not cut, and with what popularity adds.
        """
        if not 0 <= first <= last <= len(people):
            raise InputError(f"people {first} to {last} are not among {len(people):,}")
        people = people.part(first, last)
        people.check(len(self.catalog))
        with one_at_a_time:
            scores = self._scores(people)
        if self._bonus is not None:
            scores += self._bonus
        return scores

    @abc.abstractmethod
    def _pairs(
        self, people: People, rows: npt.NDArray[np.int64], items: npt.NDArray[np.int32]
    ) -> Floats:
        """Expected ratings, not cut; every index was checked."""

    @abc.abstractmethod
    def _scores(self, people: People) -> npt.NDArray[np.float32]:
        """Expected ratings, not cut, of all items, a row a person; every index was checked."""

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
        """Which items may be recommended, and the available names that mean none."""
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


def chance(logarithms: Floats) -> Floats:
    """Of presence: how likely it is that somebody has an item, about; scores are logarithms."""
    return np.asarray(np.exp(np.minimum(logarithms, 0.0)))


def _log_counts(release: Release) -> npt.NDArray[np.float32]:
    """How popular items are, as a logarithm; a tenth of the average count is the floor."""
    counts = release.arrays["item_counts"].astype(np.float64)
    return np.asarray(np.log(counts + 0.1 * counts.mean() + 1e-9), np.float32)


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
        raise InputError(f"{what} are from 0 to {length - 1:,}, and some are not")
