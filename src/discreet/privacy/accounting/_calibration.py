"""From a budget to the size of the noise; the paper's theta as another way to say the budget."""

from __future__ import annotations

import math
from collections.abc import Sequence

from discreet.domain import InputError
from discreet.privacy._events import round_up
from discreet.privacy.accounting._totals import gaussian_mu

PAPER_SPLIT = (0.02, 0.19, 0.79)
"""How McSherry and Mironov divide theta between global, item and covariance stage."""

# Relative: above the sum of all roundings when the parts of a release are added up again.
_MARGIN = 1e-9
# Relative: a few units in the last place, above the error of a product of three floats.
_ROUNDING = 1e-15


def calibrate_gaussian(
    sensitivity: float, epsilon: float, delta: float, share: float = 1.0
) -> float:
    """The smallest sigma for one statistic that gets `share` of the mu^2 of (epsilon, delta).

    Args:
        sensitivity: L2, in the units of sigma.
        epsilon: Of the whole release.
        delta: Of the whole release.
        share: The part of mu^2 for this statistic; parts of one release add up to 1.
    """
    _check_positive("sensitivity", sensitivity)
    _check_positive("epsilon", epsilon)
    if not 0 < share <= 1:
        raise InputError(f"a share of the budget is above 0 and at most 1, not {share:g}")
    # Adding the parts up again rounds up at each step; the margin is more than all of them.
    mu = gaussian_mu(epsilon, delta) * math.sqrt(share) * (1 - _MARGIN)
    return round_up(sensitivity / mu)


def calibrate_geometric(sensitivity: float, epsilon: float) -> float:
    """The smallest scale of two-sided geometric noise for L1 `sensitivity` at `epsilon`."""
    _check_positive("sensitivity", sensitivity)
    _check_positive("epsilon", epsilon)
    # Twice: the event's own epsilon is sensitivity / scale rounded up.
    return round_up(round_up(sensitivity / epsilon))


def mu_of_theta(theta: float, split: Sequence[float] = PAPER_SPLIT) -> float:
    """The mu of stages with sigma_i = sensitivity_i / (split_i theta), rounded up.

    Each stage is one release here; where a stage has two parts that share their theta_i, their
    mu^2 add up to theta_i^2.
    """
    _check_positive("theta", theta)
    return theta * _length(split) * (1 + _ROUNDING)


def _length(split: Sequence[float]) -> float:
    if not split:
        raise InputError("theta needs at least one stage to be split between")
    for part in split:
        _check_positive("a stage's part of theta", part)
    return math.sqrt(math.fsum(part * part for part in split))


def _check_positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{name} must be a positive number, not {value:g}")
