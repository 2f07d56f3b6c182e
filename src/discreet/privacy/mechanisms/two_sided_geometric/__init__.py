"""Laplace noise on integers: the two-sided geometric law. See PROOF.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.privacy._events import GeometricEvent
from discreet.privacy._receipt import Leave
from discreet.privacy._units import Unit
from discreet.privacy.mechanisms._integer_noise import release_with_noise
from discreet.privacy.noise import GeometricLaw


@dataclass(frozen=True)
class TwoSidedGeometric:
    """Adds k with probability proportional to exp(-|k|/scale) to every entry of an integer array.

    Args:
        scale: In grid units, above 0 and at most 2^50.
    """

    scale: float

    def __post_init__(self) -> None:
        GeometricLaw(self.scale)

    def event(
        self, sensitivity: float, unit: Unit, label: str, ratings_per_user: int | None = None
    ) -> GeometricEvent:
        """The privacy map: what one release costs when neighbours are `sensitivity` apart in L1."""
        return GeometricEvent(
            unit=unit,
            label=label,
            ratings_per_user=ratings_per_user,
            sensitivity=sensitivity,
            scale=self.scale,
        )

    def release(
        self,
        values: npt.NDArray[Any],
        event: GeometricEvent,
        receipt: Leave,
        *,
        in_place: bool = False,
    ) -> npt.NDArray[np.int64]:
        """The values with noise, once `receipt` shows that `event` was charged."""
        if event.scale != self.scale:
            raise InputError("the charged event has another scale than this mechanism")
        return release_with_noise(
            values, GeometricLaw(self.scale), event, receipt, in_place=in_place
        )
