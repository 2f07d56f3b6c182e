"""What the two mechanisms that randomize at home have in common."""

from __future__ import annotations

import abc
import math
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.privacy._events import PureEvent, Unit

# Beyond, e^-epsilon is below the normal floats, and no privacy is left long before. For safety.
_MOST_EPSILON = 700


class LocalReport(abc.ABC):
    """Randomizes one person's value for each item, "not rated" among the values."""

    name: ClassVar[str]
    epsilon: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and 0 < self.epsilon <= _MOST_EPSILON):
            raise InputError(
                f"epsilon must be above 0 and at most {_MOST_EPSILON}, not {self.epsilon:g}"
            )

    def event(self, label: str, items: int) -> PureEvent:
        """The privacy map for one report on each of `items` items.

        Epsilon for one rating added, removed or changed; `items` times that for a whole user.
        """
        return PureEvent(
            unit=Unit.RATING,
            label=label,
            ratings_per_user=items,
            covers_change=True,
            epsilon=self.epsilon,
            mechanism=self.name,
        )

    def _check(self, values: npt.NDArray[Any], lowest: int, highest: int, event: PureEvent) -> None:
        """Refuse what the mechanism is not proved for; nothing is redeemed before."""
        if event != self.event(event.label, values.size):
            raise InputError("the charged event is not this mechanism's for this many items")
        if values.size and (values.min() < lowest or values.max() > highest):
            raise InputError(f"values to report are integers from {lowest} to {highest}")


def as_integers(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Values on a grid as integers.

    Raises:
        InputError: They are something else.
    """
    if not np.issubdtype(values.dtype, np.integer):
        raise InputError(f"values to report are integers, not {values.dtype}")
    return values.astype(np.int64)
