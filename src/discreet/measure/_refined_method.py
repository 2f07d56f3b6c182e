"""Our own method: free directions, a small covariance, one private refinement of all items.

docs/method.md explains it.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.domain import Scale
from discreet.measure import _effects as rounds
from discreet.measure._budget import Spender
from discreet.measure._covariance_method import (
    Progress,
    Taste,
    head_of,
    publish_triangle,
    sampling_spread,
    statistic_of,
)
from discreet.measure._directions import free_directions, short_rows
from discreet.measure._effects import Effects
from discreet.measure._refine import (
    Refined,
    attention_for,
    release_records,
    release_users,
    usual_scale,
)
from discreet.measure._settings import RefinedSettings
from discreet.measure.refinement import RatingRefinement, UserRefinement
from discreet.privacy import Unit
from discreet.ratings import Ratings
from discreet.release import clean_auto, unpack

_Floats = npt.NDArray[np.float64]

RECORD_REACH = 1.4
LONGEST = 1.3
_SWELL = 1.3
"""Tastes are known from few ratings each, which makes the rows too short by about that."""
STRONGER = 1.25
"""How much longer the covariance's factors are made, beside the free directions."""


def learn_refined(
    ratings: Ratings,
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
    free = free_directions(effects, features, width, own=settings.directions)
    unsure = np.zeros(len(free))
    if share == 0:
        return Taste(free, unsure, {"head_items": 0})
    # Among more directions than can be learnt, a refinement would be mostly noise.
    refines = settings.refines and free.shape[1] <= strength / 2
    refine_share = settings.refine_share * share if refines else 0.0
    found, parameters = _point_the_way(
        ratings, spender, settings, effects, strength, share - refine_share, progress
    )
    factors = np.hstack([free, found])
    if refines and factors.shape[1]:
        if progress is not None:
            progress("refinement", 0, 1)
        refine = _refine_ratings if settings.protect is Unit.RATING else _refine_users
        factors, unsure = refine(ratings, spender, settings, effects, factors, refine_share)
        if progress is not None:
            progress("refinement", 1, 1)
    return Taste(factors, unsure, parameters)


def _point_the_way(
    ratings: Ratings,
    spender: Spender,
    settings: RefinedSettings,
    effects: Effects,
    strength: float,
    share: float,
    progress: Progress | None,
) -> tuple[_Floats, dict[str, float]]:
    """Factors from the covariance of the most popular items, 0 for all others."""
    items = len(ratings.catalog)
    head = head_of(effects, settings.head_size(strength, items))
    statistic = statistic_of(ratings, settings, effects, head)
    tell = None if progress is None else lambda done, total: progress("covariance", done, total)
    moments = statistic.measure(ratings, weights=False, progress=tell)
    triangle, noise = publish_triangle(spender, moments.cov, statistic, share)
    counts = effects.known_counts[head]
    spread = max(noise, sampling_spread(ratings, settings, effects, counts))
    matrix = unpack(triangle, np.float32)
    within = clean_auto(matrix, counts, spread, settings.rank, ratings.scale.range)
    factors = np.zeros((items, within.shape[1]))
    factors[head] = STRONGER * within
    return factors, {"head_items": len(head), "covariance_noise": noise}


def _refine_ratings(
    ratings: Ratings,
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
        RECORD_REACH if settings.reach is None else settings.reach,
        centring=centring,
        levels=effects.levels,
    )
    slope, variance = rounds.clipped_moments(centring.clamp, ratings.scale)
    told = {"unit": centring.clamp, "variance": variance}
    refined = release_records(ratings, spender, statistic, share, counts, **told)
    return _learn(refined, factors, _SWELL / slope, ratings.scale)


def _refine_users(
    ratings: Ratings,
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
        user_reach(factors) if settings.reach is None else settings.reach,
    )
    usual = usual_scale(scale)
    refined = release_users(ratings, spender, statistic, share, effects, usual=usual)
    return _learn(refined, factors, _SWELL, scale)


def user_reach(factors: _Floats) -> float:
    """Where a user's tastes are cut off: few are much longer."""
    return 0.55 * math.sqrt(factors.shape[1])


def _learn(
    refined: Refined, factors: _Floats, swell: float, scale: Scale
) -> tuple[_Floats, _Floats]:
    """New factors and the trace of their variance."""
    usual = 0.01 * rounds.stretch(scale)
    means, variances = refined.learn(factors, scale=usual, centred=False)
    return means * swell, variances * swell**2
