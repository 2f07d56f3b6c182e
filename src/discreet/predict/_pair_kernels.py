"""Sums over the pairs of a target and a person's own items, for many targets at once.

Tasks are as in `_knn_bulk`: runs of one person's targets.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from discreet.predict._knn_bulk import in_head
from discreet.predict._knn_kernels import entry

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


@numba.njit(cache=True, parallel=True)
def difference_parts(
    tasks: Ints,
    targets: npt.NDArray[np.int32],
    starts: Ints,
    items: npt.NDArray[np.int32],
    positions: Ints,
    bases: Ints,
    differences: Singles,
    weights: Singles,
    parts: Floats,
) -> None:
    """Put the weighted mean of the differences to the own items into `parts`, in the head.

    `differences` is antisymmetric, its upper triangle stored: row minus column.
    """
    for task in numba.prange(len(tasks)):
        person, begin, end, out = tasks[task]
        first, last = starts[person], starts[person + 1]
        own, _ = in_head(items[first:last], np.zeros(last - first), positions)
        for t in range(begin, end):
            target = positions[targets[t]]
            if target < 0:
                continue
            total, weight = 0.0, 1e-30
            for j in range(len(own)):
                if own[j] != target:
                    at = entry(bases, target, own[j])
                    sign = 1.0 if target < own[j] else -1.0
                    total += sign * weights[at] * differences[at]
                    weight += weights[at]
            parts[out + t - begin] = total / weight


@numba.njit(cache=True, parallel=True)
def product_parts(
    tasks: Ints,
    targets: npt.NDArray[np.int32],
    starts: Ints,
    items: npt.NDArray[np.int32],
    values: Floats,
    positions: Ints,
    bases: Ints,
    similarities: Singles,
    parts: Floats,
) -> None:
    """Put the sums of similarity times own value, and of |similarity|, into rows of `parts`."""
    for task in numba.prange(len(tasks)):
        person, begin, end, out = tasks[task]
        first, last = starts[person], starts[person + 1]
        own, rated = in_head(items[first:last], values[first:last], positions)
        for t in range(begin, end):
            target = positions[targets[t]]
            if target < 0:
                continue
            total, size = 0.0, 0.0
            for j in range(len(own)):
                if own[j] != target:
                    like = similarities[entry(bases, target, own[j])]
                    total += like * rated[j]
                    size += abs(like)
            parts[out + t - begin, 0] = total
            parts[out + t - begin, 1] = size


@numba.njit(cache=True, parallel=True)
def fill_differences(
    sums: Singles, counts: Singles, bases: Ints, levels: Floats, terms: Floats, out: Singles
) -> None:
    """Fill in how far a pair's mean difference is from that of the items' levels, shrunk.

    With e = D - N (M_i - M_j), whose noise has variance a + b (M_i - M_j)^2 and whose sampling
    c N, and pairs that scatter with variance v: v N e/(v N^2 + c N + noise). `terms` is a, b, c, v.
    """
    a, b, c, v = terms
    side = len(bases)
    for i in numba.prange(side):
        for j in range(i + 1, side):
            at, off = bases[i] + j, levels[i] - levels[j]
            count = max(counts[at], 0.0)
            known = v * count * count + c * count + a + b * off * off + 1e-30
            out[at] = v * count * (sums[at] - counts[at] * off) / known


@numba.njit(cache=True, parallel=True)
def difference_scatter(
    sums: Singles, counts: Singles, bases: Ints, levels: Floats, terms: Floats
) -> Floats:
    """Sums over pairs of y, y N, N, N^2 and N^3, y being e^2 less what noise adds."""
    a, b = terms[0], terms[1]
    side = len(bases)
    found = np.zeros((side, 5))
    for i in numba.prange(side):
        for j in range(i + 1, side):
            at, off = bases[i] + j, levels[i] - levels[j]
            e = sums[at] - counts[at] * off
            y, count = e * e - (a + b * off * off), max(counts[at], 0.0)
            found[i, 0] += y
            found[i, 1] += y * count
            found[i, 2] += count
            found[i, 3] += count * count
            found[i, 4] += count * count * count
    total: Floats = found.sum(axis=0)
    return total


@numba.njit(cache=True, parallel=True)
def fill_cosines(products: Singles, roots: Floats, noise: float, bases: Ints, out: Singles) -> None:
    """Fill in P_ij / (root_i root_j), drawn to 0 within two standard errors of the noise."""
    side = len(bases)
    for i in numba.prange(side):
        for j in range(i + 1, side):
            at = bases[i] + j
            found = products[at] / (roots[i] * roots[j])
            doubt = 2 * noise / (roots[i] * roots[j])
            if abs(found) > doubt:
                out[at] = found * (1 - (doubt / found) ** 2)
            else:
                out[at] = 0.0
