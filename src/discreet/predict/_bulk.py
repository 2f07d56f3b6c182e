"""Predictors whose formula adds something to the item's level and the person's bias, in bulk.

Work is cut into tasks (person, begin, end, out): the targets `begin` to `end` of one person, whose
results lie from `out` on. So threads never share a place in the result.
"""

from __future__ import annotations

import abc
import os
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from discreet.predict._people import People
from discreet.predict._predictor import Floats, Ints, Model, Order, Predictor
from discreet.release import Release

# Into how many pieces tasks are cut per thread, so that all threads are busy until the end. Chosen
# by hand; it does not change results.
_PIECES = 8


class BulkPredictor(Predictor):
    """Level, bias, and what a kernel adds up over a person's own ratings.

    The release may have matrices over a **head** of items: `_positions` has each item's place in
    it, -1 outside.
    """

    columns: ClassVar[int] = 1
    """How many numbers the kernel gives for a target."""

    def __init__(self, release: Release, *, order: Order = "best") -> None:
        super().__init__(release, order=order)
        self._model = Model.of(release)
        self._head = release.arrays.get("head", np.empty(0, np.int32)).astype(np.int64)
        self._positions = np.full(len(release.catalog), -1)
        self._positions[self._head] = np.arange(len(self._head))

    @abc.abstractmethod
    def _add(
        self, tasks: Ints, targets: npt.NDArray[np.int32], people: People, y: Floats, parts: Floats
    ) -> None:
        """Fill the rows of `parts` for these tasks; `y` are residuals without bias."""

    @abc.abstractmethod
    def _combine(self, base: Floats, bias: Floats, counts: Ints, parts: Floats) -> Floats:
        """Scores from items' levels, people's biases and numbers of ratings, and parts."""

    def _parts(
        self, people: People, y: Floats, tasks: Ints, targets: npt.NDArray[np.int32], size: int
    ) -> Floats:
        parts = np.zeros((size, self.columns))
        if len(tasks) == 1:
            # Waking other threads costs more than one person's work.
            self._add(tasks, targets, people, y, parts)
            return parts
        threads = os.cpu_count() or 1
        pieces = np.array_split(tasks, min(max(len(tasks), 1), _PIECES * threads))
        with ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(lambda piece: self._add(piece, targets, people, y, parts), pieces):
                pass
        return parts

    def _pairs(self, people: People, rows: Ints, items: npt.NDArray[np.int32]) -> Floats:
        bias, y = self._model.biases(people)
        order = np.argsort(rows, kind="stable")
        begins = np.flatnonzero(np.diff(rows[order], prepend=-1))
        ends = np.append(begins[1:], len(rows))[: len(begins)]
        tasks = np.column_stack([rows[order][begins], begins, ends, begins])
        parts = np.empty((len(rows), self.columns))
        parts[order] = self._parts(people, y, tasks, items[order], len(rows))
        counts = np.diff(people.starts)
        return self._combine(self._model.baseline[items], bias[rows], counts[rows], parts)

    def _scores(self, people: People) -> npt.NDArray[np.float32]:
        bias, y = self._model.biases(people)
        person, d = np.arange(len(people)), len(self.catalog)
        tasks = np.column_stack([person, 0 * person, 0 * person + d, d * person])
        every = np.arange(d, dtype=np.int32)
        parts = self._parts(people, y, tasks, every, len(people) * d)
        shaped = parts.reshape(len(people), d, self.columns)
        counts = np.diff(people.starts)[:, None]
        scores = self._combine(self._model.baseline, bias[:, None], counts, shaped)
        return scores.astype(np.float32)
