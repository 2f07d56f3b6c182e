"""Sums over the people of every partition, put together: bit for bit those of one machine.

A task sums statistics over the people of its partition (`SumPeople`, `SumPairs`) and sends them as
*tiles*; other tasks add tiles of the same place (`add_tiles`); the driver puts the totals together
(`RatingsInParts`). A task has no effect but what it returns, and Spark takes one result of each,
however often it was tried: so nothing is counted twice.

The sums of a statistic are *leaves*, integers and arrays of any shape. A leaf is sent in tiles of a
mebibyte at most, so that no message is large and adding is shared out among tasks. The triangle of
all pairs of a large head is itself summed in *sittings* of two bands of items each, so that no task
holds more of it than that.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit

from discreet.domain import Catalog, InputError, Scale
from discreet.domain.triangles import packed_size
from discreet.measure._source import Measure, PairStatistic, RemoteRatings
from discreet.measure.engines._leaves import Leaf, leaves_of, with_leaves
from discreet.measure.engines.spark._errors import CHANGED
from discreet.measure.engines.spark._jobs import Work
from discreet.measure.engines.spark._parts import Shape, joined, task_context, use_own_cores_only
from discreet.ratings import Ratings

Ints = npt.NDArray[np.int64]

# Integers in a tile: a mebibyte. Chosen by hand, far below what Spark and Arrow can send at once.
TILE = 1 << 17
# The tile number of a leaf that is one integer, of any size.
SINGLE = -1
# Bytes of such an integer when it is sent: 256 bits hold every sum that fits statistics' bounds.
_SINGLE_BYTES = 32
# Items in a band: the triangle of two bands, which a task holds, takes 64 MiB. Chosen by hand.
BAND = 2048
# Leaf numbers that every statistic has: how many users and ratings it is over.
USERS, RATINGS = -1, -2
# Partitions whose sums one task adds; where there are more, bundles of partitions are added first.
# Chosen by hand: a task then reads at most about 64 tiles of each place.
_FAN_IN = 64
_TILES = pa.schema(
    [("bundle", pa.int32()), ("leaf", pa.int32()), ("tile", pa.int32()), ("packed", pa.binary())]
)


def tiles_of(leaf: Leaf) -> Iterator[tuple[int, bytes]]:
    """A leaf as numbered tiles in bytes, without those that are all 0."""
    if isinstance(leaf, int):
        yield SINGLE, leaf.to_bytes(_SINGLE_BYTES, "little", signed=True)
        return
    flat = np.ascontiguousarray(leaf, dtype=np.int64).reshape(-1)
    for number, begin in enumerate(range(0, len(flat), TILE)):
        tile = flat[begin : begin + TILE]
        if tile.any():
            yield number, tile.tobytes()


def tile_from(number: int, packed: bytes) -> Leaf:
    """What `tiles_of` packed."""
    if number == SINGLE:
        return int.from_bytes(packed, "little", signed=True)
    return np.frombuffer(packed, np.int64)


def size_in_bytes(leaves: list[Leaf]) -> int:
    """How much all tiles take at most."""
    return sum(_SINGLE_BYTES if isinstance(leaf, int) else leaf.nbytes for leaf in leaves)


def add_tile(leaves: list[Leaf], number: int, tile: int, packed: bytes) -> None:
    """Add a tile to its leaf; arrays are contiguous, and sums are modulo 2^64 as they are locally.

    Args:
        leaves: All leaves.
        number: Which leaf.
        tile: Which tile of it.
        packed: The tile.
    """
    leaf, part = leaves[number], tile_from(tile, packed)
    if isinstance(leaf, int):
        leaves[number] = leaf + int(part)
    else:
        flat = leaf.reshape(-1)
        flat[tile * TILE : (tile + 1) * TILE] += part


class Block(NamedTuple):
    """The pairs of an item of one band with one of another, or of the same: part of a triangle."""

    rows: range
    columns: range

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.columns)

    @property
    def cells(self) -> int:
        return len(self.rows) * len(self.columns)


class Sitting(NamedTuple):
    """Bands that are summed together, and the blocks that are taken from their triangle."""

    bands: tuple[range, ...]
    blocks: tuple[Block, ...]


def sittings(size: int, band: int = BAND) -> list[Sitting]:
    """How the triangle of `size` items is summed, every pair of them in one block.

    Two bands at a time, so that a head of up to two bands is summed at once; beyond that pairs
    within a band are summed in each of its sittings, which at most doubles the work.
    """
    bands = [range(begin, min(begin + band, size)) for begin in range(0, size, band)]
    if len(bands) == 1:
        return [Sitting((bands[0],), (Block(bands[0], bands[0]),))]
    found = []
    for a, rows in enumerate(bands):
        for b, columns in enumerate(bands[a + 1 :], a + 1):
            own = [Block(rows, columns)]
            # The diagonal blocks go along where their band comes first: once each.
            if b == a + 1:
                own.append(Block(rows, rows))
            if b == a + 1 == len(bands) - 1:
                own.append(Block(columns, columns))
            found.append(Sitting((rows, columns), tuple(own)))
    return found


def blocks_in(size: int, band: int = BAND) -> list[Block]:
    """All blocks, in the order of the sittings: a block's number is its place here."""
    return [block for sitting in sittings(size, band) for block in sitting.blocks]


def cut_blocks(sitting: Sitting, packed: Ints) -> Iterator[Ints]:
    """The blocks of a sitting, from the packed triangle of its bands; 0 below the diagonal."""
    size = sum(len(band) for band in sitting.bands)
    begins = dict(zip(sitting.bands, np.cumsum([0, *map(len, sitting.bands)]), strict=False))
    for block in sitting.blocks:
        out = np.zeros(block.shape, np.int64)
        _cut(packed, size, int(begins[block.rows]), int(begins[block.columns]), out)
        yield out


def paste(block: Block, begin: int, part: Ints, size: int, packed: Ints) -> None:
    """Add cells of a block to the packed triangle of all items.

    Args:
        block: Which.
        begin: The number of the first cell, row after row.
        part: The cells.
        size: How many items there are.
        packed: The triangle.
    """
    _paste(part, begin, block.rows.start, block.columns.start, len(block.columns), size, packed)


@njit(cache=True, nogil=True)
def _cut(packed: Any, size: int, row: int, column: int, out: Any) -> None:
    for a in range(out.shape[0]):
        # Cell (i, j) of a packed triangle: the i (i + 1) / 2 cells below the diagonal are left out.
        base = (row + a) * size - (row + a) * (row + a + 1) // 2
        for b in range(max(0, row + a - column), out.shape[1]):
            out[a, b] = packed[base + column + b]


@njit(cache=True, nogil=True)
def _paste(
    part: Any, begin: int, row: int, column: int, width: int, size: int, packed: Any
) -> None:
    for n in range(len(part)):
        i, j = row + (begin + n) // width, column + (begin + n) % width
        if j >= i:
            packed[i * size - i * (i + 1) // 2 + j] += part[n]


@dataclass(frozen=True)
class SumPeople:
    """Several statistics over the people of a partition.

    Attributes:
        shape: What is public of the ratings.
        measures: The statistics.
        bundles: Into how many bundles partitions are put whose sums are added first.
    """

    shape: Shape
    measures: tuple[Measure, ...]
    bundles: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        use_own_cores_only()
        sums: list[Leaf] | None = None
        users = count = 0
        for ratings in self.shape.unpacked(batches):
            users, count = users + ratings.user_count, count + len(ratings)
            found = leaves_of(tuple(measure(ratings) for measure in self.measures))
            sums = found if sums is None else [a + b for a, b in zip(sums, found, strict=True)]
        if sums is None:
            return
        bundle = _bundle(self.bundles)
        for number, leaf in enumerate(sums):
            yield from _sent(bundle, number, leaf)
        yield from _counts(bundle, users, count)


@dataclass(frozen=True)
class SumPairs:
    """A statistic over pairs, for the people of a partition: each block of a triangle is a leaf.

    Attributes:
        shape: What is public of the ratings.
        statistic: Of pairs.
        bundles: As above.
        band: Items in a band.
    """

    shape: Shape
    statistic: PairStatistic
    bundles: int
    band: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        use_own_cores_only()
        parts = list(self.shape.unpacked(batches))
        if not parts:
            return
        ratings, number, bundle = joined(self.shape, parts), 0, _bundle(self.bundles)
        del parts
        yield from _counts(bundle, ratings.user_count, len(ratings))
        entries = self.statistic.entries(ratings)
        del ratings
        for sitting in sittings(len(self.statistic.head), self.band):
            sums = self.statistic.sum_pairs(entries.within(*sitting.bands))
            for lane, triangle in enumerate(sums):
                for place, block in enumerate(cut_blocks(sitting, triangle)):
                    yield from _sent(bundle, (number + place) * len(sums) + lane, block)
            number += len(sitting.blocks)


def add_tiles(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The sums of tiles that are the same tile of the same leaf."""
    use_own_cores_only()
    sums: dict[tuple[int, int], Leaf] = {}
    for batch in batches:
        columns = (batch["leaf"].to_pylist(), batch["tile"].to_pylist(), batch["packed"])
        for leaf, tile, packed in zip(*columns, strict=True):
            part = tile_from(tile, packed.as_py())
            key = (leaf, tile)
            sums[key] = part if key not in sums else sums[key] + part
    for (leaf, tile), found in sums.items():
        for _, packed in tiles_of(found):
            yield _row(0, leaf, tile, packed)


def _counts(bundle: int, users: int, ratings: int) -> Iterator[pa.RecordBatch]:
    yield from _sent(bundle, USERS, users)
    yield from _sent(bundle, RATINGS, ratings)


def _sent(bundle: int, leaf: int, sums: Leaf) -> Iterator[pa.RecordBatch]:
    for tile, packed in tiles_of(sums):
        yield _row(bundle, leaf, tile, packed)


def _row(bundle: int, leaf: int, tile: int, packed: bytes) -> pa.RecordBatch:
    columns = {"bundle": [bundle], "leaf": [leaf], "tile": [tile], "packed": [packed]}
    return pa.RecordBatch.from_pydict(columns, _TILES)


def _bundle(bundles: int) -> int:
    """The bundle of this task's partition."""
    context = task_context()
    return 0 if context is None else int(context.partitionId()) % bundles


class RatingsInParts(RemoteRatings):
    """Ratings in partitions, each of whole users: what does not depend on where they are.

    Args:
        scale: Of the ratings.
        catalog: Of the items.
        shape: The same, as tasks have it.
        partitions: How many.
        band: Items in a band of a triangle.
    """

    def __init__(
        self, scale: Scale, catalog: Catalog, shape: Shape, partitions: int, band: int = BAND
    ) -> None:
        self.scale, self.catalog, self.has_times = scale, catalog, shape.has_times
        self._shape, self._partitions, self._band = shape, partitions, band

    @abc.abstractmethod
    def _counted(self) -> tuple[int, int]:
        """How many users and how many ratings there were when they were read."""

    @abc.abstractmethod
    def _sums(self, name: str, work: Work, volume: int) -> Iterator[Any]:
        """The sums over all partitions, every tile of them once: rows of leaf, tile, packed.

        Args:
            name: The stage's name.
            work: What tasks do.
            volume: Bytes of all tiles of one partition, at most.
        """

    def total(self, measures: tuple[Measure, ...]) -> tuple[Any, ...]:
        zeros = tuple(measure(self._nobody()) for measure in measures)
        leaves = [leaf if isinstance(leaf, int) else leaf.copy() for leaf in leaves_of(zeros)]
        work = SumPeople(self._shape, measures, self._bundles)
        for row in self._checked_sums("item sums", work, size_in_bytes(leaves)):
            add_tile(leaves, row["leaf"], row["tile"], row["packed"])
        found: tuple[Any, ...] = with_leaves(zeros, iter(leaves))
        return found

    def triangles(self, statistic: PairStatistic) -> tuple[Ints, ...]:
        size, count = len(statistic.head), statistic.triangle_count
        outs = tuple(np.zeros(packed_size(size), np.int64) for _ in range(count))
        blocks = blocks_in(size, self._band)
        work = SumPairs(self._shape, statistic, self._bundles, self._band)
        volume = 8 * count * sum(block.cells for block in blocks)
        for row in self._checked_sums("item pairs", work, volume):
            place, lane = divmod(row["leaf"], count)
            part = tile_from(row["tile"], row["packed"])
            assert not isinstance(part, int)
            paste(blocks[place], row["tile"] * TILE, part, size, outs[lane])
        return outs

    def _checked_sums(self, name: str, work: Work, volume: int) -> Iterator[Any]:
        """The sums over all partitions, as above.

        Raises:
            InputError: In the end, if they are not over as many as were read.
        """
        expected, counted = self._counted(), {USERS: 0, RATINGS: 0}
        for row in self._sums(name, work, volume + size_in_bytes([0, 0])):
            if row["leaf"] in counted:
                counted[row["leaf"]] += int(tile_from(row["tile"], row["packed"]))
            else:
                yield row
        if tuple(counted.values()) != expected:
            raise InputError(CHANGED)

    @property
    def _bundles(self) -> int:
        # The square root balances the two rounds: as many bundles as partitions in each.
        return 1 if self._partitions <= _FAN_IN else math.isqrt(self._partitions - 1) + 1

    def _nobody(self) -> Ratings:
        """The same ratings without any: sums over them are 0, and of the right shape."""
        codes = self.scale.encode(np.empty(0))
        columns = np.zeros(1, np.int64), np.empty(0, np.int32), codes
        times = np.empty(0, np.uint32) if self.has_times else None
        return Ratings(self.scale, self.catalog, *columns, times)
