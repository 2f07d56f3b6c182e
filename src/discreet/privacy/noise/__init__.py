"""Random bits, and draws from them whose law is exact."""

from discreet.privacy.noise._choices import GUARD, below_exactly, draw_below, flip_coins, precision
from discreet.privacy.noise._sampler import (
    MAX_SCALE,
    GaussianLaw,
    GeometricLaw,
    Law,
    add_noise,
    draw_noise,
)

__all__ = [
    "GUARD",
    "MAX_SCALE",
    "GaussianLaw",
    "GeometricLaw",
    "Law",
    "add_noise",
    "below_exactly",
    "draw_below",
    "draw_noise",
    "flip_coins",
    "precision",
]
