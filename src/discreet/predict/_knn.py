"""Nearest neighbours with jointly derived weights, after Bell and Koren (2007).

For a target i and its neighbours N among the own items the weights solve (A + ridge I) w = a, where
A is the covariance between neighbours and a that between each of them and the target.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from numba import njit

from discreet.domain import InputError, OwnRatings
from discreet.predict._bulk import BulkPredictor
from discreet.predict._people import People
from discreet.predict._predictor import Floats, Ints, Order
from discreet.release import Release, unpack

Singles = npt.NDArray[np.float32]

# Added to the neighbours' variances in a covariance matrix, in squared ratings of a five-star
# scale. Chosen by hand: about the variance of one person's rating around what is expected of it.
_RIDGE = 0.5
# A neighbour is left out if those before it explain all but this share of its variance: solving
# on would divide by what is mostly noise. Chosen for safety.
_LEAST_PIVOT = 0.05
# Where the search for the nearest begins: 1/64 of the largest similarity, as a difference of the
# bits of two float32 (six steps of the exponent, which begins at bit 23). Tuned on made-up people.
_OCTAVES = 6 << 23


class KnnPredictor(BulkPredictor):
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
        order: See `Predictor`.
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
        order: Order = "best",
    ) -> None:
        super().__init__(release, order=order)
        if release.scale.presence:
            raise InputError("predictor 'knn' needs ratings; for presence use 'posterior'")
        if neighbours < 1:
            raise InputError(f"neighbours are at least 1, not {neighbours}")
        if not (ridge is None or ridge >= 0) or not shrink >= 0:
            raise InputError("ridge and shrink are 0 or above")
        self._neighbours = int(neighbours)
        self._weights = self._averages = np.empty((0, 0), np.float32)
        if len(self._head):
            self._weights = unpack(release.arrays["weights"], np.float32)
            self._averages = _averages(release, self._weights, shrink)
        # Columns of zeros change nothing, and let the kernel work eight at a time.
        rank = self._model.factors.shape[1]
        self._factors = np.pad(self._model.factors, ((0, 0), (0, -rank % 8)))
        unit = (release.scale.range / 4) ** 2
        self._ridges = np.array([_RIDGE * unit, 0.0] if ridge is None else [ridge, ridge])

    def _add(
        self, tasks: Ints, targets: npt.NDArray[np.int32], people: People, y: Floats, parts: Floats
    ) -> None:
        self._weigh(tasks, targets, people, y, parts, np.empty((0, 0)))

    def _weigh(
        self,
        tasks: Ints,
        targets: npt.NDArray[np.int32],
        people: People,
        y: Floats,
        parts: Floats,
        whole: Floats,
    ) -> None:
        longest = int(np.diff(people.starts).max(initial=1))
        add_neighbours(
            tasks, targets, people.starts, people.items, y, self._positions, self._averages,
            self._weights, self._factors, self._model.noise,
            max(min(self._neighbours, longest), 1), self._ridges, parts, whole,
        )  # fmt: skip

    def _combine(self, base: Floats, bias: Floats, _: Ints, parts: Floats) -> Floats:
        return np.asarray(base + bias + parts[..., 0])

    def _contributions(
        self, own: OwnRatings, items: npt.NDArray[np.int32]
    ) -> tuple[Floats, Floats]:
        """With b = sum c_j x_j, b + sum w_j (x_j - b) is the sum of (c_j (1 - sum w) + w_j) x_j."""
        weights, parts = np.zeros((len(items), len(own))), np.empty((len(items), 1))
        tasks, nothing = np.array([[0, 0, len(items), 0]]), np.zeros(len(own))
        self._weigh(tasks, items, People.one(own), nothing, parts, weights)
        shares = self._model.bias_shares(own)
        residuals = self._model.residuals(own.items, own.values)
        beyond = weights - shares * weights.sum(axis=1, keepdims=True)
        return shares * residuals, beyond * residuals


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


@njit(cache=True, nogil=True, fastmath=True)
def add_neighbours(
    tasks: Any,
    targets: Any,
    starts: Any,
    items: Any,
    y: Any,
    positions: Any,
    averages: Any,
    head_weights: Any,
    factors: Any,
    noise: Any,
    most: int,
    ridges: Any,
    parts: Any,
    whole: Any,
) -> None:
    """Put w y into `parts` for every target, and w into the rows of `whole`, unless it is empty.

    In the head the covariance of two items is their average, and similarity the weight that it
    rests on. Elsewhere the covariance is F_i F_j, the variance of a rating F_j F_j + s_j, and
    similarity how much of the target's variance a rating explains: (F_i F_j)^2 / (F_j F_j + s_j).
    """
    near, A, a = np.empty(most, np.int64), np.empty((most, most)), np.empty(most)
    chosen = np.empty((most, factors.shape[1]), np.float32)
    for task in range(len(tasks)):
        person, begin, end, out = tasks[task]
        first, last = starts[person], starts[person + 1]
        own, count = items[first:last], last - first
        rows = factors[own]
        columns, spreads = np.ascontiguousarray(rows.T), np.empty(count, np.float32)
        for j in range(count):
            spreads[j] = noise[own[j]] + _dot(rows[j], rows[j])
        similar, covariance = np.empty(count, np.float32), np.empty(count, np.float32)
        for t in range(begin, end):
            item, target = targets[t], positions[targets[t]]
            if target >= 0:
                for j in range(count):
                    place = positions[own[j]]
                    fits = place >= 0 and place != target  # no item is its own neighbour
                    similar[j] = head_weights[target, place] if fits else np.float32(0.0)
            else:
                covariance[:] = 0
                for f in range(len(columns)):
                    _add_scaled(columns[f], factors[item, f], covariance)
                for j in range(count):
                    similar[j] = covariance[j] * covariance[j] / spreads[j]
                    if own[j] == item:
                        similar[j] = 0
            size = nearest(similar, near)
            if target >= 0:
                for p in range(size):
                    place = positions[own[near[p]]]
                    a[p] = averages[target, place]
                    for q in range(p, size):
                        A[p, q] = averages[place, positions[own[near[q]]]]
                    A[p, p] += ridges[0]
            else:
                for p in range(size):
                    a[p] = covariance[near[p]]
                    # Number by number: assigning rows takes numba two seconds more to compile.
                    for f in range(len(columns)):
                        chosen[p, f] = rows[near[p], f]
                for p in range(size):
                    for q in range(p + 1, size):
                        A[p, q] = _dot(chosen[p], chosen[q])
                    A[p, p] = spreads[near[p]] + ridges[1]
            solve(A, a, size)
            total = 0.0
            for p in range(size):
                total += a[p] * y[first + near[p]]
            parts[out + t - begin, 0] = total
            if len(whole):
                for p in range(size):
                    whole[t, near[p]] = a[p]


@njit(cache=True, nogil=True, fastmath=True)
def _dot(x: Any, y: Any) -> np.float32:
    total = np.float32(0.0)
    for f in range(len(x)):
        total += x[f] * y[f]
    return total


@njit(cache=True, nogil=True, fastmath=True)
def _add_scaled(column: Any, factor: np.float32, out: Any) -> None:
    for j in range(len(out)):
        out[j] += factor * column[j]


@njit(cache=True, nogil=True)
def nearest(similar: Singles, near: Ints) -> int:
    """Fill in the places of the largest positive numbers, the largest first; returns how many.

    The earlier place wins among equals.
    """
    bits = similar.view(np.int32)
    edge = _edge(bits, len(near))
    count, most = 0, len(near)
    for place in range(len(bits)):
        if bits[place] <= edge or (count == most and bits[place] <= bits[near[most - 1]]):
            continue
        spot = min(count, most - 1)
        while spot > 0 and bits[near[spot - 1]] < bits[place]:
            near[spot] = near[spot - 1]
            spot -= 1
        near[spot] = place
        count = min(count + 1, most)
    return count


@njit(cache=True, nogil=True)
def _edge(bits: npt.NDArray[np.int32], wanted: int) -> np.int32:
    """The largest edge, 0 or above, that at least `wanted` of the bits lie above; 0 if fewer do.

    A positive float's bits rise with its value, so integers are compared. Halving the range and
    counting has no branches per number, which makes a choice of 20 of 150 twice as fast.
    """
    high = np.int32(0)
    for place in range(len(bits)):
        high = max(high, bits[place])
    low, middle = np.int32(0), max(np.int32(0), np.int32(high - _OCTAVES))
    while high - low > 0:
        above = np.int32(0)
        for place in range(len(bits)):
            above += np.int32(bits[place] > middle)
        if above == wanted:
            return middle
        if above > wanted:
            if low == middle:
                return low
            low = middle
        else:
            high = middle
        middle = np.int32(low + (high - low) // 2)
    return low


@njit(cache=True, nogil=True, fastmath=True)
def solve(A: Floats, b: Floats, size: int) -> None:
    """Replace b by the solution of A x = b, with A's upper triangle; A is used up.

    A = R^T R by Cholesky. A pivot that is not above its share of the variance (noise can make A
    indefinite) is given up: its unknown is 0 and the other equations go on without it.
    """
    least = np.empty(size)
    for p in range(size):
        least[p] = _LEAST_PIVOT * max(A[p, p], 0.0)
    for p in range(size):
        inverse = 1.0 / np.sqrt(A[p, p]) if A[p, p] > least[p] else 0.0
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
