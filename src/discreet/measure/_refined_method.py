"""Our own method: free directions, a small covariance, one private refinement of all items.

docs/method.md explains it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
from discreet.measure._noise import Noise
from discreet.measure._rows import NoisyRows, learn_rows
from discreet.measure._settings import RefinedSettings
from discreet.measure.refinement import MOMENT_GRID, ROW_GRID, RatingRefinement, UserRefinement
from discreet.privacy import Unit
from discreet.ratings import Ratings
from discreet.release import clean_auto, unpack

_Floats = npt.NDArray[np.float64]

_ROWS, _MOMENTS, _WEIGHT, _SCALES = 0.96, 0.02, 0.01, 0.01
_LONGEST = 1.3
_SWELL = 1.3
"""Tastes are known from few ratings each, which makes the rows too short by about that."""
_THINNEST = 0.03
_STRONGER = 1.25
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
    free = free_directions(effects, features, width)
    unsure = np.zeros(len(free))
    if share == 0:
        return Taste(free, unsure, {"head_items": 0})
    # One rating moves a refinement too far in L1 for it to be worth its noise.
    refines = settings.protect is Unit.USER or settings.noise is Noise.GAUSSIAN
    refine_share = settings.refine_share * share if refines else 0.0
    found, parameters = _point_the_way(
        ratings, spender, settings, effects, strength, share - refine_share, progress
    )
    factors = np.hstack([free, found])
    if refines:
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
    spread = math.hypot(noise, sampling_spread(ratings, settings, effects, counts))
    matrix = unpack(triangle, np.float32)
    within = clean_auto(matrix, counts, spread, settings.rank, ratings.scale.range)
    factors = np.zeros((items, within.shape[1]))
    factors[head] = _STRONGER * within
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
    directions = short_rows(factors, counts, _LONGEST)
    reach = 1.4 if settings.reach is None else settings.reach
    statistic = RatingRefinement(centring, effects.levels, directions, reach)
    exact = statistic.measure(ratings)
    rows, spread = spender.release_floats(
        exact.rows, statistic.sensitivity, ROW_GRID / centring.clamp, _ROWS * share, "taste sums"
    )
    moments, _ = spender.release_floats(
        exact.moments, statistic.moment_sensitivity, MOMENT_GRID, _MOMENTS * share, "taste moments"
    )
    weight = spender.release_number(
        exact.weight, statistic.weight_sensitivity, MOMENT_GRID,
        (1 - _ROWS - _MOMENTS) * share, "weight of the moments",
    )  # fmt: skip
    slope, variance = rounds.clipped_moments(centring.clamp, ratings.scale)
    whiten = _whitening(moments, weight.value)
    given = _Whitened(rows, spread, whiten)
    return given.learn(counts, variance * counts, factors, slope, ratings.scale.range)


def _refine_users(
    ratings: Ratings,
    spender: Spender,
    settings: RefinedSettings,
    effects: Effects,
    factors: _Floats,
    share: float,
) -> tuple[_Floats, _Floats]:
    scale, k = ratings.scale, factors.shape[1]
    width = rounds.stretch(scale)
    attention = rounds.attention_of(effects, spender.spread_of(_ROWS * share))
    residuals = rounds.user_residuals(scale, effects, spender.budget.noise, attention, first=False)
    level = np.full((len(factors), 1), math.sqrt(rounds.USER_VARIANCE * width))
    precisions = 1 / (rounds.RATING_VARIANCE * width + effects.variances)
    reach = 0.55 * math.sqrt(k) if settings.reach is None else settings.reach
    statistic = UserRefinement(residuals, np.hstack([level, factors]), precisions, reach)
    exact = statistic.measure(ratings)
    rows, spread = spender.release_floats(
        exact.rows, statistic.sensitivity, ROW_GRID, _ROWS * share, "taste sums"
    )
    grid, moved = MOMENT_GRID, statistic.moment_sensitivity
    moments, _ = spender.release_floats(
        exact.moments, moved, grid, _MOMENTS * share, "taste moments"
    )
    weight = spender.release_number(
        exact.weight, moved, grid, _WEIGHT * share, "weight of the moments"
    )
    scales = spender.release_number(
        exact.scales, statistic.scale_sensitivity, ROW_GRID, _SCALES * share, "users' scales"
    )
    ratio = rounds.usual_ratio(scales, effects.people, scale)
    design = ratio * attention * effects.known_counts
    sampling = rounds.VOTE_VARIANCE * design * attention
    given = _Whitened(rows, spread, _whitening(moments, weight.value))
    return given.learn(design, sampling, factors, 1.0, scale.range)


def _whitening(moments: _Floats, weight: float) -> _Floats:
    """S^-1/2, S the second moment of tastes; noise can make it thin but not negative."""
    S = unpack(moments) / max(weight, 1e-9)
    values, vectors = np.linalg.eigh(S)
    values = np.maximum(values, max(_THINNEST * float(values.max()), 1e-9))
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T)


@dataclass(frozen=True, eq=False)
class _Whitened:
    """Rows with iid noise of this spread, and what turns tastes into ones of variance I."""

    rows: _Floats
    spread: float
    whiten: _Floats

    def learn(
        self, design: _Floats, sampling: _Floats, factors: _Floats, slope: float, width: float
    ) -> tuple[_Floats, _Floats]:
        """New factors and the trace of their variance."""
        noise = self.spread**2 * self.whiten @ self.whiten
        given = NoisyRows(self.rows @ self.whiten, design, noise, sampling)
        means, variances = learn_rows(given, factors, scale=0.01 * (width / 4) ** 2)
        swell = _SWELL / slope
        return means * swell, variances * swell**2
