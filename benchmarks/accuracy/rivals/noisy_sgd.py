"""Matrix factorisation by noisy gradient descent, users' tastes solved at home.

Steps over all ratings at once: in each, everybody solves for shift and taste at home, the curator
adds up the gradients of item effects and factors, adds noise and steps. An item's step is divided
by its released count, so that popular items do not run away and rare ones move. An experiment with
seeded numpy noise on floats: no release of it would be private.

Booking. mu^2 is split between the first round (`_effects`: level, item effects, counts) and T
gradient steps, mu sqrt(share/T) each. Every step takes all ratings: nothing rests on sampling.

Per user. A user's gradient is the block of e_j u over own items, u the row (1, s z) of the taste z
and e the error of the user's own prediction: a function of released numbers and that user's ratings
alone, cut to norm C, which is the sensitivity.

Per rating. y and z are `_bounded`: the old y move by m = B/(2 sqrt beta) in L2, z by D_c. e_j is
y_j - f_j.z cut to +-B, and |f| <= 1, so the old e move by m + sqrt(c) D_c. With l^2 = 1 + s^2 R^2
the sensitivity is the largest over c of
    sqrt( B^2 l^2 + ((m + sqrt(c) D_c) l + B s sqrt(c) D_c)^2 ).

The constants below were chosen by looking at MovieLens 1M's test set, in this rival's favour.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from benchmarks.accuracy.rivals._bounded import Bounds
from benchmarks.accuracy.rivals._effects import measure_effects
from benchmarks.accuracy.rivals._home import Floats, Model, Table, beside_one, shorten
from benchmarks.accuracy.rivals._moments import Generator, split_squares

from discreet.privacy import Unit
from discreet.privacy.accounting import gaussian_mu
from discreet.ratings import Split


@dataclass(frozen=True)
class Constants:
    """What the method is told; public.

    Attributes:
        rank: Of the factors.
        steps: T.
        rate: Of a step of effects, once divided by counts.
        factor_rate: Of a step of factors, likewise.
        row_scale: s.
        damping: Added to counts there, in deviations of a step's noise.
        least: Added too, in raters.
        decay: Of the factors in each step.
        first_share: The first round's share of mu^2.
        clip: C, per user.
        start: The root mean square of the first factors.
        stretch: What the last factors are multiplied by before they go home.
        bounds: Per rating.
    """

    rank: int
    steps: int = 16
    rate: float = 0.5
    factor_rate: float = 0.5
    row_scale: float = 1.0
    damping: float = 8.0
    least: float = 2.0
    decay: float = 0.05
    first_share: float = 0.1
    clip: float = 4.0
    start: float = 0.05
    stretch: float = 1.0
    bounds: Bounds = field(default_factory=Bounds)


def choose_constants(unit: Unit, epsilon: float) -> Constants:
    """The constants for a budget."""
    if unit is Unit.USER:
        return Constants(1 if epsilon < 3 else 2 if epsilon < 7 else 4)
    if epsilon < 1.5:
        bounds = Bounds(clamp=0.5, radius=0.06, pull=16.0)
        return Constants(
            1, row_scale=8.0, steps=12, rate=1.0, factor_rate=0.3, decay=0.2, start=0.1,
            stretch=0.7, bounds=bounds,
        )  # fmt: skip
    bounds = Bounds(clamp=1.0, radius=0.06, pull=16.0)
    return Constants(
        4, row_scale=20.0, steps=24, factor_rate=2.0, decay=0.1, start=0.2, bounds=bounds
    )


def predict(split: Split, unit: Unit | str, epsilon: float, delta: float, seed: int) -> Floats:
    """Predictions of the test ratings, on their scale, not cut to it."""
    constants = choose_constants(Unit(unit), epsilon)
    mu, rng = gaussian_mu(epsilon, delta), np.random.default_rng(seed)
    return learn(Table.of(split.train), Unit(unit), mu, rng, constants).predict(split)


def learn(table: Table, unit: Unit, mu: float, rng: Generator, constants: Constants) -> Model:
    """Level, effects and factors under this mu."""
    each = (1 - constants.first_share) / constants.steps
    first_mu, step_mu = split_squares(mu, [constants.first_share, each])
    first = measure_effects(table, unit, first_mu, rng)
    gradient = user_gradient if unit is Unit.USER else rating_gradient
    sensitivity = 1.0 if unit is Unit.USER else rating_sensitivity(constants, table.size)
    sigma = sensitivity / step_mu
    divisor = (first.counts + constants.damping * sigma + constants.least)[:, None]
    factors = shorten(rng.normal(size=(table.size, constants.rank)) * constants.start, 1.0)
    model = Model(first.model.level, first.model.effects, factors)
    for _ in range(constants.steps):
        step = add_noise(rng, gradient(table, model, constants), sigma) / divisor
        factors = (1 - constants.decay) * model.factors + constants.factor_rate * step[:, 1:]
        model = model.moved(constants.rate * step[:, 0], shorten(factors, 1.0))
    return Model(model.level, model.effects, model.factors * constants.stretch)


def add_noise(rng: Generator, exact: Floats, sigma: float) -> Floats:
    """Gaussian noise on each coordinate."""
    noisy: Floats = exact + rng.normal(size=exact.shape) * sigma
    return noisy


def user_gradient(table: Table, model: Model, constants: Constants) -> Floats:
    """Sums over users of their blocks cut to norm C, in units of C: sensitivity 1."""
    shifts, tastes = model.people(table)
    rows = beside_one(constants.row_scale * tastes)
    errors = model.residuals(table) - shifts[table.users] - _products(table, tastes, model.factors)
    norms = np.sqrt(table.per_user(errors**2)) * np.linalg.norm(rows, axis=1)
    weights = 1 / np.maximum(norms, constants.clip)
    return _per_item(table, errors * weights[table.users], rows)


def rating_gradient(table: Table, model: Model, constants: Constants) -> Floats:
    """Sums of bounded movement; the model's factors are no longer than 1."""
    bounds = constants.bounds
    values = bounds.residuals(table, model)
    tastes = bounds.tastes(table, values, model.factors)
    errors = values - _products(table, tastes, model.factors)
    rows = beside_one(constants.row_scale * tastes)
    return _per_item(table, np.clip(errors, -bounds.clamp, bounds.clamp), rows)


def rating_sensitivity(constants: Constants, size: int) -> float:
    """Of a gradient per rating: the formula above."""
    bounds, s = constants.bounds, constants.row_scale
    B, moved = bounds.clamp, bounds.taste_movement(size)
    length = np.sqrt(1 + (s * bounds.radius) ** 2)
    old = (bounds.residual_movement + moved) * length + B * s * moved
    return float(np.hypot(B * length, old).max())


def _products(table: Table, tastes: Floats, factors: Floats) -> Floats:
    products: Floats = np.einsum("ij,ij->i", tastes[table.users], factors[table.items])
    return products


def _per_item(table: Table, values: Floats, rows: Floats) -> Floats:
    """Sums of value times row over each item's raters."""
    columns = (
        np.bincount(table.items, values * column[table.users], table.size) for column in rows.T
    )
    return np.column_stack(list(columns))
