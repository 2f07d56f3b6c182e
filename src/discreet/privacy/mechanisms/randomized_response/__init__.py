"""Randomized response over a finite set of symbols, "not rated" among them. See PROOF.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.privacy._events import PureEvent
from discreet.privacy._receipt import Leave, redeem
from discreet.privacy.mechanisms._local import report_event
from discreet.privacy.noise import draw_below, flip_coins


@dataclass(frozen=True)
class RandomizedResponse:
    """Keeps a symbol with probability e^eps/(e^eps + d), else reports one of the d others.

    Args:
        symbols: How many there are in all, d + 1: the levels of the scale and "not rated".
        epsilon: Per symbol reported.
    """

    symbols: int
    epsilon: float

    def __post_init__(self) -> None:
        if self.symbols < 2:
            raise InputError(f"randomized response needs at least 2 symbols, not {self.symbols}")
        if not (math.isfinite(self.epsilon) and 0 < self.epsilon <= 700):
            raise InputError(f"epsilon must be above 0 and at most 700, not {self.epsilon:g}")

    @property
    def keep(self) -> float:
        """The probability that a symbol is reported as it is."""
        return 1 / (1 + (self.symbols - 1) * math.exp(-self.epsilon))

    def probabilities(self, symbol: int) -> npt.NDArray[np.float64]:
        """The law of the report for this symbol."""
        law = np.full(self.symbols, self.keep * math.exp(-self.epsilon))
        law[symbol] = self.keep
        return law

    def event(self, label: str, items: int) -> PureEvent:
        """The privacy map for one report on each of `items` items: see `report_event`."""
        return report_event("randomized response", self.epsilon, label, items)

    def release(
        self, symbols: npt.NDArray[Any], event: PureEvent, receipt: Leave
    ) -> npt.NDArray[np.int64]:
        """One report for each symbol."""
        if not np.issubdtype(symbols.dtype, np.integer):
            raise InputError(f"symbols are integers, not {symbols.dtype}")
        true = symbols.astype(np.int64)
        if event != self.event(event.label, true.size):
            raise InputError("the charged event is not this mechanism's for so many items")
        if true.size and (true.min() < 0 or true.max() >= self.symbols):
            raise InputError(f"symbols are numbered from 0 to {self.symbols - 1}")
        randomness = redeem(receipt, event)
        kept = flip_coins(self._exact_keep, true.size, randomness).reshape(true.shape)
        other = draw_below(self.symbols - 1, true.size, randomness).reshape(true.shape)
        return np.where(kept, true, other + (other >= true))

    def _exact_keep(self) -> Any:
        return 1 / (1 + (self.symbols - 1) * mpmath.exp(-mpmath.mpf(self.epsilon)))
