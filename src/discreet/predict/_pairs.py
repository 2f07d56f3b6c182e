"""What predictors from item pairs share: the head, the person's bias, targets in bulk."""

from __future__ import annotations

import abc

import numpy as np
import numpy.typing as npt

from discreet.domain import OwnRatings
from discreet.predict._knn_bulk import pair_tasks, score_tasks
from discreet.predict._model import Model
from discreet.predict._people import People
from discreet.predict._predictor import Floats, Predictor
from discreet.release import Release, packed_bases


class PairPredictor(Predictor):
    """The item's level, the person's bias, and what pairs with the own items say beyond.

    Args:
        release: Of a method of item pairs; without pairs, level and bias are left.
        popularity: See `Predictor`.
    """

    def __init__(self, release: Release, *, popularity: float = 0.0) -> None:
        super().__init__(release, popularity=popularity)
        self._model = Model.of(release)
        self._items = release.arrays.get("head", np.empty(0, np.int32)).astype(np.int64)
        self._positions = np.full(len(release.catalog), -1)
        self._positions[self._items] = np.arange(len(self._items))
        self._bases = packed_bases(len(self._items))

    @abc.abstractmethod
    def _parts(
        self,
        people: People,
        tasks: npt.NDArray[np.int64],
        targets: npt.NDArray[np.int32],
        size: int,
    ) -> Floats:
        """What pairs say of each target, `size` rows of numbers, 0 outside the head."""

    @abc.abstractmethod
    def _combine(self, base: Floats, bias: Floats, own: Floats, parts: Floats) -> Floats:
        """Scores from items' levels, people's biases and numbers of ratings, and those parts."""

    def _pairs(
        self, people: People, rows: npt.NDArray[np.int64], items: npt.NDArray[np.int32]
    ) -> Floats:
        order = np.argsort(rows, kind="stable")
        wanted = rows[order]
        found = self._parts(people, pair_tasks(wanted), items[order], len(rows))
        parts = np.empty_like(found)
        parts[order] = found
        bias, own = self._people(people)
        return self._combine(self._model.baseline[items], bias[rows], own[rows], parts)

    def _scores(self, people: People) -> npt.NDArray[np.float32]:
        every = np.arange(len(self.catalog), dtype=np.int32)
        shape = (len(people), len(every))
        parts = self._parts(people, score_tasks(*shape), every, shape[0] * shape[1])
        bias, own = self._people(people)
        told = (self._model.baseline, bias[:, None], own[:, None], parts.reshape(*shape, -1))
        return self._combine(*told).astype(np.float32)

    def _people(self, people: People) -> tuple[Floats, Floats]:
        bias, _ = self._model.biases(people)
        return bias, np.diff(people.starts).astype(np.float64)

    def _between(
        self, packed: npt.NDArray[np.float32], own: OwnRatings, items: npt.NDArray[np.int32]
    ) -> Floats:
        """A row for each item, a column for each own item: the packed entries, 0 outside."""
        here, there = self._positions[items][:, None], self._positions[own.items][None, :]
        inside = (here >= 0) & (there >= 0) & (here != there)
        low, high = np.minimum(here, there), np.maximum(here, there)
        found = np.zeros(inside.shape)
        rows, columns = np.nonzero(inside)
        places = self._bases[low[rows, columns]] + high[rows, columns]
        found[rows, columns] = packed[places]
        return found
