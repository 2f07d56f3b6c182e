"""The two kinds of noise that statistics are released with, each with all that follows from it.

A kind decides in which norm a statistic's sensitivity is measured, how large a budget (epsilon,
delta) is, how its shares add up, how large the noise of a share is, which event is charged and
which mechanism draws. Code that needs one of these asks the kind for it:

                      gaussian                              laplace
    norm              L2                                    L1
    amount            mu, the largest that is (eps, delta)  epsilon; delta is 0
    share s of it     mu sqrt(s): squares add up            epsilon s: epsilons add up
    noise             round(N(0, sigma^2)), sigma = D/mu    two-sided geometric, scale b = D/epsilon
    its spread        sigma                                 sqrt(2) b
"""

from __future__ import annotations

import abc
import enum
import math
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.domain import InputError
from discreet.domain.lazy import LazyModule
from discreet.privacy._events import Event, GaussianEvent, PureEvent, Unit
from discreet.privacy.accounting import (
    calibrate_gaussian,
    calibrate_geometric,
    gaussian_mu,
    mu_of_theta,
)

if TYPE_CHECKING:
    import numpy as np

    from discreet.privacy.mechanisms import IntegerNoise
else:
    np = LazyModule("numpy")

# Relative: noise is made this much larger, since shares add up to 1 only in floats, and what they
# cost together must not pass the total. Chosen for safety, far above all roundings.
_UP = 1 + 2.0**-33


class Noise(enum.StrEnum):
    """Names of the kinds, as options and release files have them."""

    GAUSSIAN = "gaussian"
    """L2 sensitivity, rounded Gaussian noise, delta above 0."""
    LAPLACE = "laplace"
    """L1 sensitivity, two-sided geometric noise, delta 0."""

    @classmethod
    def for_delta(cls, delta: float) -> Noise:
        """Gaussian noise needs a delta above 0, Laplace noise has none."""
        return cls.GAUSSIAN if delta > 0 else cls.LAPLACE

    @property
    def kind(self) -> NoiseKind:
        """What follows from the name."""
        return _KINDS[self]


class NoiseKind(abc.ABC):
    """What a kind of noise decides. `amount` is always the whole budget: mu, or epsilon."""

    name: ClassVar[Noise]
    order: ClassVar[int]
    """Of the norm that sensitivities are measured in: 2 for L2, 1 for L1."""
    amount_name: ClassVar[str]
    """What `amount` is called."""
    least_amount: ClassVar[float]
    """The least budget that is accepted: below it a release is noise alone."""
    default_delta: ClassVar[float]
    """The delta where none is given."""

    @abc.abstractmethod
    def check_delta(self, delta: float) -> None:
        """Refuse a delta that does not go with this noise.

        Raises:
            InputError: Says what would be right.
        """

    @abc.abstractmethod
    def amount_of(self, epsilon: float, delta: float) -> float:
        """The largest amount that is (epsilon, delta)-DP; infinite for an infinite epsilon.

        Raises:
            InputError: The delta does not go with this noise.
        """

    @abc.abstractmethod
    def amount_of_theta(self, theta: float) -> float:
        """The budget that McSherry and Mironov call theta."""

    @abc.abstractmethod
    def as_mu(self, amount: float) -> float:
        """The mu whose Gaussian noise is about as large, for rules of thumb stated in mu."""

    @abc.abstractmethod
    def part(self, amount: float, share: float) -> float:
        """The amount that a share of the budget is."""

    @abc.abstractmethod
    def root(self, value: Any) -> Any:
        """The order-th root of a number or an array. Of n, it is the norm of n ones."""

    @abc.abstractmethod
    def spread(self, amount: float, share: float = 1.0) -> float:
        """The noise's standard deviation for a sensitivity of 1 at a share of the budget."""

    @abc.abstractmethod
    def event(
        self, amount: float, unit: Unit, label: str, ratings_per_user: int | None = None
    ) -> Event:
        """The whole budget as one event to charge."""

    def mechanism(self, sensitivity: float, amount: float, share: float = 1.0) -> IntegerNoise:
        """What draws the noise of a share; all shares of a budget together stay within it."""
        return self._mechanism(sensitivity / self.part(amount, share) * _UP)

    @abc.abstractmethod
    def with_spread(self, spread: float) -> IntegerNoise:
        """What draws noise of this standard deviation."""

    @abc.abstractmethod
    def calibrated(self, sensitivity: float, epsilon: float, delta: float) -> IntegerNoise:
        """What draws the least noise that is (epsilon, delta)-DP, for a release of one part."""

    @abc.abstractmethod
    def _mechanism(self, scale: float) -> IntegerNoise:
        """What draws noise of this sigma or scale."""


class GaussianNoise(NoiseKind):
    """Rounded Gaussian noise: mu-GDP."""

    name = Noise.GAUSSIAN
    order = 2
    amount_name = "mu"
    # At mu = 1e-4 a count has noise of 10,000 people. Chosen by hand.
    least_amount = 1e-4
    # One in a million: below 1/n for data sets of up to a million people. The usual choice.
    default_delta = 1e-6

    def check_delta(self, delta: float) -> None:
        if not 0 < delta < 1:
            raise InputError(f"Gaussian noise has a delta above 0 and below 1, not {delta:g}")

    def amount_of(self, epsilon: float, delta: float) -> float:
        return math.inf if math.isinf(epsilon) else gaussian_mu(epsilon, delta)

    def amount_of_theta(self, theta: float) -> float:
        return mu_of_theta(theta)

    def as_mu(self, amount: float) -> float:
        return amount

    def part(self, amount: float, share: float) -> float:
        return amount * math.sqrt(share)

    def root(self, value: Any) -> Any:
        return math.sqrt(value) if isinstance(value, int | float) else np.sqrt(value)

    def spread(self, amount: float, share: float = 1.0) -> float:
        return 1 / self.part(amount, share)

    def event(
        self, amount: float, unit: Unit, label: str, ratings_per_user: int | None = None
    ) -> GaussianEvent:
        return GaussianEvent(
            unit=unit,
            label=label,
            ratings_per_user=ratings_per_user,
            sensitivity=amount,
            # Just above 1: the event's own mu, which is rounded up, is not above the amount.
            sigma=math.nextafter(1, 2),
        )

    def calibrated(self, sensitivity: float, epsilon: float, delta: float) -> IntegerNoise:
        return self._mechanism(calibrate_gaussian(sensitivity, epsilon, delta))

    def _mechanism(self, scale: float) -> IntegerNoise:
        # Samplers load numba: only those who draw do.
        from discreet.privacy.mechanisms import RoundedGaussian

        return RoundedGaussian(scale)

    def with_spread(self, spread: float) -> IntegerNoise:
        return self._mechanism(spread)


class LaplaceNoise(NoiseKind):
    """Two-sided geometric noise, Laplace noise on the integers: epsilon-DP."""

    name = Noise.LAPLACE
    order = 1
    amount_name = "epsilon"
    # At epsilon = 1e-3 a count has noise of 1,400 people. Chosen by hand.
    least_amount = 1e-3
    default_delta = 0.0

    def check_delta(self, delta: float) -> None:
        if delta:
            raise InputError("Laplace noise has delta 0; for a delta above 0 use Gaussian noise")

    def amount_of(self, epsilon: float, delta: float) -> float:
        self.check_delta(delta)
        return epsilon

    def amount_of_theta(self, theta: float) -> float:
        return theta

    def as_mu(self, amount: float) -> float:
        # At epsilon 1 and delta 1e-6 mu is 0.237: about a quarter.
        return amount / 4

    def part(self, amount: float, share: float) -> float:
        return amount * share

    def root(self, value: Any) -> Any:
        return value

    def spread(self, amount: float, share: float = 1.0) -> float:
        return math.sqrt(2) / self.part(amount, share)

    def event(
        self, amount: float, unit: Unit, label: str, ratings_per_user: int | None = None
    ) -> PureEvent:
        return PureEvent(
            unit=unit,
            label=label,
            ratings_per_user=ratings_per_user,
            epsilon=amount,
            mechanism="two-sided geometric",
        )

    def calibrated(self, sensitivity: float, epsilon: float, delta: float) -> IntegerNoise:
        self.check_delta(delta)
        return self._mechanism(calibrate_geometric(sensitivity, epsilon))

    def _mechanism(self, scale: float) -> IntegerNoise:
        # Samplers load numba: only those who draw do.
        from discreet.privacy.mechanisms import TwoSidedGeometric

        return TwoSidedGeometric(scale)

    def with_spread(self, spread: float) -> IntegerNoise:
        return self._mechanism(spread / math.sqrt(2))


_KINDS: dict[Noise, NoiseKind] = {kind.name: kind for kind in (GaussianNoise(), LaplaceNoise())}
