"""How often popular items are found together: G = sum over people of w(m) x x^T. See PROOF.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from discreet.measure._source import (
    HeadEntries,
    PairStatistic,
    Part,
    Progress,
    Statistic,
    check_head,
    count_inside,
    head_entries,
    over_blocks,
    places_in,
)
from discreet.measure.engines.local import weighted_pairs
from discreet.privacy import Noise, Unit
from discreet.ratings import Ratings

# Grid units in a weight of 1: the weights of 2^33 people add up within 64 bits. All old pairs of a
# person lose a grid unit together now and then, a price that is small up to heads of 25,000 items.
GRID = 1 << 30
# Covers the rounding of the sensitivities' own formulas, less than ten times 2^-53 (PROOF.md).
_UP = 1 + 2.0**-40

_Ints = npt.NDArray[np.int64]
_Head = npt.NDArray[np.int32]


@lru_cache(maxsize=64)
def pair_weights(unit: Unit, noise: Noise, most: int) -> _Ints:
    """w(m) for m = 0..most items of the head, in grid units, rounded down.

    Per user 1/sqrt(m(m-1)) for Gaussian noise and 2/(m(m-1)) for Laplace noise: everybody's pairs
    have length 2^-1/2, or 1 in L1. Per record, for Gaussian noise w(2) = 1 and then each weight is
    the largest that moves the pairs by at most 1 given the one before (PROOF.md); for Laplace
    noise 1/m. Somebody with a single item has no pair and the weight 1.
    """
    m = np.arange(most + 1, dtype=np.float64)
    w = np.zeros(most + 1)
    w[1:] = 1.0
    several = m[2:]
    # Sums, products, quotients and roots alone: they round alike on every machine, so that the
    # workers of a cluster have the driver's table.
    if noise.kind.order == 1:
        w[2:] = 2 / (several * (several - 1)) if unit is Unit.USER else 1 / several
    elif unit is Unit.USER:
        w[2:] = 1 / np.sqrt(several * (several - 1))
    else:
        weight = 1.0
        for now in range(2, most):
            # The larger root b of m b^2 + m(m-1)/2 (w - b)^2 = 1, m being `now`.
            old = now * (now - 1) / 2
            weight = (old * weight + math.sqrt(now + old - now * old * weight * weight)) / (
                now + old
            )
            w[now + 1] = weight
    weights = np.floor(w * GRID).astype(np.int64)
    weights.flags.writeable = False
    return weights


@dataclass(frozen=True)
class PairMovement:
    """How far one record or one user moves the sums with these weights; computed from the table.

    Args:
        unit: Whom the release protects.
        noise: Which norm.
        most: How many items the head has.
    """

    unit: Unit
    noise: Noise
    most: int

    @property
    def _steps(self) -> tuple[npt.NDArray[np.float64], ...]:
        """The arrays m = 0..most - 1, w(m) and w(m + 1)."""
        w = pair_weights(self.unit, self.noise, self.most).astype(np.float64)
        return np.arange(self.most, dtype=np.float64), w[:-1], w[1:]

    @property
    def of_pairs(self) -> float:
        """Of the strict triangle, in grid units."""
        m, before, after = self._steps
        new, old, drop = m, m * (m - 1) / 2, np.abs(before - after)
        if self.unit is Unit.USER:
            new, old = (m + 1) * m / 2, np.zeros_like(m)
        if self.noise.kind.order == 1:
            moved = new * after + old * drop
        else:
            moved = np.sqrt(new * after**2 + old * drop**2)
        return _UP * float(moved.max())

    @property
    def of_mass(self) -> float:
        """Of the sum of w(m) m, in grid units."""
        m, before, after = self._steps
        start = 0.0 if self.unit is Unit.USER else before * m
        return _UP * float(np.abs(after * (m + 1) - start).max())

    @property
    def of_weight(self) -> float:
        """Of the sum of w(m), in grid units."""
        _, before, after = self._steps
        start = 0.0 if self.unit is Unit.USER else before
        return _UP * float(np.abs(after - start).max())


@dataclass(frozen=True, eq=False)
class _OfHead:
    """What both statistics take.

    Args:
        unit: Whom the release protects.
        noise: Which norm the sensitivity is in.
        head: Catalogue indices of the items, rising, chosen from released numbers.
    """

    unit: Unit
    noise: Noise
    head: _Head

    def __post_init__(self) -> None:
        check_head(self.head)

    @property
    def _movement(self) -> PairMovement:
        return PairMovement(self.unit, self.noise, len(self.head))


class PresencePairs(_OfHead, PairStatistic):
    """The strict upper triangle of G over the items of `head`, in exact integers.

    What people gave an item does not matter, only that they have it. m is how many items of the
    head a person has.
    """

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("presence pairs", self._movement.of_pairs, GRID, is_triangle=True),)

    def entries(self, ratings: Ratings) -> HeadEntries:
        table = pair_weights(self.unit, self.noise, len(self.head))

        def quantise(block: Ratings, inside: _Head) -> tuple[npt.NDArray[np.int16], _Ints]:
            return np.ones(len(block), np.int16), table[count_inside(block.starts, inside)]

        return head_entries(ratings, self.head, quantise, np.int64)

    def sum_pairs(self, entries: HeadEntries, progress: Progress | None = None) -> tuple[_Ints]:
        return (
            weighted_pairs(
                entries.starts, entries.items, entries.weights, entries.size, progress=progress
            ),
        )


class HeadWeights(_OfHead, Statistic):
    """Two sums over people that say what G's entries are out of: of w(m) m and of w(m)."""

    @property
    def parts(self) -> tuple[Part, ...]:
        return (
            Part("weighted head records", self._movement.of_mass, GRID),
            Part("weight of the pairs", self._movement.of_weight, GRID),
        )

    def measure(self, ratings: Ratings) -> tuple[int, int]:
        """The exact integers; private."""
        inside = places_in(self.head, len(ratings.catalog))
        table = pair_weights(self.unit, self.noise, len(self.head))

        def work(block: Ratings, _: int) -> tuple[int, int]:
            counts = count_inside(block.starts, inside[block.items])
            weights = table[counts]
            return int((weights * counts).sum()), int(weights.sum())

        parts = over_blocks(ratings, work)
        return sum(mass for mass, _ in parts), sum(weight for _, weight in parts)
