"""What a release lists: recommendations, and items like another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar


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
