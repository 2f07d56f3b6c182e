"""The first round that rivals share: a level, item effects and counts, all of them booked.

A rating's part is (x, a), its value and a constant, added up item by item.

Per user. A tenth of the round's mu^2 releases the level: the mean of users' means (2 at most) over
the number of users (1). The rest releases sums of w (x - level) and counts, sum of w, each user's
weights scaled so that the norm of the whole part is 1 at most: sensitivity 1.

Per rating. One rating adds (x, a) to one item, |x| <= 2: sensitivity sqrt(4 + a^2). The level is
the quotient of the totals, which costs nothing more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from benchmarks.accuracy.rivals._home import HALF_RANGE, Floats, Model, Table
from benchmarks.accuracy.rivals._moments import (
    Generator,
    Moments,
    add_noise,
    item_moments,
    split_squares,
    unit_weights,
)

from discreet.privacy import Unit

EFFECT_VARIANCE = 0.2
LEVEL_SHARE = 0.1
COUNT_SCALE = 1.0


@dataclass(frozen=True, eq=False)
class First:
    """What the first round releases."""

    model: Model
    """Without factors."""
    counts: Floats
    """How many rated each item; per user, in weights."""
    sigma: float
    """The counts' noise."""


def measure_effects(table: Table, unit: Unit, mu: float, rng: Generator) -> First:
    """Level, effects and counts under this mu."""
    alone = np.ones((table.user_count, 1))
    if unit is Unit.USER:
        level_mu, rest = split_squares(mu, [LEVEL_SHARE, 1 - LEVEL_SHARE])
        level, sigma = _user_level(table, level_mu, rng), 1 / rest
        values = table.values - level
        weights = unit_weights(table, values, alone, np.ones(table.size), COUNT_SCALE)
        exact = item_moments(table, values, alone, weights)
        released = add_noise(rng, exact, sigma, COUNT_SCALE)
    else:
        sigma = math.hypot(HALF_RANGE, COUNT_SCALE) / mu
        exact = item_moments(table, table.values, alone, np.ones(len(table.items)))
        noisy = add_noise(rng, exact, sigma, COUNT_SCALE)
        level = _mean(float(noisy.linear.sum()), float(noisy.grams.sum()))
        released = Moments(noisy.grams, noisy.linear - level * noisy.grams[:, :, 0])
    model = Model(level, _effects(released, sigma), np.zeros((table.size, 0)))
    return First(model, released.counts, sigma / COUNT_SCALE)


def _user_level(table: Table, mu: float, rng: Generator) -> float:
    own = np.diff(table.starts)
    means = table.per_user(table.values) / np.maximum(own, 1)
    each = mu / math.sqrt(2)
    total = float(means.sum()) + rng.normal() * HALF_RANGE / each
    return _mean(total, np.count_nonzero(own) + rng.normal() / each)


def _mean(total: float, count: float) -> float:
    return float(np.clip(total / max(count, 1.0), -HALF_RANGE, HALF_RANGE))


def _effects(released: Moments, sigma: float) -> Floats:
    """Item means, shrunk by what the noise is known to be."""
    counts = released.counts
    damped = counts**2 + sigma**2 / EFFECT_VARIANCE + 0.3 * counts
    effects: Floats = released.linear[:, 0] * counts / np.maximum(damped, 1e-12)
    return effects
