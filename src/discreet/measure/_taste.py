"""What the methods share on their way to tastes: the popular items, their covariance, its size."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.measure import _effects as rounds
from discreet.measure._budget import Spender
from discreet.measure._effects import Effects
from discreet.measure._everybody import Everybody
from discreet.measure._settings import Settings
from discreet.measure.covariance import Covariance, RatingCovariance, UserCovariance
from discreet.privacy import Unit
from discreet.release import clean_auto, packed_bases

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done and how much there is."""

_Floats = npt.NDArray[np.float64]
_Singles = npt.NDArray[np.float32]

_STRONGER = 1.25
"""How much longer factors are made that only point the way to a refinement."""


@dataclass(frozen=True, eq=False)
class Taste:
    """What was learnt of tastes, as a release holds it."""

    arrays: dict[str, npt.NDArray[Any]]
    parameters: dict[str, Any]

    @classmethod
    def of_factors(
        cls,
        factors: _Floats,
        variances: _Floats,
        parameters: dict[str, Any],
        arrays: dict[str, npt.NDArray[Any]] | None = None,
    ) -> Taste:
        """A row of factors for each item, and the trace of what is left to know of it."""
        rows = np.ascontiguousarray(factors, dtype=np.float32)
        unsure = np.maximum(variances, 0).astype(np.float32)
        return cls({"factors": rows, "factor_variances": unsure, **(arrays or {})}, parameters)


@dataclass(frozen=True, eq=False)
class Pointer:
    """Which directions tastes have, as the covariance of the popular items shows; released.

    Attributes:
        head: The most popular items.
        matrix: The sums over pairs of them, symmetric; the diagonal means nothing.
        counts: Of all items.
        noise: The standard deviation of an entry's noise.
        sampling: How much an entry varies by who happened to rate.
    """

    head: npt.NDArray[np.int32]
    matrix: npt.NDArray[np.floating]
    counts: _Floats
    noise: float
    sampling: float

    @property
    def parameters(self) -> dict[str, Any]:
        return {"head_items": len(self.head), "covariance_noise": self.noise}

    def factors(self, rank: int, width: float = 4.0) -> _Floats:
        """What stands out of the larger of noise and sampling; 0 for all other items.

        A refinement follows, which tells the directions that are none: rather one too many.
        """
        counts, spread = self.counts[self.head], max(self.noise, self.sampling)
        within = clean_auto(self.matrix.astype(np.float32), counts, spread, rank, width)
        factors = np.zeros((len(self.counts), within.shape[1]))
        factors[self.head] = _STRONGER * within
        return factors


def head_of(effects: Effects, size: int) -> npt.NDArray[np.int32]:
    """The most popular items, by released counts, in rising order."""
    return np.sort(np.argsort(-effects.counts, kind="stable")[:size]).astype(np.int32)


def statistic_of(
    ratings: Everybody, settings: Settings, effects: Effects, head: npt.NDArray[np.int32]
) -> Covariance:
    """The covariance of centred ratings, by whom it protects."""
    if settings.protect is Unit.RATING:
        centring = settings.centring(ratings.scale)
        return RatingCovariance(settings.noise, head, centring, effects.levels, settings.offset)
    residuals = rounds.user_residuals(ratings.scale, effects, settings.noise, first=False)
    return UserCovariance(settings.noise, head, residuals)


def measure_triangle(
    ratings: Everybody,
    spender: Spender,
    statistic: Covariance,
    share: float,
    progress: Progress | None,
) -> tuple[_Singles, float]:
    """Measure a covariance and release it: the triangle, and the size of its noise."""
    tell = None if progress is None else lambda done, total: progress("covariance", done, total)
    moments = statistic.measure(ratings, weights=False, progress=tell)
    return publish_triangle(spender, moments.cov, statistic, share)


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
    exact[diagonal_of(size)] = 0
    sensitivity = (statistic.vote_sensitivities if of_weights else statistic.sensitivities)[0]
    grid = (statistic.vote_grid if of_weights else statistic.grid) ** 2
    label = "co-rating weights" if of_weights else "item covariance"
    noisy, spread = spender.release(exact, sensitivity, share, label)
    released = noisy.astype(np.float32)
    released /= grid
    released[diagonal_of(size)] = 0.0
    return released, spread / grid


def diagonal_of(size: int) -> npt.NDArray[np.int64]:
    """Where the diagonal lies in a packed upper triangle."""
    return packed_bases(size) + np.arange(size)


def sampling_spread(
    ratings: Everybody, settings: Settings, effects: Effects, counts: _Floats
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
