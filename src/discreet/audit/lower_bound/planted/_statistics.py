"""Statistics that move further than their sensitivity says."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from discreet.audit._neighbours import STARS, Neighbours
from discreet.audit.lower_bound._engine import Subject
from discreet.audit.lower_bound._noisy import StatisticSubject
from discreet.measure.centring import ItemLevels
from discreet.measure.level import Level
from discreet.measure.user_votes import GRID as VOTE_GRID
from discreet.privacy import Noise, Unit
from discreet.ratings import Ratings

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]

_WHOLE = 1 << 20
_COARSE = 2
"""Steps in a doubling of the coarse weights."""


def statistic_bugs() -> Iterator[tuple[str, Callable[[], Subject]]]:
    """Names and what makes the subjects."""
    yield "forgotten-clip/level", _level
    yield "forgotten-clip/user-votes", _votes
    yield "no-corner/weights", _no_corner
    yield "coarse-grid/weights", _coarse_grid


def _level() -> StatisticSubject:
    """Residuals are to be cut to half the scale's width, and are not."""
    levels = ItemLevels(1.0, np.zeros(3))
    booked = Level(Unit.RATING, STARS, levels).sensitivity
    neighbours = Neighbours.by_rating(3, {0: 1.0}, (1, 5.0))
    about = "how far ratings lie above levels, without the clip that bounds it"
    return StatisticSubject(
        "forgotten-clip/level", about, lambda ratings: levels.residuals(ratings).sum(),
        neighbours, Noise.GAUSSIAN, booked,
    )  # fmt: skip


def _votes() -> StatisticSubject:
    """Everybody's residuals are to be scaled to length 1, and are not."""

    def measure(ratings: Ratings) -> _Ints:
        x = np.rint((ratings.values() - STARS.mid) * VOTE_GRID)
        return np.bincount(ratings.items, weights=x, minlength=4).astype(np.int64)

    own = dict.fromkeys(range(4), 5.0)
    about = "users' residuals, not scaled to length 1"
    told = (measure, Neighbours.by_user(4, own), Noise.GAUSSIAN, float(VOTE_GRID))
    return StatisticSubject("forgotten-clip/user-votes", about, *told)


def co_ratings(weights: _Floats, items: int) -> Callable[[Ratings], _Ints]:
    """The packed upper triangle, with its diagonal, of the sum of w(c) e e^T over people."""

    def measure(ratings: Ratings) -> _Ints:
        present = np.zeros((ratings.user_count, items), np.int64)
        present[ratings.user_of_rating(), ratings.items] = 1
        whole = np.rint(weights * _WHOLE).astype(np.int64)[present.sum(axis=1)]
        return np.asarray((present.T @ (present * whole[:, None]))[np.triu_indices(items)])

    return measure


def movements(weights: _Floats, *, corner: bool = True) -> _Floats:
    """For c = 0, 1, ... old ratings, how far one more moves that triangle in L2.

    The old entries lose what their weight drops by; a row comes in, and at its end the corner.
    """
    c = np.arange(len(weights) - 1)
    drop, new = weights[:-1] - weights[1:], weights[1:]
    return np.sqrt(drop**2 * c * (c + 1) / 2 + new**2 * (c + corner))


def root_weights(items: int) -> _Floats:
    """w(c) = c^(-1/2), and 0 for nobody."""
    return np.concatenate(([0.0], np.arange(1, items + 1) ** -0.5))


def _no_corner() -> StatisticSubject:
    items = 2
    weights = root_weights(items)
    worst = int(np.argmax(movements(weights)))
    booked = float(movements(weights, corner=False).max()) * _WHOLE
    about = "co-ratings, with a bound that forgets the new item's own entry"
    return _co_rated("no-corner/weights", about, weights, worst, booked)


def _coarse_grid() -> StatisticSubject:
    """At the grid's edges all old entries jump together; the bound is that of exact weights."""
    exact = root_weights(40)
    coarse = exact.copy()
    coarse[1:] = 2.0 ** (np.rint(np.log2(exact[1:]) * _COARSE) / _COARSE)
    worst = int(np.argmax(movements(coarse)))
    booked = math.ceil(float(movements(exact).max()) * _WHOLE)
    about = "co-ratings with weights on a coarse grid, and the bound of exact ones"
    return _co_rated("coarse-grid/weights", about, coarse, worst, booked)


def _co_rated(name: str, about: str, weights: _Floats, old: int, booked: float) -> StatisticSubject:
    items = len(weights) - 1
    neighbours = Neighbours.by_rating(items, dict.fromkeys(range(old), 3.0), (old, 3.0))
    told = (co_ratings(weights, items), neighbours, Noise.GAUSSIAN, booked)
    return StatisticSubject(name, about, *told)
