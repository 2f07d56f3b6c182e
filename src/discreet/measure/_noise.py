"""The two noises that statistics are released with."""

from __future__ import annotations

import enum


class Noise(enum.StrEnum):
    """Which norm bounds a statistic, and which law its noise has."""

    GAUSSIAN = "gaussian"
    """L2 sensitivity, rounded Gaussian noise, delta above 0."""
    LAPLACE = "laplace"
    """L1 sensitivity, two-sided geometric noise, delta 0."""
