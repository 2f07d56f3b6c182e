"""What one person adds to the refinement, rating by rating."""

from __future__ import annotations

import numba as nb
import numpy as np

from discreet.measure.user_votes import scale_of

# Grid units in rows of length 1: fine enough for what a million people add up to in 64 bits.
ROW_GRID = 1 << 30
# Grid units in moments of length 1; they need less, since their noise is larger.
MOMENT_GRID = 1 << 24
# Somebody with the square of this many ratings has a whole share of the users' moments.
MOST_ROOT = 22.0
# Ratings whose rows are computed side by side: as many as `_squares` has sums.
_LANES = 8
# Vectors are made this much shorter than 1: more than rounding can lengthen them (PROOF.md).
_SAFE = 1 - 2.0**-30
# Tastes that are not numbers, or longer than this, count as none.
_LONGEST = 1e100


@nb.njit(cache=True, nogil=True)
def add_rating_rows(starts, items, y, directions, reach, damping, rows, moments):  # type: ignore[no-untyped-def]
    """Add y_j z_(-j) to the rows of the items, (lambda - sqrt c0) z z^T to the moments.

    `y` is in units of the clamp. Returns the sum of lambda - sqrt c0 on the moments' grid.
    """
    k = directions.shape[1]
    total, lengths = np.empty(k), np.int64(0)
    left = np.zeros((_LANES, k))
    for user in range(len(starts) - 1):
        begin, end = starts[user], starts[user + 1]
        if begin == end:
            continue
        total[:] = 0.0
        square = damping
        for place in range(begin, end):
            item, own = items[place], y[place]
            square += own * own
            for f in range(k):
                total[f] += directions[item, f] * own
        scale = 1 / np.sqrt(square)
        for first in range(begin, end, _LANES):
            many = min(_LANES, end - first)
            for n in range(many):
                item, own = items[first + n], y[first + n]
                for f in range(k):
                    left[n, f] = total[f] - directions[item, f] * own
            squares = _squares(left)
            for n in range(many):
                item, own = items[first + n], y[first + n]
                length = np.sqrt(squares[n]) * scale
                factor = own * scale / max(length, reach) * ROW_GRID
                for f in range(k):
                    rows[item, f] += np.int64(np.rint(left[n, f] * factor))
        weight = np.sqrt(square) - np.sqrt(damping)
        lengths += np.int64(np.rint(weight * MOMENT_GRID))
        _add_moments(total, scale, reach, weight, moments)
    return lengths


@nb.njit(cache=True, nogil=True, inline="always")
def _squares(left):  # type: ignore[no-untyped-def]
    """The squared length of each of _LANES rows, each added up in the order of its entries.

    Side by side: one alone would wait for every addition before the next.
    """
    a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for at in range(left.shape[1]):
        a += left[0, at] * left[0, at]
        b += left[1, at] * left[1, at]
        c += left[2, at] * left[2, at]
        d += left[3, at] * left[3, at]
        e += left[4, at] * left[4, at]
        f += left[5, at] * left[5, at]
        g += left[6, at] * left[6, at]
        h += left[7, at] * left[7, at]
    return a, b, c, d, e, f, g, h


@nb.njit(cache=True, nogil=True)
def _add_moments(total, scale, reach, weight, moments) -> None:  # type: ignore[no-untyped-def]
    square = 0.0
    for f in range(len(total)):
        square += total[f] * total[f]
    cut = scale / max(np.sqrt(square) * scale, reach)
    place = 0
    for f in range(len(total)):
        for g in range(f, len(total)):
            value = weight * (total[f] * cut) * (total[g] * cut)
            moments[place] += np.int64(np.rint(value * MOMENT_GRID))
            place += 1


@nb.njit(cache=True, nogil=True)
def add_user_rows(  # type: ignore[no-untyped-def]
    starts, items, x, y, factors, precisions, attention, l1, floor, reach, rows, moments
):
    """Add a_j y_j w z_(-j) to the rows of the items, a share of z z^T to the moments.

    z_(-j) is the posterior mean of a person's tastes without rating j, cut off at `reach` and
    divided by it; the first factor is the person's level, and no taste. Returns the sums of
    ||e|| w, at most 1/floor each, and of the shares.
    """
    k = factors.shape[1]
    z = np.empty(k)
    scales, shares = np.int64(0), np.int64(0)
    for user in range(len(starts) - 1):
        begin, end = starts[user], starts[user + 1]
        if begin == end:
            continue
        own = items[begin:end]
        w = scale_of(own, y[begin:end], attention, l1, floor) * ROW_GRID
        if w == 0:
            continue
        V, mean = _posterior(own, x[begin:end], factors, precisions)
        count = float(end - begin)
        size = count if l1 else np.sqrt(count)
        scales += np.int64(min(w * size, _SAFE * ROW_GRID / floor))
        for place in range(begin, end):
            item = items[place]
            _leave_out(V, mean, factors[item], x[place], precisions[item], z)
            length = _length(z, l1)
            if not length < _LONGEST:
                continue
            cut = y[place] * attention[item] * w * _SAFE / max(length, reach)
            for f in range(1, k):
                rows[item, f - 1] += np.int64(z[f] * cut)
        shares += _add_user_moments(mean, count, reach, l1, moments)
    return scales, shares


@nb.njit(cache=True, nogil=True)
def _posterior(own, x, factors, precisions):  # type: ignore[no-untyped-def]
    """Covariance and mean of the factors' coefficients, N(0, I) before the ratings."""
    k = factors.shape[1]
    A, b = np.eye(k), np.zeros(k)
    for place in range(len(own)):
        precision = precisions[own[place]]
        row = factors[own[place]]
        for f in range(k):
            scaled = row[f] * precision
            b[f] += scaled * x[place]
            for g in range(f + 1):
                A[f, g] += scaled * row[g]
    V, mean = _inverse(A), np.zeros(k)
    for f in range(k):
        for g in range(k):
            mean[f] += V[f, g] * b[g]
    return V, mean


@nb.njit(cache=True, nogil=True)
def _inverse(A):  # type: ignore[no-untyped-def]
    """Of I plus a sum of squares, from its lower triangle, by Cholesky.

    Without rounding no pivot is below 1; with it, none may be: a library's inverse would refuse
    some matrices, and whether it does would tell something about their owner.
    """
    k = len(A)
    L, R, V = np.zeros((k, k)), np.zeros((k, k)), np.zeros((k, k))
    for f in range(k):
        for g in range(f + 1):
            left = A[f, g]
            for h in range(g):
                left -= L[f, h] * L[g, h]
            L[f, g] = np.sqrt(max(left, 1.0)) if f == g else left / L[g, g]
    for g in range(k):  # R = L^-1
        R[g, g] = 1 / L[g, g]
        for f in range(g + 1, k):
            for h in range(g, f):
                R[f, g] -= L[f, h] * R[h, g]
            R[f, g] /= L[f, f]
    for f in range(k):
        for g in range(f + 1):
            for h in range(f, k):
                V[f, g] += R[h, f] * R[h, g]
            V[g, f] = V[f, g]
    return V


@nb.njit(cache=True, nogil=True)
def _leave_out(V, mean, row, x, precision, z) -> None:  # type: ignore[no-untyped-def]
    """The mean without one rating, by the rank-one formula."""
    explained, expected = 0.0, 0.0
    z[:] = 0.0
    # V is symmetric to the last bit. By its rows, so that several f are computed at a time.
    for g in range(len(row)):
        for f in range(len(row)):
            z[f] += V[g, f] * row[g]
    for f in range(len(row)):
        explained += row[f] * z[f]
        expected += row[f] * mean[f]
    gain = (x - expected) * precision / max(1 - explained * precision, 1e-9)
    for f in range(len(row)):
        z[f] = mean[f] - z[f] * gain


@nb.njit(cache=True, nogil=True)
def _length(z, l1):  # type: ignore[no-untyped-def]
    """Of the tastes: all but the first."""
    length = 0.0
    for f in range(1, len(z)):
        length += abs(z[f]) if l1 else z[f] * z[f]
    return length if l1 else np.sqrt(length)


@nb.njit(cache=True, nogil=True)
def _add_user_moments(mean, count, reach, l1, moments):  # type: ignore[no-untyped-def]
    """Add share z z^T, people who rate more having a larger share; returns the share."""
    share = min(np.sqrt(count) / MOST_ROOT, 1.0) * _SAFE
    length = _length(mean, l1)
    if not length < _LONGEST:
        return np.int64(0)
    cut = 1 / max(length, reach)
    place = 0
    for f in range(1, len(mean)):
        for g in range(f, len(mean)):
            value = share * (mean[f] * cut) * (mean[g] * cut)
            moments[place] += np.int64(value * MOMENT_GRID)
            place += 1
    return np.int64(share * MOMENT_GRID)


@nb.njit(cache=True, nogil=True)
def add_sketches(starts, items, y, directions, sketch) -> None:  # type: ignore[no-untyped-def]
    """Add v v^T, |v| = 1, v along the sum of y_j F_j; entries beside the diagonal times root 2."""
    k = directions.shape[1]
    total = np.empty(k)
    beside = np.sqrt(2.0)
    for user in range(len(starts) - 1):
        total[:] = 0.0
        for place in range(starts[user], starts[user + 1]):
            for f in range(k):
                total[f] += directions[items[place], f] * y[place]
        square = 0.0
        for f in range(k):
            square += total[f] * total[f]
        # Others are nothing: their squares leave the floats' range, or they are no numbers.
        if not 1e-200 < square < 1e200:
            continue
        place = 0
        for f in range(k):
            for g in range(f, k):
                value = total[f] * total[g] / square * (1.0 if f == g else beside)
                sketch[place] += np.int64(value * _SAFE * MOMENT_GRID)
                place += 1
