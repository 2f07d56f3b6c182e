"""Sums of parts put together: what does not depend on where the parts are."""

from __future__ import annotations

import abc
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from discreet.domain import Catalog, InputError, Scale
from discreet.measure._source import Measure, RemoteRatings
from discreet.measure._statistic import Ints, PairStatistic
from discreet.measure.engines.spark._arrow import Work
from discreet.measure.engines.spark._errors import CHANGED
from discreet.measure.engines.spark._leaves import (
    TILE,
    add_tile,
    leaves_of,
    size_in_bytes,
    tile_from,
    with_leaves,
)
from discreet.measure.engines.spark._parts import Shape
from discreet.measure.engines.spark._tasks import RATINGS, USERS, SumPairs, SumPeople
from discreet.measure.engines.spark._tiles import BAND, paste, tiles_in
from discreet.ratings import Ratings

_FAN_IN = 64
"""Partitions whose sums one task adds; where there are more, crowds of them are added first."""


class InParts(RemoteRatings):
    """Ratings in partitions, each of whole users.

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
        self.scale, self.catalog = scale, catalog
        self._shape, self._partitions, self._band = shape, partitions, band

    @abc.abstractmethod
    def _counted(self) -> tuple[int, int]:
        """How many users and how many ratings there were when they were read."""

    @abc.abstractmethod
    def _sums(self, name: str, work: Work, volume: int) -> Iterator[Any]:
        """The sums over all partitions, every tile of them once: rows of leaf, tile, packed.

        Args:
            name: What a person who waits is told.
            work: What tasks do.
            volume: Bytes of all tiles of one partition, at most.
        """

    def total(self, measures: tuple[Measure, ...]) -> tuple[Any, ...]:
        zeros = tuple(measure(self._nobody()) for measure in measures)
        leaves = [leaf if isinstance(leaf, int) else leaf.copy() for leaf in leaves_of(zeros)]
        work = SumPeople(self._shape, measures, self._crowds)
        for row in self._tiles("item sums", work, size_in_bytes(leaves)):
            add_tile(leaves, row["leaf"], row["tile"], row["packed"])
        found: tuple[Any, ...] = with_leaves(zeros, iter(leaves))
        return found

    def triangles(self, statistic: PairStatistic) -> tuple[Ints, ...]:
        size, count = len(statistic.head), statistic.triangle_count
        outs = tuple(np.zeros(size * (size + 1) // 2, np.int64) for _ in range(count))
        tiles = tiles_in(size, self._band)
        work = SumPairs(self._shape, statistic, self._crowds, self._band)
        volume = 8 * count * sum(tile.cells for tile in tiles)
        for row in self._tiles("item pairs", work, volume):
            place, lane = divmod(row["leaf"], count)
            part = tile_from(row["tile"], row["packed"])
            assert not isinstance(part, int)
            paste(tiles[place], row["tile"] * TILE, part, size, outs[lane])
        return outs

    def _tiles(self, name: str, work: Work, volume: int) -> Iterator[Any]:
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
    def _crowds(self) -> int:
        return 1 if self._partitions <= _FAN_IN else math.isqrt(self._partitions - 1) + 1

    def _nobody(self) -> Ratings:
        """The same ratings without any: sums over them are 0, and of the right shape."""
        codes = self.scale.encode(np.empty(0))
        return Ratings(
            self.scale, self.catalog, np.zeros(1, np.int64), np.empty(0, np.int32), codes
        )
