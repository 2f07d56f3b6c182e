"""Tastes after McSherry and Mironov: a noisy covariance of the popular items, cleaned."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.measure import _effects as rounds
from discreet.measure._budget import Spender
from discreet.measure._effects import Effects
from discreet.measure._settings import Cleaning, CovarianceSettings, Settings
from discreet.measure.covariance import Covariance, RatingCovariance, UserCovariance
from discreet.privacy import Unit
from discreet.ratings import Ratings
from discreet.release import clean_auto, clean_none, clean_paper, packed_side, unpack

Progress = Callable[[str, int, int], None]

_Floats = npt.NDArray[np.float64]
_Singles = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Taste:
    """What was learnt of tastes: a row of factors for each item, and what is left to know of it."""

    factors: _Floats
    variances: _Floats
    parameters: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]] = field(default_factory=dict)


def learn_covariance(
    ratings: Ratings,
    spender: Spender,
    settings: CovarianceSettings,
    effects: Effects,
    strength: float,
    share: float,
    progress: Progress | None = None,
) -> Taste:
    items = len(ratings.catalog)
    if share == 0:
        return Taste(np.zeros((items, 0)), np.zeros(items), {"head_items": 0})
    size = settings.head_size(strength, items)
    head = head_of(effects, size)
    statistic = statistic_of(ratings, settings, effects, head)
    cov, wgt, parameters = _measure(ratings, spender, settings, statistic, share, progress)
    arrays: dict[str, npt.NDArray[Any]] = {}
    if settings.dense and wgt is not None:
        arrays = {"head": head, **_dense(ratings, settings, cov, wgt)}
    counts = effects.known_counts[head]
    sampling = sampling_spread(ratings, settings, effects, counts)
    spread = max(parameters["covariance_noise"], sampling)
    within = _factors(settings, cov, wgt, counts, spread, ratings.scale.range)
    factors = np.zeros((items, within.shape[1]))
    factors[head] = within
    return Taste(factors, np.zeros(items), {"head_items": size, **parameters}, arrays)


def head_of(effects: Effects, size: int) -> npt.NDArray[np.int32]:
    """The most popular items, by released counts, in rising order."""
    return np.sort(np.argsort(-effects.counts, kind="stable")[:size]).astype(np.int32)


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
    cov, spread = publish_triangle(spender, moments.cov, statistic, share - part)
    if moments.wgt is None:
        return cov, None, {"covariance_noise": spread}
    wgt, other = publish_triangle(spender, moments.wgt, statistic, part, of_weights=True)
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


def statistic_of(
    ratings: Ratings, settings: Settings, effects: Effects, head: npt.NDArray[np.int32]
) -> Covariance:
    if settings.protect is Unit.RATING:
        centring = settings.centring(ratings.scale)
        return RatingCovariance(settings.noise, head, centring, effects.levels, settings.offset)
    residuals = rounds.user_residuals(ratings.scale, effects, settings.noise, first=False)
    return UserCovariance(settings.noise, head, residuals)


def sampling_spread(
    ratings: Ratings, settings: Settings, effects: Effects, counts: _Floats
) -> float:
    """How much an entry varies by who happened to rate, from released numbers.

    A user's block has squared norm w^2 c^2 v^2, v the second moment of y: about v^2 a rating with
    w = c^-1/2, and 1 a user where blocks are scaled to 1. Spread over the m^2 entries, and more on
    those of popular items, which is where such noise reaches furthest.
    """
    if settings.protect is Unit.USER:
        return math.sqrt(max(effects.people.value, 1.0)) * uneven(counts) / len(counts)
    _, moment = rounds.clipped_moments(settings.centring(ratings.scale).clamp, ratings.scale)
    return moment * math.sqrt(float(counts.sum())) * uneven(counts) / len(counts)


def uneven(counts: _Floats) -> float:
    """How much further than even noise it reaches if its variance goes with both items' counts.

    The edge of such a matrix is that of its largest row: n_max against the mean.
    """
    return math.sqrt(float(counts.max()) / float(counts.mean()))


def publish_triangle(
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
