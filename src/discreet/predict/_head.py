"""The released covariance matrix of the head, averaged for the nearest-neighbour kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from discreet.predict._threads import one_at_a_time
from discreet.release import Release, packed_bases, packed_size

Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

_RIDGE = 0.5


@dataclass(frozen=True, eq=False, repr=False)
class Head:
    """Packed matrices over some items.

    Attributes:
        positions: Each item's place in the head, -1 outside it.
        bases: With i <= j, entry (i, j) is at `bases[i] + j`.
        averages: The average covariance, shrunk.
        weights: The sums of weights that the averages rest on.
        ridge: What is added to the neighbours' variances.
    """

    positions: Ints
    bases: Ints
    averages: Singles
    weights: Singles
    ridge: float

    @property
    def size(self) -> int:
        """How many items it has."""
        return len(self.bases)

    @classmethod
    def of(cls, release: Release, ridge: float | None, shrink: float) -> Head:
        """The head of a release; empty if it has none."""
        head = release.arrays.get("head", np.empty(0, np.int32)).astype(np.int64)
        positions = np.full(len(release.catalog), -1)
        positions[head] = np.arange(len(head))
        bases = packed_bases(len(head))
        if ridge is None:
            ridge = _RIDGE * (release.scale.range / 4) ** 2
        averages = weights = np.empty(0, np.float32)
        if len(head):
            weights = release.arrays["weights"].astype(np.float32, copy=False)
            with one_at_a_time:
                averages = _averages(release, weights, bases, shrink)
        return cls(positions, bases, averages, weights, float(ridge))


def _averages(release: Release, weights: Singles, bases: Ints, shrink: float) -> Singles:
    """The average covariance, drawn to its mean as far as noise and thin data advise.

    Say the true averages scatter around their mean m with variance v, and Cov = average Wgt + noise
    of variance s^2. The best linear guess is m + (Cov - m Wgt) Wgt / (Wgt^2 + s^2 / v). Shrinking
    to the average adds beta Wgt to the denominator, with beta in mean weights; without noise both
    together are (Cov + beta m) / (Wgt + beta). The diagonal has a mean of its own; where it was
    not published, the variance of a rating takes its place.
    """
    parameters = release.parameters
    covariance = release.arrays["covariance"].astype(np.float32, copy=False)
    means = triangle_means(covariance, bases), triangle_means(weights, bases)
    centre = [cov / max(weight, 1e-9) for cov, weight in zip(*means, strict=True)]
    scatter = triangle_scatter(covariance, weights, bases, centre[0])
    noise = parameters["covariance_noise"] ** 2 + (centre[0] * parameters["weights_noise"]) ** 2
    entries = max(packed_size(len(bases) - 1), 1)
    variance = max(scatter[0] - entries * noise, 0.0) / max(scatter[1], 1e-30)
    floor = noise / variance if variance > 0 else np.inf if noise > 0 else 0.0
    terms = np.array([[centre[0], shrink * means[1][0], floor], [centre[1], 0.0, 0.0]])
    terms[1, 1:] = shrink * means[1][1], 2 * floor
    averages = np.empty(len(weights), np.float32)
    fill_averages(covariance, weights, bases, np.maximum(terms, [-np.inf, 0, 0]), averages)
    averages *= np.float32(parameters.get("covariance_scale", 1.0))
    if means[1][1] <= 0:
        places = np.arange(len(bases))
        averages[bases + places] = parameters["rating_variance"]
    return averages


@numba.njit(cache=True, parallel=True)
def triangle_means(packed: Singles, bases: Ints) -> tuple[float, float]:
    """The means of a packed matrix off its diagonal and on it."""
    side = len(bases)
    rest, diagonal = np.zeros(side), np.zeros(side)
    for i in numba.prange(side):
        diagonal[i] = packed[bases[i] + i]
        total = 0.0
        for j in range(i + 1, side):
            total += packed[bases[i] + j]
        rest[i] = total
    return rest.sum() / max(side * (side - 1) / 2, 1), diagonal.sum() / max(side, 1)


@numba.njit(cache=True, parallel=True)
def triangle_scatter(
    covariance: Singles, weights: Singles, bases: Ints, mean: float
) -> tuple[float, float]:
    """The sums of (Cov - mean Wgt)^2 and of Wgt^2 off the diagonal."""
    side = len(bases)
    scatter, squares = np.zeros(side), np.zeros(side)
    for i in numba.prange(side):
        first, second = 0.0, 0.0
        for j in range(i + 1, side):
            at = bases[i] + j
            off = covariance[at] - mean * weights[at]
            first += off * off
            second += weights[at] * weights[at]
        scatter[i], squares[i] = first, second
    return scatter.sum(), squares.sum()


@numba.njit(cache=True, parallel=True)
def fill_averages(
    covariance: Singles,
    weights: Singles,
    bases: Ints,
    terms: npt.NDArray[np.float64],
    averages: Singles,
) -> None:
    """Fill in m + (Cov - m Wgt) Wgt / (Wgt^2 + beta Wgt + floor).

    `terms` are (m, beta, floor) off the diagonal, then on it. Noise can take a weight below 0,
    which no sum of weights is: it counts as 0.
    """
    side = len(bases)
    for i in numba.prange(side):
        for j in range(i, side):
            at = bases[i] + j
            mean, beta, floor = terms[1 if i == j else 0]
            weight = max(weights[at], 0.0)
            whole = weight * (weight + beta) + floor + 1e-30
            averages[at] = mean + (covariance[at] - mean * weight) * weight / whole
