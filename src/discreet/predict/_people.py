"""What goes into a predictor: people's own ratings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, OwnRatings


@dataclass(frozen=True, eq=False, repr=False)
class People:
    """The own ratings of several people: those of person p are `starts[p]:starts[p + 1]`.

    Attributes:
        starts: Where each person's ratings begin, and the end of the last.
        items: Catalogue indices, each at most once per person.
        values: The ratings beside them, on the release's scale.
    """

    starts: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        columns = (self.starts, self.items, self.values)
        if [column.dtype.name for column in columns] != ["int64", "int32", "float64"]:
            raise InputError("people's columns are starts int64, items int32 and values float64")
        rise = len(self.starts) > 0 and self.starts[0] == 0 and np.all(np.diff(self.starts) >= 0)
        if not rise or not self.starts[-1] == len(self.items) == len(self.values):
            raise InputError("people's starts do not rise from 0 to the number of ratings")

    @classmethod
    def one(cls, own: OwnRatings) -> People:
        """A single person."""
        return cls(np.array([0, len(own)]), own.items, own.values)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, person: int) -> OwnRatings:
        part = slice(self.starts[person], self.starts[person + 1])
        return OwnRatings(self.items[part], self.values[part])

    def __repr__(self) -> str:
        return "People(private)"

    def part(self, first: int, last: int) -> People:
        """The people from `first` to before `last`."""
        starts = self.starts[first : last + 1]
        begin, end = starts[0], starts[-1]
        return People(starts - begin, self.items[begin:end], self.values[begin:end])

    def means(self, otherwise: float) -> npt.NDArray[np.float64]:
        """Each person's mean rating, or `otherwise` for a person without ratings."""
        running = np.concatenate(([0.0], np.cumsum(self.values)))
        sums = running[self.starts[1:]] - running[self.starts[:-1]]
        counts = np.diff(self.starts)
        return np.where(counts > 0, sums / np.maximum(counts, 1), otherwise)

    def check(self, item_count: int) -> None:
        """Refuse items outside a catalogue of this length."""
        if len(self.items) and not (self.items.min() >= 0 and self.items.max() < item_count):
            raise InputError(f"people rated items outside the catalogue of {item_count:,}")


def drop_own(
    chosen: npt.ArrayLike, own: OwnRatings | npt.ArrayLike, n: int | None = None
) -> npt.NDArray[np.int64]:
    """The items of a privately drawn set that the person has not rated yet, in the order drawn.

    Sets are drawn among all items, so that a set does not reveal what anybody rated: draw more
    than you want, and drop own items here, at home.

    Args:
        chosen: Catalogue indices of one person's set.
        own: The person's own ratings, or the catalogue indices of what they rated.
        n: Keep at most this many, the first ones. Sets from `k-subset` are in catalogue order,
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
