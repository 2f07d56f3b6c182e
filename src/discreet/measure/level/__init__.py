"""How far ratings lie above the released levels of their items, all in all. See PROOF.md."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import Scale
from discreet.measure._source import Part, Statistic, over_blocks
from discreet.measure.centring import GRID, ItemLevels
from discreet.privacy import Unit
from discreet.ratings import Ratings


@dataclass(frozen=True, eq=False)
class Level(Statistic):
    """Sum over ratings of clip(x, -R, R), x = r - G - M; for users, over users of their mean of it.

    Args:
        unit: Whom it protects.
        scale: Public; R is half its range.
        levels: What was released of the items so far.
    """

    unit: Unit
    scale: Scale
    levels: ItemLevels

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("mean residual", float(self._reach), float(GRID)),)

    @property
    def _reach(self) -> int:
        return math.ceil(self.scale.range / 2 * GRID)

    def measure(self, ratings: Ratings) -> int:
        """The exact integer; private."""
        return sum(over_blocks(ratings, self._sum))

    def _sum(self, block: Ratings, _: int) -> int:
        x = np.clip(self.levels.residuals(block), -self._reach, self._reach)
        if self.unit is Unit.RATING:
            return int(x.sum())
        running: npt.NDArray[np.int64] = np.concatenate(([0], np.cumsum(x)))
        totals = running[block.starts[1:]] - running[block.starts[:-1]]
        return int((totals // np.maximum(np.diff(block.starts), 1)).sum())
