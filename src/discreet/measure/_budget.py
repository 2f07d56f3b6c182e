"""A charged total, spent in shares: Gaussian shares are of mu^2, pure shares of epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.measure._noise import Noise
from discreet.measure._posterior import Noisy
from discreet.privacy import Event, GaussianEvent, PureEvent, Purse, Receipt, Unit
from discreet.privacy.accounting import gaussian_mu
from discreet.privacy.mechanisms import RoundedGaussian, TwoSidedGeometric
from discreet.ratings import Intake

_UP = 1 + 2.0**-33  # shares add up to 1 in floats; their sum must not pass the total

_LEAST_MU, _LEAST_EPSILON = 1e-4, 1e-3
_FINE = 2.0**46
"""In grid units: where noise is larger, the grid is made coarser."""

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Budget:
    """How much, of which noise, for whom.

    Attributes:
        unit: Whom it protects.
        noise: Gaussian or Laplace.
        amount: mu for Gaussian noise, epsilon for Laplace noise; infinite for no noise at all.
        delta: At which a Gaussian mu is said as epsilon; 0 for Laplace noise.
        ratings_per_user: For unit `rating`, the most records that any user has in the data; None
            if nothing bounds it.
    """

    unit: Unit
    noise: Noise
    amount: float
    delta: float
    ratings_per_user: int | None = None

    @classmethod
    def of(cls, unit: Unit, noise: Noise, epsilon: float, delta: float) -> Budget:
        """The largest amount that is (epsilon, delta)-DP; an infinite epsilon adds no noise.

        Raises:
            InputError: It cannot be, or is so small that there would be noise alone.
        """
        if math.isnan(epsilon) or epsilon <= 0:
            raise InputError(f"epsilon must be above 0, not {epsilon:g}; 1 is a usual choice")
        if noise is Noise.LAPLACE:
            if delta:
                raise InputError(
                    "Laplace noise has delta 0; for a delta above 0 use Gaussian noise"
                )
            return cls(unit, noise, epsilon, 0.0)
        amount = math.inf if math.isinf(epsilon) else gaussian_mu(epsilon, delta)
        return cls(unit, noise, amount, delta)

    def __post_init__(self) -> None:
        least = _LEAST_MU if self.noise is Noise.GAUSSIAN else _LEAST_EPSILON
        if not self.amount >= least:
            raise InputError(
                f"a budget this small is noise alone: {self._name} {self.amount:.2g}, "
                f"where {least:g} is the least; 1 is a usual epsilon"
            )

    @property
    def _name(self) -> str:
        return "mu" if self.noise is Noise.GAUSSIAN else "epsilon"

    @property
    def is_infinite(self) -> bool:
        """Whether no noise is added."""
        return math.isinf(self.amount)

    def bounded_by(self, intake: Intake) -> Budget:
        """The same for ratings that came in this way: per rating, a bound on a user's counts."""
        most = intake.most_ratings if self.unit is Unit.RATING else None
        return replace(self, ratings_per_user=most)

    def event(self, label: str) -> Event:
        """The whole of it as one event to charge."""
        if self.noise is Noise.GAUSSIAN:
            return GaussianEvent(
                unit=self.unit,
                label=label,
                ratings_per_user=self.ratings_per_user,
                sensitivity=self.amount,
                sigma=math.nextafter(1, 2),
            )
        return PureEvent(
            unit=self.unit,
            label=label,
            ratings_per_user=self.ratings_per_user,
            epsilon=self.amount,
            mechanism="two-sided geometric",
        )


class Spender:
    """Releases statistics, each with noise for its share of the budget.

    Its `charge` says which ledger's charge pays for them; None if no ledger recorded one.

    Args:
        budget: The whole.
        receipt: Shows that `budget.event(label)` was charged; unused for an infinite budget.
        label: As charged.
    """

    def __init__(self, budget: Budget, receipt: Receipt | None, label: str) -> None:
        self.budget = budget
        self._purse: Purse | None = None
        self.charge = None if receipt is None else receipt.charge
        if not budget.is_infinite:
            assert receipt is not None
            self._purse = receipt.open_purse(budget.event(label))

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything that was released so far."""
        return () if self._purse is None else self._purse.events

    @property
    def promised(self) -> tuple[Event, ...]:
        """What a guarantee may rest on: every event, if together they use up the charge.

        Otherwise the charge itself: how much of it was drawn may depend on what came out, and a
        figure that does is no promise.
        """
        if self._purse is None:
            return ()
        return self._purse.events if self._purse.is_spent else (self._purse.total,)

    @property
    def is_private(self) -> bool:
        """Whether noise was drawn from the operating system's source."""
        return self._purse is not None and self._purse.is_private

    def spread_of(self, share: float) -> float:
        """The noise's standard deviation for a sensitivity of 1 at this share."""
        if self.budget.is_infinite:
            return 0.0
        if self.budget.noise is Noise.GAUSSIAN:
            return 1 / (self.budget.amount * math.sqrt(share))
        return math.sqrt(2) / (self.budget.amount * share)

    def release(
        self, exact: npt.NDArray[Any], sensitivity: float, share: float, label: str
    ) -> tuple[npt.NDArray[np.int64], float]:
        """The integers with noise (the array itself is used up) and the noise's standard deviation.

        Args:
            exact: A private statistic, contiguous int64.
            sensitivity: In the same grid units, in the norm of the budget's noise.
            share: Of the whole budget.
            label: What it is.
        """
        if self._purse is None:
            return exact, 0.0
        m = self._coarser(sensitivity, share)
        if m > 1:
            rounded = exact.size if self.budget.noise is Noise.LAPLACE else math.sqrt(exact.size)
            exact //= m
            sensitivity = sensitivity / m + rounded
        noisy, spread = self._draw(exact, sensitivity, share, label)
        return (noisy, spread) if m == 1 else (noisy * m, spread * m)

    def _coarser(self, sensitivity: float, share: float) -> int:
        """A power of two, public, to divide integers by whose noise has no room in 64 bits.

        floor(a/m) and floor(b/m) are at most |a - b|/m + 1 apart, entry by entry; and m divides
        2^64, modulo which all of this is.
        """
        scale = sensitivity * self.spread_of(share) / _FINE
        return 1 << math.ceil(math.log2(scale)) if scale > 1 else 1

    def _draw(
        self, exact: npt.NDArray[Any], sensitivity: float, share: float, label: str
    ) -> tuple[npt.NDArray[np.int64], float]:
        assert self._purse is not None
        most = self.budget.ratings_per_user
        if self.budget.noise is Noise.GAUSSIAN:
            mechanism = RoundedGaussian(sensitivity / (self.budget.amount * math.sqrt(share)) * _UP)
            event = mechanism.event(sensitivity, self.budget.unit, label, most)
            noisy = mechanism.release(exact, event, self._purse, in_place=True)
            return noisy, mechanism.sigma
        laplace = TwoSidedGeometric(sensitivity / (self.budget.amount * share) * _UP)
        pure = laplace.event(sensitivity, self.budget.unit, label, most)
        noisy = laplace.release(exact, pure, self._purse, in_place=True)
        return noisy, math.sqrt(2) * laplace.scale

    def release_floats(
        self, exact: npt.NDArray[Any], sensitivity: float, grid: float, share: float, label: str
    ) -> tuple[_Floats, float]:
        """The same, converted from grid units."""
        noisy, spread = self.release(exact, sensitivity, share, label)
        return noisy / grid, spread / grid

    def release_number(
        self, exact: int, sensitivity: float, grid: float, share: float, label: str
    ) -> Noisy:
        """One number, modulo 2^64 like all others: no size of it is refused."""
        values = np.array([(exact + 2**63) % 2**64 - 2**63], dtype=np.int64)
        noisy, spread = self.release_floats(values, sensitivity, grid, share, label)
        return Noisy(float(noisy[0]), spread)
