"""The Netflix Prize: `movie:` lines with `customer,rating,date` lines below them.

The `movie:` lines are the list of movies, which is public. A customer's line has commas, so it can
never be taken for one of them.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.domain import Catalog, CatalogOrigin, InputError, Scale
from discreet.domain.files import PIECE, Piece, pieces, size_of, whole
from discreet.ratings._ratings import Ratings
from discreet.ratings.readers import _tokens
from discreet.ratings.readers._batch import ROW_HINTS, Batch, Fault, Lines, Source, batch_of_cells
from discreet.ratings.readers._collect import CatalogLookup, integers_in
from discreet.ratings.readers._public import read_catalog, refuse_columns
from discreet.ratings.readers.text import Cells, Dialect, cells_of, read_cells

# Movies in the Netflix Prize, numbered from 1.
_MOVIES = 17_770
_SCALE = Scale(1, 5)
_TITLES = ("movie_titles.txt", "movie_titles.csv")
_RATINGS, _PAIRS = Dialect(",", 3, quoting="none"), Dialect(",", 1, quoting="none")
# The item is not in a customer's line: the movie above it is put in its place.
_SLOTS = {"user": 0, "item": 0, "rating": 1, "time": 2}
# No movie yet.
_NONE = -1


def open_netflix(files: Sequence[Path]) -> Netflix:
    """The ratings in `mv_*.txt`, or `combined_data_*.txt`."""
    path = files[0] if len(files) == 1 else files[0].parent
    return Netflix(files=files, path=path, find_catalog=partial(_movies, files[0].parent))


def _movies(folder: Path, keep_columns: Sequence[str]) -> Catalog:
    """The titles beside the ratings or one folder up; else the numbers 1 to 17,770."""
    for titles in (place / name for place in (folder, folder.parent) for name in _TITLES):
        if titles.is_file():
            return read_catalog(titles, keep_columns=keep_columns, origin=CatalogOrigin.LAYOUT)
    refuse_columns(keep_columns)
    numbers = (str(movie) for movie in range(1, _MOVIES + 1))
    return Catalog(numbers, origin=CatalogOrigin.LAYOUT)


@dataclass(frozen=True, kw_only=True)
class Netflix(Source):
    """Ratings in the files of the Netflix Prize, read in order."""

    files: Sequence[Path]
    scale: Scale | None = _SCALE

    @property
    def size(self) -> int:
        """How many bytes there are to read."""
        return sum(size_of(file) for file in self.files)

    def batches(self) -> Iterator[Batch]:
        done = 0
        for run in _runs(self.files):
            movie = _NONE
            for cells in cells_of(run.read(), _RATINGS, range(3), run.files[0]):
                batch, movie = _batch(cells, run, movie, done + cells.done)
                yield batch
            done += sum(size_of(file) for file in run.files)


@dataclass(frozen=True)
class _Run:
    """A large file, or several small ones that are read at once; 17,770 of them are usual."""

    files: list[Path]
    firsts: list[int]
    """The 1-based line of the run on which each file begins; filled as they are read."""

    def read(self) -> Iterator[Piece]:
        if len(self.files) == 1:
            self.firsts.append(1)
            yield from pieces(self.files[0])
            return
        joined: list[bytes] = []
        line = 1
        for file in self.files:
            self.firsts.append(line)
            data = whole(file)
            joined.append(data if data.endswith(b"\n") else data + b"\n")
            line += joined[-1].count(b"\n")
        yield Piece(b"".join(joined), True, sum(size_of(file) for file in self.files))

    def complaint(self, line: int, reason: str) -> InputError:
        """The error that names this line of the run."""
        number = bisect_right(self.firsts, line) - 1
        place = line - self.firsts[number] + 1
        return InputError(reason, path=self.files[number], line=place, hints=ROW_HINTS)


def _runs(files: Sequence[Path]) -> Iterator[_Run]:
    held: list[Path] = []
    size = 0
    for file in files:
        if held and size + size_of(file) > PIECE:
            yield _Run(held, [])
            held, size = [], 0
        held.append(file)
        size += size_of(file)
    if held:
        yield _Run(held, [])


def _batch(cells: Cells, run: _Run, movie: int, done: int) -> tuple[Batch, int]:
    """The customers' lines, each with the movie above it; and the movie that the last is about."""
    cells, movies = _under_movies(cells, np.array(run.firsts[1:], np.int64), movie)
    batch = batch_of_cells(cells, _SLOTS, run)
    faults = np.where(batch.faults == Fault.NONE, Fault.NONE, Fault.NOT_NETFLIX).astype(np.uint8)
    faults[movies[:-1] == _NONE] = Fault.NOT_NETFLIX
    return replace(batch, items=movies[:-1], faults=faults, done=done), int(movies[-1])


def _under_movies(
    cells: Cells, firsts: npt.NDArray[np.int64], movie: int
) -> tuple[Cells, npt.NDArray[np.int64]]:
    """All lines but those of movies, and the movie above each of them; last, the one at the end.

    Args:
        cells: Lines of one field or more.
        firsts: The lines on which another file begins, so that no movie is known there.
        movie: The one above the first line.
    """
    begins, ends = cells.begins[0], cells.ends[0]
    numbers, kinds = _tokens.read_ids(cells.data, begins, np.maximum(ends - 1, begins))
    # The last byte before the first field's end; an empty field ends where it begins.
    last = cells.data[np.maximum(ends - 1, 0)] if len(cells) else np.empty(0, np.uint8)
    is_movie = (cells.counts == 1) & (ends > begins) & (last == ord(":"))
    is_movie &= (kinds == _tokens.INTEGER) & (numbers >= 0)
    # What is known from each line on: a movie at its line, nothing where a file begins.
    known = np.where(is_movie, numbers, _NONE)
    begun = np.searchsorted(cells.lines, firsts)
    is_new = is_movie.copy()
    is_new[begun[begun < len(cells)]] = True
    latest = np.maximum.accumulate(np.where(is_new, np.arange(len(cells)), _NONE))
    movies = np.where(latest == _NONE, movie, known[latest])
    kept = ~is_movie
    at_end = movies[-1] if len(movies) else movie
    return cells.where(kept), np.append(movies[kept], at_end)


@dataclass(frozen=True, repr=False)
class Probe:
    """Pairs of a user and an item that a published list sets apart for testing.

    Private: the list says who rated what.
    """

    users: npt.NDArray[np.int32]
    """Each pair's user, as an index into the ratings' users."""
    items: npt.NDArray[np.int32]
    """Each pair's item, as a catalogue index."""
    unknown: int
    """How many pairs were left out, since the ratings lack the user or the catalogue the item."""

    def __len__(self) -> int:
        return len(self.users)

    def __repr__(self) -> str:
        return "Probe(private)"


def read_probe(path: str | os.PathLike[str], ratings: Ratings) -> Probe:
    """Read the Netflix Prize's `probe.txt`: `movie:` lines with `customer` lines below them.

    Args:
        path: The list.
        ratings: The ratings that it is about, with the customers' numbers as user ids.

    Raises:
        InputError: The list cannot be read, or the ratings' users are not integers.
    """
    file = Path(path)
    if ratings.users is None or ratings.users.dtype.kind not in "iu":
        raise InputError("these ratings do not name their users by number, as a probe does")
    who, what, unknown, movie = [], [], 0, _NONE
    lookup = CatalogLookup(ratings.catalog)
    for cells in read_cells(file, _PAIRS, [0], header=False):
        rows, movies = _under_movies(cells, np.empty(0, np.int64), movie)
        batch = batch_of_cells(rows, {"user": 0, "item": 0}, Lines(file))
        wrong = (batch.faults != Fault.NONE) | (movies[:-1] == _NONE)
        users = batch.users
        if isinstance(users, pl.Series):
            wrong |= integers_in(users).is_null().to_numpy()
        if wrong.any() or isinstance(users, pl.Series):
            line = int(batch.lines[np.argmax(wrong)])
            raise InputError("is neither 'movie:' nor a customer below it", path=file, line=line)
        people = _positions(ratings.users.astype(np.int64), users)
        items, movie = lookup.find(movies[:-1]), int(movies[-1])
        known = (people >= 0) & (items >= 0)
        who.append(people[known])
        what.append(items[known])
        unknown += int(np.count_nonzero(~known))
    nothing = np.empty(0, np.int32)
    return Probe(np.concatenate([nothing, *who]), np.concatenate([nothing, *what]), unknown)


def _positions(
    known: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]
) -> npt.NDArray[np.int32]:
    """Where each wanted number stands among the known ones, or -1."""
    if not len(known):
        return np.full(len(wanted), -1, dtype=np.int32)
    order = np.argsort(known, kind="stable")
    near = order[np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)]
    return np.where(known[near] == wanted, near, -1).astype(np.int32)
