"""Several people's own ratings side by side, for predictions in bulk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, OwnRatings


@dataclass(frozen=True, eq=False, repr=False)
class People:
    """The own ratings of several people: those of person p are `starts[p]:starts[p + 1]`.

    Attributes:
        starts: Where each person's ratings begin; one longer than there are people.
        items: Catalogue indices, each at most once a person.
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

    def __repr__(self) -> str:
        return "People(private)"

    def part(self, first: int, last: int) -> People:
        """The people from `first` to before `last`."""
        starts = self.starts[first : last + 1]
        begin, end = starts[0], starts[-1]
        return People(starts - begin, self.items[begin:end], self.values[begin:end])

    def means(self, otherwise: float) -> npt.NDArray[np.float64]:
        """Everybody's own mean rating, or this for who rated nothing."""
        running = np.concatenate(([0.0], np.cumsum(self.values)))
        sums = running[self.starts[1:]] - running[self.starts[:-1]]
        counts = np.diff(self.starts)
        return np.where(counts > 0, sums / np.maximum(counts, 1), otherwise)

    def check(self, item_count: int) -> None:
        """Refuse items outside a catalogue of this length: kernels do not look where they reach."""
        if len(self.items) and not (self.items.min() >= 0 and self.items.max() < item_count):
            raise InputError(f"people rated items outside the catalogue of {item_count:,}")
