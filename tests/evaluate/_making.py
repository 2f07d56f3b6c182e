"""Small ratings and scorers for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from discreet.domain import Catalog, Scale
from discreet.predict import People
from discreet.ratings import Ratings, Split

FIVE_STARS = Scale(1, 5)


def make_ratings(
    rows: Sequence[Mapping[int, float]],
    items: int,
    scale: Scale = FIVE_STARS,
    times: np.ndarray | None = None,
) -> Ratings:
    """One user for each mapping from item to rating."""
    ordered = [sorted(row.items()) for row in rows]
    starts = np.cumsum([0, *map(len, ordered)])
    pairs = [pair for row in ordered for pair in row]
    values = np.array([value for _, value in pairs], dtype=np.float64)
    return Ratings(
        scale,
        Catalog([str(i) for i in range(items)]),
        starts.astype(np.int64),
        np.array([item for item, _ in pairs], dtype=np.int32),
        scale.encode(values),
        times,
    )


def make_split(
    train: Sequence[Mapping[int, float]], test: Sequence[Mapping[int, float]], items: int
) -> Split:
    return Split(make_ratings(train, items), make_ratings(test, items))


class Table:
    """A scorer that knows every score beforehand; people are told apart by their first rating."""

    def __init__(self, scores: Sequence[Sequence[float]]) -> None:
        self.table = np.array(scores, dtype=np.float64)

    def _rows(self, people: People) -> np.ndarray:
        return people.values[people.starts[:-1]].astype(int) - 1

    def predict_pairs(self, people: People, rows: np.ndarray, items: np.ndarray) -> np.ndarray:
        return self.table[self._rows(people)[rows], items]

    def scores(self, people: People, first: int, last: int) -> np.ndarray:
        return self.table[self._rows(people.part(first, last))].astype(np.float32)
