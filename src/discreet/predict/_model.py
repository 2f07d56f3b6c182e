"""The model of a rating that a release stands for.

r_j = G + M_j + b + F_j z + e_j, with the person's bias b ~ N(0, user_variance), tastes z ~ N(0, I)
and e_j ~ N(0, rating_variance + the remaining uncertainty of M_j and F_j). Given a person's
ratings, b and z have a posterior, and its mean is the prediction.

For presence data, G + M_j is about the logarithm of the share of people who have item j, there is
no bias, and an own record says F_j z = 1 + e_j: it draws tastes towards those of the people who
have that item.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import OwnRatings
from discreet.predict._people import People
from discreet.release import Release

Floats = npt.NDArray[np.float64]

# Smallest prior variance of a bias, in squared ratings; chosen so that a release which says 0
# means "no bias" instead of a division by zero.
_LEAST_BIAS_VARIANCE = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A release's numbers as predictors use them.

    Attributes:
        baseline: G + M_j: what an unknown person is expected to rate.
        noise: The variance of e_j.
        factors: F, one row per item; no columns for releases of item pairs.
        bias_variance: The prior variance of b.
        presence: Whether records only say that they are there.
    """

    baseline: Floats
    noise: Floats
    factors: npt.NDArray[np.float32]
    bias_variance: float
    presence: bool

    @classmethod
    def of(cls, release: Release) -> Model:
        """The model of a release."""
        arrays, parameters = release.arrays, release.parameters
        uncertain = arrays["item_effect_variances"].astype(np.float64)
        return cls(
            baseline=parameters["global_mean"] + arrays["item_effects"].astype(np.float64),
            noise=parameters["rating_variance"] + uncertain + arrays.get("factor_variances", 0.0),
            factors=arrays.get("factors", np.empty((len(uncertain), 0))).astype(np.float32),
            bias_variance=float(parameters["user_variance"]),
            presence=release.scale.presence,
        )

    def residuals(self, items: npt.NDArray[np.int32], values: Floats) -> Floats:
        """x_j = r_j - G - M_j for every rating; 1 for every presence."""
        return values.copy() if self.presence else values - self.baseline[items]

    def biases(self, people: People) -> tuple[Floats, Floats]:
        """The posterior mean of each person's b (without tastes), and x_j - b for every rating.

        b = sum x_j / s_j over 1/user_variance + sum 1/s_j, s_j the noise of item j.
        """
        residuals, precisions = (
            self.residuals(people.items, people.values),
            self._precisions(people),
        )
        person = np.repeat(np.arange(len(people)), np.diff(people.starts))
        sums, weights = (
            np.bincount(person, each, len(people)) for each in (residuals * precisions, precisions)
        )
        means = sums / (self._prior + weights)
        return means, residuals - means[person]

    def bias_shares(self, own: OwnRatings) -> Floats:
        """How much each residual weighs in b."""
        precisions = self._precisions(own)
        return np.asarray(precisions / (self._prior + precisions.sum()))

    def _precisions(self, own: OwnRatings | People) -> Floats:
        return np.asarray(1 / self.noise[own.items])

    @property
    def _prior(self) -> float:
        return 1 / max(self.bias_variance, _LEAST_BIAS_VARIANCE)
