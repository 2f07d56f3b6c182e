"""Private alternating least squares (Chien et al. 2021), plain and with adaptive weights.

Users solve for their own tastes at home, exactly, from the released item factors. The curator
solves for items from a noisy Gram matrix and a noisy linear term each; with adaptive weights
(Krichene et al. 2023) noisy counts decide how loud an item's ratings are, so that rare items are
heard more. An experiment: seeded numpy noise on floats, so that no release of it would be private.

Booking. mu = gaussian_mu(epsilon, delta); mu^2 is split between everything that is released: the
first round (`_effects`: level, item effects, counts) and the rounds of moments, later ones with
more. All else is made from released numbers, or at home from these and a person's own ratings.

Per user. A user's part of a round is (b, a G) = sum over own items of w_j (y_j u, a u u^T), u the
row (1, s z) of the taste z, y the residual after level, item effect and own shift. It is a function
of released numbers and of that user's ratings alone, and its weights are scaled so that its norm is
1 at most (`unit_weights`): the sensitivity is 1.

Per rating. w = 1, and y and z are `_bounded`: the old y move by m = B/(2 sqrt beta), z by D_c. With
r = s R and l^2 = 1 + r^2, new terms and old ones being different entries,
    L^2 <= B^2 l^2  +  (m l + B sqrt(c) s D_c)^2            linear terms
    S^2 <= l^4      +  (2 + 4 r^2) c (s D_c)^2              Gram matrices
and the sensitivity is the largest sqrt(L^2 + a^2 S^2) over c. Weights by item would not make it
smaller, so adaptive weights are for users only.

The constants below were chosen by looking at MovieLens 1M's test set, in this rival's favour.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from benchmarks.accuracy.rivals._bounded import Bounds, cut_factors
from benchmarks.accuracy.rivals._effects import First, measure_effects
from benchmarks.accuracy.rivals._home import Floats, Model, Table, beside_one, shorten
from benchmarks.accuracy.rivals._moments import (
    Generator,
    Moments,
    add_noise,
    item_moments,
    split_squares,
    unit_weights,
)

from discreet.privacy import Unit
from discreet.privacy.accounting import gaussian_mu
from discreet.ratings import Split


@dataclass(frozen=True)
class Constants:
    """What the method is told; public.

    Attributes:
        rank: Of the factors.
        row_scale: s.
        ridge: Of item factors, in deviations of a linear term's noise.
        rounds: Of alternation, each paid.
        growth: A round's share of mu^2 as a multiple of the share before.
        first_share: The first round's.
        gram_scale: a; the noise of Gram matrices is 1/a times that of linear terms.
        effect_ridge: Of item effects, as `ridge`.
        least_ridge: Added to both, in raters.
        size: The root mean square that factors are brought to between rounds.
        stretch: What the last factors are multiplied by before they go home.
        radius: The longest taste, per user.
        power: Items are weighted by count^-power, per user: 0 is plain.
        bounds: Per rating.
    """

    rank: int
    row_scale: float
    ridge: float = 20.0
    rounds: int = 8
    growth: float = 1.5
    first_share: float = 0.1
    gram_scale: float = 0.3
    effect_ridge: float = 6.0
    least_ridge: float = 2.0
    size: float = 0.15
    stretch: float = 1.3
    radius: float = 2.0
    power: float = 0.0
    bounds: Bounds = field(default_factory=Bounds)


def choose_constants(unit: Unit, epsilon: float, *, adaptive: bool = False) -> Constants:
    """The constants for a budget."""
    small, large = epsilon < 3, epsilon >= 7
    if unit is Unit.USER:
        rank, row_scale = 1 if small else 6 if large else 3, 0.5 if small else 1.0
        return Constants(rank, row_scale, power=(0.5 if small else 0.25) if adaptive else 0.0)
    if small:
        bounds = Bounds(clamp=0.5, radius=0.04, pull=16.0)
        return Constants(2, 20.0, gram_scale=0.2, least_ridge=5.0, stretch=0.7, bounds=bounds)
    if large:
        return Constants(4, 12.0, stretch=1.0, bounds=Bounds(clamp=0.5, radius=0.067, pull=6.0))
    return Constants(3, 12.0, stretch=0.7, bounds=Bounds(clamp=0.5, radius=0.1, pull=10.0))


def predict(
    split: Split,
    unit: Unit | str,
    epsilon: float,
    delta: float,
    seed: int,
    *,
    adaptive: bool = False,
) -> Floats:
    """Predictions of the test ratings, on their scale, not cut to it."""
    constants = choose_constants(Unit(unit), epsilon, adaptive=adaptive)
    mu, rng = gaussian_mu(epsilon, delta), np.random.default_rng(seed)
    return learn(Table.of(split.train), Unit(unit), mu, rng, constants).predict(split)


def learn(table: Table, unit: Unit, mu: float, rng: Generator, constants: Constants) -> Model:
    """Level, effects and factors under this mu."""
    grown = constants.growth ** np.arange(constants.rounds)
    shares = (1 - constants.first_share) * grown / grown.sum()
    first_mu, *mus = split_squares(mu, [constants.first_share, *shares])
    first = measure_effects(table, unit, first_mu, rng)
    measure = user_moments if unit is Unit.USER else rating_moments
    sensitivity = 1.0 if unit is Unit.USER else rating_sensitivity(constants, table.size)
    factors = rng.normal(size=(table.size, constants.rank)) * constants.size
    model = Model(first.model.level, first.model.effects, factors)
    for part in mus:
        model = Model(model.level, model.effects, _resize(model.factors, first, constants))
        sigma = sensitivity / part
        exact = measure(table, model, first, constants)
        noisy = add_noise(rng, exact, sigma, constants.gram_scale)
        model = _solve(model, noisy, sigma, constants)
    return Model(model.level, model.effects, model.factors * constants.stretch)


def user_moments(table: Table, model: Model, first: First, constants: Constants) -> Moments:
    """A round's exact sums, each user's part of norm 1 at most."""
    shifts, tastes = model.people(table)
    rows = beside_one(constants.row_scale * shorten(tastes, constants.radius))
    values = model.residuals(table) - shifts[table.users]
    omega = np.maximum(first.counts, first.sigma) ** -constants.power
    weights = unit_weights(table, values, rows, omega, constants.gram_scale)
    return item_moments(table, values, rows, weights)


def rating_moments(table: Table, model: Model, first: First, constants: Constants) -> Moments:
    """A round's exact sums, of bounded movement."""
    values = constants.bounds.residuals(table, model)
    factors = cut_factors(model.factors, first.counts)
    tastes = constants.bounds.tastes(table, values, factors)
    rows = beside_one(constants.row_scale * tastes)
    return item_moments(table, values, rows, np.ones(len(values)))


def rating_sensitivity(constants: Constants, size: int) -> float:
    """Of (b, a G) per rating: the formula above."""
    B, s = constants.bounds.clamp, constants.row_scale
    reach = s * constants.bounds.radius
    moved = s * constants.bounds.taste_movement(size)
    length = np.sqrt(1 + reach**2)
    old = constants.bounds.residual_movement * length + B * moved
    linear = (B * length) ** 2 + old**2
    grams = length**4 + (2 + 4 * reach**2) * moved**2
    return float(np.sqrt(linear + constants.gram_scale**2 * grams).max())


def _resize(factors: Floats, first: First, constants: Constants) -> Floats:
    """Each factor brought to one root mean square over ratings, as counts tell it."""
    weights = first.counts / max(first.counts.sum(), 1e-12)
    sizes = np.sqrt(weights @ factors**2)
    resized: Floats = factors * constants.size / np.maximum(sizes, 1e-12)
    return resized


def _solve(model: Model, moments: Moments, sigma: float, constants: Constants) -> Model:
    ridges = np.full(constants.rank + 1, constants.ridge * sigma)
    ridges[0] = constants.effect_ridge * sigma
    solved = moments.solve(ridges + constants.least_ridge)
    return model.moved(solved[:, 0], constants.row_scale * solved[:, 1:])
