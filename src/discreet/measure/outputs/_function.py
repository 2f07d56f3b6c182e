"""Single answers as a statistic: exact integers, and how far a record or a person moves them."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, Scale
from discreet.measure.outputs import _kernels
from discreet.privacy import Unit
from discreet.ratings import Ratings

RESOLUTION = 1 << 30
"""Grid units in the scale's range (Slope One) or in a similarity of 1 (cosine), about."""

# Parts into which a continuous scale is cut: finer than anybody rates.
_CONTINUOUS_PARTS = 1 << 16
_UP = 1 + 2.0**-40  # more than the bounds' own float arithmetic loses

_Ints = npt.NDArray[np.int64]


class OutputMethod(enum.StrEnum):
    """How items are compared."""

    SLOPE_ONE = "slope-one"
    """By the mean difference of two items' ratings; answers are ratings."""
    COSINE = "cosine"
    """By how many rated both; answers are mean similarities from 0 to 1."""


class Sensitivity(enum.StrEnum):
    """Which formula and which bound."""

    PROVED = "proved"
    """Similarities damped by few co-raters, with the bounds of PROOF.md."""
    PAPER = "paper"
    """Park and Acharya's formula and their bound, which does not hold: for their figures only."""


class ShownTo(enum.StrEnum):
    """Who sees a person's answers, and so who must be protected from whom."""

    SELF = "self"
    """That person alone: everybody else's records are protected from them."""
    ANYBODY = "anybody"
    """Others too: the person's own records are protected as well."""


@dataclass(frozen=True)
class OutputFunction:
    """f_ij for a person i and an item j, from everybody's private records.

    Slope One: the mean of one's own ratings plus the mean over one's own items k of s_jk, which is
    the sum of r_j - r_k over co-raters divided by their number, or by `minimum_raters` if they are
    fewer. Cosine: the mean over one's own items of the co-raters' number divided by the geometric
    mean of both items' numbers, each at least `minimum_raters`. A person's own row is left out of
    the similarities, and means divide by at least `minimum_ratings`.

    Args:
        method: Which.
        scale: The ratings'.
        minimum_raters: The phi_m of the paper, at least 1.
        minimum_ratings: The T of the paper, at least 1.
        sensitivity: `proved`, or the `paper`'s formula (no damping but a cliff, nobody left out).
    """

    method: OutputMethod | Literal["slope-one", "cosine"]
    scale: Scale
    minimum_raters: int = 10
    minimum_ratings: int = 20
    sensitivity: Sensitivity | Literal["proved", "paper"] = Sensitivity.PROVED

    def __post_init__(self) -> None:
        for name, kind in (("method", OutputMethod), ("sensitivity", Sensitivity)):
            told = getattr(self, name)
            if told not in list(kind):
                raise InputError(f"'{told}' is no {name} of outputs; there are {', '.join(kind)}")
            object.__setattr__(self, name, kind(told))
        for name in ("minimum_raters", "minimum_ratings"):
            told = getattr(self, name)
            if isinstance(told, bool) or not isinstance(told, int) or not 1 <= told <= 1 << 20:
                raise InputError(f"{name} is a whole number from 1 to 2^20, not {told!r}")
        if self.method is OutputMethod.SLOPE_ONE and self.scale.presence:
            raise InputError("Slope One compares ratings; presence alone has method 'cosine'")

    @property
    def grid(self) -> float:
        """Grid units in one unit of the answer."""
        if self.method is OutputMethod.COSINE:
            return float(RESOLUTION)
        return 2 * self._parts * self._fine / self.scale.range

    @property
    def middle(self) -> float:
        """The answer that 0 on the grid stands for."""
        return 0.0 if self.method is OutputMethod.COSINE else self.scale.mid

    @property
    def by_others(self) -> float:
        """In grid units: how far another person's record, or whole row, moves one answer."""
        return (self._similarity_moves + 1) * _UP

    @property
    def by_other_record(self) -> float:
        """The same for a record of another item than the one that the answer is about."""
        return (self._similarity_moves / self.minimum_ratings + 1) * _UP

    @property
    def by_own_record(self) -> float:
        """In grid units: how far a person's own record moves one of their answers."""
        if self.method is OutputMethod.COSINE:
            return (RESOLUTION / self.minimum_ratings + 1) * _UP
        return (3 * self._width / (self.minimum_ratings + 1) + 1) * _UP

    @property
    def claimed(self) -> float:
        """In grid units: what the paper claims that any record moves an answer by."""
        if self.method is OutputMethod.COSINE:
            return 2 * RESOLUTION / self.minimum_ratings
        by_own = (1 + 2 / self.minimum_raters) / self.minimum_ratings
        return self._width * max(by_own, 1 / self.minimum_raters)

    def one_answer(self, shown_to: ShownTo) -> float:
        """How far any record that is protected moves a single answer, in grid units."""
        if self.sensitivity is Sensitivity.PAPER:
            return self.claimed
        return max(self.by_others, self.by_own_record if shown_to is ShownTo.ANYBODY else 0.0)

    def all_answers(self, people: int, items: int, unit: Unit, shown_to: ShownTo) -> float:
        """The L1 sensitivity of answers to so many people on so many different items each."""
        if self.sensitivity is Sensitivity.PAPER:
            return people * items * self.claimed
        by_others = self.by_others * items
        if unit is Unit.RATING:
            by_others = self.by_others + (items - 1) * self.by_other_record
        if shown_to is ShownTo.SELF:
            return people * by_others * _UP
        own = max(by_others, items * self.by_own_record)
        return ((people - 1) * by_others + own) * _UP

    def measure(self, ratings: Ratings, people: _Ints, items: _Ints) -> _Ints:
        """The exact answers on the grid, a row for each person; private."""
        totals = self.similarity_sums(ratings, people, items)
        if self.method is OutputMethod.SLOPE_ONE:
            own = _kernels.own_sums(ratings.starts, self._centred(ratings), people)
            totals += (own * self._fine)[:, None]
        totals //= np.maximum(self.own_counts(ratings, people), self.minimum_ratings)[:, None]
        return totals

    def own_counts(self, ratings: Ratings, people: _Ints) -> _Ints:
        """How many items each of these people rated; private."""
        return ratings.starts[people + 1] - ratings.starts[people]

    def similarity_sums(self, ratings: Ratings, people: _Ints, items: _Ints) -> _Ints:
        """The sum of s_jk over each person's own items k other than j, on the grid; private."""
        totals = np.zeros((len(people), len(items)), dtype=np.int64)
        _kernels.add_similarities(*self._told(ratings), people, items, *self._rule, totals)
        return totals

    def similarities(self, ratings: Ratings, people: _Ints, items: _Ints) -> _Ints:
        """s_jk between items[a] as k and every item j, as people[a]'s answers use it; private."""
        table = np.empty((len(people), len(ratings.catalog)), dtype=np.int64)
        _kernels.fill_similarities(*self._told(ratings), people, items, *self._rule, table)
        return table

    def to_answers(self, grid_values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Grid units as answers."""
        return grid_values / self.grid + self.middle

    @property
    def _similarity_moves(self) -> float:
        """How far one more person moves a similarity on the grid."""
        if self.method is OutputMethod.COSINE:
            return RESOLUTION / self.minimum_raters + 2
        return 2 * self._width / (self.minimum_raters + 1) + 1

    @property
    def _parts(self) -> int:
        """Into how many parts the scale is cut; ratings count from -parts to parts by twos."""
        if self.scale.step is None:
            return _CONTINUOUS_PARTS
        return round(self.scale.range / self.scale.step)

    @property
    def _fine(self) -> int:
        """Grid units in half a part."""
        return RESOLUTION // (2 * self._parts)

    @property
    def _width(self) -> int:
        """The scale's range in grid units."""
        return 2 * self._parts * self._fine

    @property
    def _rule(self) -> tuple[int, int, int, int]:
        is_paper = self.sensitivity is Sensitivity.PAPER
        if self.method is OutputMethod.COSINE:
            rule = _kernels.PAPER_COSINE if is_paper else _kernels.COSINE
            return rule, self.minimum_raters, RESOLUTION, 1 - is_paper
        rule = _kernels.PAPER_SLOPE_ONE if is_paper else _kernels.SLOPE_ONE
        return rule, self.minimum_raters, self._fine, 1 - is_paper

    def _told(self, ratings: Ratings) -> tuple[Any, ...]:
        """The records by person and by item."""
        if ratings.scale != self.scale:
            raise InputError(f"these ratings are on the scale {ratings.scale}, not {self.scale}")
        values = self._centred(ratings)
        by_item = _kernels.transpose(ratings.starts, ratings.items, values, len(ratings.catalog))
        return ratings.starts, ratings.items, values, by_item

    def _centred(self, ratings: Ratings) -> _Ints:
        """Ratings in half parts from the middle of the scale; integers."""
        if self.scale.step is None:
            place = (ratings.codes.astype(np.float64) - self.scale.lo) / self.scale.range
            codes = np.rint(np.clip(place, 0, 1) * self._parts).astype(np.int64)
        else:
            codes = ratings.codes.astype(np.int64)
        return 2 * codes - self._parts
