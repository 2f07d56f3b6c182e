"""What tasks do: sum statistics over the people of a partition, and add the sums of others.

A task has no effect but what it returns, and Spark takes one result of each, however often it was
tried: so nothing is counted twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from discreet.measure._source import Measure
from discreet.measure._statistic import PairStatistic
from discreet.measure.engines.spark._leaves import Leaf, leaves_of, tile_from, tiles_of
from discreet.measure.engines.spark._parts import Shape, joined, task_context, use_own_cores_only
from discreet.measure.engines.spark._tiles import cut_tiles, sittings

USERS, RATINGS = -1, -2
"""Leaves that every statistic has: how many it is over."""
TILES = "crowd int, leaf int, tile int, packed binary"
_TILES = pa.schema(
    [("crowd", pa.int32()), ("leaf", pa.int32()), ("tile", pa.int32()), ("packed", pa.binary())]
)


@dataclass(frozen=True)
class SumPeople:
    """Several statistics over the people of a partition.

    Attributes:
        shape: What is public of the ratings.
        measures: The statistics.
        crowds: Into how many crowds partitions are put whose sums are added first.
    """

    shape: Shape
    measures: tuple[Measure, ...]
    crowds: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        use_own_cores_only()
        sums: list[Leaf] | None = None
        users = count = 0
        for ratings in self.shape.unpacked(batches):
            users, count = users + ratings.user_count, count + len(ratings)
            found = leaves_of(tuple(measure(ratings) for measure in self.measures))
            sums = found if sums is None else [a + b for a, b in zip(sums, found, strict=True)]
        for number, leaf in enumerate(sums or []):
            yield from _sent(_crowd(self.crowds), number, leaf)
        if sums is not None:
            yield from _counts(_crowd(self.crowds), users, count)


@dataclass(frozen=True)
class SumPairs:
    """A statistic over pairs, for the people of a partition: each tile of a triangle is a leaf.

    Attributes:
        shape: What is public of the ratings.
        statistic: Of pairs.
        crowds: As above.
        band: Items in a band.
    """

    shape: Shape
    statistic: PairStatistic
    crowds: int
    band: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        use_own_cores_only()
        parts = list(self.shape.unpacked(batches))
        if not parts:
            return
        ratings, number, crowd = joined(self.shape, parts), 0, _crowd(self.crowds)
        del parts
        yield from _counts(crowd, ratings.user_count, len(ratings))
        inside = self.statistic.entries(ratings)
        del ratings
        for sitting in sittings(len(self.statistic.head), self.band):
            sums = self.statistic.sum_pairs(inside.within(*sitting.bands))
            for lane, triangle in enumerate(sums):
                for place, tile in enumerate(cut_tiles(sitting, triangle)):
                    yield from _sent(crowd, (number + place) * len(sums) + lane, tile)
            number += len(sitting.tiles)


def add_tiles(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The sums of tiles that are the same tile of the same leaf."""
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


def _counts(crowd: int, users: int, ratings: int) -> Iterator[pa.RecordBatch]:
    yield from _sent(crowd, USERS, users)
    yield from _sent(crowd, RATINGS, ratings)


def _sent(crowd: int, leaf: int, sums: Leaf) -> Iterator[pa.RecordBatch]:
    for tile, packed in tiles_of(sums):
        yield _row(crowd, leaf, tile, packed)


def _row(crowd: int, leaf: int, tile: int, packed: bytes) -> pa.RecordBatch:
    columns = {"crowd": [crowd], "leaf": [leaf], "tile": [tile], "packed": [packed]}
    return pa.RecordBatch.from_pydict(columns, _TILES)


def _crowd(crowds: int) -> int:
    """The crowd of this task's partition."""
    context = task_context()
    return 0 if context is None else int(context.partitionId()) % crowds
