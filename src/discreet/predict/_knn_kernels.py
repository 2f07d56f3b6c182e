"""Jointly derived weights of the nearest own ratings from a covariance matrix, target by target.

For a target i and its neighbours N among the own items the weights solve (A + ridge I) w = a, where
A is the covariance between neighbours and a that between each of them and the target.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from discreet.predict._linear_algebra import factorize, solve

Singles = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

PIVOT = 0.05
"""A neighbour is left out if those before it explain all but this share of its variance."""
_LAST = 2**31 - 1
_OCTAVES = 6 << 23
"""Where the search for the edge begins: 1/64 of the largest similarity, in a float's bits."""


class Scratch(NamedTuple):
    """Room for one thread's work on one target; `chosen` and `a` hold the result."""

    similarities: Singles
    keys: Ints
    chosen: Ints
    """Places of the neighbours among the own items, the most similar first."""
    A: Floats
    a: Floats
    """The neighbours' weights."""
    least: Floats


@numba.njit(cache=True)
def make_scratch(own: int, neighbours: int) -> Scratch:
    """Room for targets of a person with so many own ratings."""
    return Scratch(
        np.empty(own, np.float32),
        np.empty(neighbours, np.int64),
        np.empty(neighbours, np.int64),
        np.empty((neighbours, neighbours)),
        np.empty(neighbours),
        np.empty(neighbours),
    )


@numba.njit(cache=True)
def edge_of(bits: npt.NDArray[np.int32], wanted: int) -> np.int32:
    """The largest edge, 0 or above, that at least `wanted` of the bits lie above; 0 if fewer do.

    Halves the range and counts, which takes no branches, until exactly `wanted` lie above.
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


@numba.njit(cache=True)
def nearest(similarities: Singles, keys: Ints, chosen: Ints) -> int:
    """Fill `chosen` with the places of the largest positive similarities, the largest first.

    Returns how many there are. The earlier place wins among equals. A positive float's bits rise
    with its value, so that bits and place together make one integer to sort by; `keys` holds them.
    """
    bits = similarities.view(np.int32)
    count, most = 0, len(keys)
    edge = edge_of(bits, most)
    for place in range(len(bits)):
        if bits[place] <= edge:
            continue
        key = (np.int64(bits[place]) << 32) + (_LAST - place)
        if count < most:
            count += 1
        elif key < keys[most - 1]:
            continue
        spot = count - 1
        while spot > 0 and keys[spot - 1] < key:
            keys[spot] = keys[spot - 1]
            spot -= 1
        keys[spot] = key
    for spot in range(count):
        chosen[spot] = _LAST - (keys[spot] & _LAST)
    return count


@numba.njit(cache=True)
def solve_system(scratch: Scratch, count: int, ridge: float) -> None:
    """Replace a by the neighbours' weights; A is used up."""
    A, least = scratch.A, scratch.least
    for p in range(count):
        A[p, p] += ridge
        least[p] = PIVOT * max(A[p, p], 0.0)
    factorize(A, count, least)
    solve(A, count, scratch.a)


@numba.njit(cache=True)
def entry(bases: Ints, i: int, j: int) -> int:
    """Where entry (i, j) of a symmetric matrix is in its packed upper triangle."""
    place: int = bases[min(i, j)] + max(i, j)
    return place


@numba.njit(cache=True)
def matrix_weights(
    target: int,
    own: Ints,
    bases: Ints,
    averages: Singles,
    weights: Singles,
    ridge: float,
    scratch: Scratch,
) -> int:
    """Neighbours and their weights from an average covariance; similarity is the entry's weight.

    `target` and `own` are places in the packed matrices.
    """
    for j in range(len(own)):
        weight = weights[entry(bases, target, own[j])]
        scratch.similarities[j] = weight if own[j] != target else np.float32(0.0)
    count: int = nearest(scratch.similarities[: len(own)], scratch.keys, scratch.chosen)
    A, chosen = scratch.A, scratch.chosen
    for p in range(count):
        i = own[chosen[p]]
        scratch.a[p] = averages[entry(bases, target, i)]
        A[p, p] = averages[bases[i] + i]
        for q in range(p):
            A[q, p] = averages[entry(bases, i, own[chosen[q]])]
    solve_system(scratch, count, ridge)
    return count
