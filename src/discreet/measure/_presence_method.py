"""Tastes from presence alone: who clicked, bought or read what. docs/method.md explains it.

An item is met by people whose tastes z lie around its mean m_j. If they do so with one covariance,
which whitening makes I, an item's log odds for a person are log popularity + m_j z - |m_j|^2/2.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import numpy.typing as npt

from discreet.measure._budget import Spender
from discreet.measure._covariance_method import (
    Progress,
    Taste,
    head_of,
    publish_triangle,
    uneven,
)
from discreet.measure._directions import free_directions, short_rows
from discreet.measure._effects import Effects
from discreet.measure._noise import Noise
from discreet.measure._refine import Refined, attention_for, release_records, release_users
from discreet.measure._refined_method import LONGEST, RECORD_REACH, STRONGER, user_reach
from discreet.measure._settings import RefinedSettings
from discreet.measure.centring import ItemLevels
from discreet.measure.covariance import Covariance, PresenceCovariance, UserCovariance
from discreet.measure.item_counts import ItemCounts
from discreet.measure.refinement import PresenceRefinement, UserRefinement
from discreet.measure.user_votes import UserVotes
from discreet.privacy import Unit
from discreet.ratings import Ratings
from discreet.release import clean_auto, unpack

_Floats = npt.NDArray[np.float64]

RECORD_VARIANCE = 1.0
"""How little one record says of a person's tastes, whose variance is 1."""
_PEOPLE = 0.05
_USUAL = 0.25
"""The variance of an item's m along one direction, about."""


def learn_presence(
    ratings: Ratings,
    spender: Spender,
    settings: RefinedSettings,
    features: _Floats | None,
    progress: Progress | None = None,
) -> tuple[Effects, Taste]:
    """Popularity as log odds in place of item effects, and a row of tastes for each item."""
    first = settings.effect_share
    counted = _count(ratings, spender, settings, first)
    amount = spender.budget.amount / (1 if settings.noise is Noise.GAUSSIAN else 4)
    share = settings.share_of_taste(counted.strength(amount))
    counted = _count_again(ratings, spender, settings, 1 - first - share, counted)
    rows, unsure = np.zeros((len(ratings.catalog), 0)), np.zeros(len(ratings.catalog))
    if share > 0:
        rows, unsure = _tastes(ratings, spender, settings, counted, share, features, progress)
    odds = _log_odds(counted) - 0.5 * np.einsum("ij,ij->i", rows, rows)
    return dataclasses.replace(counted, effects=odds), Taste(rows, unsure, {})


def _count(ratings: Ratings, spender: Spender, settings: RefinedSettings, share: float) -> Effects:
    statistic = ItemCounts(settings.protect, settings.noise)
    n, spread = spender.release_floats(
        statistic.measure(ratings), statistic.sensitivity, statistic.grid,
        (1 - _PEOPLE) * share, "item counts",
    )  # fmt: skip
    number = int(np.count_nonzero(np.diff(ratings.starts)))
    people = spender.release_number(number, 1.0, 1.0, _PEOPLE * share, "number of users")
    nothing = np.zeros(len(n))
    return Effects(0.0, 0.0, nothing, nothing, n, spread, people, settings.noise)


def _count_again(
    ratings: Ratings, spender: Spender, settings: RefinedSettings, share: float, known: Effects
) -> Effects:
    """With what tastes leave of the budget; the two counts weigh as their noise says."""
    statistic = ItemCounts(settings.protect, settings.noise)
    n, spread = spender.release_floats(
        statistic.measure(ratings), statistic.sensitivity, statistic.grid, share, "item counts"
    )
    total = known.count_spread**2 + spread**2
    weight = known.count_spread**2 / total if total > 0 else 0.5
    both = weight * n + (1 - weight) * known.counts
    left = math.sqrt(weight) * spread if total > 0 else 0.0
    return dataclasses.replace(known, counts=both, count_spread=left)


def _log_odds(counted: Effects) -> _Floats:
    """How large a part of the people have each item, about, as a logarithm; noise is the floor."""
    people = max(counted.people.value, counted.people.spread, 1.0)
    least = max(counted.count_spread, 0.5)
    return np.asarray(np.log((np.maximum(counted.counts, 0.0) + least) / people))


def _tastes(
    ratings: Ratings,
    spender: Spender,
    settings: RefinedSettings,
    counted: Effects,
    share: float,
    features: _Floats | None,
    progress: Progress | None,
) -> tuple[_Floats, _Floats]:
    """The mean taste m of every item, and how uncertain it is."""
    refines = settings.refines
    part = settings.refine_share * share if refines else 0.0
    found = _point_the_way(ratings, spender, settings, counted, share - part, progress)
    free = free_directions(counted, features, 4.0, own=settings.directions)
    n = counted.known_counts
    factors = np.hstack([free, found])
    factors -= (n / n.sum()) @ factors  # tastes are how people differ
    if not refines or not factors.shape[1]:
        # As long as tastes usually are: what is left is the direction.
        return found / math.sqrt(_USUAL), np.zeros(len(factors))
    refine = _refine_users if settings.protect is Unit.USER else _refine_records
    refined = refine(ratings, spender, settings, counted, factors, part)
    means, variances = refined.learn(factors, scale=_USUAL, centred=True)
    return means - (n / n.sum()) @ means, variances


def _point_the_way(
    ratings: Ratings,
    spender: Spender,
    settings: RefinedSettings,
    counted: Effects,
    share: float,
    progress: Progress | None,
) -> _Floats:
    """Factors of the most popular items from who has both of two, beyond their popularity."""
    items = len(ratings.catalog)
    strength = counted.strength(spender.budget.amount)
    head = head_of(counted, settings.head_size(strength, items))
    statistic = _statistic(settings, head, items)
    tell = None if progress is None else lambda done, total: progress("covariance", done, total)
    moments = statistic.measure(ratings, weights=False, progress=tell)
    triangle, noise = publish_triangle(spender, moments.cov, statistic, share)
    n = counted.known_counts[head]
    matrix = unpack(triangle, np.float64)
    expected = np.outer(n, n)
    np.fill_diagonal(expected, 0.0)
    matrix -= expected * (float((matrix * expected).sum()) / float((expected**2).sum()))
    number = counted.people.value if settings.protect is Unit.USER else float(n.sum())
    spread = max(noise, math.sqrt(max(number, 1.0)) * uneven(n) / len(head))
    within = clean_auto(matrix.astype(np.float32), n, spread, settings.rank)
    factors = np.zeros((items, within.shape[1]))
    factors[head] = STRONGER * within
    return factors


def _statistic(settings: RefinedSettings, head: npt.NDArray[np.int32], items: int) -> Covariance:
    if settings.protect is Unit.RATING:
        return PresenceCovariance(settings.noise, head, settings.offset)
    return UserCovariance(settings.noise, head, _ones(settings, items))


def _ones(settings: RefinedSettings, items: int, attention: _Floats | None = None) -> UserVotes:
    """Presence as residuals: 1 - 0 - 0, and nobody's level taken off."""
    nothing = ItemLevels(0.0, np.zeros(items))
    return UserVotes(nothing, np.ones(items), None, settings.noise, 1.0, attention)


def _refine_records(
    ratings: Ratings,
    spender: Spender,
    settings: RefinedSettings,
    counted: Effects,
    factors: _Floats,
    share: float,
) -> Refined:
    counts = np.maximum(counted.counts, 0.0)
    reach = RECORD_REACH if settings.reach is None else settings.reach
    statistic = PresenceRefinement(short_rows(factors, counts, LONGEST), reach)
    return release_records(ratings, spender, statistic, share, counts, unit=1.0, variance=1.0)


def _refine_users(
    ratings: Ratings,
    spender: Spender,
    settings: RefinedSettings,
    counted: Effects,
    factors: _Floats,
    share: float,
) -> Refined:
    items = len(factors)
    statistic = UserRefinement(
        _ones(settings, items, attention_for(counted, spender, share)),
        np.hstack([np.zeros((items, 1)), factors]),
        np.full(items, 1 / RECORD_VARIANCE),
        user_reach(factors) if settings.reach is None else settings.reach,
    )
    return release_users(ratings, spender, statistic, share, counted, usual=1.0)
