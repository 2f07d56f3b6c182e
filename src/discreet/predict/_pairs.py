"""What predictors from item pairs share: matrices over a head of items."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.predict._model import Model
from discreet.predict._predictor import OneByOne
from discreet.release import Release


class PairPredictor(OneByOne):
    """The item's level, the person's bias, and what pairs with the own items say beyond.

    Args:
        release: Of a method of item pairs; without pairs, level and bias are left.
        popularity: See `Predictor`.
    """

    def __init__(self, release: Release, *, popularity: float = 0.0) -> None:
        super().__init__(release, popularity=popularity)
        self._model = Model.of(release)
        self._head = release.arrays.get("head", np.empty(0, np.int32)).astype(np.int64)
        self._positions = np.full(len(release.catalog), -1)
        self._positions[self._head] = np.arange(len(self._head))

    def _between(
        self,
        matrix: npt.NDArray[np.float32],
        own: npt.NDArray[np.int32],
        items: npt.NDArray[np.int32],
    ) -> npt.NDArray[np.float32]:
        """A row for each own item, a column for each target; 0 outside the head."""
        rows, columns = self._positions[own], self._positions[items]
        inside = rows >= 0, columns >= 0
        places = rows[inside[0]], columns[inside[1]]
        # Copying whole rows is several times faster than picking most of their entries.
        many = 4 * len(places[1]) > len(matrix)
        found: npt.NDArray[np.float32] = (
            matrix[places[0]].take(places[1], axis=1) if many else matrix[np.ix_(*places)]
        )
        if found.shape == (len(rows), len(columns)):
            return found
        whole = np.zeros((len(rows), len(columns)), np.float32)
        whole[np.ix_(*inside)] = found
        return whole
