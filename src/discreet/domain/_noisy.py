"""A released quantity and how much noise is on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Noisy:
    """A number or an array as it was released, and the standard deviation of the noise on it.

    Attributes:
        value: A float, or an array whose entries all carry noise of the same size.
        spread: The standard deviation of the noise on each entry; 0 where none was added.
    """

    value: Any
    spread: float
