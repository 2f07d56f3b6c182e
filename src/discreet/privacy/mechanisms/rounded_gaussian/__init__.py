"""Gaussian noise on integers: the continuous Gaussian mechanism, rounded. See PROOF.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.privacy._events import GaussianEvent
from discreet.privacy._receipt import Leave
from discreet.privacy._units import Unit
from discreet.privacy.mechanisms._integer_noise import release_with_noise
from discreet.privacy.noise import GaussianLaw


@dataclass(frozen=True)
class RoundedGaussian:
    """Adds round(N(0, sigma^2)) to every entry of an integer array.

    Args:
        sigma: In grid units, above 0 and at most 2^50.
    """

    sigma: float

    def __post_init__(self) -> None:
        GaussianLaw(self.sigma)

    def event(
        self, sensitivity: float, unit: Unit, label: str, ratings_per_user: int | None = None
    ) -> GaussianEvent:
        """The privacy map: what one release costs when neighbours are `sensitivity` apart in L2."""
        return GaussianEvent(
            unit=unit,
            label=label,
            ratings_per_user=ratings_per_user,
            sensitivity=sensitivity,
            sigma=self.sigma,
        )

    def release(
        self,
        values: npt.NDArray[Any],
        event: GaussianEvent,
        receipt: Leave,
        *,
        in_place: bool = False,
    ) -> npt.NDArray[np.int64]:
        """The values with noise, once `receipt` shows that `event` was charged."""
        if event.sigma != self.sigma:
            raise InputError("the charged event has another sigma than this mechanism")
        return release_with_noise(
            values, GaussianLaw(self.sigma), event, receipt, in_place=in_place
        )
