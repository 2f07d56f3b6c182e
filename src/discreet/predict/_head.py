"""The released covariance matrix of the head, averaged for the nearest-neighbour kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from discreet.release import Release

Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

_RIDGE = 0.3


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
        places = np.arange(len(head))
        bases = places * (2 * len(head) - places - 1) // 2
        if ridge is None:
            ridge = _RIDGE * (release.scale.range / 4) ** 2
        averages = weights = np.empty(0, np.float32)
        if len(head):
            weights = release.arrays["weights"].astype(np.float32, copy=False)
            averages = average(release.arrays["covariance"], weights, bases, shrink)
        return cls(positions, bases, averages, weights, float(ridge))


def average(
    covariance: npt.NDArray[np.generic], weights: Singles, bases: Ints, shrink: float
) -> Singles:
    """(Cov + shrink mean Cov) / (Wgt + shrink mean Wgt); the diagonal has means of its own."""
    added = []
    for cov, weight in zip(
        triangle_means(covariance, bases), triangle_means(weights, bases), strict=True
    ):
        added += [shrink * cov, max(shrink * weight, 1e-9)]
    averages = np.empty(len(weights), np.float32)
    fill_averages(covariance, weights, bases, np.array(added), averages)
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
def fill_averages(
    covariance: Singles,
    weights: Singles,
    bases: Ints,
    added: npt.NDArray[np.float64],
    averages: Singles,
) -> None:
    """Divide, after adding (covariance, weight) off the diagonal and on it.

    Noise can take a weight below 0, which no sum of weights is: it counts as 0.
    """
    side = len(bases)
    for i in numba.prange(side):
        for j in range(i, side):
            at = bases[i] + j
            which = 2 if i == j else 0
            weight = max(weights[at], 0.0) + added[which + 1]
            averages[at] = (covariance[at] + added[which]) / weight
