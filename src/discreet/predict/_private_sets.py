"""A privately chosen set on the person's own screen."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, OwnRatings


def drop_own(
    chosen: npt.ArrayLike, own: OwnRatings | npt.ArrayLike, n: int | None = None
) -> npt.NDArray[np.int64]:
    """The items of a drawn set that the person has not rated yet, in the order drawn.

    Sets are chosen among all items, so that the choice does not tell what anybody rated: draw some
    more than are wanted, and drop own items here, at home.

    Args:
        chosen: Catalogue indices of one person's set.
        own: The person's own ratings, or the catalogue indices of what they rated.
        n: Keep at most so many, the first ones. Sets from `k-subset` are in the catalogue's order,
            which says nothing about quality: show all of them, or order them by a prediction.
    """
    drawn = _indices("a drawn set", chosen)
    rated = own.items if isinstance(own, OwnRatings) else _indices("own items", own)
    if n is not None and n < 0:
        raise InputError(f"n is how many items to keep, not {n}")
    return drawn[~np.isin(drawn, rated)][:n]


def _indices(what: str, items: npt.ArrayLike) -> npt.NDArray[np.int64]:
    found = np.asarray(items)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise InputError(f"{what}: give one person's catalogue indices, as whole numbers")
    return found.astype(np.int64)
