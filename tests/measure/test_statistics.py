"""Every statistic in the battery of its kind; the files beside this one look for the worst case."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from discreet.domain import PRESENCE
from discreet.measure import Statistic
from discreet.measure.agreement import RatingAgreement
from discreet.measure.centring import HuberCentring
from discreet.measure.covariance import RatingCovariance, UserCovariance
from discreet.measure.history_pairs import FrozenWeights, HistoryNumbers, HistoryPairs
from discreet.measure.item_counts import HeadCounts, ItemCounts
from discreet.measure.item_sums import RatingTotals, ResidualSums
from discreet.measure.level import Level
from discreet.measure.pairs import CosinePairs, DifferencePairs
from discreet.measure.presence_pairs import HeadWeights, PresencePairs
from discreet.measure.recency import WEIGHT_GRID, PeriodCounts, Periods, RecentCounts
from discreet.measure.refinement import UserRefinement
from discreet.measure.user_votes import UserCount, UserMeans, UserVotes
from discreet.privacy import Noise, Unit
from measure._neighbours import SCALES, levels_on
from measure.battery import StatisticBattery

CENTRING = HuberCentring(0.5, 20)
HEAD = np.array([0, 2, 3, 5], dtype=np.int32)


class PerRating(StatisticBattery):
    unit = Unit.RATING


class TestItemVotes(StatisticBattery):
    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        return ItemCounts(Unit.USER, noise)


class TestItemCounts(PerRating):
    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        return ItemCounts(Unit.RATING, noise)


class TestHeadVotes(StatisticBattery):
    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        return HeadCounts(Unit.USER, noise, HEAD)


class TestHeadCounts(PerRating):
    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        return HeadCounts(Unit.RATING, noise, HEAD)


class TestRatingTotals(PerRating):
    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        return RatingTotals(self.scale, noise)


class TestResidualSums(PerRating):
    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        levels = data.draw(levels_on(self.scale, self.items))
        return ResidualSums(CENTRING, levels, noise, self.items)


class TestUserCount(StatisticBattery):
    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        return UserCount()


class TestUserMeans(StatisticBattery):
    scale = SCALES["jokes"]

    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        return UserMeans(self.scale)


class TestUserVotes(StatisticBattery):
    def statistic(self, noise: Noise, data: st.DataObject) -> UserVotes:
        levels = data.draw(levels_on(self.scale, self.items))
        prior = data.draw(st.sampled_from([None, 5.0]))
        return UserVotes(levels, np.ones(self.items), prior, noise, 0.3, np.full(self.items, 0.7))


class TestLevelOfRatings(PerRating):
    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        return Level(self.unit, self.scale, data.draw(levels_on(self.scale, self.items)))


class TestLevelOfUsers(StatisticBattery):
    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        return Level(self.unit, self.scale, data.draw(levels_on(self.scale, self.items)))


class TestRatingAgreement(PerRating):
    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        rows = np.linspace(-1, 1, 2 * self.items).reshape(self.items, 2)
        levels = data.draw(levels_on(self.scale, self.items))
        return RatingAgreement(self.unit, rows, centring=CENTRING, levels=levels)


class TestRatingCovariance(PerRating):
    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        levels = data.draw(levels_on(self.scale, self.items))
        wanted = data.draw(st.booleans())
        return RatingCovariance(noise, HEAD, CENTRING, levels, with_weights=wanted)


class TestUserCovariance(TestUserVotes):
    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:  # type: ignore[override]
        return UserCovariance(noise, HEAD, super().statistic(noise, data))


class TestUserRefinement(TestUserVotes):
    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:  # type: ignore[override]
        factors = np.linspace(-0.5, 0.5, 3 * self.items).reshape(self.items, 3)
        votes = super().statistic(noise, data)
        return UserRefinement(votes, factors, np.ones(self.items), 1.0)


class TestDifferencesPerRating(PerRating):
    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        return DifferencePairs(self.unit, noise, HEAD, self.scale)


class TestDifferencesPerUser(StatisticBattery):
    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        return DifferencePairs(self.unit, noise, HEAD, self.scale)


class TestCosinePerRating(PerRating):
    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        return CosinePairs(self.unit, noise, HEAD, self.scale)


class TestCosinePerUser(StatisticBattery):
    scale = PRESENCE

    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        return CosinePairs(self.unit, noise, HEAD, self.scale)


class TestPresencePairsPerRecord(PerRating):
    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        return PresencePairs(self.unit, noise, HEAD)


class TestPresencePairsPerUser(StatisticBattery):
    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        return PresencePairs(self.unit, noise, HEAD)


class TestHeadWeightsPerRecord(PerRating):
    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        return HeadWeights(self.unit, noise, HEAD)


class TestHeadWeightsPerUser(StatisticBattery):
    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        return HeadWeights(self.unit, noise, HEAD)


class TestHistoryPairs(PerRating):
    """Ratings of 1 and 2 are older ones, 5 is not there yet."""

    timed = presence = True
    weights = FrozenWeights(share=0.4, flat=2, most=5)

    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        if noise is not Noise.GAUSSIAN:
            pytest.skip("bounded in L2 alone")
        return HistoryPairs(HEAD, 25, 45, self.weights)


class TestHistoryNumbers(TestHistoryPairs):
    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        return HistoryNumbers(HEAD, 25, 45, self.weights)


# Ratings of 1 and 2 lie before the first, 5 after the end of the last.
PERIODS = Periods(start=25, width=10, number=2)


class TestPeriodCountsPerRecord(PerRating):
    timed = True

    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        return PeriodCounts(self.unit, PERIODS)


class TestPeriodCountsPerUser(StatisticBattery):
    timed = True

    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        return PeriodCounts(self.unit, PERIODS)


class TestRecentCountsPerRecord(PerRating):
    timed = True

    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        return RecentCounts(self.unit, noise, PERIODS, self.weights(data))

    def weights(self, data: st.DataObject) -> np.ndarray:
        one = st.one_of(st.sampled_from([0, 1, WEIGHT_GRID]), st.integers(0, WEIGHT_GRID))
        return np.array(data.draw(st.lists(one, min_size=2, max_size=2)), dtype=np.int64)


class TestRecentCountsPerUser(TestRecentCountsPerRecord):
    unit = Unit.USER
