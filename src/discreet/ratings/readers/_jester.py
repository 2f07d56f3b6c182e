"""Jester's dense table: a line a person, the count of their ratings, then one field a joke."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.domain import Catalog, CatalogOrigin, InputError, Scale
from discreet.ratings.readers._batch import Batch, Broken, Fault, Lines
from discreet.ratings.readers._files import beginning, size_of
from discreet.ratings.readers._lines import Dialect, Records, make_sure, records

_JOKES = 100
_NOT_RATED = 99.0
_SCALE = Scale(-10, 10, step=None)


@dataclass(frozen=True)
class Jester:
    """Ratings of 100 jokes from -10 to 10; 99 stands for none. People have no names here."""

    path: Path
    scale: Scale | None = _SCALE
    keep_user_ids: bool = False

    @property
    def find_catalog(self) -> Callable[[], Catalog]:
        """The jokes' numbers: the same in every Jester file."""
        numbers = [str(joke) for joke in range(1, _JOKES + 1)]
        titles = [f"Joke {number}" for number in numbers]
        return partial(Catalog, numbers, titles, origin=CatalogOrigin.LAYOUT)

    @property
    def size(self) -> int:
        """How many bytes there are to read."""
        return size_of(self.path)

    def batches(self) -> Iterator[Batch]:
        """The ratings, a few megabytes of lines at a time.

        Raises:
            InputError: The file cannot be read, or holds nothing.
        """
        beginning(self.path)
        dialect = Dialect(",", _JOKES + 1, quoted=False)
        for run in records(self.path, dialect, header=False):
            yield self._batch(make_sure(run, self.path, dialect))

    def _batch(self, run: Records) -> Batch:
        fields = _numbers(run, self.path)
        counts, cells = fields[:, 0], fields[:, 1:]
        rated = cells != _NOT_RATED
        wrong = np.isnan(fields).any(axis=1) | (counts != np.count_nonzero(rated, axis=1))
        rated[wrong] = False
        people, jokes = np.nonzero(rated)
        broken = np.sort(np.concatenate((run.broken_lines, run.lines[wrong])))
        # A person is called by their line, which orders people as the file does.
        return Batch(
            Lines(self.path),
            run.lines[people],
            run.lines[people],
            jokes + 1,
            cells[rated],
            broken=Broken(broken, Fault.NOT_JESTER) if len(broken) else None,
            done=run.done,
        )


def _numbers(run: Records, path: Path) -> npt.NDArray[np.float64]:
    """The fields as a matrix, NaN where a field is no number."""
    if not len(run.lines):
        return np.empty((0, _JOKES + 1))
    schema = {str(field): pl.Float64 for field in range(_JOKES + 1)}
    try:
        frame = pl.read_csv(run.data, has_header=False, schema=schema, ignore_errors=True)
    except pl.exceptions.PolarsError:
        frame = None
    if frame is None or frame.height != len(run.lines):
        raise InputError("cannot be read as a table of numbers", path=path)
    return frame.fill_null(np.nan).to_numpy()
