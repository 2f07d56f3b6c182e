"""What people draw at home: noise on a value that may be missing, and randomized response.

See PROOF.md.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import mpmath
import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.privacy._events import PureEvent, Unit
from discreet.privacy._receipt import Permit, redeem
from discreet.privacy.noise import MAX_SCALE, GeometricLaw, draw_below, draw_noise, flip_coins

# Beyond, e^-epsilon is below the normal floats, and no privacy is left long before. For safety.
_MOST_EPSILON = 700


class LocalReport(abc.ABC):
    """Randomizes one person's value for each item, "not rated" among the values."""

    name: ClassVar[str]
    epsilon: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and 0 < self.epsilon <= _MOST_EPSILON):
            raise InputError(
                f"epsilon must be above 0 and at most {_MOST_EPSILON}, not {self.epsilon:g}"
            )

    def event(self, label: str, items: int) -> PureEvent:
        """The privacy map for one report on each of `items` items.

        Epsilon for one rating added, removed or changed; `items` times that for a whole user.
        """
        return PureEvent(
            unit=Unit.RATING,
            label=label,
            ratings_per_user=items,
            covers_change=True,
            epsilon=self.epsilon,
            mechanism=self.name,
        )

    def _check(self, values: npt.NDArray[Any], lowest: int, highest: int, event: PureEvent) -> None:
        """Refuse what the mechanism is not proved for; nothing is redeemed before."""
        if event != self.event(event.label, values.size):
            raise InputError("the charged event is not this mechanism's for this many items")
        if values.size and (values.min() < lowest or values.max() > highest):
            raise InputError(f"values to report are integers from {lowest} to {highest}")


def as_integers(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Values on a grid as integers.

    Raises:
        InputError: They are something else.
    """
    if not np.issubdtype(values.dtype, np.integer):
        raise InputError(f"values to report are integers, not {values.dtype}")
    return values.astype(np.int64)


@dataclass(frozen=True)
class ModifiedLaplace(LocalReport):
    """Reports value + noise or nothing; for a missing value, nothing or noise.

    With probability e^(eps/2)/(1 + e^(eps/2)) presence is reported as it is, otherwise turned
    round; the noise is two-sided geometric of scale 2 reach/eps (the paper's Laplace(2/eps) on
    [-1, 1]).

    Args:
        reach: Values are integers from -reach to reach (the scale's grid, centred).
        epsilon: Per value reported.
    """

    reach: int
    epsilon: float

    name = "modified Laplace"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reach < 1:
            raise InputError(f"reach must be at least 1 grid step, not {self.reach}")
        if self.scale > MAX_SCALE:
            raise InputError("epsilon is too small for this grid: noise beyond 2^50 grid steps")

    @property
    def scale(self) -> float:
        """The scale of the noise, rounded up: never less noise than the proof asks for."""
        return math.nextafter(2 * self.reach / self.epsilon, math.inf)

    @property
    def keep(self) -> float:
        """The probability that presence is reported as it is."""
        return 1 / (1 + math.exp(-self.epsilon / 2))

    def release(
        self,
        values: npt.NDArray[Any],
        present: npt.NDArray[np.bool_],
        event: PureEvent,
        receipt: Permit,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Reports as (values, present); a report that is absent has value 0."""
        true = np.where(present, as_integers(values), 0)
        self._check(true, -self.reach, self.reach, event)
        randomness = redeem(receipt, event)
        kept = flip_coins(self._exact_keep, true.size, randomness).reshape(true.shape)
        noise = draw_noise(GeometricLaw(self.scale), true.size, randomness).reshape(true.shape)
        shown = present == kept
        return np.where(shown, true + noise, 0), shown

    def _exact_keep(self) -> Any:
        return 1 / (1 + mpmath.exp(-mpmath.mpf(self.epsilon) / 2))


@dataclass(frozen=True)
class RandomizedResponse(LocalReport):
    """Keeps a symbol with probability e^eps/(e^eps + d), else reports one of the d others.

    Args:
        symbols: How many there are in all, d + 1: the levels of the scale and "not rated".
        epsilon: Per symbol reported.
    """

    symbols: int
    epsilon: float

    name = "randomized response"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.symbols < 2:
            raise InputError(f"randomized response needs at least 2 symbols, not {self.symbols}")

    @property
    def keep(self) -> float:
        """The probability that a symbol is reported as it is."""
        return 1 / (1 + (self.symbols - 1) * math.exp(-self.epsilon))

    def probabilities(self, symbol: int) -> npt.NDArray[np.float64]:
        """The law of the report for this symbol."""
        law = np.full(self.symbols, self.keep * math.exp(-self.epsilon))
        law[symbol] = self.keep
        return law

    def release(
        self, symbols: npt.NDArray[Any], event: PureEvent, receipt: Permit
    ) -> npt.NDArray[np.int64]:
        """One report for each symbol."""
        true = as_integers(symbols)
        self._check(true, 0, self.symbols - 1, event)
        randomness = redeem(receipt, event)
        kept = flip_coins(self._exact_keep, true.size, randomness).reshape(true.shape)
        other = draw_below(self.symbols - 1, true.size, randomness).reshape(true.shape)
        return np.where(kept, true, other + (other >= true))

    def _exact_keep(self) -> Any:
        return 1 / (1 + (self.symbols - 1) * mpmath.exp(-mpmath.mpf(self.epsilon)))
