"""What is promised of two neighbours, and how much of it a pair of error rates refutes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from discreet.domain import InputError
from discreet.privacy import Event
from discreet.privacy.accounting import compose, gaussian_epsilon

_Floats = npt.NDArray[np.float64]

DELTA = 1e-6
"""At which a Gaussian claim is told as an epsilon, if nothing else is said."""
_SLACK = 1e-9


@dataclass(frozen=True)
class Claim:
    """P(S from A) <= e^epsilon P(S from B) + delta for neighbours A and B, either way round.

    With `mu` it is the whole curve of the Gaussian mechanism, of which (epsilon, delta) is one
    point: P(S from A) <= Phi(mu + Phi^-1(P(S from B))).

    Args:
        epsilon: From 0 on; 0 says that neighbours cannot be told apart at all.
        delta: From 0 to below 1.
        mu: Of Gaussian noise, absent otherwise.
    """

    epsilon: float
    delta: float = 0.0
    mu: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon < math.inf or not 0 <= self.delta < 1:
            raise InputError(
                f"a claim has a finite epsilon from 0 on and a delta below 1, not "
                f"{self.epsilon:g} and {self.delta:g}"
            )

    @classmethod
    def gaussian(cls, mu: float, delta: float = DELTA) -> Claim:
        """The curve of mu, told at `delta`."""
        return cls(gaussian_epsilon(mu, delta), delta, mu)

    @classmethod
    def of(cls, events: Iterable[Event], delta: float = DELTA) -> Claim:
        """What these events promise together: pure, Gaussian, or both as one point at `delta`."""
        totals = compose(events)
        if not totals.mu_squared:
            return cls(totals.pure)
        if not totals.pure:
            return cls.gaussian(totals.mu, delta)
        return cls(totals.epsilon(delta), delta)

    @property
    def size(self) -> float:
        """What is compared: mu of a Gaussian curve, otherwise epsilon."""
        return self.epsilon if self.mu is None else self.mu

    def refuted(self, low: npt.ArrayLike, high: npt.ArrayLike) -> _Floats:
        """The largest size that cannot be, given P(S from A) >= low and P(S from B) <= high.

        0 where nothing is refuted. Every smaller size is refuted as well (PROOF.md).
        """
        least, most = np.asarray(low, np.float64), np.asarray(high, np.float64)
        if self.mu is not None:
            found = ndtri(least) - ndtri(most)
        else:
            above = np.maximum(least - self.delta, 0.0)
            with np.errstate(divide="ignore"):
                found = np.log(above) - np.log(most)
        return np.where(np.isnan(found), 0.0, np.maximum(found, 0.0))

    def told(self, size: float) -> float:
        """A size as an epsilon at this claim's delta."""
        if self.mu is None or math.isinf(size):
            return size
        return gaussian_epsilon(size, self.delta) if size > 0 else 0.0

    def is_broken_by(self, size: float) -> bool:
        """Whether refuting this size refutes the claim."""
        return size > self.size * (1 + _SLACK)
