"""From events to (epsilon, delta) and back."""

from discreet.privacy.accounting._accountants import (
    Accountant,
    FilterAccountant,
    GaussianAccountant,
    PldAccountant,
    PureAccountant,
    Totals,
    ZcdpAccountant,
)
from discreet.privacy.accounting._calibration import (
    PAPER_SPLIT,
    calibrate_gaussian,
    calibrate_geometric,
    mu_of_theta,
    theta_of_mu,
)
from discreet.privacy.accounting._gaussian import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
)

__all__ = [
    "PAPER_SPLIT",
    "Accountant",
    "FilterAccountant",
    "GaussianAccountant",
    "PldAccountant",
    "PureAccountant",
    "Totals",
    "ZcdpAccountant",
    "calibrate_gaussian",
    "calibrate_geometric",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "mu_of_theta",
    "theta_of_mu",
]
