"""Whether people's ratings agree along public features: one number. See PROOF.md."""

from __future__ import annotations

from dataclasses import dataclass, field

import numba as nb
import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.measure._source import Part, Statistic, over_blocks
from discreet.measure.centring import GRID, HuberCentring, ItemLevels
from discreet.privacy import Unit
from discreet.ratings import Ratings

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RatingAgreement(Statistic):
    """The sum over users of q = clip(sum over j != l of y_j y_l f_j f_l / (sum y^2 + B^2), -1, 1).

    If somebody likes what has a feature, two ratings of such items agree: q is above 0. If nobody's
    tastes go along the features, q is 0 on average.

    Args:
        unit: Whom it protects.
        directions: f, public: a row for each item.
        centring: How ratings are centred and clamped.
        levels: What was released of the items.
    """

    unit: Unit
    directions: _Floats
    centring: HuberCentring = field(kw_only=True)
    levels: ItemLevels = field(kw_only=True)

    def __post_init__(self) -> None:
        if not np.all(np.abs(self.directions) < 1e6):
            raise InputError("directions are finite numbers")

    @property
    def parts(self) -> tuple[Part, ...]:
        # q is between -1 and 1, and 0 for somebody with no rating.
        most = float(GRID if self.unit is Unit.USER else 2 * GRID)
        return (Part("agreement along features", most, float(GRID)),)

    def measure(self, ratings: Ratings) -> int:
        """The exact integer; private."""
        if len(self.directions) != len(ratings.catalog):
            raise InputError(f"directions are one for each of {len(ratings.catalog):,} items")

        def work(block: Ratings, _: int) -> int:
            y = self.centring.centred(block, self.levels) / (self.centring.clamp * GRID)
            return int(_add(block.starts, block.items, y, self.directions))

        return sum(over_blocks(ratings, work))


@nb.njit(cache=True, nogil=True)
def _add(starts, items, y, directions):  # type: ignore[no-untyped-def]
    """One person at a time and in the order of their items: nobody's q depends on the others."""
    k = directions.shape[1]
    total, sums = np.int64(0), np.empty(k)
    for user in range(len(starts) - 1):
        sums[:] = 0.0
        square, alone = 1.0, 0.0
        for place in range(starts[user], starts[user + 1]):
            square += y[place] * y[place]
            for f in range(k):
                one = directions[items[place], f] * y[place]
                sums[f] += one
                alone += one * one
        together = 0.0
        for f in range(k):
            together += sums[f] * sums[f]
        total += np.int64(np.rint(min(max((together - alone) / square, -1.0), 1.0) * GRID))
    return total
