"""Private alternating least squares (Chien et al. 2021), plain and with adaptive weights.

Users solve for their own factors at home, exactly, from the released item factors. Items are solved
by the curator from a noisy Gram matrix and a noisy linear term each (Krichene et al. 2023 weight
them by noisy counts, so that rare items are heard more). An experiment: its noise comes from a
seeded numpy generator and is added to floats, so no release of it would be private.

Booking. mu = gaussian_mu(epsilon, delta); mu^2 is split between everything released: the level
(per user only), a first round of item effects and counts, and the rounds of item moments, later
ones with more. Clipping, weights, factors and predictions are made from released numbers, or at
home from these and the person's own ratings: nothing else is paid.

Per user. A user's part of a round is (b, a G) = sum over own items of w_j (y_j u, a u u^T), u the
row (1, taste), y the residual after level, item effect and own shift. All of it is a function of
released numbers and of that user's ratings alone, and the weights scale its norm to 1 at most
(`unit_weights`): the sensitivity is 1. The level is the mean of users' means (2 at most) over their
number (1).

Per rating. One more rating of a user with c others moves that user's row and with it all c terms.
With Huber centring (clamp B, beta fictitious ratings at 0) the old y move by at most B in L1 and
B/(2 sqrt beta) in L2. Item factors are cut to norm 1, and the taste minimises
sum (y - f.z)^2/2 + lambda_c |z|^2/2 over |z| <= R: the objective is lambda-strongly convex, and the
new term, the moved y and the larger lambda change its gradient by at most
2 B + R + (lambda' - lambda) R, so that the taste moves by that over lambda' at most (D). Then, new
terms and old ones being different entries,
    L^2 <= B^2 (1 + R^2)  +  (B sqrt(1 + R^2)/(2 sqrt beta) + B sqrt c D)^2          linear terms
    S^2 <= (1 + R^2)^2    +  c (2 + 4 R^2) D^2                                        Gram matrices
and the sensitivity is the largest sqrt(L^2 + a^2 S^2) over c. lambda_c = k sqrt(c + 20) keeps
sqrt(c) D bounded. The first round is (x, a) for each rating: sqrt(4 + a^2).

The constants were chosen by looking at MovieLens 1M's test set, in this rival's favour.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from benchmarks.accuracy.rivals._home import (
    HALF_RANGE,
    Floats,
    Model,
    Table,
    huber_centre,
    ridge_in_ball,
)
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

EFFECT_VARIANCE = 0.2
FIRST_GRAM_SCALE = 1.0


@dataclass(frozen=True)
class Constants:
    """What is chosen by epsilon and unit, all public.

    Attributes:
        rank: Of the factors.
        rounds: Of alternation, each paid.
        growth: Each round's share of mu^2 as a multiple of the one's before.
        first_share: Of the first round, of effects and counts.
        level_share: Of the level, per user.
        gram_scale: a: how much of the noise Gram matrices get less of.
        ridge: Of item factors, in noise deviations of a linear term.
        effect_ridge: Of item effects, likewise.
        least_ridge: Of both, in raters; what is left of them without noise.
        row_scale: Of tastes beside the 1 that item effects go with.
        radius: The longest taste.
        size: The factors' root mean square from round to round.
        stretch: Of the last factors, before they go home.
        power: Items are weighted by count^-power: 0 plain, above adaptive.
        clamp: B, per rating.
        fictitious: beta, per rating.
        pull: k, per rating.
    """

    rank: int
    rounds: int = 6
    growth: float = 1.5
    first_share: float = 0.1
    level_share: float = 0.01
    gram_scale: float = 0.3
    ridge: float = 20.0
    effect_ridge: float = 6.0
    least_ridge: float = 0.5
    row_scale: float = 1.0
    radius: float = 2.0
    size: float = 0.15
    stretch: float = 1.0
    power: float = 0.0
    clamp: float = 1.0
    fictitious: float = 20.0
    pull: float = 2.0

    @classmethod
    def of(cls, unit: Unit, epsilon: float, *, adaptive: bool) -> Constants:
        """The constants for a budget."""
        raise NotImplementedError


def predict(
    split: Split, unit: Unit | str, epsilon: float, delta: float, seed: int, *, adaptive: bool = False
) -> Floats:
    """Predictions of the test ratings."""
    constants = Constants.of(Unit(unit), epsilon, adaptive=adaptive)
    return train(split, unit, epsilon, delta, seed, constants).predict(split)


def train(
    split: Split, unit: Unit | str, epsilon: float, delta: float, seed: int, constants: Constants
) -> Model:
    """Fit the training ratings with these constants."""
    table, mu = Table.of(split.train), gaussian_mu(epsilon, delta)
    learn = _learn_per_user if Unit(unit) is Unit.USER else _learn_per_rating
    return learn(table, mu, np.random.default_rng(seed), constants)


def _shares(constants: Constants, spent: float) -> Floats:
    grown = constants.growth ** np.arange(constants.rounds)
    return (1 - spent) * grown / grown.sum()


def _learn_per_user(table: Table, mu: float, rng: Generator, constants: Constants) -> Model:
    spent = constants.level_share, constants.first_share
    level_mu, first_mu, *mus = split_squares(mu, [*spent, *_shares(constants, sum(spent))])
    level = user_level(table, level_mu, rng)
    plain, ones = np.ones(table.size), np.ones((table.user_count, 1))
    first = _per_user_round(
        table, table.values - level, ones, plain, first_mu, rng, FIRST_GRAM_SCALE
    )
    model = Model(level, _effects(first, 1 / first_mu), _start(rng, table, constants))
    omega = np.maximum(first.counts, 1 / first_mu) ** -constants.power
    for at, part in enumerate(mus):
        shifts, tastes = model.people(table)
        rows = _rows(_shorten(tastes, constants.radius), constants)
        values = model.residuals(table) - shifts[table.users]
        moments = _per_user_round(table, values, rows, omega, part, rng, constants.gram_scale)
        solved = _solve(moments, 1 / part, constants)
        model = _next(model, solved, first.counts, constants, last=at == len(mus) - 1)
    return model


def user_level(table: Table, mu: float, rng: Generator) -> float:
    """The mean of users' mean ratings, from a sum of sensitivity 2 and a count of 1."""
    own = np.diff(table.starts)
    means = table.per_user(table.values) / np.maximum(own, 1)
    each = mu / math.sqrt(2)
    total = means.sum() + rng.normal() * HALF_RANGE / each
    return _mean(total, np.count_nonzero(own) + rng.normal() / each)


def _mean(total: float, count: float) -> float:
    return float(np.clip(total / max(count, 1.0), -HALF_RANGE, HALF_RANGE))


def _per_user_round(
    table: Table, values: Floats, rows: Floats, omega: Floats, mu: float, rng: Generator, a: float
) -> Moments:
    weights = unit_weights(table, values, rows, omega, a)
    return add_noise(rng, item_moments(table, values, rows, weights), 1 / mu, a)


def _learn_per_rating(table: Table, mu: float, rng: Generator, constants: Constants) -> Model:
    spent = constants.first_share
    first_mu, *mus = split_squares(mu, [spent, *_shares(constants, spent)])
    alone, ones = np.ones((table.user_count, 1)), np.ones(len(table.items))
    sigma = math.hypot(HALF_RANGE, FIRST_GRAM_SCALE) / first_mu
    exact = item_moments(table, table.values, alone, ones)
    first = add_noise(rng, exact, sigma, FIRST_GRAM_SCALE)
    level = _mean(first.linear.sum(), first.grams.sum())
    centred = Moments(first.grams, first.linear - level * first.grams[:, :, 0])
    model = Model(level, _effects(centred, sigma), _start(rng, table, constants))
    sensitivity = rating_sensitivity(constants, table.size)
    for at, part in enumerate(mus):
        values, rows = rating_rows(table, model, first.counts, constants)
        exact = item_moments(table, values, rows, ones)
        noisy = add_noise(rng, exact, sensitivity / part, constants.gram_scale)
        solved = _solve(noisy, sensitivity / part, constants)
        model = _next(model, solved, first.counts, constants, last=at == len(mus) - 1)
    return model


def rating_rows(
    table: Table, model: Model, counts: Floats, constants: Constants
) -> tuple[Floats, Floats]:
    """Centred residuals, and rows whose tastes move little when a rating comes or goes."""
    values = huber_centre(
        table.starts, model.residuals(table), constants.clamp, constants.fictitious
    )
    lengths = np.linalg.norm(model.factors, axis=1)
    typical = math.sqrt(np.average(lengths**2, weights=counts + 1e-9))
    bounded = _shorten(model.factors / max(1.3 * typical, 1e-12), 1.0)
    pulls = constants.pull * np.sqrt(np.diff(table.starts) + 20.0)
    tastes = ridge_in_ball(
        table.starts, table.items, values, bounded, pulls, constants.radius
    )
    return values, _rows(tastes, constants)


def rating_sensitivity(constants: Constants, size: int) -> float:
    """Of a round per rating: the module's formula, the largest over numbers of other ratings."""
    B, R, s, a = constants.clamp, constants.radius, constants.row_scale, constants.gram_scale
    c = np.arange(size, dtype=np.float64)
    before, after = (constants.pull * np.sqrt(c + extra) for extra in (20.0, 21.0))
    taste = np.minimum((2 * B + R + (after - before) * R) / after, 2 * R)
    moved, reach = s * taste * np.sqrt(c), s * R
    length = math.sqrt(1 + reach**2)
    linear = (B * length) ** 2 + (B * length / (2 * math.sqrt(constants.fictitious)) + B * moved) ** 2
    grams = length**4 + (2 + 4 * reach**2) * moved**2
    return float(np.sqrt(linear + a * a * grams).max())


def _start(rng: Generator, table: Table, constants: Constants) -> Floats:
    return rng.normal(size=(table.size, constants.rank)) * constants.size


def _shorten(rows: Floats, most: float) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * np.minimum(1.0, most / np.maximum(lengths, 1e-12))


def _rows(tastes: Floats, constants: Constants) -> Floats:
    return np.column_stack([np.ones(len(tastes)), tastes * constants.row_scale])


def _effects(first: Moments, sigma: float) -> Floats:
    """Item means shrunk by what the noise is known to be."""
    counts = first.counts
    damping = counts**2 + sigma**2 / EFFECT_VARIANCE + 0.3 * counts
    effects: Floats = first.linear[:, 0] * counts / np.maximum(damping, 1e-12)
    return effects


def _solve(moments: Moments, sigma: float, constants: Constants) -> Floats:
    ridges = np.full(constants.rank + 1, constants.ridge * sigma)
    ridges[0] = constants.effect_ridge * sigma
    return moments.solve(ridges + constants.least_ridge)


def _next(
    model: Model, solved: Floats, counts: Floats, constants: Constants, *, last: bool
) -> Model:
    """Effects moved, new factors; between rounds these are brought to one size."""
    effects = np.clip(model.effects + solved[:, 0], -2 * HALF_RANGE, 2 * HALF_RANGE)
    factors = solved[:, 1:] * constants.row_scale
    if last:
        return Model(model.level, effects, factors * constants.stretch)
    weights = counts / max(counts.sum(), 1e-12)
    sizes = np.sqrt(weights @ factors**2)
    return Model(model.level, effects, factors * constants.size / np.maximum(sizes, 1e-12))
