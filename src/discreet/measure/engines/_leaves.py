"""The integers and arrays that a measure returns, whatever holds them, to be added up elsewhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Leaf = int | npt.NDArray[np.int64]


def leaves_of(sums: Any) -> list[Leaf]:
    """The integers and arrays in a tuple or a dataclass of them, in order."""
    if isinstance(sums, int | np.integer):
        return [int(sums)]
    if isinstance(sums, np.ndarray):
        return [sums]
    return [leaf for part in _fields_of(sums) for leaf in leaves_of(part)]


def with_leaves(like: Any, leaves: Iterator[Leaf]) -> Any:
    """Sums of the same shape, made of other integers and arrays."""
    if isinstance(like, int | np.integer | np.ndarray):
        return next(leaves)
    made = [with_leaves(part, leaves) for part in _fields_of(like)]
    # A plain tuple takes its parts as one argument; a named one and a dataclass, each as its own.
    return tuple(made) if type(like) is tuple else type(like)(*made)


def _fields_of(sums: Any) -> list[Any]:
    if isinstance(sums, tuple):
        return list(sums)
    return [getattr(sums, field.name) for field in dataclasses.fields(sums)]
