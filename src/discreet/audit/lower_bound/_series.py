"""Series: a table that is measured period by period, with somebody in one period or in all.

Every item of a made-up catalogue is a run by itself: its count is released period by period, and
what came out of all periods together is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.audit._registry import Entry, register
from discreet.audit.lower_bound._engine import RUNS, Auditable, Claim, Floats, Subject
from discreet.domain import PRESENCE, Catalog
from discreet.measure import Budget, ItemCounts, RunningSpender, Stream
from discreet.privacy import Noise, NoisePlan, Randomness, SeededRandomness, Unit, unbooked
from discreet.ratings import Ratings

SERIES: dict[str, Entry[Auditable]] = {}

_PLANS: dict[str, NoisePlan] = {
    "factorised": NoisePlan.factorised(),
    "records": NoisePlan.factorised(horizon=6, records=True),
    # Noise starts afresh after the fourth of six periods.
    "restarting": NoisePlan.factorised(horizon=4, records=True),
    "fading": NoisePlan.factorised(3.0),
    "fresh": NoisePlan.fresh(),
}
# The mu of one record over the life of a series, and how many periods are looked at.
_MU, _PERIODS = 1.5, 6
# Seconds of a period, and when it begins.
_LENGTH = 100
_ABOUT = "a count after {n} periods; a record in {when}"


@dataclass(frozen=True, eq=False)
class CountedSeries:
    """Counts of items over periods, with one record of each item in some of them or with none.

    Args:
        plan: How noise takes back earlier noise.
        times: When the records were made that one world has and the other has not.
        spans: From when to when each period lasts; None for records without times, all of which
            are in each of the periods.
        reuses: Whether every period's noise begins from the same seed: a bug.
    """

    plan: NoisePlan
    times: tuple[int, ...]
    spans: Sequence[tuple[int, int]] | None = None
    reuses: bool = False

    def draw(self, world: int, runs: int, randomness: Randomness) -> Floats:
        """What was released in each period, a row for each item."""
        budget = Budget(Unit.RATING, Noise.GAUSSIAN, _MU, 1e-6)
        streams: dict[str, Stream] = {}
        records = _records(runs, self.times if world == 0 else ())
        statistic = ItemCounts(Unit.RATING, Noise.GAUSSIAN)
        seed = randomness.bits(64)
        columns, before = [], np.zeros(runs)
        for number in range(1, _PERIODS + 1):
            source = SeededRandomness(seed) if self.reuses else randomness
            receipt = unbooked([budget.event("audit")], source)
            spender = RunningSpender(
                budget, receipt, "audit", plan=self.plan, period=number, streams=streams
            )
            mine = records
            if self.spans is not None:
                mine = [each.between(*self.spans[number - 1]) for each in records]
            exact = sum(np.asarray(statistic.measure(each)) for each in mine)
            spender.release(statistic.parts[0], np.array(exact, np.int64), 1.0)
            total = _total(streams)
            columns.append(total - self.plan.forgetting * before)
            before = total
        return np.column_stack(columns)

    def score(self, world: int, runs: int, randomness: Randomness) -> Floats:
        """The likelihood ratio of all that was released: noise becomes independent again."""
        released = self.draw(world, runs, randomness)
        periods, horizon = np.arange(_PERIODS), self.plan.horizon
        boosts = np.array([self.plan.boost(int(t) % horizon + 1) for t in periods]) / 2**16
        later = np.subtract.outer(periods, periods)
        together = (later >= 0) & np.equal.outer(periods // horizon, periods // horizon)
        seen = self.plan.coefficients(_PERIODS)[np.abs(later)] * together
        whole = released * boosts @ seen.T
        moved = seen @ (boosts * self._moved())
        return np.asarray(whole @ moved - float(moved @ moved) / 2)

    def _moved(self) -> Floats:
        """By how much each period's count differs between the worlds."""
        spans = self.spans or [(0, 2**31)] * _PERIODS
        return np.array(
            [sum(start <= time < end for time in self.times) for start, end in spans], np.float64
        )


def _records(runs: int, times: tuple[int, ...]) -> list[Ratings]:
    """For each time one person, who has a record of every item made then."""
    catalog = Catalog([str(n) for n in range(runs)])
    items = np.arange(runs, dtype=np.int32)
    nobody = Ratings(
        PRESENCE, catalog, np.zeros(1, np.int64), items[:0], PRESENCE.encode(np.ones(0))
    )
    if not times:
        return [_timed(nobody, 0)]
    codes = PRESENCE.encode(np.ones(runs))
    full = Ratings(PRESENCE, catalog, np.array([0, runs]), items, codes)
    return [_timed(full, time) for time in times]


def _timed(ratings: Ratings, time: int) -> Ratings:
    return replace(ratings, times=np.full(len(ratings), time, np.uint32))


def _total(streams: dict[str, Stream]) -> Floats:
    (stream,) = streams.values()
    return stream.total.copy()


def consecutive(overlap: int = 0) -> list[tuple[int, int]]:
    """Periods that follow one another, or overlap."""
    return [(_LENGTH * n, _LENGTH * (n + 1) + overlap) for n in range(_PERIODS)]


@register(
    SERIES, "series/{plan}/one-period", _ABOUT.format(n=_PERIODS, when="the second"),
    plan=tuple(_PLANS),
)  # fmt: skip
def _one_period(name: str, about: str, plan: str) -> Subject:
    made = CountedSeries(_PLANS[plan], (_LENGTH + 50,), consecutive())
    return Subject(name, about, Claim.gaussian(_MU), made.score, RUNS)


@register(
    SERIES, "series/{plan}/every-period", _ABOUT.format(n=_PERIODS, when="each of them"),
    # With "records" runs are too few to refute what somebody pays who is always there.
    plan=tuple(name for name in _PLANS if name != "records"),
)  # fmt: skip
def every_period(name: str, about: str, plan: str, grown: float | None = None) -> Subject:
    """Somebody who is there in all periods.

    Args:
        name: Under which it is audited.
        about: What it is.
        plan: Which one.
        grown: What they are said to pay, over the squared mu of one period.
    """
    times = tuple(start + 50 for start, _ in consecutive())
    made = CountedSeries(_PLANS[plan], times, consecutive())
    grown = _PLANS[plan].growth(_PERIODS) if grown is None else grown
    return Subject(name, about, Claim.gaussian(_MU * math.sqrt(grown)), made.score, RUNS)


def lifetime_of_another_plan(name: str, about: str) -> Subject:
    """A bug: noise for how long a record is seen under other coefficients than those in use."""
    made = CountedSeries(_PLANS["records"], (50,), consecutive())
    less = NoisePlan.factorised(horizon=_PLANS["records"].horizon).lifetime
    claim = Claim.gaussian(_MU * less / _PLANS["records"].lifetime)
    return Subject(name, about, claim, made.score, RUNS)


def overlapping(name: str, about: str) -> Subject:
    """A bug: periods of which each begins before the last one has ended."""
    made = CountedSeries(_PLANS["factorised"], (_LENGTH + 10,), consecutive(overlap=20))
    return Subject(name, about, Claim.gaussian(_MU), made.score, RUNS)


def added_again(name: str, about: str) -> Subject:
    """A bug: the same file is added in every period."""
    made = CountedSeries(_PLANS["factorised"], (50,), None)
    return Subject(name, about, Claim.gaussian(_MU), made.score, RUNS)


def same_noise(name: str, about: str) -> Subject:
    """A bug: every period's noise begins from one seed."""
    made = CountedSeries(_PLANS["factorised"], (_LENGTH + 50,), consecutive(), reuses=True)
    return Subject(name, about, Claim.gaussian(_MU), made.draw, RUNS)


def counted_as_fresh(name: str, about: str) -> Subject:
    """A bug: what somebody pays who is always there is said to be that of fresh noise."""
    return every_period(name, about, "factorised", grown=float(_PERIODS))
