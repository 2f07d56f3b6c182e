"""The refinement's release, and what it says about items: for ratings and for presence."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.measure import _effects as rounds
from discreet.measure._budget import Spender
from discreet.measure._effects import Effects
from discreet.measure._everybody import Everybody, total
from discreet.measure._noise import Noise
from discreet.measure._posterior import Noisy
from discreet.measure._rows import NoisyRows, learn_rows
from discreet.measure._settings import RefinedSettings
from discreet.measure.refinement import MOMENT_GRID, ROW_GRID, RecordRefinement, UserRefinement
from discreet.privacy import Unit
from discreet.release import unpack

_Floats = npt.NDArray[np.float64]

ROWS = 0.94
_MOMENTS, _WEIGHT, _SCALES = 0.04, 0.01, 0.01
_THINNEST = 0.03
_RECORD_REACH, _USER_REACH = 1.4, 0.55


@dataclass(frozen=True, eq=False)
class Refined:
    """What was released of tastes beside items.

    Attributes:
        rows: Sums of y_j z_(-j), a row for each item.
        spread: The standard deviation of each entry's noise.
        moment: The second moment of z.
        design: How much of an item's h each row holds.
        sampling: The variance of a row's entries by who happened to rate.
        through: How z goes with people's true tastes, but for a factor: so that what was known of
            items before can be said in terms of z.
    """

    rows: _Floats
    spread: float
    moment: _Floats
    design: _Floats
    sampling: _Floats
    through: _Floats

    @property
    def mean_taste(self) -> _Floats:
        """The taste on average over ratings, where y is 1: from the rows themselves."""
        return np.asarray(self.rows.sum(axis=0) / max(float(self.design.sum()), 1e-9))

    def learn(self, features: _Floats, *, scale: float, centred: bool) -> tuple[_Floats, _Floats]:
        """Rows h for tastes of variance I, and the trace of what is uncertain of each.

        Args:
            features: What the prior mean of h may depend on.
            scale: The variance that entries of h usually have.
            centred: Take tastes by their distance from the mean taste.
        """
        off = self.mean_taste if centred else np.zeros(self.rows.shape[1])
        whiten = _whitening(self.moment - np.outer(off, off))
        rows = (self.rows - self.design[:, None] * off) @ whiten
        noise = self.spread**2 * whiten @ whiten
        given = NoisyRows(rows, self.design, noise, self.sampling)
        guess = features @ self.through @ whiten
        return learn_rows(given, features, guess, scale=scale)


def release_records(
    ratings: Everybody,
    spender: Spender,
    statistic: RecordRefinement,
    share: float,
    counts: _Floats,
    *,
    unit: float,
    variance: float,
) -> Refined:
    """Where a record is protected.

    Args:
        ratings: Private.
        spender: Pays.
        statistic: What is measured.
        share: Of the budget.
        counts: Released counts, 0 or more.
        unit: B: rows come out in the scale's own unit.
        variance: The second moment of y.
    """
    if spender.budget.noise is not Noise.GAUSSIAN:
        raise InputError("a record's refinement is bounded in L2: it takes Gaussian noise")
    exact = total(ratings, statistic.measure)
    rows, spread = spender.release_floats(
        exact.rows, statistic.sensitivity, ROW_GRID / unit, ROWS * share, "taste sums"
    )
    moments, doubt = spender.release_floats(
        exact.moments, statistic.moment_sensitivity, MOMENT_GRID, _MOMENTS * share, "taste moments"
    )
    weight = spender.release_number(
        exact.weight, statistic.weight_sensitivity, MOMENT_GRID, (_WEIGHT + _SCALES) * share,
        "weight of the moments",
    )  # fmt: skip
    moment = _moment(moments, doubt, weight)
    shares = (counts + 1.0) / (counts.sum() + len(counts))
    through = (statistic.directions * shares[:, None]).T @ statistic.directions
    return Refined(rows, spread, moment, counts, variance * counts, through)


def release_users(
    ratings: Everybody,
    spender: Spender,
    statistic: UserRefinement,
    share: float,
    effects: Effects,
    *,
    usual: float,
) -> Refined:
    """Where a user is protected; `usual` is what ||e|| w is about."""
    exact, moved = total(ratings, statistic.measure), statistic.moment_sensitivity
    rows, spread = spender.release_floats(
        exact.rows, statistic.sensitivity, ROW_GRID, ROWS * share, "taste sums"
    )
    moments, doubt = spender.release_floats(
        exact.moments, moved, MOMENT_GRID, _MOMENTS * share, "taste moments"
    )
    weight = spender.release_number(
        exact.weight, moved, MOMENT_GRID, _WEIGHT * share, "weight of the moments"
    )
    scales = spender.release_number(
        exact.scales, statistic.scale_sensitivity, ROW_GRID, _SCALES * share, "users' scales"
    )
    ratio = rounds.usual_ratio(scales, effects.people, usual)
    attention = statistic.residuals.attention
    worth = np.ones(len(rows)) if attention is None else attention
    design = ratio * worth * effects.known_counts
    sampling = effects.vote_variance * worth**2 * effects.known_counts
    moment = _moment(moments, doubt, weight)
    return Refined(rows, spread, moment, design, sampling, moment)


def attention_for(effects: Effects, spender: Spender, share: float) -> _Floats:
    """How much of a person's say each item is worth in the rows."""
    return rounds.attention_of(effects, spender.spread_of(ROWS * share))


def reach_of(settings: RefinedSettings, factors: _Floats) -> float:
    """Where a person's tastes are cut off: few are much longer."""
    if settings.reach is not None:
        return settings.reach
    if settings.protect is Unit.RATING:
        return _RECORD_REACH
    return _USER_REACH * math.sqrt(max(factors.shape[1], 1))


def _moment(triangle: _Floats, spread: float, weight: Noisy) -> _Floats:
    """The second moment of tastes, drawn towards an even one as far as its noise asks for."""
    total = max(weight.value, weight.spread, 1e-9)
    S = unpack(triangle, np.float64) / total
    k = len(S)
    least = max(spread / total, 1e-3 / k)
    even = np.eye(k) * max(float(np.trace(S)) / k, 2 * least / np.sqrt(k))
    seen, noise = float(((S - even) ** 2).sum()), (k * spread / total) ** 2
    trust = max(1 - noise / seen, 0.0) if seen > 0 else 0.0
    values, vectors = np.linalg.eigh(even + trust * (S - even))
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)


def _whitening(moment: _Floats) -> _Floats:
    """S^-1/2; noise can make S thin but not negative."""
    values, vectors = np.linalg.eigh(moment)
    values = np.maximum(values, max(_THINNEST * float(values.max()), 1e-9))
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T)
