"""Our own method: free directions, a small covariance, one private refinement of all items.

docs/method.md explains it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import Scale
from discreet.measure import _effects as rounds
from discreet.measure._budget import Spender
from discreet.measure._directions import LONGEST, free_directions, short_rows
from discreet.measure._effects import Effects
from discreet.measure._everybody import Everybody
from discreet.measure._features import feature_directions, measure_belief
from discreet.measure._refine import (
    Refined,
    attention_for,
    reach_of,
    release_records,
    release_users,
)
from discreet.measure._settings import RefinedSettings
from discreet.measure._taste import (
    Pointer,
    Progress,
    Taste,
    head_of,
    measure_triangle,
    sampling_spread,
    statistic_of,
)
from discreet.measure.agreement import RatingAgreement
from discreet.measure.refinement import RatingRefinement, UserRefinement
from discreet.privacy import Unit
from discreet.release import unpack

_Floats = npt.NDArray[np.float64]

_SWELL = 1.3
"""Tastes are known from few ratings each, which makes the rows too short by about that."""
_UNCHECKED = 0.6
"""How strong free directions are believed to be where nothing can be measured along them."""


def learn_refined(
    ratings: Everybody,
    spender: Spender,
    settings: RefinedSettings,
    effects: Effects,
    strength: float,
    share: float,
    features: _Floats | None,
    progress: Progress | None = None,
) -> Taste:
    """Factors for all items, and how uncertain each row is."""
    width = ratings.scale.range
    free, told = np.zeros((len(ratings.catalog), 0)), dict[str, Any](head_items=0)
    if settings.directions:
        free = free_directions(effects, width) * (1.0 if share > 0 else _UNCHECKED)
    if features is not None:
        public, belief = _public(ratings, spender, settings, effects, features)
        told |= {"feature_columns": public.shape[1], "features_believed": belief}
        free = np.hstack([free, public])
    unsure = np.zeros(len(free))
    if share == 0:
        return Taste.of_factors(free, unsure, told)
    # Among more directions than can be learnt, a refinement would be mostly noise.
    refines = settings.refines and free.shape[1] <= strength / 2
    part = settings.refine_share * share if refines else 0.0
    pointer = _point_the_way(ratings, spender, settings, effects, strength, share - part, progress)
    factors = np.hstack([free, pointer.factors(settings.rank, width)])
    if refines and factors.shape[1]:
        if progress is not None:
            progress("refinement", 0, 1)
        refine = _refine_ratings if settings.protect is Unit.RATING else _refine_users
        factors, unsure = refine(ratings, spender, settings, effects, factors, part)
        if progress is not None:
            progress("refinement", 1, 1)
    return Taste.of_factors(factors, unsure, told | pointer.parameters)


def _public(
    ratings: Everybody,
    spender: Spender,
    settings: RefinedSettings,
    effects: Effects,
    features: _Floats,
) -> tuple[_Floats, float]:
    """Directions from public features, and how far they are believed; none if not at all."""
    directions = feature_directions(effects, features, ratings.scale.range)
    statistic = RatingAgreement(
        settings.protect,
        short_rows(directions, np.maximum(effects.counts, 0.0), LONGEST),
        centring=settings.centring(ratings.scale),
        levels=effects.levels,
    )
    belief = measure_belief(ratings, spender, statistic, effects)
    return belief * directions[:, : directions.shape[1] if belief else 0], belief


def _point_the_way(
    ratings: Everybody,
    spender: Spender,
    settings: RefinedSettings,
    effects: Effects,
    strength: float,
    share: float,
    progress: Progress | None,
) -> Pointer:
    head = head_of(effects, settings.head_size(strength, len(ratings.catalog)))
    statistic = statistic_of(ratings, settings, effects, head)
    triangle, noise = measure_triangle(ratings, spender, statistic, share, progress)
    counts = effects.known_counts
    sampling = sampling_spread(ratings, settings, effects, counts[head])
    return Pointer(head, unpack(triangle, np.float32), counts, noise, sampling)


def _refine_ratings(
    ratings: Everybody,
    spender: Spender,
    settings: RefinedSettings,
    effects: Effects,
    factors: _Floats,
    share: float,
) -> tuple[_Floats, _Floats]:
    centring = settings.centring(ratings.scale)
    counts = np.maximum(effects.counts, 0.0)
    statistic = RatingRefinement(
        short_rows(factors, counts, LONGEST),
        reach_of(settings, factors),
        centring=centring,
        levels=effects.levels,
    )
    slope, variance = rounds.clipped_moments(centring.clamp, ratings.scale)
    told = {"unit": centring.clamp, "variance": variance}
    refined = release_records(ratings, spender, statistic, share, counts, **told)
    return _learn(refined, factors, _SWELL / slope, ratings.scale)


def _refine_users(
    ratings: Everybody,
    spender: Spender,
    settings: RefinedSettings,
    effects: Effects,
    factors: _Floats,
    share: float,
) -> tuple[_Floats, _Floats]:
    scale = ratings.scale
    width = rounds.stretch(scale)
    attention = attention_for(effects, spender, share)
    residuals = rounds.user_residuals(scale, effects, settings.noise, attention, first=False)
    level = np.full((len(factors), 1), math.sqrt(rounds.USER_VARIANCE * width))
    statistic = UserRefinement(
        residuals,
        np.hstack([level, factors]),
        1 / (rounds.RATING_VARIANCE * width + effects.variances),
        reach_of(settings, factors),
    )
    usual = rounds.usual_scale(scale)
    refined = release_users(ratings, spender, statistic, share, effects, usual=usual)
    return _learn(refined, factors, _SWELL, scale)


def _learn(
    refined: Refined, factors: _Floats, swell: float, scale: Scale
) -> tuple[_Floats, _Floats]:
    """New factors and the trace of their variance."""
    usual = 0.01 * rounds.stretch(scale)
    means, variances = refined.learn(factors, scale=usual, centred=False)
    return means * swell, variances * swell**2
