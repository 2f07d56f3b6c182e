"""What predictors from item pairs share: sums over the pairs of a target and the own items."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from discreet.predict._bulk import BulkPredictor
from discreet.predict._predictor import Floats

Singles = npt.NDArray[np.float32]


class PairPredictor(BulkPredictor):
    """The item's level, the person's bias, and what pairs with the own items say beyond.

    Args:
        release: Of a method of item pairs; without pairs, level and bias are left.
        order: See `Predictor`.
    """

    columns = 2

    def _between(
        self, matrix: Singles, own: npt.NDArray[np.int32], items: npt.NDArray[np.int32]
    ) -> Floats:
        """A row for each target, a column for each own item; 0 outside the head."""
        rows, columns = self._positions[items], self._positions[own]
        found = np.zeros((len(rows), len(columns)))
        inside = rows >= 0, columns >= 0
        found[np.ix_(*inside)] = matrix[np.ix_(rows[inside[0]], columns[inside[1]])]
        return found


@njit(cache=True, nogil=True)
def add_pairs(
    tasks: Any,
    targets: Any,
    starts: Any,
    items: Any,
    values: Any,
    positions: Any,
    matrix: Any,
    sizes: Any,
    parts: Any,
) -> None:
    """Add to `parts` the sums over own items j of matrix[j, i] values_j, and of |sizes[j, i]|.

    Both matrices have a diagonal of zeros: no item is its own pair.
    """
    for task in range(len(tasks)):
        person, begin, end, out = tasks[task]
        for n in range(starts[person], starts[person + 1]):
            place = positions[items[n]]
            if place < 0:
                continue
            row, other, value = matrix[place], sizes[place], values[n]
            for t in range(begin, end):
                target = positions[targets[t]]
                if target >= 0:
                    parts[out + t - begin, 0] += row[target] * value
                    parts[out + t - begin, 1] += abs(other[target])
