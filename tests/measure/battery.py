"""What every statistic must do. The test of a new one inherits `StatisticBattery`.

class TestMyCounts(StatisticBattery):
    scale, items = SCALES["five stars"], 6

    def statistic(self, noise, data):
        return MyCounts(Unit.USER, noise)
"""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain import PRESENCE, Scale
from discreet.measure import PairStatistic, Statistic, measure_all
from discreet.privacy import Noise, Unit
from measure._neighbours import (
    SCALES,
    Person,
    length,
    pairs_on,
    people_on,
    person_on,
    ratings_of,
    stays_within,
    timed_by_values,
    use_small_blocks,
)


class StatisticBattery:
    """Subclasses say how to make the statistic, on which scale, and whom it protects."""

    unit: ClassVar[Unit] = Unit.USER
    scale: ClassVar[Scale] = SCALES["five stars"]
    items: ClassVar[int] = 6
    timed: ClassVar[bool] = False
    """Whether records have times: then a record's value says its time, whichever it is."""
    presence: ClassVar[bool] = False
    """Whether the values are taken off after that."""

    def statistic(self, noise: Noise, data: st.DataObject) -> Statistic:
        """One for this noise; what else there is to choose, `data.draw` chooses."""
        raise NotImplementedError

    def measured(self, statistic: Statistic, people: list[Person]) -> list[np.ndarray]:
        """The integers of each part; a triangle without its diagonal, which is not released."""
        ratings = ratings_of(people, self.items, self.scale)
        if self.timed:
            ratings = timed_by_values(ratings)
        if self.presence:
            codes = PRESENCE.encode(np.ones(len(ratings)))
            ratings = replace(ratings, scale=PRESENCE, codes=codes)
        (exact,) = measure_all(ratings, statistic)
        found = []
        for part, integers in zip(statistic.parts, exact, strict=True):
            values = np.atleast_1d(integers)
            if part.is_triangle:
                assert isinstance(statistic, PairStatistic)
                rows, columns = np.triu_indices(len(statistic.head))
                values = values[rows != columns]
            found.append(values)
        return found

    @pytest.mark.parametrize("noise", Noise)
    @settings(max_examples=settings.default.max_examples // 4)
    @given(data=st.data())
    def test_no_unit_moves_a_part_further_than_its_sensitivity(
        self, noise: Noise, data: st.DataObject
    ) -> None:
        statistic = self.statistic(noise, data)
        if self.unit is Unit.RATING:
            pair = data.draw(pairs_on(self.scale, self.items))
            without, with_it = pair.without, pair.with_it
        else:
            without = data.draw(people_on(self.scale, self.items))
            with_it = [*without, data.draw(person_on(self.scale, self.items))]
        worlds = (self.measured(statistic, people) for people in (with_it, without))
        for part, one, other in zip(statistic.parts, *worlds, strict=True):
            moved = length(noise, (one - other).ravel())
            assert stays_within(noise, moved, part.sensitivity), part.label

    @pytest.mark.parametrize("noise", Noise)
    @settings(max_examples=settings.default.max_examples // 10)
    @given(data=st.data())
    def test_everybody_adds_their_own_whatever_the_blocks_and_threads(
        self, noise: Noise, data: st.DataObject
    ) -> None:
        statistic = self.statistic(noise, data)
        people = data.draw(people_on(self.scale, self.items))
        whole = self.measured(statistic, people)
        alone = [self.measured(statistic, [person]) for person in people]
        with pytest.MonkeyPatch.context() as patch:
            use_small_blocks(patch, 3, 2)
            split = self.measured(statistic, people)
        for at, part in enumerate(whole):
            np.testing.assert_array_equal(part, split[at])
            if alone:
                np.testing.assert_array_equal(part, sum(each[at] for each in alone))

    @pytest.mark.parametrize("noise", Noise)
    @settings(max_examples=3)
    @given(data=st.data())
    def test_parts_are_labelled_bounded_and_can_be_pickled(
        self, noise: Noise, data: st.DataObject
    ) -> None:
        statistic: Any = self.statistic(noise, data)
        labels = [part.label for part in statistic.parts]
        assert labels and len(set(labels)) == len(labels)
        assert all(part.sensitivity > 0 and part.grid > 0 for part in statistic.parts)
        again = pickle.loads(pickle.dumps(statistic))
        assert again.parts == statistic.parts
        nobody = self.measured(statistic, [])
        assert all(not part.any() for part in nobody)
        assert all(part.dtype == np.int64 for part in nobody)
