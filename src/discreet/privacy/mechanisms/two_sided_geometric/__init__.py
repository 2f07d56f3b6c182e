"""Laplace noise on integers: the two-sided geometric law. See PROOF.md."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.privacy._events import Event, GeometricEvent, Unit
from discreet.privacy.mechanisms._integer_noise import IntegerNoise
from discreet.privacy.noise import GeometricLaw


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
