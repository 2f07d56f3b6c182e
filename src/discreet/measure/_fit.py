"""From ratings to a release: effects, then tastes. Charge, then draw."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.measure import _effects as rounds
from discreet.measure._budget import Budget, Spender
from discreet.measure._covariance_method import learn_covariance
from discreet.measure._effects import Effects
from discreet.measure._everybody import Everybody
from discreet.measure._features import FEATURE_SHARE, MOST_FEATURES
from discreet.measure._noise import Noise
from discreet.measure._pair_methods import learn_cosine, learn_slope_one
from discreet.measure._presence_method import RECORD_VARIANCE, count_presence, learn_presence
from discreet.measure._refined_method import learn_refined
from discreet.measure._request import (
    GivenLedger,
    Request,
    ask_for_fit,
    is_named,
    open_ledger,
    telling_of_charge,
)
from discreet.measure._settings import (
    SETTINGS,
    CosineSettings,
    CovarianceSettings,
    Method,
    PairSettings,
    RefinedSettings,
    Settings,
    SlopeOneSettings,
)
from discreet.measure._taste import Progress, Taste
from discreet.privacy import NO_NOISE, SEEDED, Guarantee, Randomness, Unit
from discreet.privacy.accounting import mu_of_theta
from discreet.release import Release

_SCALARS = 0.01
_FEWEST_RATINGS, _FEWEST_USERS = 500, 50


def fit(
    ratings: Everybody,
    *,
    method: Method | str | None = None,
    protect: Unit | str | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    theta: float | None = None,
    noise: Noise | str | None = None,
    ledger: GivenLedger = None,
    features: npt.ArrayLike | None = None,
    settings: Settings | None = None,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Release:
    """Measure ratings under a guarantee and make a release.

    Args:
        ratings: Private; `discreet.spark.read` makes some of a table on a cluster.
        method: `refined`, which is meant if nothing is told, or one of the papers': `covariance`,
            `slope-one`, `cosine`.
        protect: `user`, which is meant if nothing is told, or `rating`.
        epsilon: The budget; 1 if neither it nor `theta` is told. Infinite adds no noise.
        delta: For Gaussian noise, 1e-6 if not told; Laplace noise has 0.
        theta: The same budget as McSherry and Mironov say it: the total that their split of theta
            has, divided between the stages as usual here.
        noise: `gaussian`, which is meant if nothing is told, or `laplace`.
        ledger: The ledger to charge before anything is measured, or its file. `"unbooked"` for
            none: then the release says that its cost is not recorded in any ledger (a file that is
            called so is given as a `Path`). Needed unless the release protects nobody: with a
            seeded source of randomness, or an infinite epsilon.
        features: Public: a row for each item of the catalogue, of any meaning; `refined` only.
        settings: The method's parameters; `options` change single ones by name.
        randomness: For experiments: a seeded source makes a release that says "not private".
        progress: Called with a stage's name, how much of it is done and how much there is: numbers
            of private records, for the curator's eyes alone.
        options: Fields of the method's settings, `RefinedSettings` and so on.

    Raises:
        BudgetExceeded: The ledger has no room; nothing was measured.
        InputError: The ratings or the budget cannot be used.
    """
    told = {"protect": protect, "noise": noise} | options
    chosen = check_fit(ratings, method, settings, told)
    public = _features(features, len(ratings.catalog), chosen)
    budget = _budget(chosen.protect, chosen.noise, epsilon, delta, theta).bounded_by(ratings.intake)
    request = ask_for_fit(ratings, chosen, budget, public)
    book = open_ledger(ledger)
    spender = _open(request, budget, chosen.method, book or ledger, randomness)
    with telling_of_charge(book is not None):
        effects, taste = _learn(ratings, spender, chosen, public, progress)
        release = _release(request, spender, chosen, effects, taste)
        if book is not None and spender.charge is not None:
            book.record_publication(spender.charge, release.digest())
    return release


def check_fit(
    ratings: Everybody,
    method: Method | str | None,
    settings: Settings | None,
    options: dict[str, Any],
) -> Settings:
    """The settings; refuses what no fit can be made of, by public things alone.

    Raises:
        InputError: Says what would be right.
    """
    unsaid = {name for name in ("protect", "noise") if options.get(name) is None}
    given = {name: value for name, value in options.items() if name not in unsaid}
    chosen = _settings(method, settings, given)
    if not 0.1 <= ratings.scale.range <= 1000:
        raise InputError(
            f"a fit needs a scale between 0.1 and 1,000 wide, not {ratings.scale.range:g}; "
            "tell the ratings in another unit"
        )
    if len(ratings.catalog) < 2:
        raise InputError("a fit needs a catalogue of at least two items")
    if ratings.scale.presence and not isinstance(chosen, RefinedSettings | CosineSettings):
        raise InputError(f"presence alone is for methods refined and cosine, not {chosen.method}")
    _check_clamp(chosen, ratings)
    return chosen


def _learn(
    ratings: Everybody,
    spender: Spender,
    settings: Settings,
    features: npt.NDArray[np.float64] | None,
    progress: Progress | None,
) -> tuple[Effects, Taste]:
    if isinstance(settings, PairSettings):
        return _learn_pairs(ratings, spender, settings, progress)
    if ratings.scale.presence:
        assert isinstance(settings, RefinedSettings)
        return learn_presence(ratings, spender, settings, features, progress)
    kept = 0.0 if features is None else FEATURE_SHARE
    effects, strength, share = _learn_effects(ratings, spender, settings, kept)
    if isinstance(settings, CovarianceSettings):
        told = (ratings, spender, settings, effects, strength, share)
        return effects, learn_covariance(*told, progress)
    assert isinstance(settings, RefinedSettings)
    taste = learn_refined(ratings, spender, settings, effects, strength, share, features, progress)
    return effects, taste


def _learn_pairs(
    ratings: Everybody, spender: Spender, settings: PairSettings, progress: Progress | None
) -> tuple[Effects, Taste]:
    """Effects, or popularity of presence, and what pairs of items say beyond them."""
    learn = count_presence if ratings.scale.presence else _learn_effects
    effects, strength, share = learn(ratings, spender, settings)
    told = (effects, strength, share, progress)
    if isinstance(settings, SlopeOneSettings):
        arrays, parameters = learn_slope_one(ratings, spender, settings, *told)
    else:
        assert isinstance(settings, CosineSettings)
        arrays, parameters = learn_cosine(ratings, spender, settings, *told)
    return effects, Taste(arrays, parameters)


def _settings(
    method: Method | str | None, settings: Settings | None, options: dict[str, Any]
) -> Settings:
    """The settings of one method, with single fields changed."""
    if method is not None and method not in list(Method):
        raise InputError(f"'{method}' is no method; there are {', '.join(Method)}")
    if settings is None:
        settings = SETTINGS[Method(method or Method.REFINED)]()
    elif method is not None and not isinstance(settings, SETTINGS[Method(method)]):
        raise InputError(f"these are not settings of method '{method}'")
    known = {field.name for field in dataclasses.fields(settings)}
    for name in options:
        if name not in known:
            raise InputError(f"'{name}' is no setting of this method; it has {', '.join(known)}")
    return dataclasses.replace(settings, **options)


def _check_clamp(settings: Settings, ratings: Everybody) -> None:
    """The grid's price of a refinement grows with the catalogue over the clamp."""
    centring = settings.centring(ratings.scale)
    centring.check_items(len(ratings.catalog))
    if len(ratings.catalog) * centring.step > 8 * centring.clamp:
        raise InputError(
            f"a clamp of {settings.clamp:g} is too small for {len(ratings.catalog):,} items; "
            "widen it, or tell the ratings in a larger unit"
        )


def _features(
    features: npt.ArrayLike | None, items: int, settings: Settings
) -> npt.NDArray[np.float64] | None:
    if features is None:
        return None
    if not isinstance(settings, RefinedSettings):
        raise InputError("item features are for method 'refined'")
    try:
        values = np.asarray(features, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 2 or len(values) != items or not np.all(np.isfinite(values)):
        raise InputError(f"item features are finite numbers, a row for each of {items:,} items")
    if np.abs(values).max(initial=0.0) > 1e9:
        raise InputError("item features are numbers up to 1e9 in size; tell them in a larger unit")
    if values.shape[1] > MOST_FEATURES:
        raise InputError(f"{values.shape[1]:,} item features; at most {MOST_FEATURES} can be used")
    return values if values.shape[1] else None


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
    request: Request,
    budget: Budget,
    method: Method,
    ledger: GivenLedger,
    randomness: Randomness | None,
) -> Spender:
    label = f"{method} release"
    if budget.is_infinite:
        if is_named(ledger):
            raise InputError("a release without noise cannot be booked: no ledger has room for it")
        return Spender(budget, None, label)
    receipt = request.charge([budget.event(label)], label, ledger, randomness)
    return Spender(budget, receipt, label)


def _learn_effects(
    ratings: Everybody, spender: Spender, settings: Settings, kept: float = 0.0
) -> tuple[Effects, float, float]:
    """Two rounds of item effects; how much can be learnt, and the tastes' share.

    `kept` is left of the budget for what follows beside tastes.
    """
    amount = _gaussian_amount(spender.budget)
    first, scalars = settings.effect_share, 0.0
    if settings.protect is Unit.RATING:
        effects = rounds.measure_raw(ratings, spender, first)
    else:
        scalars = _SCALARS
        effects = rounds.measure_votes(ratings, spender, scalars, first)
    strength = effects.strength(amount)
    share, level = settings.share_of_taste(strength), settings.share_of_level(strength)
    if settings.taste_share is None and not _tastes_can_be_told(effects, settings.protect):
        share = 0.0
    if level:
        effects = rounds.measure_level(ratings, spender, level, effects)
    rest = 1 - scalars - first - level - share - kept
    if settings.protect is Unit.RATING:
        centring = settings.centring(ratings.scale)
        effects = rounds.measure_residual(ratings, spender, rest, effects, centring)
    else:
        effects = rounds.measure_user_round(ratings, spender, rest / 2, effects, first=True)
        effects = rounds.measure_user_round(ratings, spender, rest / 2, effects, first=False)
    return effects, strength, share


def _tastes_can_be_told(effects: Effects, unit: Unit) -> bool:
    """With three or four ratings each nobody's could at home, nor an item's from a few people."""
    if unit is Unit.RATING:
        return effects.people.value >= _FEWEST_RATINGS
    return effects.people.value >= _FEWEST_USERS and effects.choosiness > 0


def _gaussian_amount(budget: Budget) -> float:
    """The mu whose Gaussian noise is about as large: what the rules of thumb are told in."""
    return budget.amount if budget.noise is Noise.GAUSSIAN else budget.amount / 4


def _release(
    request: Request,
    spender: Spender,
    settings: Settings,
    effects: Effects,
    taste: Taste,
) -> Release:
    ratings = request.ratings
    width = rounds.stretch(ratings.scale)
    known = np.maximum(effects.counts, 0.0)
    arrays = {
        "item_effects": effects.effects.astype(np.float32),
        "item_effect_variances": np.maximum(effects.variances, 0).astype(np.float32),
        "item_counts": known.astype(np.float32),
        **taste.arrays,
    }
    variances = (
        rounds.USER_VARIANCE * width + effects.mean_variance,
        rounds.RATING_VARIANCE * width,
    )
    if ratings.scale.presence:
        variances = (0.0, RECORD_VARIANCE)
    parameters = {
        "global_mean": effects.global_mean,
        "user_variance": variances[0],
        "rating_variance": variances[1],
        "settings": {name: _plain(value) for name, value in vars(settings).items()},
        **taste.parameters,
    }
    return Release(
        str(settings.method),
        ratings.scale,
        ratings.catalog,
        _guarantee(request, spender),
        parameters,
        arrays,
    )


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value


def _guarantee(request: Request, spender: Spender) -> Guarantee:
    budget = spender.budget
    reasons: tuple[str, ...] = ()
    if budget.is_infinite:
        reasons = (NO_NOISE,)
    elif not spender.is_private:
        reasons = (SEEDED,)
    delta = 0.0 if math.isinf(budget.amount) else budget.delta
    return request.promise(spender.promised, delta, spender.charge, *reasons)
