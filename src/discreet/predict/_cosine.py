"""Cosine: items that go together, for ratings and for presence."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from discreet.domain import OwnRatings
from discreet.predict._pairs import PairPredictor, add_pairs
from discreet.predict._people import People
from discreet.predict._predictor import Floats, Ints, Order, probability
from discreet.release import Release, unpack

# Added to the sum of |similarity|, so that a few weak neighbours move a prediction little. A
# similarity of 1 counts as 1: it takes two like items to move it halfway. Chosen by hand.
_DAMPING = 2.0
# For presence: how many own items an item's popularity counts for. Chosen by hand.
_POPULARITY = 1.0
# For presence: the least mean similarity whose logarithm is taken. Chosen for safety.
_LEAST = 1e-9
# How many standard errors of its noise a number must have to be believed. The usual two.
_DOUBT = 2.0
# Squares are at least this share of their mean, so that no similarity divides by almost nothing.
# Chosen for safety.
_LEAST_SQUARE = 1e-3


class CosinePredictor(PairPredictor):
    """For ratings: G + M_i + b + sum s_ij y_j/(sum |s_ij| + 2), y without level and bias.

    For presence: the mean over own items of s_ij, with popularity as one more, as a logarithm.
    s_ij = P_ij/sqrt(max(Q_i, phi) max(Q_j, phi)), phi two standard errors of the squares' noise,
    shrunk to 0 where P cannot be distinguished from noise.
    """

    name: ClassVar[str] = "cosine"

    def __init__(self, release: Release, *, order: Order = "best") -> None:
        super().__init__(release, order=order)
        self._matrix = np.empty((0, 0), np.float32)
        if len(self._head):
            self._matrix = _similarities(release)

    def _add(
        self, tasks: Ints, targets: npt.NDArray[np.int32], people: People, y: Floats, parts: Floats
    ) -> None:
        values = people.values if self._model.presence else y
        add_pairs(
            tasks, targets, people.starts, people.items, values, self._positions,
            self._matrix, self._matrix, parts,
        )  # fmt: skip

    def _combine(self, base: Floats, bias: Floats, counts: Ints, parts: Floats) -> Floats:
        if self._model.presence:
            return self._logarithm(base, parts[..., 0], counts)
        return np.asarray(base + bias + parts[..., 0] / (parts[..., 1] + _DAMPING))

    def _logarithm(self, base: Floats, total: Floats, counts: Ints | int) -> Floats:
        mean = np.maximum(total, 0.0) + _POPULARITY * probability(base)
        return np.asarray(np.log(np.maximum(mean / (counts + _POPULARITY), _LEAST)))

    def _similarities(self, item: int) -> Floats:
        """Cosines of the release's products; 0 outside the head."""
        every = np.arange(len(self.catalog), dtype=np.int32)
        return self._between(self._matrix, np.array([item], np.int32), every)[:, 0]

    def _contributions(
        self, own: OwnRatings, items: npt.NDArray[np.int32]
    ) -> tuple[Floats, Floats]:
        """Of ratings as for `knn`; of presence, the change shared out by similarity."""
        like = self._between(self._matrix, own.items, items)
        base = self._model.baseline[items]
        if self._model.presence:
            moved = self._logarithm(base, like.sum(axis=1), len(own))
            moved = moved - self._logarithm(base, np.zeros(len(items)), 0)
            share = np.maximum(like, 0.0)
            # Where nothing is similar, the score falls: what is known is spread over more items.
            share[share.sum(axis=1) == 0] = 1.0
            whole = np.maximum(share.sum(axis=1, keepdims=True), 1e-30)
            return np.zeros(len(own)), moved[:, None] * share / whole
        weights = like / (np.abs(like).sum(axis=1, keepdims=True) + _DAMPING)
        residuals = self._model.residuals(own.items, own.values)
        shares = self._model.bias_shares(own)
        beyond = weights - shares * weights.sum(axis=1, keepdims=True)
        return shares * residuals, beyond * residuals


def _similarities(release: Release) -> npt.NDArray[np.float32]:
    """P_ij / (root_i root_j), drawn to 0 within two standard errors of the noise; 0 for i = j."""
    parameters = release.parameters
    squares = release.arrays["squares"].astype(np.float64)
    floor = max(_DOUBT * parameters["square_noise"], _LEAST_SQUARE * float(squares.mean()), 1e-9)
    roots = np.sqrt(np.maximum(squares, floor))
    matrix = unpack(release.arrays["products"], np.float32)
    for i in range(len(matrix)):
        found = matrix[i] / (roots[i] * roots)
        doubt = _DOUBT * parameters["product_noise"] / (roots[i] * roots)
        believed = np.abs(found) > doubt
        found[~believed] = 0.0
        found[believed] *= 1 - (doubt[believed] / found[believed]) ** 2
        matrix[i] = found
    np.fill_diagonal(matrix, 0.0)
    return matrix
