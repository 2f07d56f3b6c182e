"""Sums over users, where one user with all their ratings is protected. See PROOF.md."""

from __future__ import annotations

from dataclasses import dataclass

import numba as nb
import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, Scale
from discreet.measure._source import Part, Statistic, over_blocks
from discreet.measure.centring import ItemLevels
from discreet.measure.item_sums import RatingSums
from discreet.privacy import Noise
from discreet.ratings import Ratings

# Grid units in a vote of length 1.
GRID = 1 << 20

# Vectors are made this much shorter than 1: more than rounding can lengthen them (PROOF.md).
_SAFE = 1 - 2.0**-30
# Residuals that are not numbers, or longer than this, count as none.
_LONGEST = 1e100
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class UserCount(Statistic):
    """How many people have rated anything."""

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("number of users", 1.0),)

    def measure(self, ratings: Ratings) -> int:
        """The exact integer; private."""
        return int(np.count_nonzero(np.diff(ratings.starts)))


@dataclass(frozen=True)
class UserMeans(Statistic):
    """The sum over users of their mean of (r - mid)/half the range.

    In integers throughout, and rounded down user by user: nobody's share depends on the others.

    Args:
        scale: Public.
    """

    scale: Scale

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("users' mean ratings", float(GRID), GRID / (self.scale.range / 2)),)

    def measure(self, ratings: Ratings) -> int:
        """The exact integer; private."""
        return sum(over_blocks(ratings, self._sum))

    def _sum(self, block: Ratings, _: int) -> int:
        sums = RatingSums(self.scale)
        running = np.concatenate(([0], np.cumsum(sums.distances(block))))
        totals = running[block.starts[1:]] - running[block.starts[:-1]]
        counts = np.maximum(np.diff(block.starts), 1)
        return int((totals * GRID // (counts * sums.reach)).sum())


@dataclass(frozen=True, eq=False)
class UserVotes(Statistic):
    """Sum over users of a x_u w_u, each user's vector scaled to length at most 1.

    x is what the released levels leave of a rating, and after the first round the person's own
    level is taken off as well: any function of a user's own ratings may stand here, since the
    scaling alone bounds the influence. w_u = 1/max(||a x_u||, f ||a e_u||), in the norm of the
    noise; a_i says how much of a person's say item i is worth.

    Args:
        levels: What was released of the items so far.
        precisions: 1/variance of a residual of each item, for the person's level.
        prior: 1/variance of people's levels; None leaves their level in.
        noise: Which norm.
        floor: f; a person whose residuals are smaller on average is not blown up any further.
        attention: a, above 0, from released numbers; all 1 if absent.
    """

    levels: ItemLevels
    precisions: _Floats
    prior: float | None
    noise: Noise
    floor: float = 0.3
    attention: _Floats | None = None

    def __post_init__(self) -> None:
        a = self.attention
        if a is not None and not np.all((a > 1e-9) & (a < 1e9)):
            raise InputError("attention is above 0 for every item")
        given = self.precisions if self.prior is None else np.append(self.precisions, self.prior)
        if not np.all((given > 0) & np.isfinite(given)):
            raise InputError("precisions are finite numbers above 0")
        if not 1e-100 < self.floor < 1e100:
            raise InputError(f"floor must be above 0, not {self.floor:g}")

    @property
    def scale_sensitivity(self) -> float:
        """Of the sum of `||e_u|| w_u`, each at most 1/f, in grid units."""
        return float(np.ceil(GRID / self.floor))

    @property
    def parts(self) -> tuple[Part, ...]:
        return (
            Part("users' scaled residuals", float(GRID), float(GRID)),
            Part("users' scales", self.scale_sensitivity, float(GRID)),
        )

    def measure(self, ratings: Ratings) -> tuple[npt.NDArray[np.int64], int]:
        """The exact sums and the exact sum of min(||e_u|| w_u, 1/f); private."""
        attention = np.ones(len(ratings.catalog)) if self.attention is None else self.attention

        def work(block: Ratings, _: int) -> tuple[npt.NDArray[np.int64], int]:
            x = self.residuals(block)
            sums = np.zeros(len(block.catalog), dtype=np.int64)
            l1 = self.noise.kind.order == 1
            scales = _add_votes(block.starts, block.items, x, attention, l1, self.floor, sums)
            return sums, scales

        parts = over_blocks(ratings, work)
        nothing = np.zeros(len(ratings.catalog), dtype=np.int64)
        return sum((sums for sums, _ in parts), nothing), sum(scales for _, scales in parts)

    def residuals(self, block: Ratings) -> _Floats:
        """X of every rating; private."""
        self._check_items(len(block.catalog))
        x = self.distances(block)
        if self.prior is not None:
            _take_off_level(block.starts, block.items, x, self.precisions, self.prior)
        return x

    def distances(self, block: Ratings) -> _Floats:
        """What the levels of the items alone leave of every rating; private."""
        x: _Floats = block.values() - self.levels.global_mean - self.levels.effects[block.items]
        return x

    def _check_items(self, items: int) -> None:
        """The kernels trust that every item has its number of each kind."""
        columns = [self.levels.effects, self.precisions]
        columns += [] if self.attention is None else [self.attention]
        if any(len(column) != items for column in columns):
            raise InputError(f"effects, precisions and attention are one for each of {items} items")


@nb.njit(cache=True, nogil=True)
def scale_of(items, x, attention, l1, floor):  # type: ignore[no-untyped-def]
    """W of one person, a little short so that rounding cannot lengthen the vector.

    The more ratings, the further their rounded sum can be off. 0 where x is no number, or too
    long for one: then nothing of it may be used.
    """
    length, size = 0.0, 0.0
    for place in range(len(items)):
        worth = attention[items[place]]
        one = worth * x[place]
        length += abs(one) if l1 else one * one
        size += worth if l1 else worth * worth
    if not l1:
        length, size = np.sqrt(length), np.sqrt(size)
    if not length < _LONGEST:
        return 0.0
    return (_SAFE - len(items) * 2.0**-52) / max(length, floor * size)


@nb.njit(cache=True, nogil=True)
def _add_votes(starts, items, x, attention, l1, floor, sums):  # type: ignore[no-untyped-def]
    """Add every user's scaled vector, rounded towards zero; returns the sum of ||e|| w."""
    scales = np.int64(0)
    for user in range(len(starts) - 1):
        begin, end = starts[user], starts[user + 1]
        if begin == end:
            continue
        vote = GRID * scale_of(items[begin:end], x[begin:end], attention, l1, floor)
        if vote == 0:
            continue
        size = float(end - begin)
        scales += np.int64(min(vote * (size if l1 else np.sqrt(size)), _SAFE * GRID / floor))
        for place in range(begin, end):
            sums[items[place]] += np.int64(attention[items[place]] * x[place] * vote)
    return scales


@nb.njit(cache=True, nogil=True)
def _take_off_level(starts, items, x, precisions, prior) -> None:  # type: ignore[no-untyped-def]
    """Subtract each person's level: the posterior mean of b in x = b + noise."""
    for user in range(len(starts) - 1):
        total, weight = 0.0, prior
        for place in range(starts[user], starts[user + 1]):
            total += precisions[items[place]] * x[place]
            weight += precisions[items[place]]
        for place in range(starts[user], starts[user + 1]):
            x[place] -= total / weight
