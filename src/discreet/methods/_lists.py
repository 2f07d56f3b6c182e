"""What all methods with lists measure for them: pairs of popular items, and what is new."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, Noisy
from discreet.estimate import (
    WINDOW,
    ListModel,
    PairSpectrum,
    PairSums,
    average,
    drift_of,
    find_window,
    learn_lists,
    popularity_alone,
    recent_weights,
)
from discreet.measure import RatingsSource
from discreet.measure.presence_pairs import HeadWeights, PresencePairs
from discreet.measure.recency import WEIGHT_GRID, PeriodCounts, Periods, RecentCounts
from discreet.methods._method import Method, Task
from discreet.privacy import Unit

# How many items the pairs cover, by the strength of the counts. Tuned on validation parts of four
# data sets of film ratings; flat around these values.
_HEAD, _HEAD_POWER, _SMALLEST_HEAD, _LARGEST_HEAD = 45.0, 0.6, 40, 1500
# The part of the pairs' share for each of the two numbers that say what they are out of.
_NUMBERS = 0.005
# Parts of the budget: for finding out when records were made, twice; for recent counts; and for
# counting them again, at most, where much has changed. Tuned on validation parts by time.
_WHEN, _RECENT, _AGAIN = 0.005, 0.12, 0.35
# What recency costs in all, where records have times and nothing has changed.
RECENCY_SHARE = 2 * _WHEN + _RECENT
# Four weeks: the first look at when records were made. 2^32 seconds are 1,776 of them.
_FOUR_WEEKS = 28 * 86_400
# Periods of the second look: as many as stand out of the noise by about this many standard
# deviations each, within these bounds. Chosen by hand.
_CLEAR, _FEWEST, _MOST = 3.0, 8, 256
# Stands for "no noise" in rules of thumb. Chosen by hand.
_LARGEST_MU = 1e9


def head_of(counts: Noisy, size: int | None, strength: float) -> npt.NDArray[np.int32]:
    """The most popular items by released counts: those whose pairs are worth measuring, rising."""
    items = len(counts.value)
    if size is None:
        wanted = _HEAD * min(strength, 1e9) ** _HEAD_POWER
        size = int(min(max(wanted, _SMALLEST_HEAD), _LARGEST_HEAD))
    order = np.argsort(-counts.value, kind="stable")[: min(size, items)]
    return np.sort(order).astype(np.int32)


def knows_when(source: RatingsSource, wanted: bool | None) -> bool:
    """Whether records have times, the latest of which are the present. Public.

    Raises:
        InputError: Recency is wanted, and there are no times.
    """
    if wanted and not source.has_times:
        raise InputError("recency needs ratings with times")
    return source.has_times and (source.intake.is_latest if wanted is None else wanted)


class Lists:
    """The stages that make lists, for a method's unit and noise.

    Args:
        method: With the unit and the noise.
        task: With the ratings and the budget.
        rank: The most directions of lists, popularity's own included.
    """

    def __init__(self, method: Method, task: Task, rank: int) -> None:
        self._method, self._task, self._rank = method, task, rank

    @property
    def mu(self) -> float:
        """The mu whose Gaussian noise is about as large as the budget's: for rules of thumb.

        Finite, also where there is no noise.
        """
        budget = self._task.spender.budget
        return min(budget.noise.kind.as_mu(budget.amount), _LARGEST_MU)

    def recent(self, counts: Noisy, left: float) -> tuple[Noisy | None, float]:
        """Counts in which older records count less, and the share of the budget that they cost.

        None if nothing can be seen of times.

        Args:
            counts: Of all records.
            left: The most that may be spent on counting again, where much has changed.
        """
        unit, measure = self._method.protect, self._task.measure
        whole = Periods(0, _FOUR_WEEKS, 2**32 // _FOUR_WEEKS + 1)
        (rough,) = measure(PeriodCounts(unit, whole), {"records by period": _WHEN})
        window = find_window(rough)
        if window is None:
            return None, _WHEN
        start, end = (place * _FOUR_WEEKS for place in (window.first, window.last + 1))
        clear = _CLEAR * self._task.spender.spread_of(_WHEN)
        wanted = WINDOW * window.total / clear if clear > 0 else math.inf
        number = int(min(max(wanted, _FEWEST), _MOST))
        periods = Periods(start, -(-(end - start) // number), number)
        label = "recent records by period"
        (fine,) = measure(PeriodCounts(unit, periods, label), {label: _WHEN})
        again = min(left, _AGAIN)
        noise = self._task.spender.spread_of(_RECENT + again / 2)
        noise /= max(float(counts.value.sum()), 1.0)
        weights = recent_weights(fine, window.total, noise)
        grid = np.floor(weights * WEIGHT_GRID).astype(np.int64)
        statistic = RecentCounts(unit, self._method.noise, periods, grid)
        (recent,) = measure(statistic, {"recent item counts": _RECENT})
        again *= drift_of(counts, recent)
        if again < _RECENT / 2:
            return recent, RECENCY_SHARE
        (second,) = measure(statistic, {"recent item counts": again})
        return average(recent, second), RECENCY_SHARE + again

    def learn(
        self, counts: Noisy, head: npt.NDArray[np.int32], share: float, recent: Noisy | None
    ) -> tuple[ListModel, PairSpectrum | None]:
        """The list model, and what the pairs showed; nothing for a share of 0."""
        if not share:
            return popularity_alone(counts, recent), None
        unit, noise, task = self._method.protect, self._method.noise, self._task
        mass, weight = task.measure(
            HeadWeights(unit, noise, head),
            {
                "weighted head records": _NUMBERS * share,
                "weight of the pairs": _NUMBERS * share,
            },
        )
        statistic = PresencePairs(unit, noise, head)
        rest = (1 - 2 * _NUMBERS) * share
        (pairs,) = task.measure(statistic, {"presence pairs": rest}, stage="item pairs")
        chance = self._chance(float(np.maximum(counts.value[head], 0.0).sum()), mass, weight)
        sums = PairSums(head, pairs, mass, weight, chance)
        spectrum = PairSpectrum.of(counts, sums, self._rank - 1, task.features)
        return learn_lists(counts, spectrum, recent), spectrum

    def _chance(self, records: float, mass: Noisy, weight: Noisy) -> float:
        """The sum of w(m)^2 over all pairs, m(m-1)/2 of each person, from what was released.

        With w = 1/sqrt(m(m-1)) it is a half of the number of people, whose w m is about 1; with
        w ~ m^-1/2, a half of the records less one for everybody; with 2/(m(m-1)), the sum of w;
        with 1/m, a half of the number of people again.
        """
        even = self._method.noise.kind.order == 1
        if self._method.protect is Unit.USER:
            found = weight.value if even else mass.value / 2
        else:
            found = mass.value / 2 if even else (records - weight.value) / 2
        return max(float(found), 1.0)
