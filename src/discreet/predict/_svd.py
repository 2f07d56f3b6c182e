"""Ridge regression on the released factors: the default predictor."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, OwnRatings
from discreet.predict._people import People
from discreet.predict._predictor import Floats, Model, Order, Predictor
from discreet.release import Release

# Pairs of a person and an item whose factors are in memory at once: 2^16 rows of 20 factors in
# float64 take 10 MiB. Chosen by hand; it does not change results.
_PAIRS_AT_ONCE = 1 << 16
# People whose systems are built together: enough to spread the cost of numpy's calls, few enough
# that 165 ratings each at rank 20 take 2 MiB. Chosen by hand; it does not change results.
_PEOPLE_AT_ONCE = 64


class SvdPredictor(Predictor):
    """The posterior mean under the release's model (see `Model`).

    The bias is one more factor, the same sqrt(user_variance) for every item, so that with
    F_j = [sqrt(user_variance), factors_j] and s_j the noise of item j the posterior of z has the
    precision A = I + sum_j F_j F_j^T / s_j and the mean A^-1 sum_j F_j x_j / s_j.
    """

    name: ClassVar[str] = "svd"

    def __init__(self, release: Release, *, order: Order = "best") -> None:
        super().__init__(release, order=order)
        self._model = model = Model.of(release)
        bias = np.full((len(model.factors), 1), np.sqrt(model.bias_variance), np.float32)
        self._factors = np.hstack([bias, model.factors])
        self._baseline = model.baseline.astype(np.float32)

    def _posterior(self, own: OwnRatings) -> tuple[Floats, Floats]:
        """The precision A of a person's z, and F_j x_j / s_j in a column for each own rating."""
        rows = self._factors[own.items].astype(np.float64)
        scaled = rows.T / self._model.noise[own.items]
        precision: Floats = scaled @ rows + np.eye(rows.shape[1])
        return precision, scaled * self._model.residuals(own.items, own.values)

    def _tastes(self, people: People) -> Floats:
        """The posterior mean of z, one row per person.

        People with about as many ratings are worked on together, shorter lists filled up with rows
        of zeros, which add nothing to A.
        """
        counts = np.diff(people.starts)
        residuals = self._model.residuals(people.items, people.values)
        tastes = np.zeros((len(people), self._factors.shape[1]))
        rated = np.argsort(counts, kind="stable")[np.count_nonzero(counts == 0) :]
        for begin in range(0, len(rated), _PEOPLE_AT_ONCE):
            batch = rated[begin : begin + _PEOPLE_AT_ONCE]
            column = np.arange(counts[batch].max())
            inside = column < counts[batch, None]
            place = np.where(inside, people.starts[batch, None] + column, 0)
            items = people.items[place]
            rows = self._factors[items] * inside[..., None].astype(np.float64)
            scaled = (rows / self._model.noise[items][..., None]).transpose(0, 2, 1)
            precision = scaled @ rows + np.eye(rows.shape[2])
            evidence = scaled @ residuals[place][..., None]
            tastes[batch] = _solve(precision, evidence)[..., 0]
        return tastes

    def _pairs(
        self, people: People, rows: npt.NDArray[np.int64], items: npt.NDArray[np.int32]
    ) -> Floats:
        tastes, found = self._tastes(people), self._model.baseline[items]
        for begin in range(0, len(rows), _PAIRS_AT_ONCE):
            part = slice(begin, begin + _PAIRS_AT_ONCE)
            found[part] += np.einsum("pf,pf->p", tastes[rows[part]], self._factors[items[part]])
        return found

    def _scores(self, people: People) -> npt.NDArray[np.float32]:
        scores: npt.NDArray[np.float32] = self._tastes(people).astype(np.float32) @ self._factors.T
        scores += self._baseline
        return scores

    def _contributions(
        self, own: OwnRatings, items: npt.NDArray[np.int32]
    ) -> tuple[Floats, Floats]:
        """F_i A^-1 F_j x_j / s_j: the score is linear in the residuals x."""
        precision, evidence = self._posterior(own)
        targets = self._factors[items].astype(np.float64)
        moved = _solve(precision, evidence)
        bias = np.sqrt(self._model.bias_variance) * moved[0]
        return bias, targets[:, 1:] @ moved[1:]


class PosteriorPredictor(SvdPredictor):
    """The same posterior mean, for releases of method "refined".

    There the rows of factors have an uncertainty of their own, and an uncertain item counts less.
    """

    name: ClassVar[str] = "posterior"


def _solve(precision: Floats, evidence: Floats) -> Floats:
    """A^-1 of the evidence; A is I and more, so only factors beyond any use make it singular."""
    try:
        return np.asarray(np.linalg.solve(precision, evidence))
    except np.linalg.LinAlgError:
        raise InputError("the release's factors are too large to be used") from None
