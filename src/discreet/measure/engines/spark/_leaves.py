"""Sums of any shape as numbered arrays, in tiles small enough to send and to add one by one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Leaf = int | Ints

TILE = 1 << 17
"""Integers in a tile: a mebibyte."""
SINGLE = -1
"""The tile of a leaf that is one integer, of any size."""
_BYTES = 32


def leaves_of(sums: Any) -> list[Leaf]:
    """The integers and arrays in a tuple or a dataclass of them, in order."""
    if isinstance(sums, int | np.integer):
        return [int(sums)]
    if isinstance(sums, np.ndarray):
        return [sums]
    return [leaf for part in _parts(sums) for leaf in leaves_of(part)]


def with_leaves(like: Any, leaves: Iterator[Leaf]) -> Any:
    """Sums of the same shape, made of other integers and arrays."""
    if isinstance(like, int | np.integer | np.ndarray):
        return next(leaves)
    made = [with_leaves(part, leaves) for part in _parts(like)]
    return tuple(made) if isinstance(like, tuple) else type(like)(*made)


def _parts(sums: Any) -> list[Any]:
    if isinstance(sums, tuple):
        return list(sums)
    return [getattr(sums, field.name) for field in dataclasses.fields(sums)]


def tiles_of(leaf: Leaf) -> Iterator[tuple[int, bytes]]:
    """A leaf as numbered tiles in bytes, without those that are all 0."""
    if isinstance(leaf, int):
        yield SINGLE, leaf.to_bytes(_BYTES, "little", signed=True)
        return
    flat = np.ascontiguousarray(leaf, dtype=np.int64).reshape(-1)
    for number, begin in enumerate(range(0, len(flat), TILE)):
        tile = flat[begin : begin + TILE]
        if tile.any():
            yield number, tile.tobytes()


def tile_from(number: int, packed: bytes) -> Leaf:
    """What `tiles_of` wrote."""
    if number == SINGLE:
        return int.from_bytes(packed, "little", signed=True)
    return np.frombuffer(packed, np.int64)


def size_in_bytes(leaves: list[Leaf]) -> int:
    """How much all tiles take at most."""
    return sum(_BYTES if isinstance(leaf, int) else leaf.nbytes for leaf in leaves)


def add_tile(leaves: list[Leaf], number: int, tile: int, packed: bytes) -> None:
    """Add a tile to its leaf; arrays are contiguous, and sums are modulo 2^64 as they are locally.

    Args:
        leaves: All leaves.
        number: Which.
        tile: Which tile of it.
        packed: The tile.
    """
    leaf, part = leaves[number], tile_from(tile, packed)
    if isinstance(leaf, int):
        leaves[number] = leaf + int(part)
    else:
        flat = leaf.reshape(-1)
        flat[tile * TILE : (tile + 1) * TILE] += part
