"""Noise on every rating before anything is learnt: Laplace noise, then ordinary factorisation.

Each rating's value gets Laplace noise of scale range/epsilon and is cut to the scale; the curator,
who need not be trusted with the values, then factorises by alternating least squares that knows the
size of the noise. People use their own true ratings at home, which never leave. An experiment with
seeded numpy noise on floats: no release of it would be private.

What it protects. A value that is any other value of the scale moves by at most its range, so each
value has epsilon (and delta 0): *changing* one rating. Which items somebody rated, and how many, is
sent as it is, so one rating *more or less* is not protected at all: weaker than everything it is
compared with here. A user with n ratings has n epsilon, for the values; there is no version per
user that could learn anything.

Cutting is done after the noise and costs nothing. What it does to a mean is undone by the slope
of E[cut(x + noise)] over the scale, which is known.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from benchmarks.accuracy.rivals._home import (
    HALF_RANGE,
    RATING_VARIANCE,
    Floats,
    Model,
    Table,
    beside_one,
)
from benchmarks.accuracy.rivals._moments import Generator, item_moments

from discreet.domain import InputError
from discreet.privacy import Unit
from discreet.ratings import Split

EFFECT_VARIANCE = 0.3
FACTOR_VARIANCE = 0.03
ROUNDS = 12


def predict(split: Split, unit: Unit | str, epsilon: float, delta: float, seed: int) -> Floats:
    """Predictions of the test ratings, on their scale, not cut to it; delta is not used up."""
    del delta
    if Unit(unit) is not Unit.RATING:
        raise InputError("input perturbation protects single values; ask for unit rating")
    rng = np.random.default_rng(seed)
    table, variance = perturb(Table.of(split.train), epsilon, rng)
    rank = 0 if epsilon < 2 else 4 if epsilon < 7 else 8
    return factorise(table, RATING_VARIANCE + variance, rank, rng).predict(split)


def perturb(table: Table, epsilon: float, rng: Generator) -> tuple[Table, float]:
    """Values with noise, as far apart on average as they were, and the variance that was added.

    For Laplace noise of scale b and c half the range, E[cut(x + noise)] = x - b sinh(x/b) e^(-c/b),
    so that the ends of the scale come closer by the factor 1 - b (1 - e^(-2c/b))/(2c). The variance
    is that in the middle of the scale, where it is largest: E[min(|noise|, c)^2].
    """
    b, c = 2 * HALF_RANGE / epsilon, HALF_RANGE
    noisy = np.clip(table.values + rng.laplace(scale=b, size=len(table.values)), -c, c)
    slope = 1 + b * math.expm1(-2 * c / b) / (2 * c)
    variance = 2 * b * b * (1 - math.exp(-c / b) * (1 + c / b))
    return replace(table, values=noisy / slope), variance / slope**2


def factorise(table: Table, variance: float, rank: int, rng: Generator) -> Model:
    """Alternating least squares for ratings of this variance around their expectation."""
    ridges = variance / np.concatenate(([EFFECT_VARIANCE], np.full(rank, FACTOR_VARIANCE)))
    level = float(table.values.mean())
    model = Model(level, np.zeros(table.size), np.zeros((table.size, 0)))
    ones = np.ones(len(table.values))
    for at in range(ROUNDS):
        shifts, tastes = model.people(table, variance)
        rows = beside_one(tastes)
        values = table.values - level - shifts[table.users]
        solved = item_moments(table, values, rows, ones).solve(ridges[: rows.shape[1]])
        factors = solved[:, 1:] if at else rng.normal(size=(table.size, rank)) * 0.1
        model = Model(level, solved[:, 0], factors)
    return model
