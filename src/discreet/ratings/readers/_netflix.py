"""The Netflix Prize: `movie:` lines with `customer,rating,date` lines below them."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from discreet.domain import Catalog, CatalogOrigin, InputError, Scale
from discreet.ratings._ratings import Ratings
from discreet.ratings.readers._batch import Batch, Broken, Fault
from discreet.ratings.readers._catalog_file import read_catalog
from discreet.ratings.readers._files import PIECE, beginning, pieces, size_of
from discreet.ratings.readers._lookup import CatalogLookup
from discreet.ratings.readers._netflix_lines import parse_pairs, parse_ratings

_MOVIES = 17_770
_SCALE = Scale(1, 5)
_TITLES = ("movie_titles.txt", "movie_titles.csv")


@dataclass(frozen=True)
class Netflix:
    """Ratings in the files of the Netflix Prize, read in order.

    Args:
        files: `mv_*.txt`, or `combined_data_*.txt`.
    """

    files: Sequence[Path]
    scale: Scale | None = _SCALE
    keep_user_ids: bool = True

    @property
    def path(self) -> Path:
        """The file, or the folder of several."""
        return self.files[0] if len(self.files) == 1 else self.files[0].parent

    @property
    def find_catalog(self) -> Callable[[], Catalog]:
        """The titles beside the ratings or one folder up; else the numbers 1 to 17,770."""
        folder = self.files[0].parent
        for titles in (place / name for place in (folder, folder.parent) for name in _TITLES):
            if titles.is_file():
                return partial(read_catalog, titles, origin=CatalogOrigin.LAYOUT)
        numbers = (str(movie) for movie in range(1, _MOVIES + 1))
        return partial(Catalog, numbers, origin=CatalogOrigin.LAYOUT)

    @property
    def size(self) -> int:
        """How many bytes there are to read."""
        return sum(size_of(file) for file in self.files)

    def batches(self) -> Iterator[Batch]:
        """The rows, a few megabytes at a time, many small files together.

        Raises:
            InputError: A file cannot be read, or there are no ratings.
        """
        movie, done, rows = -1, 0, 0
        for block in _blocks(self.files):
            done += len(block.data)
            batch, movie = _batch(block, movie, done)
            rows += len(batch) + (len(batch.broken) if batch.broken else 0)
            yield batch
        if not rows:
            raise InputError("holds no ratings", path=self.path)


@dataclass(frozen=True, repr=False)
class _Block:
    """Whole lines, of one file or of several one after the other."""

    data: bytes
    files: list[Path]
    first_lines: list[int]
    """The line of the block on which each file begins, counted from 0."""
    line: int = 0
    """How many lines of the first file came before the block."""

    @property
    def file_starts(self) -> npt.NDArray[np.int64]:
        """The lines of the block on which a file begins."""
        begun = 1 if self.line else 0
        return np.array(self.first_lines[begun:], dtype=np.int64)

    def complaint(self, line: int, reason: str) -> InputError:
        """The error that names this line of the block."""
        number = bisect_right(self.first_lines, line) - 1
        before = self.line if number == 0 else 0
        inside = line - self.first_lines[number] + before + 1
        return InputError(reason, path=self.files[number], line=inside)


def _blocks(files: Sequence[Path]) -> Iterator[_Block]:
    """The files' lines in order; small files are gathered, since 17,770 of them are usual."""
    gathered: list[bytes] = []
    names: list[Path] = []
    starts: list[int] = []
    size = lines = 0
    for file in files:
        if size and size + size_of(file) > PIECE:
            yield _Block(b"".join(gathered), names, starts)
            gathered, names, starts, size, lines = [], [], [], 0, 0
        if size_of(file) > PIECE:
            yield from _large(file)
            continue
        data = _ended(b"".join(piece.data for piece in pieces(file)))
        gathered.append(data)
        names.append(file)
        starts.append(lines)
        size, lines = size + len(data), lines + data.count(b"\n")
    if size:
        yield _Block(b"".join(gathered), names, starts)


def _large(file: Path) -> Iterator[_Block]:
    rest, line = b"", 0
    for piece in pieces(file):
        data = rest + piece.data
        cut = len(data) if piece.is_last else data.rfind(b"\n") + 1
        whole_lines, rest = _ended(data[:cut]) if piece.is_last else data[:cut], data[cut:]
        if whole_lines:
            yield _Block(whole_lines, [file], [0], line)
        line += whole_lines.count(b"\n")


def _ended(data: bytes) -> bytes:
    return data if not data or data.endswith(b"\n") else data + b"\n"


def _batch(block: _Block, movie: int, done: int) -> tuple[Batch, int]:
    data = np.frombuffer(block.data, np.uint8)
    room = block.data.count(b"\n")
    users, items, lines, times = (np.empty(room, np.int64) for _ in range(4))
    ratings = np.empty(room, np.float64)
    rows, broken, movie = parse_ratings(
        data, movie, block.file_starts, users, items, ratings, times, lines
    )
    wrong = Broken(lines[room - broken :][::-1], Fault.NOT_NETFLIX)
    batch = Batch(
        block,
        lines[:rows],
        users[:rows],
        items[:rows],
        ratings[:rows],
        times[:rows],
        broken=wrong if broken else None,
        done=done,
    )
    return batch, movie


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
    beginning(file)
    data = _ended(b"".join(piece.data for piece in pieces(file)))
    room = data.count(b"\n")
    users, items, lines = (np.empty(room, np.int64) for _ in range(3))
    pairs, broken = parse_pairs(np.frombuffer(data, np.uint8), users, items, lines)
    if broken:
        line = int(lines[-1]) + 1
        raise InputError("is neither 'movie:' nor a customer below it", path=file, line=line)
    who = _positions(ratings.users.astype(np.int64), users[:pairs])
    what = CatalogLookup(ratings.catalog).find(items[:pairs])
    known = (who >= 0) & (what >= 0)
    return Probe(who[known], what[known], int(pairs - np.count_nonzero(known)))


def _positions(
    known: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]
) -> npt.NDArray[np.int32]:
    """Where each wanted number stands among the known ones, or -1."""
    if not len(known):
        return np.full(len(wanted), -1, dtype=np.int32)
    order = np.argsort(known, kind="stable")
    near = order[np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)]
    return np.where(known[near] == wanted, near, -1).astype(np.int32)
