"""How far one more rating moves the refinement: the numbers of PROOF.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

_CELLS = 1500

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Movement:
    """Bounds in units where the clamp is 1 and tastes have length at most 1.

    Args:
        reach: Gamma, the length at which tastes are cut off.
        damping: c0; lambda^2 = ||y||^2 + c0.
        fictitious: beta of the centring; None where nothing is centred and nothing old moves.
        slack: How far all of a person's centred ratings together can move beyond the centring's
            own bound: the price of its grid, in L1.
    """

    reach: float
    damping: float
    fictitious: int | None = None
    slack: float = 0.0

    @property
    def least(self) -> float:
        """lambda'^2 is never below ||y||^2 plus this."""
        return self.damping if self.fictitious is None else self.damping - 1 - 2 * self.slack

    @property
    def most(self) -> float:
        """The most that old ratings move in L1."""
        return 0.0 if self.fictitious is None else 1 + self.slack

    @property
    def of_length(self) -> float:
        """How far lambda moves."""
        return (1 + 2 * self.most) / (2 * math.sqrt(self.least))

    @property
    def of_rows(self) -> float:
        """L2 movement of all rows y_j z_(-j): the old ones, and the new one beside them.

        The largest over u = ||y||^2/(||y||^2 + least) and S, the L1 movement of the old ratings,
        both between 0 and 1: cell by cell, each term at its largest in the cell.
        """
        return _rows_bound(self)

    @property
    def of_moments(self) -> float:
        """L2 movement of (lambda - sqrt c0) z z^T, and so of its upper triangle."""
        return self.of_length + 2 * ((1 + self.most) / self.reach + self.of_length)

    def of_doubles(self, items: int, k: int) -> float:
        """The most that the rounding of doubles adds to any of these, before and after together."""
        size = items + k + 50 + math.sqrt(self.damping)
        return 2.0**-49 * size**2 * (1 + 1 / self.reach)


@lru_cache(maxsize=64)
def _rows_bound(movement: Movement) -> float:
    edges = np.linspace(0, 1, _CELLS + 1)
    low, high = edges[:-1], edges[1:]
    nearest_half = np.clip(0.5, low, high)
    hump = np.sqrt(nearest_half * (1 - nearest_half))
    if movement.fictitious is None:
        moved, own = np.zeros(1), 0.0 * hump[:1]
    else:
        moved = high + movement.slack
        own = movement.reach * (hump / math.sqrt(movement.fictitious) + movement.slack)
    push = np.outer(np.sqrt(high), 1 + moved)
    shrink = np.outer(hump, 1 + 2 * moved) * movement.reach / (2 * math.sqrt(movement.least))
    old = float((push + shrink + own).max())
    return math.hypot(old, movement.reach) / movement.reach
