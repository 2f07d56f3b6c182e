"""Noise on integers: the rounded Gaussian, and the two-sided geometric law. See PROOF.md."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.privacy._events import Event, GaussianEvent, GeometricEvent, Unit
from discreet.privacy._receipt import Permit, redeem
from discreet.privacy.noise import GaussianLaw, GeometricLaw, Law, add_noise


class IntegerNoise(abc.ABC):
    """Adds independent integer noise to every entry of an integer array."""

    @property
    @abc.abstractmethod
    def law(self) -> Law:
        """What the noise is drawn from."""

    @property
    @abc.abstractmethod
    def spread(self) -> float:
        """The noise's standard deviation in grid units."""

    @abc.abstractmethod
    def event(
        self, sensitivity: float, unit: Unit, label: str, ratings_per_user: int | None = None
    ) -> Event:
        """The privacy map: what one release costs when neighbours are `sensitivity` apart."""

    @abc.abstractmethod
    def _is_own(self, event: Event) -> bool:
        """Whether the event is of this mechanism with this much noise."""

    def release(
        self, values: npt.NDArray[Any], event: Event, receipt: Permit, *, in_place: bool = False
    ) -> npt.NDArray[np.int64]:
        """The values with noise in the same shape, once `receipt` shows that `event` was charged.

        Everything is checked, then the event is redeemed, then noise is drawn. Sums are modulo
        2^64, and no value is looked at: refusing one would reveal something about it, and a
        remainder reveals nothing that the sum does not.

        Raises:
            InputError: The values are not integers, or the event is not one draw of this mechanism.
            NotCharged: The receipt does not cover the event.
        """
        if event.count != 1:
            raise InputError("one draw redeems one event: charge an event with count 1")
        if not self._is_own(event):
            raise InputError("the charged event has another mechanism or another amount of noise")
        if not np.issubdtype(values.dtype, np.integer):
            raise InputError(f"private statistics are integers on a grid, not {values.dtype}")
        flags = values.flags
        if in_place and not (values.dtype == np.int64 and flags.c_contiguous and flags.writeable):
            raise InputError("noise is added in place to a contiguous, writeable int64 array only")
        noisy = values if in_place else values.astype(np.int64, order="C")
        add_noise(self.law, noisy.reshape(-1), redeem(receipt, event))
        return noisy


@dataclass(frozen=True)
class RoundedGaussian(IntegerNoise):
    """Adds round(N(0, sigma^2)) to every entry of an integer array; sensitivities are L2.

    Args:
        sigma: In grid units, above 0 and at most 2^50.
    """

    sigma: float

    def __post_init__(self) -> None:
        GaussianLaw(self.sigma)

    @property
    def law(self) -> GaussianLaw:
        return GaussianLaw(self.sigma)

    @property
    def spread(self) -> float:
        return self.sigma

    def event(
        self, sensitivity: float, unit: Unit, label: str, ratings_per_user: int | None = None
    ) -> GaussianEvent:
        return GaussianEvent(
            unit=unit,
            label=label,
            ratings_per_user=ratings_per_user,
            sensitivity=sensitivity,
            sigma=self.sigma,
        )

    def _is_own(self, event: Event) -> bool:
        return isinstance(event, GaussianEvent) and event.sigma == self.sigma


@dataclass(frozen=True)
class TwoSidedGeometric(IntegerNoise):
    """Adds k with probability proportional to exp(-|k|/scale) to every entry of an integer array.

    Sensitivities are L1.

    Args:
        scale: In grid units, above 0 and at most 2^50.
    """

    scale: float

    def __post_init__(self) -> None:
        GeometricLaw(self.scale)

    @property
    def law(self) -> GeometricLaw:
        return GeometricLaw(self.scale)

    @property
    def spread(self) -> float:
        """The law's own variance, 1/(2 sinh^2(1/2b)), is below that of Laplace noise, 2 b^2."""
        return math.sqrt(2) * self.scale

    def event(
        self, sensitivity: float, unit: Unit, label: str, ratings_per_user: int | None = None
    ) -> GeometricEvent:
        return GeometricEvent(
            unit=unit,
            label=label,
            ratings_per_user=ratings_per_user,
            sensitivity=sensitivity,
            scale=self.scale,
        )

    def _is_own(self, event: Event) -> bool:
        return isinstance(event, GeometricEvent) and event.scale == self.scale
