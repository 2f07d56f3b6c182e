"""Cosine: items that go together, for ratings and for presence."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from discreet.domain import OwnRatings
from discreet.predict._pair_kernels import fill_cosines, product_parts
from discreet.predict._pairs import PairPredictor
from discreet.predict._people import People
from discreet.predict._predictor import Floats, chance
from discreet.predict._threads import one_at_a_time
from discreet.release import Release

_DAMPING = 2.0
_UNKNOWN = 1.0
"""How many own items popularity counts for, of presence."""
_FARTHEST = 1e-9


class CosinePredictor(PairPredictor):
    """Of ratings: G + M_i + b + sum s_ij y_j/(sum |s_ij| + 2), y without level and bias.

    Of presence: the mean over own items of s_ij, with popularity as one more, as a logarithm.
    s_ij = P_ij/sqrt(max(Q_i, phi) max(Q_j, phi)), phi two standard errors of the squares' noise,
    and 0 where P cannot be told from noise.
    """

    name: ClassVar[str] = "cosine"

    def __init__(self, release: Release, *, popularity: float = 0.0) -> None:
        super().__init__(release, popularity=popularity)
        self._similarities = np.empty(0, np.float32)
        if len(self._items):
            parameters, arrays = release.parameters, release.arrays
            squares = arrays["squares"].astype(np.float64)
            floor = max(2 * parameters["square_noise"], 1e-3 * float(squares.mean()), 1e-9)
            roots = np.sqrt(np.maximum(squares, floor))
            products = arrays["products"].astype(np.float32, copy=False)
            self._similarities = np.zeros_like(products)
            noise = parameters["product_noise"]
            with one_at_a_time:
                fill_cosines(products, roots, noise, self._bases, self._similarities)

    def _parts(
        self,
        people: People,
        tasks: npt.NDArray[np.int64],
        targets: npt.NDArray[np.int32],
        size: int,
    ) -> Floats:
        """The sum of similarity times value, and the sum of |similarity|."""
        parts = np.zeros((size, 2))
        if len(self._items):
            values = people.values
            if not self.release.scale.presence:
                _, values = self._model.biases(people)
            product_parts(
                tasks, targets, people.starts, people.items, values, self._positions,
                self._bases, self._similarities, parts,
            )  # fmt: skip
        return parts

    def _combine(self, base: Floats, bias: Floats, own: Floats, parts: Floats) -> Floats:
        if self.release.scale.presence:
            return self._logarithm(base, parts[..., 0], own)
        return base + bias + parts[..., 0] / (parts[..., 1] + _DAMPING)

    def _logarithm(self, base: Floats, parts: Floats, own: Floats) -> Floats:
        mean = (np.maximum(parts, 0.0) + _UNKNOWN * chance(base)) / (own + _UNKNOWN)
        return np.asarray(np.log(np.maximum(mean, _FARTHEST)))

    def _contributions(self, own: OwnRatings, items: npt.NDArray[np.int32]) -> Floats:
        """Of ratings as for `knn`; of presence, the change shared out by similarity."""
        like = np.zeros((len(items), len(own)))
        if len(self._items):
            like = self._between(self._similarities, own, items)
        base = self._model.baseline[items]
        if self.release.scale.presence:
            nothing = np.zeros(len(items))
            moved = self._logarithm(base, like.sum(axis=1), nothing + len(own))
            moved = moved - self._logarithm(base, nothing, nothing)
            share = np.maximum(like, 0.0) + 1e-12
            return np.asarray(moved[:, None] * share / share.sum(axis=1, keepdims=True))
        weights = like / (np.abs(like).sum(axis=1, keepdims=True) + _DAMPING)
        residuals = self._model.residuals(People.one(own))
        shares = self._model.bias_shares(own) * (1 - weights.sum(axis=1, keepdims=True))
        return np.asarray((weights + shares) * residuals)
