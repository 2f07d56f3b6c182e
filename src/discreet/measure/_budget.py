"""A charged total, spent in shares: Gaussian shares are of mu^2, pure shares of epsilon."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.domain import InputError, Noisy
from discreet.measure._source import RatingsSource, measure_all
from discreet.measure._statistic import Ints, Part, Progress, Statistic
from discreet.privacy import Event, Noise, Purse, Receipt, Unit
from discreet.ratings import Intake

# In grid units: where noise has a larger standard deviation, the grid is made coarser, so that 64
# bits hold it (2^17 standard deviations to spare).
_FINE = 2.0**46


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
        return cls(unit, noise, noise.kind.amount_of(epsilon, delta), delta)

    @classmethod
    def of_theta(cls, unit: Unit, noise: Noise, theta: float, delta: float) -> Budget:
        """The budget that McSherry and Mironov call theta.

        Raises:
            InputError: The delta does not go with the noise, or the budget is too small.
        """
        noise.kind.check_delta(delta)
        return cls(unit, noise, noise.kind.amount_of_theta(theta), delta)

    def __post_init__(self) -> None:
        kind = self.noise.kind
        if not self.amount >= kind.least_amount:
            raise InputError(
                f"a budget this small is noise alone: {kind.amount_name} {self.amount:.2g}, "
                f"where {kind.least_amount:g} is the least; 1 is a usual epsilon"
            )

    @property
    def is_infinite(self) -> bool:
        """Whether no noise is added."""
        return math.isinf(self.amount)

    def check_finite(self) -> None:
        """Refuse a budget without noise, where there is nothing to publish without it.

        Raises:
            InputError: The budget is infinite.
        """
        if self.is_infinite:
            raise InputError("epsilon must be finite: without noise nothing is protected")

    def bounded_by(self, intake: Intake) -> Budget:
        """The same for ratings that came in this way: per rating, a bound on a user's counts."""
        most = intake.most_ratings if self.unit is Unit.RATING else None
        return replace(self, ratings_per_user=most)

    def event(self, label: str) -> Event:
        """The whole of it as one event to charge."""
        return self.noise.kind.event(self.amount, self.unit, label, self.ratings_per_user)


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
        return self.budget.noise.kind.spread(self.budget.amount, share)

    def measure(
        self,
        source: RatingsSource,
        statistics: Statistic | Sequence[Statistic],
        shares: Mapping[str, float],
        progress: Progress | None = None,
        carries: Mapping[str, Any] | None = None,
    ) -> dict[str, Noisy]:
        """Measure statistics and release every part of them, with noise for its share.

        Args:
            source: Private.
            statistics: One, or several that are measured in one pass over the ratings.
            shares: Of the whole budget, by the parts' labels; they are drawn in this order.
            progress: For a statistic over pairs.
            carries: For a series: how earlier totals are to be read (`Carry`), by labels.
        """
        del carries  # there are no earlier totals
        several = (statistics,) if isinstance(statistics, Statistic) else tuple(statistics)
        parts: dict[str, tuple[Part, Any]] = {}
        exacts = measure_all(source, *several, progress=progress)
        for statistic, exact in zip(several, exacts, strict=True):
            for part, integers in zip(statistic.parts, exact, strict=True):
                assert part.label not in parts, "every part has a label of its own"
                parts[part.label] = part, integers
        assert parts.keys() == shares.keys(), "every part has a share"
        return {label: self.release(*parts[label], share) for label, share in shares.items()}

    def release(self, part: Part, exact: Ints | int, share: float) -> Noisy:
        """One part with noise, in its own unit.

        Args:
            part: What is known of it.
            exact: Its integers, private; an array is used up. A single number is taken modulo
                2^64 like all others: no size of it is refused.
            share: Of the whole budget.
        """
        if isinstance(exact, int):
            whole = np.array([(exact + 2**63) % 2**64 - 2**63], dtype=np.int64)
            noisy, spread = self.perturb(whole, part.sensitivity, share, part.label)
            return Noisy(float(noisy[0] / part.grid), spread / part.grid)
        if not part.is_triangle:
            noisy, spread = self.perturb(exact, part.sensitivity, share, part.label)
            return Noisy(noisy / part.grid, spread / part.grid)
        # The diagonal is no part of the statistic: neither its integers nor their noise come out.
        diagonal = diagonal_of(exact)
        exact[diagonal] = 0
        noisy, spread = self.perturb(exact, part.sensitivity, share, part.label)
        released = noisy.astype(np.float32)  # half the memory of what may be gigabytes
        released /= np.float32(part.grid)
        released[diagonal] = 0.0
        return Noisy(released, spread / part.grid)

    def perturb(
        self, exact: Ints, sensitivity: float, share: float, label: str
    ) -> tuple[Ints, float]:
        """The integers with noise (the array itself is used up) and the noise's standard deviation.

        Args:
            exact: A private statistic, contiguous int64.
            sensitivity: In the same grid units, in the norm of the budget's noise.
            share: Of the whole budget.
            label: What it is.
        """
        if self._purse is None:
            return exact, 0.0
        budget, kind = self.budget, self.budget.noise.kind
        m = self._coarser(sensitivity, share)
        if m > 1:
            exact //= m
            sensitivity = sensitivity / m + kind.root(exact.size)
        mechanism = kind.mechanism(sensitivity, budget.amount, share)
        event = mechanism.event(sensitivity, budget.unit, label, budget.ratings_per_user)
        noisy = mechanism.release(exact, event, self._purse, in_place=True)
        return (noisy, mechanism.spread) if m == 1 else (noisy * m, mechanism.spread * m)

    def _coarser(self, sensitivity: float, share: float) -> int:
        """A power of two, public, to divide integers by whose noise has no room in 64 bits.

        floor(a/m) and floor(b/m) are at most |a - b|/m + 1 apart, entry by entry; and m divides
        2^64, modulo which all of this is.
        """
        scale = sensitivity * self.spread_of(share) / _FINE
        return 1 << math.ceil(math.log2(scale)) if scale > 1 else 1


def diagonal_of(triangle: Ints) -> Ints:
    """Where the diagonal lies in a packed upper triangle: row i begins at i n - i (i - 1)/2."""
    side = (math.isqrt(8 * len(triangle) + 1) - 1) // 2
    assert side * (side + 1) // 2 == len(triangle), "a packed triangle with its diagonal"
    rows = np.arange(side, dtype=np.int64)
    return rows * side - rows * (rows - 1) // 2
