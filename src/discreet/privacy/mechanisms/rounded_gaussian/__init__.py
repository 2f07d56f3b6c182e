"""Gaussian noise on integers: the continuous Gaussian mechanism, rounded. See PROOF.md."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.privacy._events import Event, GaussianEvent, Unit
from discreet.privacy.mechanisms._integer_noise import IntegerNoise
from discreet.privacy.noise import GaussianLaw


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
