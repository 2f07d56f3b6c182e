"""What must hold of columns before they are anybody's ratings: every sensitivity rests on it.

Looking takes 2 % of the CPU time that reading 10 million ratings from Parquet takes, the fastest
way there is to read them (`benchmarks/readers.py`).
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, Scale

_MOST, _CODES, _ITEMS, _STARTS = 1, 2, 3, 4
"""What `_worst_fault` finds; where several hold, the largest is reported."""

MOST_RATINGS = 2**32 - 1
"""Rows are numbered in 32 bits where they are sorted, and 64-bit sums are proved for as many."""

_NAME_KINDS = "iuUT"
"""numpy's kinds of integers and of text."""

_Column = npt.NDArray[Any]


def read_only(name: str, column: Any, kinds: tuple[Any, ...]) -> _Column:
    """The column as a view that cannot be written to, once its type is seen to be right.

    Args:
        name: What an error calls it.
        column: Any object; a numpy array is not copied.
        kinds: The dtypes that are right.

    Raises:
        InputError: It is not a contiguous one-dimensional array of such a type.
    """
    if not isinstance(column, np.ndarray) or column.ndim != 1 or column.dtype not in kinds:
        wanted = " or ".join(np.dtype(kind).name for kind in kinds)
        raise InputError(f"{name} must be a one-dimensional numpy array of {wanted}")
    if not (column.flags.c_contiguous and column.flags.aligned):
        raise InputError(f"{name} must be contiguous: make it so with numpy.ascontiguousarray")
    return locked(column)


def locked(column: _Column) -> _Column:
    """A plain view of an array that cannot be written to."""
    view = np.asarray(column).view()
    view.flags.writeable = False
    return view


def check_columns(
    scale: Scale,
    item_count: int,
    starts: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    codes: _Column,
    most_ratings: int | None,
) -> None:
    """Refuse columns that are not ratings of this scale and catalogue: one pass on all cores.

    Raises:
        InputError: Says which rule is broken, and nothing of what is in the columns.
    """
    if len(items) > MOST_RATINGS:
        raise InputError(f"ratings are at most {MOST_RATINGS:,}; more are for Spark")
    if len(codes) != len(items):
        raise InputError("codes and items must be equally long: one of each for every rating")
    if not len(starts) or starts[0] != 0 or starts[-1] != len(items):
        raise InputError("starts must begin with 0 and end with the number of ratings")
    least, most = code_range(scale)
    allowed = np.iinfo(np.int64).max if most_ratings is None else most_ratings
    fault = _worst_fault(starts, items, codes, item_count, least, most, allowed)
    if fault == _STARTS:
        raise InputError("starts must never fall, from 0 to the number of ratings")
    if fault == _ITEMS:
        raise InputError(
            f"each user's items must be catalogue indices from 0 to {item_count - 1:,} in rising "
            "order, each once"
        )
    if fault == _CODES:
        raise InputError(f"a code is not on the scale {scale}; use Scale.encode")
    if fault == _MOST:
        raise InputError(
            f"a user has more than the {most_ratings:,} ratings that the intake allows; "
            "use bound_contributions"
        )


def code_range(scale: Scale) -> tuple[Any, Any]:
    """The smallest and the largest code that a rating on this scale can have.

    Rounding to float32 keeps order, so `Scale.encode` never passes the rounded ends.
    """
    if scale.step is None:
        with np.errstate(over="ignore"):
            ends = np.float32(scale.lo), np.float32(scale.hi)
        if not np.isfinite(ends).all():
            raise InputError(f"the scale {scale} is too wide for 32-bit numbers")
        return ends
    assert scale.levels is not None
    return np.uint8(1 if scale.presence else 0), np.uint8(len(scale.levels) - 1)


def check_names(users: Any, count: int) -> _Column:
    """Users' names as a read-only view.

    Raises:
        InputError: They are not `count` different integers or texts.
    """
    if not isinstance(users, np.ndarray) or users.ndim != 1 or users.dtype.kind not in _NAME_KINDS:
        raise InputError("users must be a one-dimensional numpy array of integers or text")
    if hasattr(users.dtype, "na_object"):
        raise InputError("users must all have names: use a type of text that has no missing values")
    if len(users) != count:
        raise InputError("users must have one name for every user")
    # Readers number users in the order of their names, so this is all that is looked at.
    if not np.all(users[1:] > users[:-1]) and len(np.unique(users)) < count:
        raise InputError("two users have the same name: put all ratings of a user together")
    return locked(users)


@numba.njit(cache=True, parallel=True)
def _worst_fault(
    starts: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    codes: _Column,
    item_count: int,
    least: Any,
    most: Any,
    allowed: int,
) -> int:
    """Which rule is broken, 0 for none; rising items need a look at the first and last alone."""
    worst = 0
    for user in numba.prange(starts.size - 1):
        begin, end = starts[user], starts[user + 1]
        fault = 0
        if begin < 0 or end < begin or end > items.size:
            fault = _STARTS
        elif end > begin:
            rises, fits = True, True
            for place in range(begin + 1, end):
                rises &= items[place] > items[place - 1]
            for place in range(begin, end):
                # NaN is on no side of anything.
                fits &= (codes[place] >= least) & (codes[place] <= most)
            if not rises or items[begin] < 0 or items[end - 1] >= item_count:
                fault = _ITEMS
            elif not fits:
                fault = _CODES
            elif end - begin > allowed:
                fault = _MOST
        worst = max(worst, fault)
    return worst
