"""Sums of similarities for single answers, in exact integers. See PROOF.md."""

from __future__ import annotations

import math

import numba as nb
import numpy as np

SLOPE_ONE, COSINE, PAPER_SLOPE_ONE, PAPER_COSINE = range(4)


@nb.njit(cache=True, nogil=True)
def transpose(starts, items, values, count):  # type: ignore[no-untyped-def]
    """The same records by item: where each item's begin, who rated it, how."""
    begins = np.zeros(count + 1, np.int64)
    for item in items:
        begins[item + 1] += 1
    begins = np.cumsum(begins)
    place = begins[:-1].copy()
    raters = np.empty(len(items), np.int64)
    given = np.empty(len(items), np.int64)
    for user in range(len(starts) - 1):
        for record in range(starts[user], starts[user + 1]):
            at = place[items[record]]
            raters[at], given[at] = user, values[record]
            place[items[record]] = at + 1
    return begins, raters, given


@nb.njit(cache=True, nogil=True)
def own_sums(starts, values, people):  # type: ignore[no-untyped-def]
    """How much each of these people gave in all."""
    sums = np.zeros(len(people), np.int64)
    for row in range(len(people)):
        for record in range(starts[people[row]], starts[people[row] + 1]):
            sums[row] += values[record]
    return sums


@nb.njit(cache=True, nogil=True, inline="always")
def _similarity(rule, difference, raters, first, second, least, grid):  # type: ignore[no-untyped-def]
    """One s_jk on the grid, from sum and count of co-raters and the two items' own counts."""
    if rule == SLOPE_ONE:
        return difference * grid // max(raters, least)
    if rule == PAPER_SLOPE_ONE:
        return difference * grid // raters if raters > least else 0
    if rule == COSINE:
        first, second = max(first, least), max(second, least)
    if raters == 0:
        return 0
    # The product of the counts may have 64 bits, so it is taken in floats: PROOF.md has the error.
    return np.int64(np.rint(grid * raters / math.sqrt(np.float64(first) * np.float64(second))))


@nb.njit(cache=True, nogil=True)
def _compare(second, begins, raters, given, starts, items, values, differences, counts) -> None:  # type: ignore[no-untyped-def]
    """For every item j and k = `second`: the sum of r_j - r_k over co-raters, and how many."""
    differences[:] = 0
    counts[:] = 0
    for at in range(begins[second], begins[second + 1]):
        user = raters[at]
        for record in range(starts[user], starts[user + 1]):
            differences[items[record]] += values[record] - given[at]
            counts[items[record]] += 1


@nb.njit(cache=True, nogil=True)
def add_similarities(  # type: ignore[no-untyped-def]
    starts, items, values, by_item, people, asked, rule, least, grid, leave_out, totals
) -> None:
    """totals[p, t] += sum over the items k that people[p] rated of s_jk, j = asked[t], k != j.

    With `leave_out` 1 everybody's similarities are those of all others: their own row is taken out
    of every sum and count; with 0 it stays.
    """
    begins, raters, given = by_item
    size = begins[1:] - begins[:-1]
    row_of = np.full(len(starts) - 1, -1)
    row_of[people] = np.arange(len(people))
    place_of = np.full(len(size), -1)
    place_of[asked] = np.arange(len(asked))
    differences, counts = np.empty(len(size), np.int64), np.empty(len(size), np.int64)
    column = np.empty(len(asked), np.int64)
    for k in range(len(size)):
        alone = size[k] - leave_out
        ready = False
        for at in range(begins[k], begins[k + 1]):
            row = row_of[raters[at]]
            if row < 0:
                continue
            if not ready:
                _compare(k, begins, raters, given, starts, items, values, differences, counts)
                for t in range(len(asked)):
                    j = asked[t]
                    s = _similarity(rule, differences[j], counts[j], size[j], alone, least, grid)
                    column[t] = 0 if j == k else s
                ready = True
            for t in range(len(asked)):
                totals[row, t] += column[t]
            # Where the person rated j as well, the pair's sum and counts lose their row.
            for record in range(starts[raters[at]], starts[raters[at] + 1] if leave_out else 0):
                j = items[record]
                t = place_of[j]
                if t >= 0 and j != k:
                    rest = differences[j] - (values[record] - given[at])
                    s = _similarity(rule, rest, counts[j] - 1, size[j] - 1, alone, least, grid)
                    totals[row, t] += s - column[t]


@nb.njit(cache=True, nogil=True)
def fill_similarities(  # type: ignore[no-untyped-def]
    starts, items, values, by_item, people, others, rule, least, grid, leave_out, table
) -> None:
    """table[a, j] = s_jk of k = others[a] and every item j, as people[a]'s answers use it."""
    begins, raters, given = by_item
    size = begins[1:] - begins[:-1]
    own = np.empty(len(size), np.int64)
    differences, counts = np.empty(len(size), np.int64), np.empty(len(size), np.int64)
    for a in range(len(people)):
        k = others[a]
        _compare(k, begins, raters, given, starts, items, values, differences, counts)
        own[:] = 0
        if leave_out:
            mine = range(starts[people[a]], starts[people[a] + 1])
            for record in mine:
                own[items[record]] = 1
            if own[k]:
                value = np.int64(0)
                for record in mine:
                    if items[record] == k:
                        value = values[record]
                for record in mine:
                    differences[items[record]] -= values[record] - value
                    counts[items[record]] -= 1
        for j in range(len(size)):
            table[a, j] = _similarity(
                rule, differences[j], counts[j], size[j] - own[j], size[k] - own[k], least, grid
            )
        table[a, k] = 0
