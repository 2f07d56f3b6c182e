"""Tastes that move little when one rating comes or goes: what rivals per rating rest on.

One more rating of a user with c others moves that user's taste z and with it all c of the user's
terms. Three bounds keep that small.

    y   residuals centred by Huber's rule (clamp B, beta fictitious ratings at 0): the old ones move
        by at most B in L1 and B/(2 sqrt beta) in L2
    f   item factors cut to norm 1
    z   argmin of sum (y - f.z)^2/2 + lambda_c |z|^2/2 over |z| <= R, lambda_c = k sqrt(c + 20)

The objective is lambda-strongly convex. The new term changes its gradient at the old optimum by at
most B + R, the moved y by B, the larger lambda by (lambda' - lambda) R; so z moves by at most
    D_c = (2 B + R + (lambda' - lambda) R)/lambda',
and sqrt(c) D_c stays below a constant. (Roots are found to 60 bits, which is not booked.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from benchmarks.accuracy.rivals._home import (
    Floats,
    Model,
    Table,
    huber_centre,
    ridge_in_ball,
    shorten,
)

_OFFSET = 20.0


@dataclass(frozen=True)
class Bounds:
    """B, beta, R and k."""

    clamp: float = 1.0
    fictitious: float = 20.0
    radius: float = 0.3
    pull: float = 3.0

    def residuals(self, table: Table, model: Model) -> Floats:
        """Everybody's y: ratings without level, effect and shift."""
        centred: Floats = huber_centre(
            table.starts, model.residuals(table), self.clamp, self.fictitious
        )
        return centred

    def tastes(self, table: Table, residuals: Floats, factors: Floats) -> Floats:
        """Everybody's z; the rows of `factors` are no longer than 1."""
        pulls = self.pull * np.sqrt(np.diff(table.starts) + _OFFSET)
        solved: Floats = ridge_in_ball(
            table.starts, table.items, residuals, factors, pulls, self.radius
        )
        return solved

    @property
    def residual_movement(self) -> float:
        """How far the old y move together, at most."""
        return self.clamp / (2 * math.sqrt(self.fictitious))

    def taste_movement(self, size: int) -> Floats:
        """sqrt(c) D_c for every number c of other ratings that a catalogue of this size allows."""
        c = np.arange(size, dtype=np.float64)
        before, after = (self.pull * np.sqrt(c + offset) for offset in (_OFFSET, _OFFSET + 1))
        gradient = 2 * self.clamp + self.radius * (1 + after - before)
        return np.sqrt(c) * np.minimum(gradient / after, 2 * self.radius)


def cut_factors(factors: Floats, counts: Floats) -> Floats:
    """Factors scaled so that usual rows have norm 1/1.3, and cut to norm 1."""
    squares = np.sum(factors**2, axis=1)
    usual = math.sqrt(np.average(squares, weights=counts + 1e-9))
    return shorten(factors / max(1.3 * usual, 1e-12), 1.0)
