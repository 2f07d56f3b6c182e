"""Tastes from presence alone: who clicked, bought or read what. docs/method.md explains it.

An item is met by people whose tastes z lie around its mean m_j. If they do so with one covariance,
which whitening makes I, the logarithm of an item's chance with a person is, but for a number of the
person's, log popularity + m_j z - |m_j|^2/2.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.measure._budget import Spender
from discreet.measure._directions import LONGEST, free_directions, short_rows
from discreet.measure._effects import Effects
from discreet.measure._everybody import Everybody, count_users, total, totals
from discreet.measure._features import FEATURE_SHARE, feature_directions, measure_belief
from discreet.measure._noise import Noise
from discreet.measure._refine import (
    Refined,
    attention_for,
    reach_of,
    release_records,
    release_users,
)
from discreet.measure._settings import RefinedSettings, Settings
from discreet.measure._taste import Pointer, Progress, Taste, head_of, measure_triangle, uneven
from discreet.measure.agreement import PresenceAgreement
from discreet.measure.centring import ItemLevels
from discreet.measure.covariance import Covariance, PresenceCovariance, UserCovariance
from discreet.measure.item_counts import ItemCounts
from discreet.measure.refinement import PresenceRefinement, UserRefinement
from discreet.measure.user_votes import UserVotes
from discreet.privacy import Unit
from discreet.release import unpack

_Floats = npt.NDArray[np.float64]

RECORD_VARIANCE = 1.0
"""How little one record says of a person's tastes, whose variance is 1."""
_PEOPLE = 0.05
_USUAL = 0.25
"""The variance of an item's m along one direction, about."""
_LONGER = 2.0
"""How much longer rows are for presence than factors of the same direction are for ratings."""
_WIDTH = 4.0


def learn_presence(
    ratings: Everybody,
    spender: Spender,
    settings: RefinedSettings,
    features: _Floats | None,
    progress: Progress | None = None,
) -> tuple[Effects, Taste]:
    """The logarithm of popularity in place of item effects, and a row of tastes for each item."""
    kept = 0.0 if features is None else FEATURE_SHARE
    counted, strength, share = _count_twice(ratings, spender, settings, kept)
    public, told = np.zeros((len(ratings.catalog), 0)), dict[str, Any](head_items=0)
    if features is not None:
        public, belief = _public(ratings, spender, settings, counted, features)
        told |= {"feature_columns": public.shape[1], "features_believed": belief}
    if share > 0:
        taste = _tastes(ratings, spender, settings, counted, strength, share, public, progress)
    else:
        taste = Taste.of_factors(_centred(public, counted) * _LONGER, np.zeros(len(public)), {})
    rows = taste.arrays["factors"].astype(np.float64)
    level = _log_shares(counted, settings.protect) - 0.5 * np.einsum("ij,ij->i", rows, rows)
    told |= taste.parameters
    return (
        dataclasses.replace(counted, effects=level),
        dataclasses.replace(taste, parameters=told),
    )


def count_presence(
    ratings: Everybody, spender: Spender, settings: Settings
) -> tuple[Effects, float, float]:
    """Popularity as a logarithm; how much can be learnt, and the tastes' share."""
    counted, strength, share = _count_twice(ratings, spender, settings, 0.0)
    return (
        dataclasses.replace(counted, effects=_log_shares(counted, settings.protect)),
        strength,
        share,
    )


def _count_twice(
    ratings: Everybody, spender: Spender, settings: Settings, kept: float
) -> tuple[Effects, float, float]:
    """With a first share, and again with what tastes and `kept` leave."""
    first = settings.effect_share
    counted = _count(ratings, spender, settings, first)
    amount = spender.budget.amount / (1 if settings.noise is Noise.GAUSSIAN else 4)
    strength = counted.strength(amount)
    share = settings.share_of_taste(strength)
    again = _count_again(ratings, spender, settings, 1 - first - kept - share, counted)
    return again, strength, share


def _count(ratings: Everybody, spender: Spender, settings: Settings, share: float) -> Effects:
    statistic = ItemCounts(settings.protect, settings.noise)
    exact, number = totals(ratings, statistic.measure, count_users)
    n, spread = spender.release_floats(
        exact, statistic.sensitivity, statistic.grid, (1 - _PEOPLE) * share, "item counts"
    )
    people = spender.release_number(number, 1.0, 1.0, _PEOPLE * share, "number of users")
    nothing = np.zeros(len(n))
    return Effects(0.0, 0.0, nothing, nothing, n, spread, people, settings.noise)


def _count_again(
    ratings: Everybody, spender: Spender, settings: Settings, share: float, known: Effects
) -> Effects:
    """With what tastes leave of the budget; the two counts weigh as their noise says."""
    statistic = ItemCounts(settings.protect, settings.noise)
    exact = total(ratings, statistic.measure)
    n, spread = spender.release_floats(
        exact, statistic.sensitivity, statistic.grid, share, "item counts"
    )
    both_spreads = known.count_spread**2 + spread**2
    weight = known.count_spread**2 / both_spreads if both_spreads > 0 else 0.5
    both = weight * n + (1 - weight) * known.counts
    left = math.sqrt(weight) * spread if both_spreads > 0 else 0.0
    return dataclasses.replace(known, counts=both, count_spread=left)


def _log_shares(counted: Effects, unit: Unit) -> _Floats:
    """How large a part of the people have each item, about, as a logarithm; noise is the floor.

    Protecting users, somebody with c records adds a vote of c^-1/2 or 1/c to each count, and what
    that is on average is known about.
    """
    people = max(counted.people.value, counted.people.spread, 1.0)
    vote = counted.usual_vote if unit is Unit.USER else 1.0
    least = max(counted.count_spread, 0.5 * vote)
    shares = (np.maximum(counted.counts, 0.0) + least) / (people * vote)
    return np.asarray(np.log(np.minimum(shares, 1.0)))


def _public(
    ratings: Everybody,
    spender: Spender,
    settings: RefinedSettings,
    counted: Effects,
    features: _Floats,
) -> tuple[_Floats, float]:
    """Directions from public features, and how far they are believed; none if not at all."""
    directions = feature_directions(counted, features, _WIDTH)
    rows = short_rows(_centred(directions, counted), np.maximum(counted.counts, 0.0), LONGEST)
    belief = measure_belief(ratings, spender, PresenceAgreement(settings.protect, rows), counted)
    return belief * directions[:, : directions.shape[1] if belief else 0], belief


def _centred(rows: _Floats, counted: Effects) -> _Floats:
    """Less their mean over records: tastes are how people differ."""
    n = counted.known_counts
    return np.asarray(rows - (n / n.sum()) @ rows)


def _tastes(
    ratings: Everybody,
    spender: Spender,
    settings: RefinedSettings,
    counted: Effects,
    strength: float,
    share: float,
    public: _Floats,
    progress: Progress | None,
) -> Taste:
    """The mean taste m of every item, and how uncertain it is."""
    free = [public]
    if settings.directions:
        free.insert(0, free_directions(counted, _WIDTH))
    refines = settings.refines and sum(each.shape[1] for each in free) <= strength / 2
    part = settings.refine_share * share if refines else 0.0
    pointer = _point_the_way(ratings, spender, settings, counted, strength, share - part, progress)
    found = pointer.factors(settings.rank)
    if not refines:
        # Popularity is in the odds already; of the others only the direction is known.
        rows = _centred(np.hstack([public, found]), counted)
        return Taste.of_factors(rows * _LONGER, np.zeros(len(rows)), pointer.parameters)
    factors = _centred(np.hstack([*free, found]), counted)
    if not factors.shape[1]:
        return Taste.of_factors(factors, np.zeros(len(factors)), pointer.parameters)
    refine = _refine_users if settings.protect is Unit.USER else _refine_records
    refined = refine(ratings, spender, settings, counted, factors, part)
    means, variances = refined.learn(factors, scale=_USUAL, centred=True)
    return Taste.of_factors(_centred(means, counted), variances, pointer.parameters)


def _point_the_way(
    ratings: Everybody,
    spender: Spender,
    settings: RefinedSettings,
    counted: Effects,
    strength: float,
    share: float,
    progress: Progress | None,
) -> Pointer:
    """Who has both of two of the most popular items, beyond what their popularity says."""
    items = len(ratings.catalog)
    head = head_of(counted, settings.head_size(strength, items))
    statistic = _statistic(settings, head, items)
    triangle, noise = measure_triangle(ratings, spender, statistic, share, progress)
    n = counted.known_counts[head]
    matrix = unpack(triangle, np.float64)
    expected = np.outer(n, n)
    np.fill_diagonal(expected, 0.0)
    matrix -= expected * (float((matrix * expected).sum()) / float((expected**2).sum()))
    number = counted.people.value if settings.protect is Unit.USER else float(n.sum())
    sampling = math.sqrt(max(number, 1.0)) * uneven(n) / len(head)
    return Pointer(head, matrix, counted.known_counts, noise, sampling)


def _statistic(settings: RefinedSettings, head: npt.NDArray[np.int32], items: int) -> Covariance:
    if settings.protect is Unit.RATING:
        return PresenceCovariance(settings.noise, head, settings.offset)
    return UserCovariance(settings.noise, head, _ones(settings, items))


def _ones(settings: RefinedSettings, items: int, attention: _Floats | None = None) -> UserVotes:
    """Presence as residuals: 1 - 0 - 0, and nobody's level taken off."""
    nothing = ItemLevels(0.0, np.zeros(items))
    return UserVotes(nothing, np.ones(items), None, settings.noise, 1.0, attention)


def _refine_records(
    ratings: Everybody,
    spender: Spender,
    settings: RefinedSettings,
    counted: Effects,
    factors: _Floats,
    share: float,
) -> Refined:
    counts = np.maximum(counted.counts, 0.0)
    rows = short_rows(factors, counts, LONGEST)
    statistic = PresenceRefinement(rows, reach_of(settings, factors))
    return release_records(ratings, spender, statistic, share, counts, unit=1.0, variance=1.0)


def _refine_users(
    ratings: Everybody,
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
        reach_of(settings, factors),
    )
    return release_users(ratings, spender, statistic, share, counted, usual=1.0)
