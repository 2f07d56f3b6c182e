"""How often each item was rated, with everybody's influence bounded. See PROOF.md."""

from __future__ import annotations

from dataclasses import dataclass

import numba as nb
import numpy as np
import numpy.typing as npt

from discreet.measure._source import (
    Part,
    Statistic,
    check_head,
    count_inside,
    places_in,
    sum_over_blocks,
)
from discreet.privacy import Noise, Unit
from discreet.ratings import Ratings

# Grid units in one full vote: its square times 2^33 users stays within 64 bits.
GRID = 1 << 14


@dataclass(frozen=True)
class ItemCounts(Statistic):
    """MCnt_i = sum over users of v_u e_ui: one number for each item of the catalogue.

    Protecting ratings, every rating is one vote. Protecting users, everybody's votes have length 1
    together: v_u = 1/sqrt(c_u) for Gaussian noise, 1/c_u for Laplace noise.

    Args:
        unit: Whom the release protects.
        noise: Which noise the sensitivity is for.
    """

    unit: Unit
    noise: Noise

    @property
    def parts(self) -> tuple[Part, ...]:
        # One full vote: L2 for Gaussian noise, L1 for Laplace noise.
        if self.unit is Unit.RATING:
            return (Part("item counts", 1.0, 1),)
        return (Part("item votes", float(GRID), GRID),)

    def measure(self, ratings: Ratings) -> npt.NDArray[np.int64]:
        """The exact integers; private."""
        counts = np.zeros(len(ratings.catalog), dtype=np.int64)
        _add_votes(ratings.starts, ratings.items, self.votes(ratings), counts)
        return counts

    def votes(self, ratings: Ratings) -> npt.NDArray[np.int64]:
        """v_u on the grid, by how many items everybody rated."""
        return _votes(self.unit, self.noise, np.diff(ratings.starts))


@dataclass(frozen=True, eq=False)
class HeadCounts(Statistic):
    """The same for some items alone: c_u is how many of these the user rated.

    Protecting users, a vote for one of few items counts more than for one of many.

    Args:
        unit: Whom the release protects.
        noise: Which noise the sensitivity is for.
        head: Catalogue indices of the items, rising, chosen from released numbers.
    """

    unit: Unit
    noise: Noise
    head: npt.NDArray[np.int32]

    def __post_init__(self) -> None:
        check_head(self.head)

    @property
    def parts(self) -> tuple[Part, ...]:
        whole = ItemCounts(self.unit, self.noise).parts[0]
        return (Part(f"{whole.label} of the head", whole.sensitivity, whole.grid),)

    def measure(self, ratings: Ratings) -> npt.NDArray[np.int64]:
        """The exact integers, one for each item of the head; private."""
        table = places_in(self.head, len(ratings.catalog))

        def work(block: Ratings, _: int) -> npt.NDArray[np.int64]:
            places = table[block.items]
            votes = _votes(self.unit, self.noise, count_inside(block.starts, places))
            counts = np.zeros(len(self.head), dtype=np.int64)
            _add_votes(block.starts, places, votes, counts)
            return counts

        return sum_over_blocks(ratings, work, len(self.head))


def _votes(unit: Unit, noise: Noise, rated: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """v_u on the grid, rounded down: floor(G/sqrt c) is the integer root of floor(G^2/c)."""
    counts = np.maximum(rated, 1)
    if unit is Unit.RATING:
        return np.ones_like(counts)
    votes = np.sqrt(GRID * GRID // counts) if noise.kind.order == 2 else GRID // counts
    return votes.astype(np.int64)


@nb.njit(cache=True, nogil=True)
def _add_votes(starts, items, votes, counts) -> None:  # type: ignore[no-untyped-def]
    for user in range(len(starts) - 1):
        for place in range(starts[user], starts[user + 1]):
            if items[place] >= 0:
                counts[items[place]] += votes[user]
