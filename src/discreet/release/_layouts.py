"""What a release of each method holds: its arrays and its parameters.

A new method is one more entry of `METHODS`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.domain.triangles import packed_side, packed_size

Arrays = Mapping[str, npt.NDArray[np.generic]]

# Bytes up to which an array's content is checked whenever a release is made or opened: 16 MiB take
# a few milliseconds. Chosen by hand.
SMALL = 16 * 2**20

_TRIANGLE = "triangle of "


@dataclass(frozen=True)
class ArrayLayout:
    """What one array of a method looks like.

    Attributes:
        dtype: The numpy name of its element type.
        shape: A name for the length of each axis; equal names are equal lengths. `items` is the
            catalogue's length, `triangle of x` is x (x + 1) / 2.
        at_least: The smallest allowed value, if there is one.
        below: The name of an axis: every value is an index of that axis, and none occurs twice.
        rising: Whether every value is above the one before it.
        optional: Whether a release may lack it.
    """

    dtype: str
    shape: tuple[str, ...]
    at_least: float | None = None
    below: str | None = None
    rising: bool = False
    optional: bool = False


@dataclass(frozen=True)
class MethodLayout:
    """What a release of one method holds.

    Attributes:
        arrays: The layout of each array.
        parameters: The smallest allowed value of each required parameter.
        together: Optional arrays that come all or none, and the parameters they need.
    """

    arrays: Mapping[str, ArrayLayout]
    parameters: Mapping[str, float]
    together: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()


_ITEMS = {
    "item_effects": ArrayLayout("float32", ("items",)),
    "item_effect_variances": ArrayLayout("float32", ("items",), at_least=0),
    "item_counts": ArrayLayout("float32", ("items",), at_least=0),
}
_FACTORS = _ITEMS | {
    "factors": ArrayLayout("float32", ("items", "factors")),
    "factor_variances": ArrayLayout("float32", ("items",), at_least=0),
}
_HEAD = ArrayLayout("int32", ("head",), at_least=0, below="items", optional=True)
_PAIRS = ArrayLayout("float32", (_TRIANGLE + "head",), optional=True)
_MODEL = {"global_mean": -math.inf, "user_variance": 0, "rating_variance": 1e-9}

# What lists are ordered by; `ListScores` of `discreet.predict` says what each of them means.
_LISTS = {
    "list_popularity": ArrayLayout("float32", ("items",), at_least=0),
    "list_start": ArrayLayout("float32", ("items",)),
    "list_gain": ArrayLayout("float32", ("items",), at_least=0),
    "list_head": ArrayLayout("int32", ("list head",), at_least=0, below="items", rising=True),
    "list_rows": ArrayLayout("int8", ("list head", "list rank")),
    "list_scales": ArrayLayout("float32", ("list rank",), at_least=0),
    "list_tail": ArrayLayout("float32", ("items",)),
    "list_axis": ArrayLayout("float32", ("list rank",)),
}
_OPTIONAL_LISTS = {name: replace(layout, optional=True) for name, layout in _LISTS.items()}

_CLUSTERS = MethodLayout(
    arrays={
        "item_effects": _ITEMS["item_effects"],
        "item_counts": _ITEMS["item_counts"],
        "bucket_sizes": ArrayLayout("int32", ("buckets",), at_least=0),
        "bucket_raters": ArrayLayout("int32", ("buckets",), at_least=0),
        "bucket_fakes": ArrayLayout("float32", ("buckets",), at_least=0),
        "bucket_fake_means": ArrayLayout("float32", ("buckets",)),
        "bucket_ends": ArrayLayout("int64", ("buckets",), at_least=0),
        "bucket_items": ArrayLayout("int32", ("entries",), at_least=0),
        "bucket_sums": ArrayLayout("float32", ("entries",)),
        "bucket_counts": ArrayLayout("int32", ("entries",), at_least=1),
    },
    parameters={
        "global_mean": -math.inf,
        "bits": 1,
        "thin": 0,
        "fake_percent": 0,
        "popular_share": 0,
    },
)

METHODS: dict[str, MethodLayout] = {
    "refined": MethodLayout(
        arrays=_FACTORS | _OPTIONAL_LISTS, parameters=_MODEL, together=((tuple(_LISTS), ()),)
    ),
    "lists": MethodLayout(arrays={"item_counts": _ITEMS["item_counts"]} | _LISTS, parameters={}),
    "covariance": MethodLayout(
        arrays=_FACTORS | {"head": _HEAD, "covariance": _PAIRS, "weights": _PAIRS},
        parameters=_MODEL,
        together=((("head", "covariance", "weights"), ("covariance_noise", "weights_noise")),),
    ),
    "slope-one": MethodLayout(
        arrays=_ITEMS | {"head": _HEAD, "differences": _PAIRS, "pair_weights": _PAIRS},
        parameters=_MODEL,
        together=((("head", "differences", "pair_weights"), ("difference_noise", "pair_noise")),),
    ),
    "cosine": MethodLayout(
        arrays=_ITEMS
        | {
            "head": _HEAD,
            "products": _PAIRS,
            "squares": ArrayLayout("float32", ("head",), optional=True),
        },
        parameters=_MODEL,
        together=((("head", "products", "squares"), ("product_noise", "square_noise")),),
    ),
    "open-clusters": _CLUSTERS,
    "closed-clusters": _CLUSTERS,
}


def find_method(name: str) -> MethodLayout:
    """The layout of a method's releases.

    Raises:
        InputError: This version does not know the method.
    """
    if name not in METHODS:
        known = ", ".join(sorted(METHODS))
        raise InputError(f"'{name}' is not a method that this version knows; it knows {known}")
    return METHODS[name]


def check_layout(method: str, items: int, parameters: Mapping[str, Any], arrays: Arrays) -> None:
    """Refuse arrays or parameters that are missing, unknown or of the wrong type or shape.

    Raises:
        InputError: Says which one, and what it should be.
    """
    layout = find_method(method)
    for name in arrays:
        if name not in layout.arrays:
            raise InputError(f"array '{name}' does not belong to method '{method}'")
    for name, expected in layout.arrays.items():
        if name not in arrays and not expected.optional:
            raise InputError(f"array '{name}' is missing")
    needed = dict(layout.parameters)
    for group, its_parameters in layout.together:
        present = [name for name in group if name in arrays]
        if present and len(present) < len(group):
            raise InputError(f"arrays {', '.join(group)} belong together; some are missing")
        if present:
            needed |= dict.fromkeys(its_parameters, 0.0)
    for name, smallest in needed.items():
        _check_parameter(name, parameters.get(name), smallest)
    _check_shapes(layout, items, arrays)


def _check_parameter(name: str, value: Any, smallest: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"parameter '{name}' must be a number")
    if not smallest <= value <= sys.float_info.max:
        raise InputError(f"parameter '{name}' must be a finite number from {smallest:g} on")


def _check_shapes(layout: MethodLayout, items: int, arrays: Arrays) -> None:
    lengths = {"items": items}
    for name, array in arrays.items():
        expected = layout.arrays[name]
        if array.dtype != np.dtype(expected.dtype).newbyteorder("<"):
            raise InputError(f"array '{name}' has type {array.dtype}, not {expected.dtype}")
        if array.ndim != len(expected.shape):
            raise InputError(f"array '{name}' has {array.ndim} axes, not {len(expected.shape)}")
        for axis, length in zip(expected.shape, array.shape, strict=True):
            _check_length(name, axis, length, lengths)


def _check_length(name: str, axis: str, length: int, lengths: dict[str, int]) -> None:
    """Compare one axis with its known length, or learn the length from it."""
    base = axis.removeprefix(_TRIANGLE)
    if base not in lengths:
        side = packed_side(length) if base != axis else length
        if side is None:
            raise InputError(f"array '{name}' has {length:,} entries, which fill no triangle")
        lengths[base] = side
    expected = packed_size(lengths[base]) if base != axis else lengths[base]
    if length != expected:
        raise InputError(
            f"array '{name}' has length {length:,} where {expected:,} was expected ({axis})"
        )


def check_contents(method: str, items: int, arrays: Arrays, *, at_most: int | None) -> None:
    """Refuse values that are not finite or not in their range, in arrays up to `at_most` bytes.

    Indices are checked in arrays of any size: what they point to is read without a look.

    Raises:
        InputError: Says which array.
    """
    layout = find_method(method)
    for name, array in arrays.items():
        expected = layout.arrays[name]
        if at_most is None or array.nbytes <= at_most or expected.below is not None:
            _check_values(name, array, expected, items)


def _check_values(
    name: str, array: npt.NDArray[np.generic], expected: ArrayLayout, items: int
) -> None:
    if array.size == 0:
        return
    values = np.asarray(array)
    # A minimum is NaN if any value is, so two passes find everything that is not finite.
    smallest, largest = float(values.min()), float(values.max())
    if not (math.isfinite(smallest) and math.isfinite(largest)):
        raise InputError(f"array '{name}' holds a value that is not a finite number")
    if expected.at_least is not None and smallest < expected.at_least:
        raise InputError(f"array '{name}' holds a value below {expected.at_least:g}")
    if expected.below is not None:
        if largest >= items:
            raise InputError(f"array '{name}' points past the catalogue of {items:,} items")
        # Sorted: np.unique hashes integers, which takes ten times as long where all are different.
        ordered = np.sort(values)
        if np.any(ordered[1:] == ordered[:-1]):
            raise InputError(f"array '{name}' names an item more than once")
    if expected.rising and np.any(values[1:] < values[:-1]):
        raise InputError(f"array '{name}' must list items in the catalogue's order")
