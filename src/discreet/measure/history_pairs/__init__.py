"""Pairs of items in a series of periods: a new record meets the person's older ones. See PROOF.md.

Records arrive in periods, and every period is measured once. Two items that somebody has are
counted in the period of the later of the two records, with a weight that is never changed again.
So one record moves the tables of several periods. The sensitivities here are of all periods
together, for Gaussian noise (L2), per record.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.measure._source import (
    HeadEntries,
    PairStatistic,
    Part,
    Progress,
    Statistic,
    check_head,
    count_inside,
    head_entries,
    places_in,
)
from discreet.measure.engines.local import new_pairs
from discreet.measure.presence_pairs import GRID, pair_weights
from discreet.privacy import Noise, Unit
from discreet.ratings import Ratings

# Covers the rounding of the sensitivities' own formulas, less than 2^-38 (PROOF.md).
_UP = 1 + 2.0**-30
# The largest head: the search for the worst sequence of periods takes seconds there.
_MOST = 10_000

APPEND_ONLY = (
    "during the series records are only added, or a person's all deleted at once, and the time of "
    "a record never changes"
)
"""What must be true of the store that older records come from: a clause after "that"."""

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Head = npt.NDArray[np.int32]
_Movement = Callable[[int, _Ints], _Floats]


@dataclass(frozen=True)
class FrozenWeights:
    """How much a pair counts, decided when the later of its two records arrives. Public.

    Two records of one period count w(m) sqrt(1 - share), w being the weight of `PresencePairs`
    and m how many items of the head the person has in this period alone. A new record and an older
    one count sqrt(3 share/(4 flat)) while the person has at most `flat` items of the head in all,
    k, and (flat/k)^2 times as much beyond that.

    Attributes:
        share: The part of the squared sensitivity for pairs of a new record with an older one.
        flat: Up to how many items of the head a person's pairs across periods count fully.
        most: How many items the largest head of the series may have.

    Raises:
        InputError: One of them cannot be.
    """

    # Chosen on validation parts of three data sets of film ratings in 12 periods, flat from 0.1 to
    # 0.25 and from 10 to 40 items: lists gain where people come back, and lose little elsewhere.
    share: float = 0.15
    flat: int = 20
    # The largest head that lists take by themselves (`methods`).
    most: int = 1500

    def __post_init__(self) -> None:
        if not 0 <= self.share < 1:
            raise InputError("the share for pairs across periods is 0 or more, and below 1")
        if type(self.flat) is not int or self.flat < 2:
            raise InputError("flat is a whole number of items, 2 or more")
        if type(self.most) is not int or not 2 <= self.most <= _MOST:
            raise InputError(f"most is a whole number of items from 2 to {_MOST:,}")

    @property
    def within(self) -> _Ints:
        """Of two records of the period, by m = 0..most, in grid units."""
        return _tables(self)[0]

    @property
    def across(self) -> _Ints:
        """Of a record of the period and an older one, by k = 0..most, in grid units."""
        return _tables(self)[1]

    @property
    def chance_within(self) -> _Ints:
        """The sum of squared weights over a person's pairs of the period, by m; in grid units."""
        return _tables(self)[2]

    @property
    def chance_across(self) -> _Ints:
        """The squared weight of one pair with an older record, by k; in grid units."""
        return _tables(self)[3]

    @property
    def of_pairs(self) -> float:
        """How far one record moves the pairs of all periods together, in grid units, in L2."""
        return _bounds(self)[0]

    @property
    def of_mass(self) -> float:
        """How far it moves the sum of w(m) m, over all periods together."""
        return _bounds(self)[1]

    @property
    def of_chance(self) -> float:
        """How far it moves the sums of squared weights, the periods' movements added up."""
        return _bounds(self)[2]


@lru_cache(maxsize=16)
def _tables(weights: FrozenWeights) -> tuple[_Ints, _Ints, _Ints, _Ints]:
    greedy = pair_weights(Unit.RATING, Noise.GAUSSIAN, weights.most) / GRID
    k = np.arange(weights.most + 1, dtype=np.float64)
    # Products, quotients and roots alone, which round alike on every machine (`presence_pairs`).
    # The factor: PROOF.md, "Before rounding down".
    fall = weights.flat / np.maximum(k, weights.flat)
    full = math.sqrt(0.75 * weights.share / weights.flat)
    real = (math.sqrt(1 - weights.share) * greedy, full * (fall * fall))
    within, across = (np.floor(each * GRID).astype(np.int64) for each in real)
    # Squares in Python's integers: m(m-1)/2 of them do not fit into 64 bits before the division.
    a, b, m = (each.astype(object) for each in (within, across, np.arange(weights.most + 1)))
    squares = (a * a * (m * (m - 1) // 2) // GRID, b * b // GRID)
    tables = within, across, *(each.astype(np.int64) for each in squares)
    for table in tables:
        table.flags.writeable = False
    return tables


@lru_cache(maxsize=16)
def _bounds(weights: FrozenWeights) -> tuple[float, float, float]:
    """The movement of pairs, mass and chance, each at the worst sequence of periods."""
    # z[n] is w(n), dz[n] is w(n) - w(n + 1), n = 0..most - 1.
    n = np.arange(weights.most, dtype=np.float64)
    zi, zx = weights.within.astype(np.float64), weights.across.astype(np.float64)
    dx = zx[:-1] - zx[1:]
    alone = n * zi[1:] ** 2 + n * (n - 1) / 2 * (zi[:-1] - zi[1:]) ** 2
    pairs = worst_life(
        weights.most,
        lambda o, k: alone[k - o] + o * zx[k + 1] ** 2 + (k - o) * o * dx[k] ** 2,
        lambda o, k: (k - o) * zx[k + 1] ** 2 + (k - o) * o * dx[k] ** 2,
    )
    mass = float(np.abs(zi[1:] * (n + 1) - zi[:-1] * n).max())
    qi, qx = weights.chance_within.astype(np.float64), weights.chance_across.astype(np.float64)
    own = np.abs(np.diff(qi))
    chance = worst_life(
        weights.most,
        lambda o, k: own[k - o] + np.abs((k - o + 1) * o * qx[k + 1] - (k - o) * o * qx[k]),
        lambda o, k: np.abs((k - o) * (o + 1) * qx[k + 1] - (k - o) * o * qx[k]),
    )
    return _UP * math.sqrt(pairs), _UP * mass, _UP * chance


def worst_life(most: int, arrival: _Movement, later: _Movement) -> float:
    """The largest sum of movements that one record can cause over any sequence of periods.

    Items are those of the head that the person has besides the record's own. In each period o of
    them are older, the others new, and k = o + new. A later period has at least as many older ones
    as the period before has in all.

    Args:
        most: Items of the largest head; k is below it.
        arrival: By o and an array of k >= o: the movement of the period in which it arrives.
        later: By o and an array of k > o: that of a later period with new records.
    """
    # rest[k]: the largest sum over all later periods, if the person has k items or more by then.
    rest = np.zeros(most + 1)
    for o in range(most - 1, -1, -1):
        k = np.arange(o + 1, most)
        rest[o] = max(rest[o + 1], float((later(o, k) + rest[k]).max(initial=0.0)))
    worst = 0.0
    for o in range(most):
        k = np.arange(o, most)
        worst = max(worst, float((arrival(o, k) + rest[k]).max()))
    return worst


@dataclass(frozen=True, eq=False)
class _InPeriod:
    """What both statistics are of.

    Args:
        head: Catalogue indices of the items, rising, chosen from released numbers; the heads of
            later periods contain it.
        since: When the period begins, in seconds since 1970; public.
        until: Before when it ends; later records are left out.
        weights: Public, the same for all periods of a series.
    """

    head: _Head
    since: int
    until: int
    weights: FrozenWeights = FrozenWeights()

    def __post_init__(self) -> None:
        check_head(self.head)
        if len(self.head) > self.weights.most:
            raise InputError(f"the head has more items than the series' {self.weights.most:,}")
        if not self.since < self.until:
            raise InputError("a period ends after it begins")

    def split(self, block: Ratings, inside: _Head) -> tuple[npt.NDArray[np.bool_], _Ints, _Ints]:
        """Which records are new; and each person's m and k. Private.

        Args:
            block: Of whole people.
            inside: Each record's place in the head, or -1.
        """
        times = block.times
        if times is None:
            raise InputError("pairs with older records need ratings with times")
        if not block.scale.presence:
            raise InputError(
                "pairs with older records need presence, where the earliest of a person's records "
                "of an item counts: read the ratings with implicit=True"
            )
        if block.intake.most_ratings is not None:
            raise InputError(
                "pairs with older records need all of them: keep no most_ratings of each user"
            )
        is_new = (times >= self.since) & (times < self.until)
        new = count_inside(block.starts, np.where(is_new, inside, -1).astype(np.int32))
        until = np.where(times < self.until, inside, -1).astype(np.int32)
        return is_new, new, count_inside(block.starts, until)


@dataclass(frozen=True, eq=False)
class HistoryPairs(_InPeriod, PairStatistic):
    """The strict upper triangle of the period's pairs over the items of `head`: exact integers.

    The ratings hold the period's records and, as far as the curator has them, older ones. Pairs of
    two older records are left out: they were counted before, or never will be.
    """

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("presence pairs", self.weights.of_pairs, GRID, is_triangle=True),)

    def entries(self, ratings: Ratings) -> HeadEntries:
        """Values are 1 for new records and 0 for older ones; a weight holds m and k."""
        base = self.weights.most + 1

        def quantise(block: Ratings, inside: _Head) -> tuple[npt.NDArray[np.int16], _Ints]:
            is_new, new, both = self.split(block, inside)
            # Whoever has nothing new costs nothing, however much they have; and what is to come
            # after the period is not there. `inside` is the entries' own array.
            idle = np.repeat(new == 0, np.diff(block.starts))
            assert block.times is not None
            inside[idle | (block.times >= self.until)] = -1
            return is_new.astype(np.int16), new + base * both

        return head_entries(ratings, self.head, quantise, np.int64)

    def sum_pairs(self, entries: HeadEntries, progress: Progress | None = None) -> tuple[_Ints]:
        both, new = np.divmod(entries.weights, self.weights.most + 1)
        return (
            new_pairs(
                entries.starts,
                entries.items,
                entries.values,
                self.weights.within[new],
                self.weights.across[both],
                entries.size,
                progress=progress,
            ),
        )


@dataclass(frozen=True, eq=False)
class HistoryNumbers(_InPeriod, Statistic):
    """Two sums over people that say what the period's pairs are out of.

    Of w(m) m, and of the squared weights of all pairs: the variance of the pairs by chance.
    """

    @property
    def parts(self) -> tuple[Part, ...]:
        return (
            Part("weighted head records", self.weights.of_mass, GRID),
            Part("squared weight of the pairs", self.weights.of_chance, GRID),
        )

    def measure(self, ratings: Ratings) -> tuple[int, int]:
        """The exact integers; private."""
        inside = places_in(self.head, len(ratings.catalog))
        _, new, both = self.split(ratings, inside[ratings.items])
        mass = self.weights.within[new] * new
        chance = self.weights.chance_within[new]
        chance = chance + self.weights.chance_across[both] * (new * (both - new))
        return int(mass.sum()), int(chance.sum())
