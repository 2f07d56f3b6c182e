"""Mechanisms: a sampler and a privacy map in one object, the proof in the same folder."""

from discreet.privacy.mechanisms._selection import Moves, grid_sensitivity, to_grid
from discreet.privacy.mechanisms.gumbel_top_k import GumbelTopK
from discreet.privacy.mechanisms.integer_noise import (
    IntegerNoise,
    RoundedGaussian,
    TwoSidedGeometric,
)
from discreet.privacy.mechanisms.k_subset import KSubset
from discreet.privacy.mechanisms.local import ModifiedLaplace, RandomizedResponse

__all__ = [
    "GumbelTopK",
    "IntegerNoise",
    "KSubset",
    "ModifiedLaplace",
    "Moves",
    "RandomizedResponse",
    "RoundedGaussian",
    "TwoSidedGeometric",
    "grid_sensitivity",
    "to_grid",
]
