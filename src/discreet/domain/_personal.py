"""One person's side: their own ratings, and the lists of items that they get.

Predictors and protocol clients never see anybody else's ratings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from discreet.domain._catalog import Catalog
from discreet.domain._scale import Scale
from discreet.domain.errors import InputError
from discreet.domain.lazy import LazyModule

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
else:
    np = LazyModule("numpy")


@dataclass(frozen=True, eq=False, repr=False)
class OwnRatings:
    """One person's ratings, checked against a catalogue and a scale.

    `items` are catalogue indices in rising order, `values` their ratings, `unknown` the names that
    the catalogue does not have (reported, never fatal).
    """

    items: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64]
    unknown: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, ratings: Mapping[str, float] | Iterable[str], catalog: Catalog, scale: Scale
    ) -> OwnRatings:
        """Look up a plain mapping from item id or title to rating.

        Where the scale is presence, names without values are enough, in any iterable; in a mapping
        each has the value 1. An item named twice then counts once.

        Raises:
            InputError: A rating is not a number or not on the scale, or two names mean one item.
        """
        known: dict[int, float] = {}
        unknown: list[str] = []
        for name, value in _by_name(ratings, scale).items():
            index = catalog.find(name)
            if index is None:
                unknown.append(name)
                continue
            number = _number(value, catalog.titles[index])
            if index in known and not (scale.presence and known[index] == number):
                raise InputError(f"'{name}' is rated twice under two names")
            known[index] = number
        items = np.array(sorted(known), dtype=np.int32)
        values = np.array([known[int(i)] for i in items], dtype=np.float64)
        outside = ~scale.contains(values)
        if outside.any():
            title = catalog.titles[int(items[outside][0])]
            if scale.presence:
                raise InputError(f"'{title}' must have the value 1, or be left out")
            raise InputError(f"the rating of '{title}' is not on the scale {scale}")
        return cls(items, values, tuple(unknown))

    @classmethod
    def onto(cls, ratings: Mapping[str, float], catalog: Catalog, scale: Scale) -> OwnRatings:
        """The same for a catalogue and a scale that a service announces: it accepts everything.

        A refusal would reveal something to the service. Ratings are moved to the nearest one on
        the scale; the first of two names for one item counts.

        Raises:
            InputError: A rating is not a finite number, whether the catalogue has the item or not.
        """
        numbers = {name: _number(value, name) for name, value in _by_name(ratings, scale).items()}
        if not all(map(math.isfinite, numbers.values())):
            raise InputError("own ratings are finite numbers")
        found = {name: catalog.find(name) for name in numbers}
        known: dict[int, float] = {}
        for name, index in found.items():
            if index is not None:
                known.setdefault(index, numbers[name])
        items = np.array(sorted(known), dtype=np.int32)
        values = scale.nearest(np.array([known[int(i)] for i in items], dtype=np.float64))
        return cls(items, values, tuple(name for name, index in found.items() if index is None))

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return "OwnRatings(private)"


def _by_name(ratings: Mapping[str, float] | Iterable[str], scale: Scale) -> Mapping[str, float]:
    """Ratings by name; names alone have the value of presence."""
    if isinstance(ratings, Mapping):
        return ratings
    if not scale.presence:
        raise InputError("own ratings are a mapping from items to ratings, like {'Alien': 5}")
    if not isinstance(ratings, str) and isinstance(ratings, Iterable):
        names = list(ratings)
        if all(isinstance(name, str) for name in names):
            return dict.fromkeys(names, scale.hi)
    raise InputError("own items are a list of ids or titles, like ['Alien', 'Heat']")


def _number(value: float, title: str) -> float:
    try:
        return float(value)
    except (OverflowError, TypeError, ValueError):
        # "from None": the conversion's own message repeats what it was given.
        raise InputError(f"the rating of '{title}' is not a number") from None


@dataclass(frozen=True)
class Recommendation:
    """One item for one person.

    Attributes:
        item: Its index in the catalogue.
        id: Its identifier.
        title: What people call it.
        score: What the list is ordered by: higher is better. It has no unit.
        expected: The expected rating, clipped to the scale; None if the release predicts none.
        because: The own ratings that raise the score of this item most, as (title, by how much),
            the largest first; empty unless you asked for it, or if none raises it.
    """

    item: int
    id: str
    title: str
    score: float
    expected: float | None = None
    because: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class SimilarItem:
    """One item that is like another.

    Attributes:
        item: Its index in the catalogue.
        id: Its identifier.
        title: What people call it.
        similarity: How alike the two are, above 0 and at most 1.
    """

    item: int
    id: str
    title: str
    similarity: float


_Entry = TypeVar("_Entry")


class Listing(list[_Entry]):
    """A list of items, the best first.

    Attributes:
        unknown: The names that were given, in own ratings or to filter by, and that the catalogue
            does not have.
    """

    def __init__(self, entries: Iterable[_Entry] = (), unknown: Iterable[str] = ()) -> None:
        super().__init__(entries)
        self.unknown = tuple(unknown)


class Recommendations(Listing[Recommendation]):
    """Recommendations, the best first."""


class SimilarItems(Listing[SimilarItem]):
    """Items like another, the most alike first."""
