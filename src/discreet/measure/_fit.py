"""From ratings to a release: effects, then covariance, then factors. Charge, then draw."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.measure import _effects as rounds
from discreet.measure._budget import Budget, Spender
from discreet.measure._effects import Effects
from discreet.measure._noise import Noise
from discreet.measure._publish import assumptions, charge
from discreet.measure._settings import Cleaning, CovarianceSettings
from discreet.measure.covariance import Covariance, RatingCovariance, UserCovariance
from discreet.privacy import NO_NOISE, SEEDED, Guarantee, Randomness, Unit
from discreet.privacy.accounting import mu_of_theta
from discreet.privacy.ledger import Ledger
from discreet.ratings import Ratings
from discreet.release import Release, clean_auto, clean_none, clean_paper, packed_side, unpack

Progress = Callable[[str, int, int], None]

_Floats = npt.NDArray[np.float64]
_Singles = npt.NDArray[np.float32]

_SCALARS = 0.03


def fit(
    ratings: Ratings,
    *,
    protect: Unit | str | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    theta: float | None = None,
    noise: Noise | str | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    settings: CovarianceSettings | None = None,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Release:
    """Measure ratings under a guarantee and make a release.

    Args:
        ratings: Private.
        protect: `user`, which is meant if nothing is told, or `rating`.
        epsilon: The budget; 1 if neither it nor `theta` is told. Infinite adds no noise.
        delta: For Gaussian noise, 1e-6 if not told; Laplace noise has 0.
        theta: The same budget as McSherry and Mironov say it: the total that their split of theta
            has, divided between the stages as usual here.
        noise: `gaussian`, which is meant if nothing is told, or `laplace`.
        ledger: Whose population is charged, before anything is measured.
        settings: The method's parameters; `options` change single ones by name.
        randomness: For experiments: a seeded source makes a release that says "not private".
        progress: Called with a stage's name, how much of it is done and how much there is.
        options: Fields of `CovarianceSettings`.

    Raises:
        BudgetExceeded: The ledger has no room; nothing was measured.
        InputError: The ratings or the budget cannot be used.
    """
    told = {"protect": protect, "noise": noise}
    options |= {name: value for name, value in told.items() if value is not None}
    chosen = dataclasses.replace(settings or CovarianceSettings(), **options)
    chosen.centring(ratings.scale)
    if len(ratings.catalog) < 2:
        raise InputError("a fit needs a catalogue of at least two items")
    budget = _budget(chosen.protect, chosen.noise, epsilon, delta, theta)
    spender = _open(budget, ledger, randomness)
    effects, strength, share = _learn_effects(ratings, spender, chosen)
    taste = _learn_taste(ratings, spender, chosen, effects, strength, share, progress)
    return _release(ratings, spender, chosen, effects, taste)


def _budget(
    unit: Unit, noise: Noise, epsilon: float | None, delta: float | None, theta: float | None
) -> Budget:
    if delta is None:
        delta = 1e-6 if noise is Noise.GAUSSIAN else 0.0
    if theta is None:
        return Budget.of(unit, noise, 1.0 if epsilon is None else epsilon, delta)
    if epsilon is not None:
        raise InputError("say the budget as epsilon or as theta, not both")
    if noise is Noise.GAUSSIAN and not 0 < delta < 1:
        raise InputError(f"Gaussian noise has a delta above 0 and below 1, not {delta:g}")
    if noise is Noise.LAPLACE and delta:
        raise InputError("Laplace noise has delta 0; a delta above 0 is for Gaussian noise")
    amount = mu_of_theta(theta) if noise is Noise.GAUSSIAN else theta
    return Budget(unit, noise, amount, delta)


def _open(
    budget: Budget, ledger: Ledger | str | os.PathLike[str] | None, randomness: Randomness | None
) -> Spender:
    label = "covariance release"
    if budget.is_infinite:
        if ledger is not None:
            raise InputError("a release without noise cannot be booked: no ledger has room for it")
        return Spender(budget, None, label)
    if ledger is not None and not isinstance(ledger, Ledger):
        ledger = Ledger.open(ledger)
    return Spender(budget, charge([budget.event(label)], label, ledger, randomness), label)


def _learn_effects(
    ratings: Ratings, spender: Spender, settings: CovarianceSettings
) -> tuple[Effects, float, float]:
    """Two rounds of item effects; how much can be learnt, and the covariance's share."""
    amount = _gaussian_amount(spender.budget)
    first, scalars = settings.effect_share, 0.0
    if settings.protect is Unit.RATING:
        effects = rounds.measure_raw(ratings, spender, first)
    else:
        scalars = _SCALARS
        effects = rounds.measure_votes(ratings, spender, scalars, first)
    strength = effects.strength(amount)
    share, level = settings.share_of_covariance(strength), settings.share_of_level(strength)
    if level:
        effects = rounds.measure_level(ratings, spender, level, effects)
    rest = 1 - scalars - first - level - share
    if settings.protect is Unit.RATING:
        centring = settings.centring(ratings.scale)
        effects = rounds.measure_residual(ratings, spender, rest, effects, centring)
    else:
        effects = rounds.measure_user_round(ratings, spender, rest / 2, effects, first=True)
        effects = rounds.measure_user_round(ratings, spender, rest / 2, effects, first=False)
    return effects, strength, share


def _gaussian_amount(budget: Budget) -> float:
    """The mu whose Gaussian noise is about as large: what the rules of thumb are told in."""
    return budget.amount if budget.noise is Noise.GAUSSIAN else budget.amount / 4


@dataclass(frozen=True, eq=False)
class _Taste:
    factors: _Floats
    arrays: dict[str, npt.NDArray[Any]]
    parameters: dict[str, Any]


def _learn_taste(
    ratings: Ratings,
    spender: Spender,
    settings: CovarianceSettings,
    effects: Effects,
    strength: float,
    share: float,
    progress: Progress | None,
) -> _Taste:
    items = len(ratings.catalog)
    if share == 0:
        return _Taste(np.zeros((items, 0)), {}, {"head_items": 0})
    size = settings.head_size(strength, items)
    head = np.sort(np.argsort(-effects.counts, kind="stable")[:size]).astype(np.int32)
    statistic = _statistic(ratings, settings, effects, head)
    cov, wgt, parameters = _measure(ratings, spender, settings, statistic, share, progress)
    arrays: dict[str, npt.NDArray[Any]] = {}
    if settings.dense and wgt is not None:
        arrays = {"head": head, **_dense(ratings, settings, cov, wgt)}
    counts = effects.known_counts[head]
    sampling = _sampling_spread(ratings, settings, effects, counts)
    spread = math.hypot(parameters["covariance_noise"], sampling)
    within = _factors(settings, cov, wgt, counts, spread, ratings.scale.range)
    factors = np.zeros((items, within.shape[1]))
    factors[head] = within
    return _Taste(factors, arrays, {"head_items": size, **parameters})


def _measure(
    ratings: Ratings,
    spender: Spender,
    settings: CovarianceSettings,
    statistic: Covariance,
    share: float,
    progress: Progress | None,
) -> tuple[_Singles, _Singles | None, dict[str, float]]:
    """Cov, and Wgt where something needs it, with the sizes of their noise."""
    weights = settings.dense or settings.clean is not Cleaning.AUTO
    tell = None if progress is None else lambda done, total: progress("covariance", done, total)
    moments = statistic.measure(ratings, weights=weights, progress=tell)
    part = share * settings.weight_share if weights else 0.0
    cov, spread = _publish(spender, moments.cov, statistic, share - part)
    if moments.wgt is None:
        return cov, None, {"covariance_noise": spread}
    wgt, other = _publish(spender, moments.wgt, statistic, part, of_weights=True)
    return cov, wgt, {"covariance_noise": spread, "weights_noise": other}


def _dense(
    ratings: Ratings, settings: CovarianceSettings, cov: _Singles, wgt: _Singles
) -> dict[str, npt.NDArray[np.float32]]:
    """Both triangles for `knn`, so that Cov/Wgt is a covariance of residuals on the scale.

    Clipping flattened both factors of a product by its slope, and scaling to length 1 divided by
    the residuals' variance. That variance is also what stands for the unpublished diagonal.
    """
    variance = rounds.RESIDUAL_VARIANCE * rounds.stretch(ratings.scale)
    if settings.protect is Unit.RATING:
        slope, _ = rounds.clipped_moments(settings.centring(ratings.scale).clamp, ratings.scale)
        factor = 1 / slope**2
    else:
        factor = variance
    covariance, weights = cov * np.float32(factor), wgt.copy()
    diagonal = _diagonal(packed_side(len(cov)) or 0)
    covariance[diagonal], weights[diagonal] = variance, 1.0
    return {"covariance": covariance, "weights": weights}


def _statistic(
    ratings: Ratings, settings: CovarianceSettings, effects: Effects, head: npt.NDArray[np.int32]
) -> Covariance:
    if settings.protect is Unit.RATING:
        centring = settings.centring(ratings.scale)
        return RatingCovariance(settings.noise, head, centring, effects.levels, settings.offset)
    residuals = rounds.user_residuals(ratings.scale, effects, settings.noise, first=False)
    return UserCovariance(settings.noise, head, residuals)


def _sampling_spread(
    ratings: Ratings, settings: CovarianceSettings, effects: Effects, counts: _Floats
) -> float:
    """How much an entry varies by who happened to rate, from released numbers.

    A user's block has squared norm w^2 c^2 v^2, v the second moment of y: about v^2 a rating with
    w = c^-1/2, and 1 a user where blocks are scaled to 1. Spread over the m^2 entries.
    """
    if settings.protect is Unit.USER:
        return math.sqrt(max(effects.people.value, 1.0)) / len(counts)
    _, moment = rounds.clipped_moments(settings.centring(ratings.scale).clamp, ratings.scale)
    return moment * math.sqrt(float(counts.sum())) / len(counts)


def _publish(
    spender: Spender,
    exact: npt.NDArray[np.int64],
    statistic: Covariance,
    share: float,
    *,
    of_weights: bool = False,
) -> tuple[_Singles, float]:
    """The strict triangle with noise, the diagonal set to zero: it is never published."""
    size = len(statistic.head)
    exact[_diagonal(size)] = 0
    sensitivity = (statistic.vote_sensitivities if of_weights else statistic.sensitivities)[0]
    grid = (statistic.vote_grid if of_weights else statistic.grid) ** 2
    label = "co-rating weights" if of_weights else "item covariance"
    noisy, spread = spender.release(exact, sensitivity, share, label)
    released = noisy.astype(np.float32)
    released /= grid
    released[_diagonal(size)] = 0.0
    return released, spread / grid


def _diagonal(size: int) -> npt.NDArray[np.int64]:
    """Where the diagonal lies in a packed upper triangle."""
    rows = np.arange(size, dtype=np.int64)
    return rows * size - rows * (rows - 1) // 2


def _factors(
    settings: CovarianceSettings,
    cov: _Singles,
    wgt: _Singles | None,
    counts: _Floats,
    spread: float,
    width: float,
) -> _Floats:
    matrix = unpack(cov, np.float32)
    if settings.clean is Cleaning.AUTO or wgt is None:
        return clean_auto(matrix, counts, spread, settings.rank, width)
    clean = clean_paper if settings.clean is Cleaning.PAPER else clean_none
    return clean(matrix.astype(np.float64), unpack(wgt).astype(np.float64), counts, settings.rank)


def _release(
    ratings: Ratings,
    spender: Spender,
    settings: CovarianceSettings,
    effects: Effects,
    taste: _Taste,
) -> Release:
    width = rounds.stretch(ratings.scale)
    known = np.maximum(effects.counts, 0.0)
    arrays = {
        "item_effects": effects.effects.astype(np.float32),
        "item_effect_variances": np.maximum(effects.variances, 0).astype(np.float32),
        "item_counts": known.astype(np.float32),
        "factors": np.ascontiguousarray(taste.factors, dtype=np.float32),
        "factor_variances": np.zeros(len(known), dtype=np.float32),
        **taste.arrays,
    }
    parameters = {
        "global_mean": effects.global_mean,
        "user_variance": rounds.USER_VARIANCE * width + effects.mean_variance,
        "rating_variance": rounds.RATING_VARIANCE * width,
        "settings": {name: _plain(value) for name, value in vars(settings).items()},
        **taste.parameters,
    }
    return Release(
        "covariance",
        ratings.scale,
        ratings.catalog,
        _guarantee(ratings, spender),
        parameters,
        arrays,
    )


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value


def _guarantee(ratings: Ratings, spender: Spender) -> Guarantee:
    budget = spender.budget
    reasons: tuple[str, ...] = ()
    if budget.is_infinite:
        reasons = (NO_NOISE,)
    elif not spender.is_private:
        reasons = (SEEDED,)
    delta = 0.0 if math.isinf(budget.amount) else budget.delta
    return Guarantee(budget.unit, spender.promised, delta, assumptions(ratings), reasons)
