"""The model of a rating that a release stands for.

r_j = G + M_j + b + F_j z + e_j, with the person's bias b ~ N(0, user_variance), tastes z ~ N(0, I)
and e_j ~ N(0, rating_variance + what remains uncertain of M_j and F_j). Given a person's ratings,
b and z have a posterior, and its mean is the prediction.

Of presence alone, G + M_j is the logarithm of the part of people who have item j, about, there is
no bias, and an own record says F_j z = 1 + e_j: it draws tastes towards those of the people who
have that item.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import OwnRatings
from discreet.predict._knn_bulk import biases
from discreet.predict._people import People
from discreet.release import Release


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A release's numbers as predictors use them.

    Attributes:
        baseline: G + M_j: what somebody unknown is expected to rate.
        noise: The variance of e_j.
        factors: F, a row an item, then columns of zeros up to a multiple of four: they change
            nothing, and let kernels work four at a time.
        bias_variance: The prior variance of b.
        presence: Whether records say only that they are there.
    """

    baseline: npt.NDArray[np.float64]
    noise: npt.NDArray[np.float64]
    factors: npt.NDArray[np.float32]
    bias_variance: float
    presence: bool = False

    @classmethod
    def of(cls, release: Release) -> Model:
        """The model of a release; one of item pairs has no factors."""
        arrays, parameters = release.arrays, release.parameters
        uncertain = arrays["item_effect_variances"].astype(np.float64)
        return cls(
            baseline=parameters["global_mean"] + arrays["item_effects"].astype(np.float64),
            noise=parameters["rating_variance"] + uncertain + arrays.get("factor_variances", 0.0),
            factors=padded(arrays.get("factors", np.empty((len(uncertain), 0)))),
            bias_variance=float(parameters["user_variance"]),
            presence=release.scale.presence,
        )

    def residuals(self, people: People) -> npt.NDArray[np.float64]:
        """x_j = r_j - G - M_j beside every rating; 1 beside every presence."""
        if self.presence:
            return people.values.copy()
        return people.values - self.baseline[people.items]

    def biases(self, people: People) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """The posterior mean of each person's b alone, and x_j - b beside every rating."""
        residuals = self.residuals(people)
        told = (people.starts, residuals, 1 / self.noise[people.items], self._prior)
        means: npt.NDArray[np.float64] = biases(*told)
        return means, residuals - np.repeat(means, np.diff(people.starts))

    def bias_shares(self, own: OwnRatings) -> npt.NDArray[np.float64]:
        """How much each own residual weighs in b."""
        precisions = 1 / self.noise[own.items]
        return np.asarray(precisions / (self._prior + precisions.sum()))

    @property
    def _prior(self) -> float:
        return 1 / max(self.bias_variance, 1e-12)


def padded(columns: npt.NDArray[np.generic]) -> npt.NDArray[np.float32]:
    """The same columns as float32, then columns of zeros up to a multiple of four."""
    rows, count = columns.shape
    wide = np.zeros((rows, -(-count // 4) * 4), np.float32)
    wide[:, :count] = columns
    return wide
