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
from discreet.privacy._receipt import Permit, redeem
from discreet.privacy.mechanisms._local import LocalReport, as_integers
from discreet.privacy.noise import draw_below, flip_coins


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
