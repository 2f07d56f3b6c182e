"""Laplace noise for values that may be missing, on an integer grid. See PROOF.md."""

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
from discreet.privacy.noise import MAX_SCALE, GeometricLaw, draw_noise, flip_coins


@dataclass(frozen=True)
class ModifiedLaplace(LocalReport):
    """Reports value + noise or nothing; for a missing value, nothing or noise.

    With probability e^(eps/2)/(1 + e^(eps/2)) presence is reported as it is, otherwise turned
    round; the noise is two-sided geometric of scale 2 reach/eps (the paper's Laplace(2/eps) on
    [-1, 1]).

    Args:
        reach: Values are integers from -reach to reach (the scale's grid, centred).
        epsilon: Per value reported.
    """

    reach: int
    epsilon: float

    name = "modified Laplace"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reach < 1:
            raise InputError(f"reach must be at least 1 grid step, not {self.reach}")
        if self.scale > MAX_SCALE:
            raise InputError("epsilon is too small for this grid: noise beyond 2^50 grid steps")

    @property
    def scale(self) -> float:
        """The scale of the noise, rounded up: never less noise than the proof asks for."""
        return math.nextafter(2 * self.reach / self.epsilon, math.inf)

    @property
    def keep(self) -> float:
        """The probability that presence is reported as it is."""
        return 1 / (1 + math.exp(-self.epsilon / 2))

    def release(
        self,
        values: npt.NDArray[Any],
        present: npt.NDArray[np.bool_],
        event: PureEvent,
        receipt: Permit,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Reports as (values, present); a report that is absent has value 0."""
        true = np.where(present, as_integers(values), 0)
        self._check(true, -self.reach, self.reach, event)
        randomness = redeem(receipt, event)
        kept = flip_coins(self._exact_keep, true.size, randomness).reshape(true.shape)
        noise = draw_noise(GeometricLaw(self.scale), true.size, randomness).reshape(true.shape)
        shown = present == kept
        return np.where(shown, true + noise, 0), shown

    def _exact_keep(self) -> Any:
        return 1 / (1 + mpmath.exp(-mpmath.mpf(self.epsilon) / 2))
