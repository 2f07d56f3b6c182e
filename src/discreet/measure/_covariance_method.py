"""Tastes after McSherry and Mironov: a noisy covariance of the popular items, cleaned."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.measure import _effects as rounds
from discreet.measure._budget import Spender
from discreet.measure._effects import Effects
from discreet.measure._everybody import Everybody
from discreet.measure._settings import Cleaning, CovarianceSettings
from discreet.measure._taste import (
    Progress,
    Taste,
    diagonal_of,
    head_of,
    publish_triangle,
    sampling_spread,
    statistic_of,
)
from discreet.measure.covariance import Covariance
from discreet.privacy import Unit
from discreet.release import clean_auto, clean_none, clean_paper, packed_side, unpack

_Floats = npt.NDArray[np.float64]
_Singles = npt.NDArray[np.float32]


def learn_covariance(
    ratings: Everybody,
    spender: Spender,
    settings: CovarianceSettings,
    effects: Effects,
    strength: float,
    share: float,
    progress: Progress | None = None,
) -> Taste:
    items = len(ratings.catalog)
    if share == 0:
        return Taste.of_factors(np.zeros((items, 0)), np.zeros(items), {"head_items": 0})
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
    return Taste.of_factors(factors, np.zeros(items), {"head_items": size, **parameters}, arrays)


def _measure(
    ratings: Everybody,
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
    ratings: Everybody, settings: CovarianceSettings, cov: _Singles, wgt: _Singles
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
    diagonal = diagonal_of(packed_side(len(cov)) or 0)
    covariance[diagonal], weights[diagonal] = variance, 1.0
    return {"covariance": covariance, "weights": weights}


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
