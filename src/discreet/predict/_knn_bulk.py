"""Nearest neighbours for many targets at once, in tasks: runs of one person's targets.

A task (person, begin, end, out) asks for the targets `begin` to `end` and puts the results from
`out` on, so that threads never share a person's preparations or a place in the result.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from discreet.predict._knn_kernels import (
    Scratch,
    make_scratch,
    matrix_weights,
)
from discreet.predict._knn_lanes import LANES, Lanes, fill_lane, make_lanes, prepare, solve_lanes

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_RUN = 512
"""How many targets a task has at most."""
_CHUNK = 1024


def pair_tasks(rows: Ints) -> npt.NDArray[np.int64]:
    """The tasks for targets in order of their persons' rows."""
    begins = np.flatnonzero(np.diff(rows, prepend=-1))
    counts = np.diff(begins, append=len(rows))
    person, begin, end = _cut(rows[begins], begins, counts)
    return np.column_stack([person, begin, end, begin])


def score_tasks(people: int, items: int) -> npt.NDArray[np.int64]:
    """The tasks for every item as target of every person."""
    persons = np.arange(people)
    person, begin, end = _cut(persons, np.zeros_like(persons), np.full(people, items))
    return np.column_stack([person, begin, end, person * items + begin])


def chunk_tasks(tasks: npt.NDArray[np.int64]) -> Ints:
    """Where to cut the tasks into chunks of about a thousand targets, for work in lanes."""
    done = np.cumsum(tasks[:, 2] - tasks[:, 1])
    begins = np.flatnonzero(np.diff(done // _CHUNK, prepend=-1))
    return np.append(begins, len(tasks)).astype(np.int64)


def _cut(persons: Ints, begins: Ints, counts: Ints) -> tuple[Ints, Ints, Ints]:
    """Cut each person's run of targets into tasks."""
    parts = -(-counts // _RUN)
    which = np.repeat(np.arange(len(persons)), parts)
    part = np.arange(len(which)) - np.repeat(np.cumsum(parts) - parts, parts)
    begin = begins[which] + part * _RUN
    return persons[which], begin, np.minimum(begin + _RUN, (begins + counts)[which])


@numba.njit(cache=True, parallel=True)
def biases(starts: Ints, residuals: Floats, precisions: Floats, prior: float) -> Floats:
    """The posterior mean of each person's bias: sum x_j / s_j over prior precision + sum 1 / s_j.

    `residuals` and `precisions` lie beside the ratings.
    """
    people = len(starts) - 1
    means = np.empty(people)
    for person in numba.prange(people):
        total, precision = 0.0, prior
        for j in range(starts[person], starts[person + 1]):
            total += residuals[j] * precisions[j]
            precision += precisions[j]
        means[person] = total / precision
    return means


@numba.njit(cache=True, parallel=True)
def matrix_parts(
    tasks: npt.NDArray[np.int64],
    targets: npt.NDArray[np.int32],
    starts: Ints,
    items: npt.NDArray[np.int32],
    centred: Floats,
    positions: Ints,
    bases: Ints,
    averages: npt.NDArray[np.float32],
    weights: npt.NDArray[np.float32],
    neighbours: int,
    ridge: float,
    parts: Floats,
) -> None:
    """Put w y into `parts` for every target in the head; the others stay as they are.

    `positions` are the items' places in the head, -1 outside it; `centred` are the own ratings
    without baseline and bias.
    """
    for task in numba.prange(len(tasks)):
        person, begin, end, out = tasks[task]
        first, last = starts[person], starts[person + 1]
        own, values = in_head(items[first:last], centred[first:last], positions)
        scratch = make_scratch(len(own), neighbours)
        for t in range(begin, end):
            target = positions[targets[t]]
            if target >= 0:
                count = matrix_weights(target, own, bases, averages, weights, ridge, scratch)
                parts[out + t - begin] = _weighted(values, scratch, count)


@numba.njit(cache=True, parallel=True)
def factor_parts(
    chunks: Ints,
    tasks: npt.NDArray[np.int64],
    targets: npt.NDArray[np.int32],
    starts: Ints,
    items: npt.NDArray[np.int32],
    centred: Floats,
    positions: Ints,
    factors: npt.NDArray[np.float32],
    noise: Floats,
    neighbours: int,
    ridge: float,
    parts: Floats,
) -> None:
    """Put w y into `parts` for every target outside the head.

    `chunks` is where each thread's next piece of work begins among the tasks.
    """
    for chunk in numba.prange(len(chunks) - 1):
        lanes = make_lanes(neighbours, factors.shape[1])
        values = np.zeros((LANES, neighbours))
        places = np.empty(LANES, np.int64)
        filled = 0
        for task in range(chunks[chunk], chunks[chunk + 1]):
            person, begin, end, out = tasks[task]
            first, last = starts[person], starts[person + 1]
            own = prepare(factors, noise, items[first:last])
            for t in range(begin, end):
                if positions[targets[t]] >= 0:
                    continue
                fill_lane(own, targets[t], factors, ridge, lanes, filled)
                for n in range(lanes.counts[filled]):
                    values[filled, n] = centred[first + lanes.chosen[filled, n]]
                places[filled] = out + t - begin
                filled += 1
                if filled == LANES:
                    _empty_lanes(lanes, values, places, filled, parts)
                    filled = 0
        _empty_lanes(lanes, values, places, filled, parts)


@numba.njit(cache=True)
def _empty_lanes(lanes: Lanes, values: Floats, places: Ints, filled: int, parts: Floats) -> None:
    """Solve what stands in the lanes, and put w y where it belongs."""
    solve_lanes(lanes)
    for lane in range(filled):
        total = 0.0
        for n in range(lanes.counts[lane]):
            total += lanes.a[n, lane] * values[lane, n]
        parts[places[lane]] = total


@numba.njit(cache=True)
def in_head(own: npt.NDArray[np.int32], centred: Floats, positions: Ints) -> tuple[Ints, Floats]:
    """The own ratings of head items: places in the head, and values."""
    places, values = np.empty(len(own), np.int64), np.empty(len(own))
    size = 0
    for j in range(len(own)):
        if positions[own[j]] >= 0:
            places[size], values[size] = positions[own[j]], centred[j]
            size += 1
    return places[:size], values[:size]


@numba.njit(cache=True)
def _weighted(values: Floats, scratch: Scratch, count: int) -> float:
    total = 0.0
    for p in range(count):
        total += scratch.a[p] * values[scratch.chosen[p]]
    return total
