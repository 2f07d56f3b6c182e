"""Slope One: own ratings, each moved by how differently people rate the two items on average."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from discreet.domain import OwnRatings
from discreet.predict._pair_kernels import difference_parts, difference_scatter, fill_differences
from discreet.predict._pairs import PairPredictor
from discreet.predict._people import People
from discreet.predict._predictor import Floats
from discreet.predict._threads import one_at_a_time
from discreet.release import Release

_SAMPLING = 0.1
"""A pair's sum varies by who happened to rate, for each unit of weight, by at least so many
variances of a rating."""


def _variances(scatter: Floats, least: float) -> tuple[float, float]:
    """What e^2 is beyond its noise, as c N + v N^2: by who happened to rate, and by the pair.

    Two moments for two unknowns, c never below `least` and v never below 0.
    """
    y, yn, n, n2, n3 = scatter
    determinant = n * n3 - n2 * n2
    c = (y * n3 - yn * n2) / determinant if determinant > 1e-9 * n * n3 else least
    c = max(c, least)
    return c, max((yn - c * n2) / max(n3, 1e-30), 0.0)


class SlopeOnePredictor(PairPredictor):
    """G + M_i + b + the mean over own items j of s_ij - (M_i - M_j), weighted by co-raters.

    With M and b left out that is Slope One, the mean of r_j + s_ij. Written like this, a pair of
    which little is known can be held back to what the two items' levels say.
    """

    name: ClassVar[str] = "slope-one"

    def __init__(self, release: Release, *, popularity: float = 0.0) -> None:
        super().__init__(release, popularity=popularity)
        size = len(self._items)
        self._weights = np.empty(0, np.float32)
        self._differences = np.empty(0, np.float32)
        if size:
            parameters, arrays = release.parameters, release.arrays
            sums = arrays["differences"].astype(np.float32, copy=False)
            counts = arrays["pair_weights"].astype(np.float32, copy=False)
            levels = self._model.baseline[self._items]
            noises = parameters["difference_noise"] ** 2, parameters["pair_noise"] ** 2
            terms = np.array([*noises, 0.0, 0.0])
            self._differences = np.zeros_like(sums)
            with one_at_a_time:
                scatter = difference_scatter(sums, counts, self._bases, levels, terms)
                terms[2:] = _variances(scatter, _SAMPLING * parameters["rating_variance"])
                fill_differences(sums, counts, self._bases, levels, terms, self._differences)
            self._weights = np.maximum(counts, 0.0)

    def _parts(
        self,
        people: People,
        tasks: npt.NDArray[np.int64],
        targets: npt.NDArray[np.int32],
        size: int,
    ) -> Floats:
        parts = np.zeros((size, 1))
        if len(self._items):
            difference_parts(
                tasks, targets, people.starts, people.items, self._positions, self._bases,
                self._differences, self._weights, parts[:, 0],
            )  # fmt: skip
        return parts

    def _combine(self, base: Floats, bias: Floats, _: Floats, parts: Floats) -> Floats:
        return base + bias + parts[..., 0]

    def _contributions(self, own: OwnRatings, items: npt.NDArray[np.int32]) -> Floats:
        """Its share of the bias, and of the mean over pairs."""
        residuals = self._model.residuals(People.one(own))
        found: Floats = np.tile(self._model.bias_shares(own) * residuals, (len(items), 1))
        if len(self._items):
            weights = self._between(self._weights, own, items)
            moved = self._between(self._differences, own, items)
            before = self._positions[items][:, None] > self._positions[own.items][None, :]
            moved[before] *= -1
            found += weights * moved / (weights.sum(axis=1, keepdims=True) + 1e-30)
        return found
