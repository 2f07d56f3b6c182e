"""Item identifiers into catalogue indices."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.domain import Catalog
from discreet.ratings.readers._batch import Ids
from discreet.ratings.readers._ids import CANONICAL

UNKNOWN = -1
"""The index of an item that the catalogue does not list."""

_DENSE_SPAN = 1 << 24


class CatalogLookup:
    """Finds items by id, a batch at a time.

    Ids are compared as text: `007` and `7` are different. An integer stands for the text that it
    prints as.
    """

    def __init__(self, catalog: Catalog) -> None:
        words = pl.Series(list(catalog.ids), dtype=pl.String)
        self._words = pl.Enum(words)
        canonical = words.str.contains(CANONICAL)
        numbers = words.set(~canonical, None).cast(pl.Int64, strict=False)
        places = np.flatnonzero(numbers.is_not_null().to_numpy()).astype(np.int32)
        values = numbers.drop_nulls().to_numpy()
        rising = np.argsort(values)
        self._values, self._places = values[rising], places[rising]
        self._table = _dense_table(self._values, self._places)

    @property
    def takes_integers(self) -> bool:
        """Whether at least one id is an integer's text, so that integers are worth looking up."""
        return len(self._values) > 0

    def find(self, ids: Ids) -> npt.NDArray[np.int32]:
        """Each id's catalogue index, or `UNKNOWN`."""
        if isinstance(ids, pl.Series):
            found = ids.cast(self._words, strict=False).to_physical().cast(pl.Int32)
            return found.fill_null(UNKNOWN).to_numpy()
        if not self.takes_integers:
            return np.full(len(ids), UNKNOWN, dtype=np.int32)
        if self._table is not None:
            found_numbers: npt.NDArray[np.int32] = _find(ids, int(self._values[0]), self._table)
            return found_numbers
        near = np.minimum(np.searchsorted(self._values, ids), len(self._values) - 1)
        hit = self._values[near] == ids
        return np.where(hit, self._places[near], np.int32(UNKNOWN))


def _dense_table(
    values: npt.NDArray[np.int64], places: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32] | None:
    """Indices by `value - values[0]`, where the rising values span little enough for a table."""
    if not len(values):
        return None
    span = int(values[-1]) - int(values[0]) + 1
    if span > _DENSE_SPAN:
        return None
    table = np.full(span, UNKNOWN, dtype=np.int32)
    table[values - values[0]] = places
    return table


@numba.njit(cache=True)
def _find(
    ids: npt.NDArray[np.int64], lowest: int, table: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    found = np.full(ids.size, np.int32(UNKNOWN))
    for row in range(ids.size):
        # Compared before subtracting: the difference of two 64-bit integers may not fit.
        if lowest <= ids[row] < lowest + table.size:
            found[row] = table[ids[row] - lowest]
    return found
