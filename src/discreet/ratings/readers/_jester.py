"""Jester's dense table: one person per line: how many jokes they rated, then a field for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.domain import Catalog, CatalogOrigin, Scale
from discreet.ratings.readers import _tokens
from discreet.ratings.readers._batch import Batch, Fault, Lines, Source
from discreet.ratings.readers._cells import numbers_of_text
from discreet.ratings.readers._public import refuse_columns
from discreet.ratings.readers.text import Cells, Dialect, Text, read_cells

# Jokes in Jester's first data set.
_JOKES = 100
# What its files write for a joke that is not rated.
_NOT_RATED = 99.0
_SCALE = Scale(-10, 10, step=None)
_DIALECT = Dialect(",", _JOKES + 1, quoting="none")


def _jokes(keep_columns: Sequence[str]) -> Catalog:
    """The jokes' numbers: the same in every Jester file."""
    refuse_columns(keep_columns)
    numbers = [str(joke) for joke in range(1, _JOKES + 1)]
    titles = [f"Joke {number}" for number in numbers]
    return Catalog(numbers, titles, origin=CatalogOrigin.LAYOUT)


@dataclass(frozen=True, kw_only=True)
class Jester(Source):
    """Ratings of 100 jokes from -10 to 10; 99 stands for none. People have no names here."""

    path: Path
    scale: Scale | None = _SCALE
    find_catalog: Callable[[Sequence[str]], Catalog] | None = _jokes
    keep_user_ids: bool = False

    def batches(self) -> Iterator[Batch]:
        for cells in read_cells(self.path, _DIALECT, range(_JOKES + 1), header=False):
            yield self._batch(cells)

    def _batch(self, cells: Cells) -> Batch:
        begins, ends = cells.begins.T.ravel(), cells.ends.T.ravel()
        values, kinds = numbers_of_text(Text(cells.data, begins, ends, cells.escaped.T.ravel()))
        fields, known = values.reshape(-1, _JOKES + 1), kinds.reshape(-1, _JOKES + 1)
        known = (known != _tokens.NO_NUMBER) & (known != _tokens.EMPTY)
        rated = fields[:, 1:] != _NOT_RATED
        wrong = (~cells.is_good) | ~known.all(axis=1)
        wrong |= fields[:, 0] != np.count_nonzero(rated, axis=1)
        # A wrong line is one bad row; a right one a row for each joke that is rated.
        rated &= ~wrong[:, np.newaxis]
        rated[:, 0] |= wrong
        people, jokes = np.nonzero(rated)
        faults = np.where(wrong[people], Fault.NOT_JESTER, Fault.NONE).astype(np.uint8)
        # A person is called by their line, which orders people as the file does.
        lines = cells.lines[people]
        ratings = fields[:, 1:][rated]
        return Batch(Lines(self.path), lines, lines, jokes + 1, ratings, None, faults, cells.done)
