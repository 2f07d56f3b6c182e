"""When records were made, and how often each item was had lately. See PROOF.md."""

from __future__ import annotations

from dataclasses import dataclass

import numba as nb
import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.measure._source import Part, Statistic, sum_over_blocks
from discreet.privacy import Noise, Unit
from discreet.ratings import Ratings

# Grid units in the weight of a record that was made just now.
WEIGHT_GRID = 1 << 15
# Grid units in a user's whole say: the says of 2^42 people add up within 64 bits.
GRID = 1 << 20
# Vectors are made this much shorter than 1: more than rounding can lengthen them (PROOF.md).
_SAFE = 1 - 2.0**-30

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Periods:
    """Periods of equal length, public; what lies before the first belongs to none.

    Attributes:
        start: When the first begins, in seconds since 1970.
        width: How long each is, in seconds.
        number: How many there are; the last has no end.
    """

    start: int
    width: int
    number: int

    def __post_init__(self) -> None:
        if self.width < 1 or self.number < 1:
            raise InputError("periods are one or more, and a second long or longer")

    def of(self, times: npt.NDArray[np.uint32]) -> _Ints:
        """Each time's period, -1 before the first."""
        places = (times.astype(np.int64) - self.start) // self.width
        return np.clip(places, -1, self.number - 1)


@dataclass(frozen=True)
class PeriodCounts(Statistic):
    """How many records were made in each period; protecting users, everybody's add up to 1.

    Args:
        unit: Whom the release protects.
        periods: Public.
        label: What a ledger calls it.
    """

    unit: Unit
    periods: Periods
    label: str = "records by period"

    @property
    def parts(self) -> tuple[Part, ...]:
        one = 1 if self.unit is Unit.RATING else GRID  # one record, or one user
        return (Part(self.label, float(one), one),)

    def measure(self, ratings: Ratings) -> _Ints:
        """The exact integers; private."""

        def work(block: Ratings, _: int) -> _Ints:
            places = self.periods.of(_times(block))
            sizes = np.diff(block.starts)
            votes = (
                np.ones_like(sizes) if self.unit is Unit.RATING else GRID // np.maximum(sizes, 1)
            )
            counts = np.zeros(self.periods.number, np.int64)
            _add_periods(block.starts, places, votes, counts)
            return counts

        return sum_over_blocks(ratings, work, self.periods.number)


@dataclass(frozen=True, eq=False)
class RecentCounts(Statistic):
    """Counts of items in which a record's weight depends on its period: sum over users of v_u g.

    Protecting ratings, v = 1. Protecting users, everybody's weights have length at most 1
    together: v_u = 1/max(||g_u||, 1), in the norm of the noise.

    Args:
        unit: Whom the release protects.
        noise: Which norm.
        periods: Public, or chosen from released numbers.
        weights: g of each period, from 0 to WEIGHT_GRID, from released numbers.
    """

    unit: Unit
    noise: Noise
    periods: Periods
    weights: _Ints

    def __post_init__(self) -> None:
        w = self.weights
        fits = w.dtype == np.int64 and w.shape == (self.periods.number,)
        if not fits or np.any((w < 0) | (w > WEIGHT_GRID)):
            raise InputError(f"weights are int64, one for each period, from 0 to {WEIGHT_GRID}")

    @property
    def parts(self) -> tuple[Part, ...]:
        one = WEIGHT_GRID if self.unit is Unit.RATING else GRID  # one record of weight 1
        return (Part("recent item counts", float(one), one),)

    def measure(self, ratings: Ratings) -> _Ints:
        """The exact integers; private."""
        table = np.append(self.weights, 0)  # the last is that of -1

        def work(block: Ratings, _: int) -> _Ints:
            weights = table[self.periods.of(_times(block))]
            counts = np.zeros(len(block.catalog), np.int64)
            l1, per_record = self.noise.kind.order == 1, self.unit is Unit.RATING
            _add_recent(block.starts, block.items, weights, l1, per_record, counts)
            return counts

        return sum_over_blocks(ratings, work, len(ratings.catalog))


def _times(block: Ratings) -> npt.NDArray[np.uint32]:
    if block.times is None:
        raise InputError("recent counts need ratings with times")
    return block.times


@nb.njit(cache=True, nogil=True)
def _add_periods(starts, places, votes, counts) -> None:  # type: ignore[no-untyped-def]
    for user in range(len(starts) - 1):
        for record in range(starts[user], starts[user + 1]):
            if places[record] >= 0:
                counts[places[record]] += votes[user]


@nb.njit(cache=True, nogil=True)
def _add_recent(starts, items, weights, l1, per_record, counts) -> None:  # type: ignore[no-untyped-def]
    for user in range(len(starts) - 1):
        scale = 1.0
        if not per_record:
            # Whole numbers: no order of adding them up and no number of records rounds anything.
            total = np.int64(0)
            for record in range(starts[user], starts[user + 1]):
                total += weights[record] if l1 else weights[record] * weights[record]
            length = float(total) if l1 else np.sqrt(float(total))
            scale = _SAFE * GRID / max(length, float(WEIGHT_GRID))
        for record in range(starts[user], starts[user + 1]):
            counts[items[record]] += np.int64(weights[record] * scale)
