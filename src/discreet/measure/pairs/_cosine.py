"""The cosine's sums: products of two items' ratings, or of their presence, and squares."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import Scale
from discreet.measure._everybody import Everybody, Inside, Tell, total
from discreet.measure._noise import Noise
from discreet.measure.pairs._bounds import PairWeights
from discreet.measure.pairs._head import check_head, check_scale
from discreet.measure.pairs._kernels import add_squares, count_inside, product_lengths
from discreet.measure.pairs._sums import Block, Ints, make_table, quantised
from discreet.privacy import Unit
from discreet.ratings import Ratings

_FINEST = 1 << 5
"""Steps from 0 to the largest rating, at most."""
_SAFE = 1 - 2.0**-30


@dataclass(frozen=True, eq=False, repr=False)
class CosineMoments:
    """Exact integer sums over users.

    Private until noise is added, so there is no `repr` of the contents.
    """

    size: int
    """How many items."""
    products: Ints
    """P_jk = sum of w x_j x_k, j < k, a packed upper triangle with a diagonal of zeros."""
    squares: Ints
    """Q_j = sum of w x_j^2, one for each item."""


@dataclass(frozen=True, eq=False)
class CosinePairs:
    """P_jk and Q_j with the same weights, so that P_jk^2 <= Q_j Q_k: a cosine, between -1 and 1.

    x is a rating divided by the scale's largest in size, or 1 for a record of presence.

    Args:
        unit: Whom the release protects.
        noise: Which norm the sensitivities are in.
        head: Catalogue indices of the items, rising, chosen from released numbers.
        scale: Of the ratings.
    """

    unit: Unit
    noise: Noise
    head: npt.NDArray[np.int32]
    scale: Scale

    def __post_init__(self) -> None:
        check_head(self.head)

    @property
    def grid(self) -> float:
        """Grid units of P and of Q in a product of 1 at weight 1."""
        return float(self._most)

    @property
    def sensitivity(self) -> float:
        """Of the strict triangle P, in grid units."""
        if self.unit is Unit.RATING:
            return self._top**2 * self._weights.count_bound
        return self._most / (2 if self.noise is Noise.LAPLACE else math.sqrt(2))

    @property
    def square_sensitivity(self) -> float:
        """Of Q, in grid units."""
        if self.unit is Unit.RATING:
            return self._top**2 * self._weights.square_bound
        return float(self._most)

    def measure(self, ratings: Everybody, progress: Tell | None = None) -> CosineMoments:
        """The exact integers; private.

        Args:
            ratings: Everybody's.
            progress: Called with pairs done and pairs in all.
        """
        check_scale(ratings, self.scale)
        if isinstance(ratings, Ratings):
            inside = self.inside(ratings)
            (products,), squares = self.sum_pairs(inside, progress), _squares(inside)
        else:
            (products,), squares = ratings.triangles(self), total(ratings, self.squares)
        return CosineMoments(len(self.head), products, squares)

    triangle_count = 1

    def inside(self, ratings: Ratings) -> Inside:
        """Integers of all people; private."""
        return quantised(ratings, self.head, self._quantised)

    def sum_pairs(self, inside: Inside, progress: Tell | None = None) -> tuple[Ints, ...]:
        """P over the items that are inside; private."""
        return make_table(inside).sums(1, progress)

    def squares(self, ratings: Ratings) -> Ints:
        """Q; private."""
        return _squares(self.inside(ratings))

    @property
    def _weights(self) -> PairWeights:
        return PairWeights(self.unit, self.noise, len(self.head))

    @property
    def _largest(self) -> float:
        return max(abs(self.scale.lo), abs(self.scale.hi))

    @property
    def _top(self) -> int:
        """Values are -top to top: the scale's own steps where 0 is one of them and they are few."""
        step = self.scale.step
        if step is None or abs(self.scale.lo / step - round(self.scale.lo / step)) > 1e-6:
            return _FINEST
        return min(round(self._largest / step), _FINEST)

    @property
    def _most(self) -> int:
        """What one user adds to one sum at most."""
        return self._top**2 * self._weights.whole

    def _quantised(self, block: Ratings, inside: npt.NDArray[np.int32]) -> Block:
        values = np.rint(block.values() * (self._top / self._largest)).astype(np.int16)
        if self.unit is Unit.RATING:
            counts = np.zeros(block.user_count, np.int64)
            count_inside(block.starts, inside, counts)
            return Block(values, self._weights.table[counts])
        lengths = np.empty(block.user_count)
        product_lengths(block.starts, inside, values, self.noise is Noise.LAPLACE, lengths)
        # Values are whole, so a length below 1 is 0: somebody without ratings other than 0.
        scaled = np.floor(_SAFE * self._most / np.maximum(lengths, 0.5))
        return Block(values, np.where(lengths > 0, scaled, 0).astype(np.int64))


def _squares(inside: Inside) -> Ints:
    squares = np.zeros(inside.size, np.int64)
    add_squares(inside.starts, inside.items, inside.values, inside.weights, squares)
    return squares
