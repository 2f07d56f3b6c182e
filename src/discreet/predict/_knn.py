"""Nearest neighbours with jointly derived weights, after Bell and Koren (2007)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, OwnRatings
from discreet.predict._head import Head
from discreet.predict._knn_bulk import (
    chunk_tasks,
    factor_parts,
    matrix_parts,
    pair_tasks,
    score_tasks,
)
from discreet.predict._knn_kernels import make_scratch, matrix_weights
from discreet.predict._knn_lanes import fill_lane, make_lanes, prepare, solve_lanes
from discreet.predict._model import Model
from discreet.predict._people import People
from discreet.predict._predictor import Floats, Predictor
from discreet.release import Release


class KnnPredictor(Predictor):
    """The person's bias, plus a weighted sum of the nearest own ratings.

    With y_j = x_j - b, the own ratings without baseline and (shrunk) bias, an item's score is
    G + M_i + b + sum_j w_j y_j over the own items most similar to it. Where the release has the
    covariance of a head of items, similarities and weights come from there, among own items of the
    head; for all other items they come from the factors.

    Args:
        release: A release of method "covariance" or "refined", of ratings.
        neighbours: How many own ratings weigh in at most.
        ridge: What is added to the variances of the neighbours, in squared ratings; by default
            0.5 on a five-star scale's covariance matrix, nothing with factors (where the noise of
            a rating is part of the variance already).
        popularity: See `Predictor`.
        shrink: How far averages of the matrix are drawn to their mean, besides what its noise
            advises: as if every entry had that many times the mean weight more, at the mean.
    """

    name: ClassVar[str] = "knn"

    def __init__(
        self,
        release: Release,
        *,
        neighbours: int = 20,
        ridge: float | None = None,
        shrink: float = 5.0,
        popularity: float = 0.0,
    ) -> None:
        super().__init__(release, popularity=popularity)
        if release.scale.presence:
            raise InputError("predictor 'knn' needs ratings; for presence use 'posterior'")
        if neighbours < 1:
            raise InputError(f"neighbours are at least 1, not {neighbours}")
        if not (ridge is None or ridge >= 0) or not shrink >= 0:
            raise InputError("ridge and shrink are 0 or above")
        self._neighbours = int(neighbours)
        self._model = Model.of(release)
        self._head = Head.of(release, ridge, shrink)
        self._factor_ridge = 0.0 if ridge is None else float(ridge)

    def _parts(
        self,
        people: People,
        centred: Floats,
        tasks: npt.NDArray[np.int64],
        targets: npt.NDArray[np.int32],
        size: int,
    ) -> Floats:
        """The neighbours' share of each score."""
        parts = np.zeros(size)
        longest = int(np.diff(people.starts).max(initial=1))
        neighbours = max(min(self._neighbours, longest), 1)  # room is made for the square of it
        head, common = self._head, (people.starts, people.items, centred, self._head.positions)
        if head.size:
            matrix_parts(
                tasks, targets, *common, head.bases, head.averages, head.weights,
                neighbours, head.ridge, parts,
            )  # fmt: skip
        if head.size < len(self.catalog) and self._model.factors.shape[1]:
            factor_parts(
                chunk_tasks(tasks), tasks, targets, *common, self._model.factors, self._model.noise,
                neighbours, self._factor_ridge, parts,
            )  # fmt: skip
        return parts

    def _pairs(
        self, people: People, rows: npt.NDArray[np.int64], items: npt.NDArray[np.int32]
    ) -> Floats:
        bias, centred = self._model.biases(people)
        order = np.argsort(rows, kind="stable")
        sorted_rows = rows[order]
        parts = np.empty(len(rows))
        tasks = pair_tasks(sorted_rows)
        parts[order] = self._parts(people, centred, tasks, items[order], len(rows))
        return self._model.baseline[items] + bias[rows] + parts

    def _scores(self, people: People) -> npt.NDArray[np.float32]:
        bias, centred = self._model.biases(people)
        targets = np.arange(len(self.catalog), dtype=np.int32)
        shape = (len(people), len(targets))
        tasks = score_tasks(*shape)
        parts = self._parts(people, centred, tasks, targets, shape[0] * shape[1]).reshape(shape)
        parts += self._model.baseline
        parts += bias[:, None]
        return parts.astype(np.float32)

    def _contributions(self, own: OwnRatings, items: npt.NDArray[np.int32]) -> Floats:
        """With b = sum c_j x_j, b + sum w_j (x_j - b) is the sum of (c_j (1 - sum w) + w_j) x_j."""
        share = self._model.bias_shares(own)
        weights = np.zeros((len(items), len(own)))
        for row, item in zip(weights, items, strict=True):
            places, solved = self._weights_of(own, int(item))
            row[places] = solved
        residuals = own.values - self._model.baseline[own.items]
        contributions: Floats = weights + share * (1 - weights.sum(axis=1, keepdims=True))
        return contributions * residuals

    def _weights_of(self, own: OwnRatings, item: int) -> tuple[npt.NDArray[np.int64], Floats]:
        """The neighbours of one item among the own ratings, and their weights."""
        head, target = self._head, int(self._head.positions[item])
        neighbours = max(min(self._neighbours, len(own)), 1)
        if target >= 0:
            places = np.flatnonzero(head.positions[own.items] >= 0)
            positions = head.positions[own.items[places]]
            scratch = make_scratch(len(own), neighbours)
            count = matrix_weights(
                target, positions, head.bases, head.averages, head.weights, head.ridge, scratch
            )
            return places[scratch.chosen[:count]], scratch.a[:count]
        factors = self._model.factors
        lanes = make_lanes(neighbours, factors.shape[1])
        prepared = prepare(factors, self._model.noise, own.items)
        fill_lane(prepared, item, factors, self._factor_ridge, lanes, 0)
        solve_lanes(lanes)
        count = int(lanes.counts[0])
        return lanes.chosen[0, :count], lanes.a[:count, 0]
