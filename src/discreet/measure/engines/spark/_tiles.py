"""Triangles of a large head, tile by tile: no task holds more than that of two bands of items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from discreet.measure.engines.spark._leaves import Ints

BAND = 2048
"""Items in a band: a triangle of two bands takes 64 MiB."""


class Tile(NamedTuple):
    """The pairs of an item of one band with one of another, or of the same."""

    rows: range
    columns: range

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.columns)

    @property
    def cells(self) -> int:
        return len(self.rows) * len(self.columns)


class Sitting(NamedTuple):
    """Bands that are summed together, and the tiles that are taken from it."""

    bands: tuple[range, ...]
    tiles: tuple[Tile, ...]


def sittings(size: int, band: int = BAND) -> list[Sitting]:
    """How the triangle of `size` items is summed, every pair of them in one tile.

    Two bands at a time, so that a head of up to two bands is summed at once; beyond that pairs
    within a band are summed in each of its sittings, which at most doubles the work.
    """
    bands = [range(begin, min(begin + band, size)) for begin in range(0, size, band)]
    if len(bands) == 1:
        return [Sitting((bands[0],), (Tile(bands[0], bands[0]),))]
    found = []
    for a, rows in enumerate(bands):
        for b, columns in enumerate(bands[a + 1 :], a + 1):
            own = [Tile(rows, columns)]
            if b == a + 1:
                own.append(Tile(rows, rows))
            if b == a + 1 == len(bands) - 1:
                own.append(Tile(columns, columns))
            found.append(Sitting((rows, columns), tuple(own)))
    return found


def tiles_in(size: int, band: int = BAND) -> list[Tile]:
    """All tiles, in the order of the sittings: a tile's number is its place here."""
    return [tile for sitting in sittings(size, band) for tile in sitting.tiles]


def cut_tiles(sitting: Sitting, packed: Ints) -> Iterator[Ints]:
    """The tiles of a sitting, from the packed triangle of its bands; 0 below the diagonal."""
    size = sum(len(band) for band in sitting.bands)
    begins = dict(zip(sitting.bands, np.cumsum([0, *map(len, sitting.bands)]), strict=False))
    for tile in sitting.tiles:
        out = np.zeros(tile.shape, np.int64)
        _cut(packed, size, int(begins[tile.rows]), int(begins[tile.columns]), out)
        yield out


def paste(tile: Tile, begin: int, part: Ints, size: int, packed: Ints) -> None:
    """Add the cells of a tile from `begin` on, row after row, to the packed triangle of all items.

    Args:
        tile: Which.
        begin: The number of the first cell.
        part: The cells.
        size: How many items there are.
        packed: The triangle.
    """
    _paste(part, begin, tile.rows.start, tile.columns.start, len(tile.columns), size, packed)


@njit(cache=True, nogil=True)
def _cut(packed: Any, size: int, row: int, column: int, out: Any) -> None:
    for a in range(out.shape[0]):
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
