"""Nearest neighbours with jointly derived weights, after Bell and Koren (2007).

For a target i and its neighbours N among the own items the weights solve (A + ridge I) w = a, where
A is the covariance between neighbours and a that between each of them and the target.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from numba import njit

from discreet.domain import InputError, OwnRatings
from discreet.predict._model import Model
from discreet.predict._predictor import Floats, OneByOne
from discreet.release import Release, unpack

Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

# Added to the neighbours' variances in a covariance matrix, in squared ratings of a five-star
# scale. Chosen by hand: about the variance of one person's rating around what is expected of it.
_RIDGE = 0.5
# A neighbour is left out if those before it explain all but this share of its variance: solving
# on would divide by what is mostly noise. Chosen for safety.
_LEAST_PIVOT = 0.05
# Targets whose systems are in memory at once: 20 neighbours take 0.8 MiB of float64, which stays
# in the cache. Chosen by hand; it does not change results.
_TARGETS_AT_ONCE = 256


class KnnPredictor(OneByOne):
    """The person's bias, plus a weighted sum of the nearest own ratings.

    With y_j = x_j - b, the own ratings without baseline and (shrunk) bias, an item's score is
    G + M_i + b + sum_j w_j y_j over the own items most similar to it. Where the release has the
    covariance of a head of items, similarities and weights come from there, among own items of the
    head; for all other items they come from the factors.

    Args:
        release: A release of method "covariance" or "refined", of ratings.
        neighbours: How many own ratings are used at most.
        ridge: What is added to the variances of the neighbours, in squared ratings; by default
            0.5 on a five-star scale for the covariance matrix, and nothing with factors (where the
            noise of a rating is part of the variance already).
        popularity: See `Predictor`.
        shrink: How far averages of the matrix are drawn to their mean, besides what its noise
            advises: as if every entry had that many times the mean weight more, at the mean.
    """

    name: ClassVar[str] = "knn"

    def __init__(
        self,
        release: Release,
        *,
        neighbours: int = 20,
        ridge: float | None = None,
        shrink: float = 5.0,
        popularity: float = 0.0,
    ) -> None:
        super().__init__(release, popularity=popularity)
        if release.scale.presence:
            raise InputError("predictor 'knn' needs ratings; for presence use 'posterior'")
        if neighbours < 1:
            raise InputError(f"neighbours are at least 1, not {neighbours}")
        if not (ridge is None or ridge >= 0) or not shrink >= 0:
            raise InputError("ridge and shrink are 0 or above")
        self._neighbours = int(neighbours)
        self._model = Model.of(release)
        head = release.arrays.get("head", np.empty(0, np.int32)).astype(np.int64)
        self._positions = np.full(len(release.catalog), -1)
        self._positions[head] = np.arange(len(head))
        self._weights = self._averages = np.empty((0, 0), np.float32)
        if len(head):
            self._weights = unpack(release.arrays["weights"], np.float32)
            self._averages = _averages(release, self._weights, shrink)
        unit = (release.scale.range / 4) ** 2
        self._head_ridge = _RIDGE * unit if ridge is None else float(ridge)
        self._factor_ridge = 0.0 if ridge is None else float(ridge)

    def _one(self, own: OwnRatings, items: npt.NDArray[np.int32]) -> Floats:
        residuals = self._model.residuals(own.items, own.values)
        bias = float(self._model.bias_shares(own) @ residuals)
        found = self._model.baseline[items] + bias
        for block, near, weights in self._neighbours_of(own, items):
            found[block] += (weights * (residuals - bias)[near]).sum(axis=1)
        return found

    def _contributions(self, own: OwnRatings, items: npt.NDArray[np.int32]) -> Floats:
        """With b = sum c_j x_j, b + sum w_j (x_j - b) is the sum of (c_j (1 - sum w) + w_j) x_j."""
        whole = np.zeros((len(items), len(own)))
        for block, near, weights in self._neighbours_of(own, items):
            # Added, because places of 0 weight all point to the first rating.
            np.add.at(whole, (block[:, None], near), weights)
        share = self._model.bias_shares(own) * (1 - whole.sum(axis=1, keepdims=True))
        return np.asarray((whole + share) * self._model.residuals(own.items, own.values))

    def _neighbours_of(
        self, own: OwnRatings, items: npt.NDArray[np.int32]
    ) -> Iterator[tuple[Ints, Ints, Floats]]:
        """Blocks of targets with their neighbours, as places in the own ratings, and weights."""
        inside = self._positions[items] >= 0
        rated = np.flatnonzero(self._positions[own.items] >= 0)
        if len(rated):
            for block in _blocks(np.flatnonzero(inside)):
                near, weights = self._by_matrix(own.items[rated], items[block])
                yield block, rated[near], weights
        if len(own) and self._model.factors.shape[1]:
            for block in _blocks(np.flatnonzero(~inside)):
                yield block, *self._by_factors(own.items, items[block])

    def _by_matrix(
        self, own: npt.NDArray[np.int32], items: npt.NDArray[np.int32]
    ) -> tuple[Ints, Floats]:
        """From the head's matrix; an entry's similarity is the weight that it rests on."""
        targets, places = self._positions[items], self._positions[own]
        similar = self._weights[np.ix_(targets, places)]
        similar[targets[:, None] == places] = 0  # no item is its own neighbour
        near, counts = _nearest(similar, min(self._neighbours, len(own)))
        found = places[near]
        a = self._averages[targets[:, None], found]
        A = self._averages[found[:, :, None], found[:, None, :]]
        return near, _solve(A, a, counts, self._head_ridge)

    def _by_factors(
        self, own: npt.NDArray[np.int32], items: npt.NDArray[np.int32]
    ) -> tuple[Ints, Floats]:
        """From the factors; similarity is how much of the target's variance a rating explains.

        The covariance of two items is F_i F_j, the variance of a rating F_j F_j + s_j, and so the
        explained variance (F_i F_j)^2 / (F_j F_j + s_j).
        """
        F, noise = self._model.factors, self._model.noise[own].astype(np.float32)
        rows = F[own]
        covariance = F[items] @ rows.T
        similar = covariance**2 / ((rows**2).sum(axis=1) + noise)
        similar[items[:, None] == own] = 0
        near, counts = _nearest(similar, min(self._neighbours, len(own)))
        chosen = rows[near]
        A = chosen @ chosen.transpose(0, 2, 1)
        diagonal = np.arange(near.shape[1])
        A[:, diagonal, diagonal] += noise[near]
        a = np.take_along_axis(covariance, near, axis=1)
        return near, _solve(A, a, counts, self._factor_ridge)


def _blocks(where: Ints) -> Iterator[Ints]:
    for begin in range(0, len(where), _TARGETS_AT_ONCE):
        yield where[begin : begin + _TARGETS_AT_ONCE]


def _averages(release: Release, weights: Singles, shrink: float) -> Singles:
    """The average covariance, drawn to its mean as far as noise and thin data advise.

    Say the true averages scatter around their mean m with variance v, and Cov = average Wgt + noise
    of variance s^2. The best linear guess is m + (Cov - m Wgt) Wgt / (Wgt^2 + s^2 / v). Shrinking
    to the average adds beta Wgt to the denominator, with beta in mean weights; without noise both
    together are (Cov + beta m) / (Wgt + beta). The diagonal has a mean of its own and twice the
    noise; where it was not published, the variance of a rating takes its place.
    """
    parameters, size = release.parameters, len(weights)
    averages = unpack(release.arrays["covariance"], np.float32)
    pairs = max(size * (size - 1), 1)
    cov_mean, mean_weight = (
        (float(matrix.sum(dtype=np.float64)) - float(np.trace(matrix, dtype=np.float64))) / pairs
        for matrix in (averages, weights)
    )
    centre = cov_mean / max(mean_weight, 1e-9)
    scatter = squares = 0.0
    for row in range(size - 1):
        weight = weights[row, row + 1 :].astype(np.float64)
        off = averages[row, row + 1 :] - centre * weight
        scatter, squares = scatter + float(off @ off), squares + float(weight @ weight)
    noise = parameters["covariance_noise"] ** 2 + (centre * parameters["weights_noise"]) ** 2
    variance = max(scatter - pairs / 2 * noise, 0.0) / max(squares, 1e-30)
    floor = noise / variance if variance > 0 else np.inf if noise > 0 else 0.0
    own_cov, own_weight = (float(np.trace(matrix, dtype=np.float64)) / size
                           for matrix in (averages, weights))  # fmt: skip
    own_centre = own_cov / max(own_weight, 1e-9)
    on = _shrunk(np.diag(averages), np.diag(weights), own_centre, shrink * own_weight, 2 * floor)
    for row in range(size):
        averages[row] = _shrunk(averages[row], weights[row], centre, shrink * mean_weight, floor)
    scale = float(parameters.get("covariance_scale", 1.0))
    averages *= np.float32(scale)
    diagonal = np.arange(size)
    averages[diagonal, diagonal] = on * scale if own_weight > 0 else parameters["rating_variance"]
    return averages


def _shrunk(
    covariance: Singles, weights: Singles, mean: float, beta: float, floor: float
) -> Floats:
    """The guess m + (Cov - m Wgt) Wgt / (Wgt^2 + beta Wgt + floor) of `_averages`.

    Noise can take a weight below 0, which no sum of weights is: it counts as 0.
    """
    weight = np.maximum(weights.astype(np.float64), 0.0)
    whole = weight * (weight + max(beta, 0.0)) + floor + 1e-30
    return np.asarray(mean + (covariance - mean * weight) * weight / whole)


@njit(cache=True, nogil=True)
def _nearest(similar: Singles, most: int) -> tuple[Ints, Ints]:
    """The places of each row's largest positive numbers, the largest first, and how many.

    The earlier place wins among equals. Rows with fewer than `most` are filled up with 0.
    """
    near, counts = np.zeros((len(similar), most), np.int64), np.zeros(len(similar), np.int64)
    for row in range(len(similar)):
        values, chosen, count = similar[row], near[row], 0
        for place in range(len(values)):
            value = values[place]
            if value <= 0 or (count == most and value <= values[chosen[most - 1]]):
                continue
            spot = min(count, most - 1)
            while spot > 0 and values[chosen[spot - 1]] < value:
                chosen[spot] = chosen[spot - 1]
                spot -= 1
            chosen[spot] = place
            count = min(count + 1, most)
        counts[row] = count
    return near, counts


@njit(cache=True, nogil=True, fastmath=True)
def _solve(systems: Singles, sides: Singles, counts: Ints, ridge: float) -> Floats:
    """The solutions of (A + ridge I) w = a, one row per system, of which the first count rows hold.

    A = R^T R by Cholesky. A pivot that is not above its share of the variance (noise can make A
    indefinite) is given up: its weight is 0 and the other equations go on without it.
    """
    most = sides.shape[1]
    solved, A = np.zeros((len(sides), most)), np.empty((most, most))
    for row in range(len(sides)):
        size, b = counts[row], solved[row]
        for p in range(size):
            b[p] = sides[row, p]
            for c in range(p, size):
                A[p, c] = systems[row, p, c]
            A[p, p] += ridge
        for p in range(size):
            # What earlier pivots explain is subtracted by now: compare with the variance itself.
            least = _LEAST_PIVOT * max(systems[row, p, p] + ridge, 0.0)
            inverse = 1.0 / np.sqrt(A[p, p]) if A[p, p] > least else 0.0
            A[p, p] = inverse
            b[p] *= inverse
            for c in range(p + 1, size):
                A[p, c] *= inverse
                b[c] -= A[p, c] * b[p]
            for r in range(p + 1, size):
                factor = A[p, r]
                for c in range(r, size):
                    A[r, c] -= factor * A[p, c]
        for p in range(size - 1, -1, -1):
            total = b[p]
            for c in range(p + 1, size):
                total -= A[p, c] * b[c]
            b[p] = total * A[p, p]
    return solved
