"""More ratings than memory holds: rows are dealt to blocks on disk, whole people to each.

Rows come in any order. Each goes to the block that its user's name says, behind those that came
before; then one block after another is sorted and folded as `read_ratings` does it in memory. A
person's rows are all in one block and in their old order, so that person's records are the same as
there, and no record depends on anybody else's (PROOF.md).

Blocks are files without a name: nobody else can open them, and they are gone when the process ends,
however it ends.
"""

from __future__ import annotations

import abc
import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import numba
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from discreet.domain import Catalog, InputError, Scale
from discreet.ratings._keyed import bound_contributions, hash_texts, mix
from discreet.ratings._ratings import MOST_RATINGS, Intake, Ratings, build_ratings, locked
from discreet.ratings.readers._batch import Batch, Ids
from discreet.ratings.readers._collect import Collector, IdColumn, catalog_from_data, integers_in
from discreet.ratings.readers._frames import FrameTable, ParquetTable
from discreet.ratings.readers._read import Reading

StageProgress = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done and how much there is."""

# Of `Ratings`, in the order in which a file has them.
_COLUMNS = ("starts", "items", "codes", "times")

# Rows of a block, about: sorting it takes some 300 MB. Chosen by hand.
BLOCK = 1 << 23
# The most blocks, each of which has a file open while rows are read. Chosen by hand.
_MOST_BLOCKS = 240
# Bytes of a line of text, at least, where the number of rows is not known. Chosen by hand.
_LINE = 12
# Bytes that are left free on the disk. Chosen for safety.
_SPARE = 1 << 26
# Names of all lengths are dealt alike. Any number does: it says only who shares a block with whom.
_KEY = 0x6469736372656574


@dataclass(repr=False)
class _Dealt:
    """The rows of one block as they came: segments of columns, one after another."""

    file: IO[bytes]
    rows: list[int] = field(default_factory=list)
    """Of each segment whose users are integers, and then of each whose users are text."""
    texts: list[int] = field(default_factory=list)
    """Bytes of each segment of text."""


class RowDealer(Collector):
    """Checks rows as any collector does, and deals the good ones out by their users' names.

    Attributes:
        has_times: Whether rows have times: all have, or none, since columns are the same.
        skipped: How many bad rows were left out.
    """

    has_times = False

    @property
    def skipped(self) -> int:
        return self._skipped

    def _keep(
        self, batch: Batch, places: npt.NDArray[np.int32] | None, good: npt.NDArray[np.bool_]
    ) -> None:
        assert places is not None
        users, rows = batch.users, int(np.count_nonzero(good))
        if rows < len(batch):
            places = places[good]
            users = users.filter(pl.Series(good)) if isinstance(users, pl.Series) else users[good]
        columns: list[npt.NDArray[Any]] = [places]
        if self._scale.presence:
            columns.append(self._scale.encode(np.full(rows, self._scale.hi)))
        else:
            assert batch.ratings is not None
            kept = batch.ratings if rows == len(batch) else batch.ratings[good]
            columns.append(self._scale.encode(kept))
        if batch.times is not None:
            kept_times = batch.times if rows == len(batch) else batch.times[good]
            columns.append(kept_times.astype(np.uint32))
        self.has_times = batch.times is not None
        self._deal(users, columns)

    @abc.abstractmethod
    def _deal(self, users: Ids, columns: list[npt.NDArray[Any]]) -> None:
        """Take rows: their users, and columns of items, codes and perhaps times."""


def deal(
    users: Ids, columns: list[npt.NDArray[Any]], blocks: int
) -> Iterator[tuple[int, Ids, list[npt.NDArray[Any]]]]:
    """The rows of each block that has any, in their order: its number, users and columns."""
    order, ends = _grouped(_hashes(users), blocks)
    columns = [column[order] for column in columns]
    names: Any = users.gather(order) if isinstance(users, pl.Series) else users[order]
    for number in np.flatnonzero(np.diff(ends)).tolist():
        begin, end = int(ends[number]), int(ends[number + 1])
        yield number, names[begin:end], [each[begin:end] for each in columns]


class Dealer(RowDealer):
    """Deals rows to blocks on disk.

    Args:
        rules: What a `Collector` takes, with a catalogue.
        blocks: How many.
        folder: Where their files are.
    """

    def __init__(self, rules: tuple[Any, ...], blocks: int, folder: Path) -> None:
        super().__init__(*rules)
        self._folder = folder
        self._dealt = [_Dealt(_nameless(folder)) for _ in range(blocks)]
        self._has_words = False

    def __len__(self) -> int:
        """How many blocks there are."""
        return len(self._dealt)

    def close(self) -> None:
        """Free the disk."""
        for dealt in self._dealt:
            dealt.file.close()

    def _deal(self, users: Ids, columns: list[npt.NDArray[Any]]) -> None:
        # Once there are names that are not integers, all are kept as text: the order stays.
        self._has_words |= isinstance(users, pl.Series)
        with writing(self._folder):
            for number, names, parts in deal(users, columns, len(self._dealt)):
                has_other = self._has_words and not isinstance(names, pl.Series)
                kept = pl.Series(names).cast(pl.String) if has_other else names
                self._append(self._dealt[number], kept, parts)

    @staticmethod
    def _append(dealt: _Dealt, names: Any, columns: list[npt.NDArray[Any]]) -> None:
        dealt.rows.append(len(names))
        if isinstance(names, pl.Series):
            table = pa.table([names.to_arrow().cast(pa.large_string())], names=["user"])
            packed = pa.BufferOutputStream()
            with pa.ipc.new_stream(packed, table.schema) as stream:
                stream.write_table(table)
            content = packed.getvalue()
            dealt.texts.append(content.size)
            _write(dealt.file, content)
        else:
            _write(dealt.file, names)
        for column in columns:
            _write(dealt.file, column)

    def ratings(self, number: int, most_ratings: int | None) -> Ratings:
        """The ratings of one block, sorted and folded; its file is closed."""
        dealt = self._dealt[number]
        kinds = [np.int32, code_kind(self._scale), np.uint32]
        columns: list[npt.NDArray[Any]] = [
            np.empty(sum(dealt.rows), kind) for kind in kinds[: 3 if self.has_times else 2]
        ]
        users, at, texts = IdColumn(), 0, list(dealt.texts)
        dealt.file.seek(0)
        for segment, rows in enumerate(dealt.rows):
            if segment >= len(dealt.rows) - len(dealt.texts):
                content = _read(dealt.file, texts.pop(0))
                words = pa.ipc.open_stream(content).read_all().column(0)
                users.add(pl.Series(words, dtype=pl.String))
            else:
                users.add(np.frombuffer(_read(dealt.file, 8 * rows), np.int64))
            for column in columns:
                content = _read(dealt.file, column.itemsize * rows)
                column[at : at + rows] = np.frombuffer(content, column.dtype)
            at += rows
        dealt.file.close()
        people, names = users.finish()
        assert self._catalog is not None
        found = build_ratings(
            people,
            columns[0],
            columns[1],
            columns[2] if self.has_times else None,
            scale=self._scale,
            catalog=self._catalog,
            user_ids=names if self._keep_user_ids else None,
            intake=self._intake,
        )
        return found if most_ratings is None else bound_contributions(found, most_ratings)


class _Items(Collector):
    """Checks rows as any collector does, and keeps the names of their items, each once."""

    def __init__(self, rules: tuple[Any, ...]) -> None:
        super().__init__(*rules)
        self._names = pl.Series([], dtype=pl.String)

    def _keep(
        self, batch: Batch, places: npt.NDArray[np.int32] | None, good: npt.NDArray[np.bool_]
    ) -> None:
        del places
        items = batch.items
        words = items if isinstance(items, pl.Series) else pl.Series(items)
        words = words.filter(pl.Series(good)).unique().cast(pl.String)
        self._names = pl.concat([self._names, words]).unique()

    def catalog(self) -> Catalog:
        """All items that occur, in the order in which `read_ratings` lists them."""
        column = IdColumn()
        column.add(self._names)
        _, names = column.finish()
        return catalog_from_data(names)


@dataclass(frozen=True, repr=False)
class _Stored:
    """Ratings in a file: where each column begins, and what is in it."""

    file: IO[bytes]
    columns: dict[str, tuple[int, str, int]]

    def column(self, name: str) -> npt.NDArray[Any] | None:
        if name not in self.columns:
            return None
        offset, kind, length = self.columns[name]
        if not length:
            return locked(np.empty(0, kind))
        return locked(np.memmap(self.file, kind, "r", offset, (length,)))


class Blocks:
    """Everybody's ratings on disk, in blocks of whole people. Private, like `Ratings`.

    Attributes:
        scale: Of the ratings.
        catalog: Of the items.
        intake: How they were read.
        has_times: Whether records say when they were made.
        users: How many there are; private, like the next three.
        ratings: How many there are.
        duplicates: How many records gave way to another of the same user and item.
        skipped: How many bad rows were left out.
    """

    def __init__(self, scale: Scale, catalog: Catalog, has_times: bool) -> None:
        self.scale, self.catalog, self.has_times = scale, catalog, has_times
        self.intake = Intake()
        self.users = self.ratings = self.duplicates = self.skipped = 0
        self._stored: list[_Stored] = []
        starts, items = np.zeros(1, np.int64), np.zeros(0, np.int32)
        self._like = Ratings(scale, catalog, starts, items, np.zeros(0, code_kind(scale)))

    def __repr__(self) -> str:
        return f"Blocks(private, catalogue of {len(self.catalog):,} items)"

    def __len__(self) -> int:
        return len(self._stored)

    def __iter__(self) -> Iterator[Ratings]:
        """One block after another; what it maps of the disk is freed with it."""
        for stored in self._stored:
            columns = {name: stored.column(name) for name in _COLUMNS}
            # They were checked when they were stored, and nobody else can write to the file.
            yield self._like._derive(**columns, users=None, intake=self.intake)

    def store(self, ratings: Ratings, folder: Path) -> None:
        """Add a block.

        Raises:
            InputError: The disk is full.
        """
        self.intake = ratings.intake
        self.users += ratings.user_count
        self.ratings += len(ratings)
        self.duplicates += ratings.duplicates
        file = _nameless(folder)
        self._stored.append(_Stored(file, {}))
        with writing(folder):
            at = 0
            for name in _COLUMNS:
                column = getattr(ratings, name)
                if column is not None:
                    self._stored[-1].columns[name] = at, column.dtype.str, len(column)
                    # Kernels want numbers aligned: every column begins at a multiple of 8.
                    _write(file, column)
                    at += column.nbytes
                    _write(file, bytes(-at % 8))
                    at += -at % 8

    def close(self) -> None:
        """Free the disk."""
        for stored in self._stored:
            stored.file.close()


def code_kind(scale: Scale) -> type:
    return np.float32 if scale.step is None else np.uint8


@contextmanager
def read_blocks(
    reading: Reading,
    most_ratings: int | None,
    folder: Path | None,
    progress: StageProgress | None = None,
    block: int = BLOCK,
) -> Iterator[Blocks]:
    """Ratings of a source, in blocks on disk until the end of the context.

    Args:
        reading: The source and its rules.
        most_ratings: Keep at most this many ratings of each user.
        folder: Where blocks are; None for the system's folder for temporary files.
        progress: Called during every stage.
        block: Rows of a block, about.

    Raises:
        InputError: Something cannot be read or is wrong, or the disk has too little room.
    """
    folder = Path(tempfile.gettempdir()) if folder is None else folder
    rows = _rows(reading)
    _check_room(folder, reading, rows)
    number = min(max(-(-rows // block), 1), _MOST_BLOCKS)
    with reading.naming_source():
        if reading.catalog is None:
            items = _Items(reading.rules)
            reading.collect(items, _of(progress, "items"))
            reading = replace(reading, catalog=items.catalog())
        with closing(Dealer(reading.rules, number, folder)) as dealer:
            reading.collect(dealer, _of(progress, "reading"))
            dealer.check_items()
            blocks = _sorted_blocks(reading, dealer, most_ratings, folder, progress)
    with closing(blocks):
        yield blocks


def _sorted_blocks(
    reading: Reading,
    dealer: Dealer,
    most_ratings: int | None,
    folder: Path,
    progress: StageProgress | None,
) -> Blocks:
    """What was dealt, sorted and stored; on an error nothing of it stays."""
    assert reading.catalog is not None
    with ExitStack() as held:
        blocks = held.enter_context(
            closing(Blocks(reading.scale, reading.catalog, dealer.has_times))
        )
        blocks.skipped = dealer.skipped
        for place in range(len(dealer)):
            blocks.store(dealer.ratings(place, most_ratings), folder)
            if progress is not None:
                progress("sorting", place + 1, len(dealer))
        if blocks.ratings > MOST_RATINGS:
            raise InputError(f"ratings are at most {MOST_RATINGS:,}; more are for Spark")
        held.pop_all()
    return blocks


def _of(progress: StageProgress | None, stage: str) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, total: progress(stage, done, total)


def _rows(reading: Reading) -> int:
    """How many rows there are, or can be at most where only bytes are known."""
    source = reading.source
    is_counted = isinstance(source, FrameTable | ParquetTable)
    return source.size if is_counted else -(-source.size // _LINE)


def _check_room(folder: Path, reading: Reading, rows: int) -> None:
    """Refuse a disk that has too little room, where that can be known before rows are read."""
    if not isinstance(reading.source, FrameTable | ParquetTable):
        return
    # A user's name as an integer, an item, a time, a rating; blocks replace one another.
    needed = rows * (8 + 4 + 4 + np.dtype(code_kind(reading.scale)).itemsize) + _SPARE
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise InputError(f"cannot be used: {error.strerror or error}", path=folder) from None
    if free < needed:
        raise InputError(
            f"has {free / 1e9:,.1f} GB free, and these ratings need {needed / 1e9:,.1f} GB for a "
            "while; name another folder",
            path=folder,
        )


def _nameless(folder: Path) -> IO[bytes]:
    """A file that nobody else can open, and that is gone when it is closed or the process ends."""
    with writing(folder):
        return tempfile.TemporaryFile(dir=folder, buffering=0)


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn errors of the operating system into one clear line.

    Raises:
        InputError: The disk is full, or the folder cannot be written to.
    """
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            reason = "the disk is full: ratings need some 20 bytes each for a while"
        else:
            reason = f"cannot be written to: {error.strerror or error}"
        raise InputError(f"{reason}; name another folder", path=folder) from None


def _write(file: IO[bytes], content: Any) -> None:
    """All bytes of an array or a buffer: the system may take fewer at a time."""
    view = memoryview(content).cast("B")
    while len(view):
        view = view[file.write(view) :]


def _read(file: IO[bytes], size: int) -> bytearray:
    content = bytearray(size)
    view, done = memoryview(content), 0
    while done < size:
        got = os.readv(file.fileno(), [view[done:]])
        if not got:
            raise InputError("a file of blocks was cut short")
        done += got
    return content


def _hashes(users: Ids) -> npt.NDArray[np.uint64]:
    """Of each name: an integer's are those of its text, whatever other names there are."""
    if not isinstance(users, pl.Series):
        numbers: npt.NDArray[np.uint64] = _mixed(users)
        return numbers
    hashes = hash_texts(users.to_arrow().cast(pa.large_string()), _KEY)
    integers = integers_in(users)
    whole = integers.is_not_null().to_numpy()
    hashes[whole] = _mixed(integers.drop_nulls().to_numpy())
    return hashes


@numba.njit(cache=True, nogil=True)
def _mixed(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    out = np.empty(numbers.size, np.uint64)
    for place in range(numbers.size):
        out[place] = mix(np.uint64(numbers[place]))
    return out


@numba.njit(cache=True, nogil=True)
def _grouped(
    hashes: npt.NDArray[np.uint64], blocks: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The rows' numbers, block by block and in their order; and where each block ends."""
    ends = np.zeros(blocks + 1, np.int64)
    for row in range(hashes.size):
        ends[np.int64(hashes[row] % np.uint64(blocks)) + 1] += 1
    for block in range(blocks):
        ends[block + 1] += ends[block]
    cursor = ends[:-1].copy()
    order = np.empty(hashes.size, np.int64)
    for row in range(hashes.size):
        own = np.int64(hashes[row] % np.uint64(blocks))
        order[cursor[own]] = row
        cursor[own] += 1
    return order, ends
