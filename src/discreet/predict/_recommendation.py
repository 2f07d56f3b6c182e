"""What a predictor hands to a person."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Recommendation:
    """One item for one person.

    Attributes:
        item: Its index in the catalogue.
        id: Its identifier.
        title: What people call it.
        score: The expected rating, not cut to the scale, so that scores order all items. Of
            presence alone, how likely it is that the person has the item, about.
        because: The own ratings that speak most for the item, as (title, by how much they raise
            the expected rating, or the logarithm of a chance), the largest first; empty unless it
            was asked for, or if none does.
    """

    item: int
    id: str
    title: str
    score: float
    because: tuple[tuple[str, float], ...] = ()


class Recommendations(list[Recommendation]):
    """Recommendations, the best first.

    Attributes:
        unknown: The names in the own ratings, and among the available items, that the catalogue
            does not have.
    """

    def __init__(
        self, entries: Iterable[Recommendation] = (), unknown: tuple[str, ...] = ()
    ) -> None:
        super().__init__(entries)
        self.unknown = unknown
