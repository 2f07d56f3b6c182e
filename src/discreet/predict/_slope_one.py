"""Slope One: own ratings, each moved by how differently people rate the two items on average."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from discreet.domain import OwnRatings
from discreet.predict._pairs import PairPredictor, add_pairs
from discreet.predict._people import People
from discreet.predict._predictor import Floats, Ints, Order
from discreet.release import Release, unpack

# How much a pair's sum varies at least by who happened to rate, in variances of a rating per unit
# of weight. Chosen by hand, well below 1, so that it only guards against estimates near 0.
_LEAST_SAMPLING = 0.1


class SlopeOnePredictor(PairPredictor):
    """G + M_i + b + the mean over own items j of s_ij - (M_i - M_j), weighted by co-raters.

    With M and b left out that is Slope One, the mean of r_j + s_ij. Written like this, a pair of
    which little is known can be held back to what the two items' levels say.
    """

    name: ClassVar[str] = "slope-one"

    def __init__(self, release: Release, *, order: Order = "best") -> None:
        super().__init__(release, order=order)
        self._weights = self._moved = np.empty((0, 0), np.float32)
        if len(self._head):
            levels = self._model.baseline[self._head]
            self._weights = np.maximum(unpack(release.arrays["pair_weights"], np.float32), 0)
            np.fill_diagonal(self._weights, 0.0)  # no item is its own pair
            self._moved = _moved(release, levels)

    def _add(
        self, tasks: Ints, targets: npt.NDArray[np.int32], people: People, y: Floats, parts: Floats
    ) -> None:
        add_pairs(
            tasks, targets, people.starts, people.items, np.ones_like(y), self._positions,
            self._moved, self._weights, parts,
        )  # fmt: skip

    def _combine(self, base: Floats, bias: Floats, _: Ints, parts: Floats) -> Floats:
        # The kernel looks up own item minus target, which is the wrong way round.
        return np.asarray(base + bias - parts[..., 0] / (parts[..., 1] + 1e-30))

    def _contributions(
        self, own: OwnRatings, items: npt.NDArray[np.int32]
    ) -> tuple[Floats, Floats]:
        """Its share of the bias, and of the mean over pairs."""
        bias = self._model.bias_shares(own) * self._model.residuals(own.items, own.values)
        weights = self._between(self._weights, own.items, items).sum(axis=1, keepdims=True)
        return bias, self._between(self._moved, own.items, items) / (weights + 1e-30)


def _moved(release: Release, levels: Floats) -> npt.NDArray[np.float32]:
    """W_ij times how far a pair's mean difference is from that of the items' levels, shrunk.

    With e = D - N (M_i - M_j), whose noise has variance a + b (M_i - M_j)^2 and whose sampling
    c N, and pairs that scatter with variance v, the best linear guess is v N e/(v N^2 + c N +
    noise). Antisymmetric: row minus column.
    """
    parameters, size = release.parameters, len(levels)
    a, b = parameters["difference_noise"] ** 2, parameters["pair_noise"] ** 2
    matrix = unpack(release.arrays["differences"], np.float32)
    counts = unpack(release.arrays["pair_weights"], np.float32)
    # Sums over pairs of y, y N, N, N^2 and N^3, y being e^2 less what noise adds.
    sums = np.zeros(5)
    for i in range(size - 1):
        off = levels[i] - levels[i + 1 :]
        e = matrix[i, i + 1 :] - counts[i, i + 1 :] * off
        y, n = e * e - (a + b * off * off), np.maximum(counts[i, i + 1 :].astype(np.float64), 0)
        sums += [y.sum(), y @ n, n.sum(), n @ n, (n * n) @ n]
    c, v = _variances(sums, _LEAST_SAMPLING * parameters["rating_variance"])
    for i in range(size):
        off = levels[i] - levels[i:]
        n = np.maximum(counts[i, i:].astype(np.float64), 0)
        e = matrix[i, i:] - counts[i, i:] * off
        known = v * n * n + c * n + a + b * off * off + 1e-30
        matrix[i, i:] = n * (v * n * e / known)
        matrix[i:, i] = -matrix[i, i:]
        matrix[i, i] = 0.0
    return matrix


def _variances(sums: Floats, least: float) -> tuple[float, float]:
    """What e^2 is beyond its noise, as c N + v N^2: by who happened to rate, and by the pair.

    Two moments for two unknowns, c never below `least` and v never below 0.
    """
    y, yn, n, n2, n3 = sums
    determinant = n * n3 - n2 * n2
    c = (y * n3 - yn * n2) / determinant if determinant > 1e-9 * n * n3 else least
    c = max(c, least)
    return c, max((yn - c * n2) / max(n3, 1e-30), 0.0)
