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


def carry_rows(directions: _Floats, worth: _Floats) -> Carry:
    """Rows of sums along directions of taste, one for each item, flattened.

    Columns stay what they are: `PeriodTask.align` has turned new directions to where the old ones
    were. What was measured along a direction that has moved since still tells items apart, and its
    noise can be taken back.

    Args:
        directions: A row for each item.
        worth: What one rating's product adds to its item's row.
    """
    size, k = directions.shape

    def places(before: Frame) -> _Ints:
        rows, columns = before["directions"].shape
        item, column = np.divmod(np.arange(size * k, dtype=np.int64), max(k, 1))
        return np.where((item < rows) & (column < columns), item * columns + column, -1)

    def follow(total: _Floats, before: Frame) -> _Floats:
        old = before["directions"]
        rescaled = total.reshape(old.shape) * _smaller(worth[: len(old)], before["worth"])[:, None]
        kept = rescaled[:, :k]
        missing = k - kept.shape[1]
        return _grown(np.pad(kept, ((0, 0), (0, missing))), size).reshape(-1)

    return Carry({"directions": directions, "worth": worth}, follow, places)


def carry_moments(directions: _Floats) -> Carry:
    """The upper triangle of a sum of tastes times themselves, along directions.

    Args:
        directions: A row for each item.
    """
    rows, columns = np.triu_indices(directions.shape[1])

    def places(before: Frame) -> _Ints:
        side = before["directions"].shape[1]
        packed = rows * side - rows * (rows - 1) // 2 + (columns - rows)
        return np.where(columns < side, packed, -1).astype(np.int64)

    return Carry({"directions": directions}, None, places)


def _smaller(worth: _Floats, before: _Floats) -> _Floats:
    """How much less a rating is worth than before; 1 where it is worth more.

    What was worth little is mostly noise, which must not be enlarged beyond what is reckoned with.
    """
    return np.minimum(worth / np.maximum(before, _TINY), 1.0)


def _grown(values: _Floats, size: int) -> _Floats:
    """With zeros for items that have come at the end of the catalogue since."""
    missing = size - len(values)
    assert missing >= 0, "a series' catalogue only grows"
    return np.concatenate([values, np.zeros((missing, *values.shape[1:]))])
