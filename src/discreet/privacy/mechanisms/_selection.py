"""The contract that both private selections share."""

from __future__ import annotations

import abc
import enum
import math
import threading
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.privacy._events import PureEvent, Unit
from discreet.privacy._receipt import Permit, Randomness, redeem

# The sizes for which the kernels' error bounds are proved (k_subset/PROOF.md).
MAX_ITEMS, MAX_CHOSEN = 1 << 20, 1 << 10
# In grid units: differences of two scores are exact floats.
_LARGEST_SCORE = 1 << 52
# Entries of k-subset's table: 1 GiB of floats. Chosen by hand.
_LARGEST_TABLE = 1 << 27
# Random words of all rows that are drawn together: 32 MiB. Chosen by hand.
_WORDS_AT_ONCE = 1 << 22

# The parallel kernels share numba's threads, not all of whose backends bear two callers.
_one_at_a_time = threading.Lock()


class Moves(enum.StrEnum):
    """How many of the scores one neighbour's record can move: the caller's word, in the proof."""

    ONE = "one"
    """One score, by at most the sensitivity: one entry of a completed matrix, say."""
    ALL = "all"
    """Every score, each by at most the sensitivity: anything fitted on the data."""


@dataclass(frozen=True)
class Selection(abc.ABC):
    """Chooses k items out of a whole public catalogue by their private scores.

    The candidates are always all items: leaving out what a person has rated would make the
    support of the distribution private. Drop those on the person's own screen.

    Args:
        k: How many to choose.
        epsilon: For the whole set.
        sensitivity: How far a score moves between neighbours, in grid units of the scores.
        moves: How many scores move at once.
    """

    k: int
    epsilon: float
    sensitivity: int
    moves: Moves | Literal["one", "all"]

    name: ClassVar[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "moves", Moves(self.moves))
        if not 1 <= self.k <= MAX_CHOSEN:
            raise InputError(f"k must be from 1 to {MAX_CHOSEN}, not {self.k}")
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise InputError(f"epsilon must be a positive number, not {self.epsilon:g}")
        if self.sensitivity < 1:
            raise InputError(f"sensitivity must be at least 1 grid unit, not {self.sensitivity}")

    @property
    @abc.abstractmethod
    def divisor(self) -> int:
        """The log-weight of a score is score * epsilon / divisor."""

    @abc.abstractmethod
    def _choose(
        self,
        scores: npt.NDArray[np.int64],
        words: npt.NDArray[np.uint64],
        chosen: npt.NDArray[np.int64],
        randomness: Randomness,
    ) -> None:
        """Fill `chosen`, k items for each row of scores, by a random word for each score.

        Rows for which the words do not decide draw more.
        """

    def event(
        self, unit: Unit, label: str, rows: int = 1, ratings_per_user: int | None = None
    ) -> PureEvent:
        """The privacy map: epsilon for every row of scores, each a choice of its own."""
        return PureEvent(
            unit=unit,
            label=label,
            count=rows,
            ratings_per_user=ratings_per_user,
            epsilon=self.epsilon,
            mechanism=self.name,
        )

    def release(
        self, scores: npt.NDArray[Any], event: PureEvent, receipt: Permit
    ) -> npt.NDArray[np.int64]:
        """The chosen items: k indices for a vector of scores, one row of k for each row.

        Args:
            scores: Integers on a grid, one for each item of the catalogue in the last axis.
            event: What was charged: this mechanism's event for that many rows.
            receipt: Shows that it was.
        """
        if np.ndim(scores) not in (1, 2):
            raise InputError("scores are a vector, or one row of them for each choice")
        rows = np.atleast_2d(scores)
        if event != self.event(event.unit, event.label, len(rows), event.ratings_per_user):
            raise InputError("the charged event is not this mechanism's for this many rows")
        self._check(rows)
        exact = np.ascontiguousarray(rows, dtype=np.int64)
        with _one_at_a_time:
            chosen = self._choose_all(exact, redeem(receipt, event))
        return chosen.reshape(*np.shape(scores)[:-1], self.k)

    def _choose_all(
        self, scores: npt.NDArray[np.int64], randomness: Randomness
    ) -> npt.NDArray[np.int64]:
        """One choice for each row of scores, as many rows at once as there is room for."""
        rows, items = scores.shape
        chosen = np.empty((rows, self.k), dtype=np.int64)
        block = max(1, _WORDS_AT_ONCE // items)
        for start in range(0, rows, block):
            part = scores[start : start + block]
            words = randomness.words(part.size).reshape(part.shape)
            self._choose(part, words, chosen[start : start + block], randomness)
        return chosen

    def _check(self, rows: npt.NDArray[Any]) -> None:
        items = rows.shape[1]
        if not np.issubdtype(rows.dtype, np.integer):
            raise InputError(f"scores are integers on a grid, not {rows.dtype}: see to_grid")
        if not self.k <= items <= MAX_ITEMS:
            raise InputError(
                f"{self.k} of {items:,} items cannot be chosen (at most {MAX_ITEMS:,})"
            )
        if self.k * items > _LARGEST_TABLE:
            raise InputError(f"{self.k} of {items:,} items need too large a table; choose fewer")
        if rows.size and max(-int(rows.min()), int(rows.max())) > _LARGEST_SCORE:
            raise InputError("a score exceeds 2^52 grid units; use a coarser grid")


def to_grid(scores: npt.ArrayLike, step: float) -> npt.NDArray[np.int64]:
    """Scores as integers: multiples of `step`, rounded to the nearest.

    The step is a power of two, so that dividing by it is exact and a sensitivity of s becomes
    `grid_sensitivity(s, step)` grid units and no more.
    """
    _check_step(step)
    return np.rint(np.asarray(scores, dtype=np.float64) / step).astype(np.int64)


def grid_sensitivity(sensitivity: float, step: float) -> int:
    """How far two rounded scores can be apart whose originals are `sensitivity` apart.

    Rounding moves each by at most half a step: |round(a) - round(b)| <= |a - b| + 1, an integer.
    """
    _check_step(step)
    return math.floor(sensitivity / step) + 1


def _check_step(step: float) -> None:
    if not (math.isfinite(step) and step > 0 and math.frexp(step)[0] == 0.5):
        raise InputError(f"a grid's step is a power of two, such as 1/1024, not {step:g}")
