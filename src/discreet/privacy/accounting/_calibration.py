"""From a budget to the size of the noise; the paper's theta as another way to say the budget."""

from __future__ import annotations

import math
from collections.abc import Sequence

from discreet.domain import InputError
from discreet.privacy._events import round_up
from discreet.privacy.accounting._gaussian import gaussian_mu

PAPER_SPLIT = (0.02, 0.19, 0.79)
"""How McSherry and Mironov divide theta between global, item and covariance stage."""


def calibrate_gaussian(
    sensitivity: float, epsilon: float, delta: float, share: float = 1.0
) -> float:
    """The smallest sigma for one statistic that gets `share` of the mu^2 of (epsilon, delta).

    Args:
        sensitivity: L2, in the units that sigma shall have.
        epsilon: Of the whole release.
        delta: Of the whole release.
        share: The part of mu^2 for this statistic; parts of one release add up to 1.
    """
    if not 0 < share <= 1:
        raise InputError(f"a share of the budget is above 0 and at most 1, not {share:g}")
    mu = math.nextafter(gaussian_mu(epsilon, delta) * math.sqrt(share), 0.0)
    return round_up(round_up(sensitivity / mu))


def calibrate_geometric(sensitivity: float, epsilon: float) -> float:
    """The smallest scale of two-sided geometric noise for L1 `sensitivity` at `epsilon`."""
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise InputError(f"epsilon must be a positive number, not {epsilon:g}")
    return round_up(round_up(sensitivity / epsilon))


def mu_of_theta(theta: float, split: Sequence[float] = PAPER_SPLIT) -> float:
    """The exact mu of stages with sigma_i = sensitivity_i / (split_i theta).

    Each stage is one release here; where a stage has two parts that share their theta_i, their
    mu^2 add up to theta_i^2.
    """
    if not (math.isfinite(theta) and theta > 0):
        raise InputError(f"theta must be a positive number, not {theta:g}")
    return theta * math.sqrt(sum(part * part for part in split))


def theta_of_mu(mu: float, split: Sequence[float] = PAPER_SPLIT) -> float:
    """The theta whose stages have this mu together."""
    return mu / math.sqrt(sum(part * part for part in split))
