"""How a series reads totals of earlier periods.

They were measured with other heads, other item levels or other directions of taste than this
period has. Everything here concerns released numbers, and so accuracy alone: noise is drawn, and
paid for, in the same way whatever the totals are then taken to mean.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.measure import Carry, Frame, head_places

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]
_Head = npt.NDArray[np.int32]

# Added to the squares of directions, as a part of their sum, before they are divided by. Small, so
# that it matters only for directions that are next to nothing. Chosen by hand.
_RIDGE = 1e-6
# Stands for 0 where it is divided by: below any number that occurs, and not 0.
_TINY = 1e-300


def carry_pairs(head: _Head, counts: _Floats) -> Carry:
    """Pairs of popular items: where one was not among them before, chance stands for the past.

    Chance is what popularity alone would have given: the product of two items' counts, times what
    the known pairs have in all over what they would have by that product.

    Args:
        head: The items, rising.
        counts: Of all items, so far.
    """
    places = head_places(head)

    def follow(total: _Floats, before: Frame) -> _Floats:
        counted = _grown(np.maximum(before["counts"], 0.0), len(counts))
        old = counted[before["head"]]
        products = (float(old.sum()) ** 2 - float(old @ old)) / 2
        factor = max(float(total.sum()), 0.0) / products if products > 0 else 0.0
        rows, columns = np.triu_indices(len(head))
        chance = factor * counted[head][rows] * counted[head][columns]
        chance[rows == columns] = 0.0
        at = places(before)
        return np.where(at >= 0, total[np.maximum(at, 0)], chance)

    return Carry({"head": head, "counts": counts}, follow, places)


def carry_head(head: _Head) -> Carry:
    """Triangles over the pairs of a head, where the past of a new pair is unknown and counts as 0.

    Args:
        head: The items, rising.
    """
    return Carry({"head": head}, None, head_places(head))


def carry_head_items(head: _Head) -> Carry:
    """One number for each item of a head.

    Args:
        head: The items, rising.
    """

    def places(before: Frame) -> _Ints:
        old = before["head"]
        at = np.minimum(np.searchsorted(old, head), len(old) - 1)
        return np.where(old[at] == head, at, -1).astype(np.int64)

    return Carry({"head": head}, None, places)


def carry_levels(levels: _Floats, counts: _Floats, worth: _Floats) -> Carry:
    """Sums of what item levels leave of ratings: other levels would have left something else.

    Args:
        levels: What is taken off each item's ratings.
        counts: Of each item, so far.
        worth: What one unit of level of one rating adds to its item's sum.
    """

    def follow(total: _Floats, before: Frame) -> _Floats:
        size = len(before["levels"])
        change = before["levels"] - levels[:size]
        shift = np.maximum(before["counts"], 0.0) * change * worth[:size]
        return _grown(total * _smaller(worth[:size], before["worth"]) + shift, len(levels))

    return Carry({"levels": levels, "counts": counts, "worth": worth}, follow)


def carry_rows(directions: _Floats, weights: _Floats, worth: _Floats) -> Carry:
    """Rows of sums along directions of taste, one for each item, flattened.

    What was measured along old directions is turned to where the new ones are: if F T is the new
    matrix of directions, then tastes along them are T^T times the old ones.

    Args:
        directions: A row for each item.
        weights: How much each item counts when directions are compared.
        worth: What one rating's product adds to its item's row.
    """
    size, k = directions.shape

    def follow(total: _Floats, before: Frame) -> _Floats:
        old = before["directions"]
        rescaled = _smaller(worth[: len(old)], before["worth"])[:, None]
        turned = total.reshape(old.shape) * rescaled @ _turn(old, directions, weights)
        return np.asarray(_grown(turned, size).reshape(-1))

    def places(before: Frame) -> _Ints:
        rows, columns = before["directions"].shape
        item, column = np.divmod(np.arange(size * k, dtype=np.int64), max(k, 1))
        return np.where((item < rows) & (column < columns), item * columns + column, -1)

    return Carry({"directions": directions, "worth": worth}, follow, places)


def carry_moments(directions: _Floats, weights: _Floats, beside: float = 1.0) -> Carry:
    """The upper triangle of a sum of tastes times themselves, along directions.

    Args:
        directions: A row for each item.
        weights: How much each item counts when directions are compared.
        beside: What entries beside the diagonal are multiplied by.
    """
    k = directions.shape[1]
    rows, columns = np.triu_indices(k)
    factor = np.where(rows == columns, 1.0, beside)

    def follow(total: _Floats, before: Frame) -> _Floats:
        old = before["directions"]
        own_rows, own_columns = np.triu_indices(old.shape[1])
        matrix = np.zeros((old.shape[1], old.shape[1]))
        matrix[own_rows, own_columns] = total / np.where(own_rows == own_columns, 1.0, beside)
        matrix = matrix + np.triu(matrix, 1).T
        turn = _turn(old, directions, weights)
        return np.asarray((turn.T @ matrix @ turn)[rows, columns] * factor)

    def places(before: Frame) -> _Ints:
        side = before["directions"].shape[1]
        packed = rows * side - rows * (rows - 1) // 2 + (columns - rows)
        return np.where(columns < side, packed, -1).astype(np.int64)

    return Carry({"directions": directions}, follow, places)


def _smaller(worth: _Floats, before: _Floats) -> _Floats:
    """How much less a rating is worth than before; 1 where it is worth more.

    What was worth little is mostly noise, which must not be enlarged beyond what is reckoned with.
    """
    return np.minimum(worth / np.maximum(before, _TINY), 1.0)


def _turn(old: _Floats, new: _Floats, weights: _Floats) -> _Floats:
    """T for which old T is nearest to new, by least squares over items; it never enlarges.

    Noise is turned too, and would grow beyond what is reckoned with if T did.
    """
    weighted = old * np.maximum(weights[: len(old)], 0.0)[:, None]
    squares = weighted.T @ old
    squares[np.diag_indices(len(squares))] += _RIDGE * max(float(np.trace(squares)), _TINY)
    turn = np.linalg.solve(squares, weighted.T @ new[: len(old)])
    left, sizes, right = np.linalg.svd(turn, full_matrices=False)
    return np.asarray((left * np.minimum(sizes, 1.0)) @ right)


def _grown(values: _Floats, size: int) -> _Floats:
    """With zeros for items that have come at the end of the catalogue since."""
    missing = size - len(values)
    assert missing >= 0, "a series' catalogue only grows"
    return np.concatenate([values, np.zeros((missing, *values.shape[1:]))])
