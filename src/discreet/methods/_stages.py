"""The stages that methods of ratings share, for each unit of protection.

`stages_of` picks the class for ratings per rating or per user. Each knows which statistics measure
the items one by one, the covariance of the popular ones, agreement along public features, and the
refinement of all items. `item_stages_of` takes presence too, of which the items are counted.
"""

from __future__ import annotations

import abc
import dataclasses
import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, Noisy
from discreet.estimate import (
    LEARNABLE,
    RATING_VARIANCE,
    RESIDUAL_VARIANCE,
    USER_VARIANCE,
    Effects,
    TasteSums,
    attention_of,
    belief_in_features,
    believed_counts,
    clipped_moments,
    combine_counts,
    effects_from_sums,
    effects_from_votes,
    log_shares,
    presence_counts,
    sampling_per_rating,
    sampling_per_unit,
    short_rows,
    sketched_factors,
    stretch,
    update_by_residuals,
    update_by_users,
    update_level,
    usual_scale,
)
from discreet.measure import Carry
from discreet.measure.agreement import RatingAgreement
from discreet.measure.centring import HuberCentring, ItemLevels
from discreet.measure.covariance import Covariance, RatingCovariance, UserCovariance
from discreet.measure.item_counts import ItemCounts
from discreet.measure.item_sums import RatingTotals, ResidualSums
from discreet.measure.level import Level
from discreet.measure.refinement import RatingRefinement, UserRefinement, UserSketch
from discreet.measure.user_votes import UserCount, UserMeans, UserVotes
from discreet.methods._carrying import carry_levels, carry_moments, carry_rows
from discreet.methods._method import RatingMethod, Task
from discreet.privacy import Unit

_Floats = npt.NDArray[np.float64]
_Head = npt.NDArray[np.int32]

# The part of the budget for the number of users and their mean rating: two numbers, well known.
_SCALARS = 0.01
# The part of a first round's share for the sum and for the number of all ratings, each.
_OVERALL = 0.01
# The part of the rest of a first round for sums, and that in a series; counts get what is left.
# Levels are sums over counts, and lists begin with counts. Chosen on validation parts of MovieLens
# 1M, where it is flat, 100k, latest-small and MovieTweetings; for a series tuned on another split
# of the first.
_SUMS, _SUMS_IN_SERIES = 0.5, 0.8
# What a first round has more of in a series, as a part of the budget: sums of ratings as they are
# mean the same in every period, centred ones change with the levels. Chosen on a validation part of
# MovieLens 1M in 12 periods; flat from 0.06 to 0.1. At most the 0.1 that `RatingMethod` keeps free.
_MORE_IN_SERIES = 0.06
# The part of a user round's share that says how votes relate to counts.
_SCALES = 0.02
# The part of a count of presence that goes to the number of users.
_PEOPLE = 0.05
# How a refinement's share is divided: rows, moments of tastes, their weight, users' scales.
_ROWS, _MOMENTS, _WEIGHT, _ROW_SCALES = 0.94, 0.04, 0.01, 0.01
# The part of the budget that says whether features, if there are any, are worth anything.
FEATURE_SHARE = 0.02
# What is left for tastes and levels at least, as a part of the budget, once the first round, lists,
# recency and features are paid for. Chosen for safety.
LEAST_REST = 0.04
# How much agreement along features varies by who happened to rate, over the root of the units.
_RATING_CHANCE, _USER_CHANCE = 0.15, 0.3
# Noise smaller than this mu's is not what limits anything: about epsilon 10 at delta 1e-6.
_LARGEST_MU = 2.0
# Fewer units than this teach nothing of tastes. Chosen by hand: data that small are never served
# better by tastes than by means.
_FEWEST_RATINGS, _FEWEST_USERS = 500, 50
# Gamma, where a person's tastes are cut off: for records; and for users, times the root of the
# number of directions. Tuned on another split of MovieLens 1M (docs/explanation/refined.md):
# few tastes are much longer.
_RECORD_REACH, _USER_REACH = 1.4, 0.55
# A user whose residuals are smaller than this on average is not scaled up further; width 4.
_FLOOR = 0.3


class ItemStages(abc.ABC):
    """What is measured of the items one by one, as a method's settings ask for.

    Args:
        method: The settings.
        task: With the ratings and the budget.

    Attributes:
        effects: What was released of the items, once they have been measured.
        strength: How well items can be learnt (`Effects.strength`).
        share: Of the budget, for tastes; 0 where they cannot be learnt.
        list_share: Of the budget, for lists.
        lists_get: The part of what the method gives to lists that they get.
    """

    count_label: str
    """Of the items' counts."""
    effects: Effects
    strength: float
    share: float
    list_share: float = 0.0
    lists_get: float = 1.0

    def __init__(self, method: RatingMethod, task: Task) -> None:
        self.method, self.task = method, task

    @abc.abstractmethod
    def measure_items(self) -> None:
        """Measure the items one by one: sets `effects`, `strength` and `share`."""

    @property
    def released(self) -> Effects:
        """The effects that a release holds."""
        return self.effects

    @property
    def _even_votes(self) -> bool:
        return self.method.noise.kind.order == 1


def levels_of(effects: Effects) -> ItemLevels:
    """Released effects as statistics take them off ratings."""
    return ItemLevels(effects.global_mean, effects.effects)


class Stages(ItemStages):
    """Ratings on a scale: two rounds of item effects, and perhaps the global mean again."""

    per_user: bool
    """Whether users are protected with all their ratings."""
    centring: HuberCentring
    """Of ratings, once the items' strength is known."""
    scalars = 0.0
    """The part of the budget for numbers besides the items'."""
    _level_share: float
    """Of the budget, for the global mean again."""
    _second_share: float
    """Of the budget, for the second round."""
    more_in_series = 0.0
    """What a first round has more of in a series, as a part of the budget."""

    @abc.abstractmethod
    def covariance(self, head: _Head, *, with_weights: bool) -> Covariance:
        """The statistic over pairs of popular items."""

    @abc.abstractmethod
    def sampling(self, counts: _Floats) -> float:
        """How much an entry of the covariance varies by who happened to rate."""

    @abc.abstractmethod
    def refine(self, factors: _Floats, share: float, reach: float | None = None) -> TasteSums:
        """Sums of ratings times tastes along these factors, for all items.

        `reach` is where a person's tastes are cut off; None for what suits the unit.
        """

    def believe(self, directions: _Floats) -> float:
        """How far ratings agree along public directions, from 0 to 1; costs FEATURE_SHARE."""
        effects = self.effects
        statistic = RatingAgreement(
            self.method.protect,
            short_rows(directions, effects.positive_counts),
            centring=self.centring,
            levels=levels_of(effects),
        )
        (agreement,) = self.task.measure(statistic, {"agreement along features": FEATURE_SHARE})
        chance = _USER_CHANCE if self.per_user else _RATING_CHANCE
        return belief_in_features(agreement, chance * math.sqrt(max(effects.people.value, 1.0)))

    def measure_items(self) -> None:
        self.measure_counts()
        self.divide()
        self.measure_levels()

    def measure_counts(self) -> None:
        """The first round: sets `effects` and `strength`."""
        self.effects = self._first_round(self._first)
        self.strength = self.effects.strength(self.task.mu)

    @property
    def _first(self) -> float:
        """Of the budget, for the first round."""
        return self.method.first_share + (self.more_in_series if self.task.is_series else 0.0)

    def divide(self, kept: float = 0.0) -> None:
        """Set what tastes, lists and the other rounds get, as the items' strength asks for.

        Args:
            kept: The share of the budget that is left for what follows besides tastes and lists.
        """
        method, first, strength = self.method, self._first, self.strength
        # Without noise, or with little, who happened to rate is what limits the clamp.
        enough = self.effects.strength(min(self.task.mu, _LARGEST_MU))
        self.centring = method.centring(self.task.scale, enough)
        share, level = method.share_of_taste(strength), method.share_of_level(strength)
        most = max(1 - self.scalars - first - kept - LEAST_REST, 0.0)
        self.list_share = min(self.lists_get * method.share_of_lists(strength), most)
        if method.taste_share is None and not self._shows_tastes(self.effects):
            share = 0.0
        # Tastes and levels have their shares of what lists and others leave.
        rest = 1 - self.scalars - first - self.list_share - kept
        self.share, self._level_share = (part * rest / (1 - first) for part in (share, level))
        self._second_share = rest - self._level_share - self.share

    def measure_levels(self) -> None:
        """The other rounds, with counts that may have become better since the first."""
        if self._level_share:
            self.effects = self._measure_level(self.effects, self._level_share)
        self.effects = self._second_round(self.effects, self._second_share)

    @abc.abstractmethod
    def _first_round(self, share: float) -> Effects: ...

    @abc.abstractmethod
    def _second_round(self, effects: Effects, share: float) -> Effects: ...

    @abc.abstractmethod
    def _shows_tastes(self, effects: Effects) -> bool:
        """Whether there are enough ratings to tell tastes by."""

    def _measure_level(self, effects: Effects, share: float) -> Effects:
        """The global mean again, on what the levels leave: for where little else can be learnt."""
        statistic = Level(self.method.protect, self.task.scale, levels_of(effects))
        (residual,) = self.task.measure(statistic, {"mean residual": share})
        return update_level(effects, self.task.scale, residual)


class RatingStages(Stages):
    """Where single ratings are protected."""

    per_user = False
    count_label = "item counts"
    more_in_series = _MORE_IN_SERIES

    def _first_round(self, share: float) -> Effects:
        overall, rest = _OVERALL * share, (1 - 2 * _OVERALL) * share
        sums = _SUMS_IN_SERIES if self.task.is_series else _SUMS
        released = self.task.measure(
            RatingTotals(self.task.scale, self.method.noise),
            {
                "sum of all ratings": overall,
                "number of ratings": overall,
                "item sums": sums * rest,
                "item counts": (1 - sums) * rest,
            },
        )
        return effects_from_sums(self.task.scale, *released)

    def _second_round(self, effects: Effects, share: float) -> Effects:
        label, clamp, scale = "centred item sums", self.centring.clamp, self.task.scale
        slope, _ = clipped_moments(clamp, scale)
        worth = np.full(self.task.items, slope)

        def carry_to(levels: Effects) -> Carry:
            return carry_levels(levels.global_mean + levels.effects, levels.counts, worth)

        # Ratings of a later period of a series are centred at what earlier ones have shown.
        before = self.task.before(label, carry_to(effects))
        centre = effects if before is None else update_by_residuals(effects, scale, clamp, before)
        statistic = ResidualSums(
            self.centring, levels_of(centre), self.method.noise, self.task.items
        )
        (sums,) = self.task.measure(statistic, {label: share}, carries={label: carry_to(centre)})
        # As if they had been centred at what the first round has shown.
        off = slope * effects.positive_counts * (centre.effects - effects.effects)
        return update_by_residuals(effects, scale, clamp, Noisy(sums.value + off, sums.spread))

    def _shows_tastes(self, effects: Effects) -> bool:
        return bool(effects.people.value >= _FEWEST_RATINGS)

    def covariance(self, head: _Head, *, with_weights: bool) -> Covariance:
        method = self.method
        return RatingCovariance(
            method.noise,
            head,
            self.centring,
            levels_of(self.effects),
            method.offset,
            with_weights=with_weights,
        )

    def sampling(self, counts: _Floats) -> float:
        return sampling_per_rating(self.task.scale, self.centring.clamp, counts)

    def refine(self, factors: _Floats, share: float, reach: float | None = None) -> TasteSums:
        if self.method.noise.kind.order != 2:
            raise InputError("a record's refinement is bounded in L2: it takes Gaussian noise")
        statistic = RatingRefinement(
            short_rows(factors, self.effects.positive_counts),
            _RECORD_REACH if reach is None else reach,
            centring=self.centring,
            levels=levels_of(self.effects),
        )
        directions, counts = statistic.directions, self.effects.positive_counts
        rows, moments, weight = self.task.measure(
            statistic,
            {
                "taste sums": _ROWS * share,
                "taste moments": _MOMENTS * share,
                "weight of the moments": (_WEIGHT + _ROW_SCALES) * share,
            },
            carries={
                "taste sums": carry_rows(directions, np.ones(len(directions))),
                "taste moments": carry_moments(directions),
            },
        )
        return TasteSums.of_records(
            rows,
            moments,
            weight,
            directions=directions,
            counts=counts,
            variance=clipped_moments(self.centring.clamp, self.task.scale)[1],
        )


class UserStages(Stages):
    """Where users are protected with all their ratings."""

    per_user = True
    count_label = "item votes"
    scalars = _SCALARS

    def _first_round(self, share: float) -> Effects:
        scale, noise = self.task.scale, self.method.noise
        votes, people, means = self.task.measure(
            (ItemCounts(Unit.USER, noise), UserCount(), UserMeans(scale)),
            {
                "item votes": share,
                "number of users": _SCALARS / 2,
                "users' mean ratings": _SCALARS / 2,
            },
        )
        return effects_from_votes(scale, votes, people, means, even_votes=self._even_votes)

    def _second_round(self, effects: Effects, share: float) -> Effects:
        counts = effects.counts
        if not self.task.is_series:
            believed = believed_counts(Noisy(counts, effects.count_spread))
            effects = dataclasses.replace(effects, counts=believed)
        effects = self._user_round(effects, share / 2, first=True)
        effects = self._user_round(effects, share / 2, first=False)
        return dataclasses.replace(effects, counts=counts)

    def _user_round(self, effects: Effects, share: float, *, first: bool) -> Effects:
        most = (1 - _SCALES) * share
        attention = attention_of(effects, LEARNABLE * self.task.spender.spread_of(most))
        label = "users' scaled residuals"
        worth = usual_scale(self.task.scale) * attention
        carry = carry_levels(effects.global_mean + effects.effects, effects.counts, worth)
        sums, scales = self.task.measure(
            self._residuals(effects, attention, first=first),
            {label: most, "users' scales": _SCALES * share},
            carries={label: carry},
        )
        return update_by_users(effects, self.task.scale, attention, sums, scales, first=first)

    def _residuals(
        self, effects: Effects, attention: _Floats | None = None, *, first: bool = False
    ) -> UserVotes:
        """What the effects leave of a rating; after the first round without the person's level."""
        width = stretch(self.task.scale)
        precisions = 1 / (RESIDUAL_VARIANCE * width + effects.variances)
        prior = None if first else 1 / (USER_VARIANCE * width)
        floor = _FLOOR * math.sqrt(width)
        levels, noise = levels_of(effects), self.method.noise
        return UserVotes(levels, precisions, prior, noise, floor, attention)

    def _shows_tastes(self, effects: Effects) -> bool:
        """With three or four ratings each, nobody's tastes can be told at home."""
        return bool(effects.people.value >= _FEWEST_USERS and effects.choosiness > 0)

    def covariance(self, head: _Head, *, with_weights: bool) -> Covariance:
        residuals = self._residuals(self.effects)
        return UserCovariance(self.method.noise, head, residuals, with_weights=with_weights)

    def sampling(self, counts: _Floats) -> float:
        return sampling_per_unit(self.effects.people.value, counts)

    def refine(self, factors: _Floats, share: float, reach: float | None = None) -> TasteSums:
        scale, width = self.task.scale, stretch(self.task.scale)
        level = np.full((len(factors), 1), math.sqrt(USER_VARIANCE * width))
        attention = attention_of(self.effects, self.task.spender.spread_of(_ROWS * share))
        if reach is None:
            reach = _USER_REACH * math.sqrt(max(factors.shape[1], 1))
        statistic = UserRefinement(
            self._residuals(self.effects, attention),
            np.hstack([level, factors]),
            1 / (RATING_VARIANCE * width + self.effects.variances),
            reach,
        )
        shares = {
            "taste sums": _ROWS * share,
            "taste moments": _MOMENTS * share,
            "weight of the moments": _WEIGHT * share,
            "users' scales": _ROW_SCALES * share,
        }
        carries = {
            "taste sums": carry_rows(factors, attention),
            "taste moments": carry_moments(factors),
        }
        return TasteSums.of_users(
            *self.task.measure(statistic, shares, carries=carries),
            effects=self.effects,
            attention=attention,
            usual=usual_scale(scale),
        )

    def combine(self, directions: _Floats, share: float, most: int) -> _Floats:
        """At most `most` combinations of directions: those along which users' ratings vary."""
        effects = self.effects
        rows = short_rows(directions, effects.positive_counts)
        statistic = UserSketch(self._residuals(effects), rows)
        carry = carry_moments(rows)
        (sketch,) = self.task.measure(
            statistic, {"sketch of tastes": share}, carries={"sketch of tastes": carry}
        )
        counts, width = effects.known_counts, self.task.scale.range
        return sketched_factors(sketch, effects.people, rows, counts, most, width)


class PresenceStages(ItemStages):
    """Clicks, purchases, loans: counts in place of effects, measured twice."""

    def measure_items(self) -> None:
        first = self.method.effect_share
        statistic = ItemCounts(self.method.protect, self.method.noise)
        label = statistic.parts[0].label
        counts, people = self.task.measure(
            (statistic, UserCount()),
            {label: (1 - _PEOPLE) * first, "number of users": _PEOPLE * first},
        )
        counted = presence_counts(counts, people, even_votes=self._even_votes)
        self.strength = counted.strength(self.task.mu)
        self.share = self.method.share_of_taste(self.strength)
        (again,) = self.task.measure(statistic, {label: 1 - first - self.share})
        self.effects = combine_counts(counted, again)

    @property
    def released(self) -> Effects:
        """In place of effects, the logarithm of the part of the people who have each item."""
        per_user = self.method.protect is Unit.USER
        vote = self.effects.usual_vote if per_user else 1.0
        return dataclasses.replace(self.effects, effects=log_shares(self.effects, vote))


_STARS: Mapping[Unit, type[Stages]] = {Unit.RATING: RatingStages, Unit.USER: UserStages}


def stages_of(method: RatingMethod, task: Task) -> Stages:
    """The stages of ratings for a method's unit."""
    return _STARS[method.protect](method, task)


def item_stages_of(method: RatingMethod, task: Task) -> ItemStages:
    """Those of the items alone, for ratings or for presence."""
    return PresenceStages(method, task) if task.scale.presence else stages_of(method, task)
