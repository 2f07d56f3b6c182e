"""From events to (epsilon, delta) and back."""

from discreet.privacy.accounting._calibration import (
    PAPER_SPLIT,
    calibrate_gaussian,
    calibrate_geometric,
    mu_of_theta,
)
from discreet.privacy.accounting._totals import (
    LEAST_DELTA,
    Totals,
    compose,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    mu_of_pure,
    pure_of_mu,
)

__all__ = [
    "LEAST_DELTA",
    "PAPER_SPLIT",
    "Totals",
    "calibrate_gaussian",
    "calibrate_geometric",
    "compose",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "mu_of_pure",
    "mu_of_theta",
    "pure_of_mu",
]
