"""Ridge regression on the released factors: the default predictor."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from discreet.domain import OwnRatings
from discreet.predict._model import Model, padded
from discreet.predict._people import People
from discreet.predict._predictor import Floats, Predictor
from discreet.predict._svd_kernels import (
    add_scores,
    fold_in,
    fold_in_range,
    pair_products,
    posterior_system,
)
from discreet.release import Release


class SvdPredictor(Predictor):
    """The posterior mean under the release's model (see `Model`).

    The bias is one more factor, the same sqrt(user_variance) for every item, so that with
    F_j = [sqrt(user_variance), factors_j] and s_j the noise of item j the posterior of z has the
    precision A = I + sum_j F_j F_j^T / s_j and the mean A^-1 sum_j F_j x_j / s_j.
    """

    name: ClassVar[str] = "svd"

    def __init__(self, release: Release, *, popularity: float = 0.0) -> None:
        super().__init__(release, popularity=popularity)
        self._model = Model.of(release)
        bias = np.full((len(release.catalog), 1), np.sqrt(self._model.bias_variance))
        self._factors = padded(np.hstack([bias, release.arrays["factors"]]))
        self._precisions = 1 / self._model.noise
        self._baseline = self._model.baseline.astype(np.float32)

    def _tastes(self, people: People) -> Floats:
        residuals = self._model.residuals(people)
        tastes = np.empty((len(people), self._factors.shape[1]))
        told = (people.starts, people.items, residuals, self._factors, self._precisions, tastes)
        # Waking other threads costs more than one person's work, much more on a busy machine.
        if len(people) == 1:
            fold_in_range(0, 1, *told)
        else:
            fold_in(*told)
        return tastes

    def _pairs(
        self, people: People, rows: npt.NDArray[np.int64], items: npt.NDArray[np.int32]
    ) -> Floats:
        products: Floats = pair_products(self._tastes(people), self._factors, rows, items)
        return self._model.baseline[items] + products

    def _scores(self, people: People) -> npt.NDArray[np.float32]:
        tastes = self._tastes(people)
        if len(people) == 1:
            alone = self._model.baseline.copy()
            add_scores(tastes[0], self._factors, alone)
            return alone.astype(np.float32)[None]
        scores = tastes.astype(np.float32) @ self._factors.T
        scores += self._baseline
        return scores

    def _contributions(self, own: OwnRatings, items: npt.NDArray[np.int32]) -> Floats:
        """F_i A^-1 F_j x_j / s_j: the score is linear in the residuals x."""
        size = self._factors.shape[1]
        A, b = np.empty((size, size)), np.empty(size)
        residuals = self._model.residuals(People.one(own))
        posterior_system(own.items, residuals, self._factors, self._precisions, A, b)
        targets, rated = (self._factors[i].astype(np.float64) for i in (items, own.items))
        weighted = residuals * self._precisions[own.items]
        contributions: Floats = np.linalg.solve(A, targets.T).T @ rated.T * weighted
        return contributions


class PosteriorPredictor(SvdPredictor):
    """The same posterior mean, for releases of method "refined".

    There the rows of factors have an uncertainty of their own, and an uncertain item counts less.
    """

    name: ClassVar[str] = "posterior"
