"""The exact trade-off of the Gaussian mechanism, each answer rounded to the safe side.

delta(eps; mu) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)      (Balle and Wang 2018)
"""

from __future__ import annotations

import math

from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr, ndtr

from discreet.domain import InputError

# log_ndtr, ndtr and erfcx are good to about 1e-14; the answers are moved by more than the error
# that this leaves, always towards more epsilon, more delta, less mu.
_SLACK = 1e-10
_MAX_EPSILON = 1e7


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The delta of a mu-GDP mechanism at `epsilon` (may be negative), rounded up."""
    if mu == 0:
        return max(0.0, -math.expm1(epsilon))
    return min(1.0, _delta(mu, epsilon) * (1 + _SLACK))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon >= 0 that a mu-GDP mechanism has at `delta`, rounded up.

    Raises:
        InputError: delta is not strictly between 0 and 1.
    """
    _check_delta(delta)
    if mu == 0 or gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    # delta(eps) <= Phi(mu/2 - eps/mu), which is delta or less at the upper end of the bracket.
    high = mu * (mu / 2 + math.sqrt(-2 * math.log(delta))) + 1e-9
    root = brentq(lambda e: _log_ratio(mu, e, delta), 0.0, high, xtol=1e-13, rtol=1e-14)
    return _push(root, lambda e: gaussian_delta(mu, e) <= delta, upwards=True)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu whose Gaussian mechanism is (epsilon, delta)-DP, rounded down.

    Raises:
        InputError: epsilon is negative or absurd, or delta is not strictly between 0 and 1.
    """
    _check_delta(delta)
    if not 0 <= epsilon <= _MAX_EPSILON:
        raise InputError(f"epsilon must be from 0 to {_MAX_EPSILON:g}, not {epsilon:g}")
    high = 1.0
    while gaussian_delta(high, epsilon) <= delta:
        high *= 2
    low = high / 2
    while gaussian_delta(low, epsilon) > delta:
        low /= 2
    root = brentq(lambda m: _log_ratio(m, epsilon, delta), low, high, xtol=1e-300, rtol=1e-14)
    return _push(root, lambda m: gaussian_delta(m, epsilon) <= delta, upwards=False)


def _delta(mu: float, epsilon: float) -> float:
    """The formula, free of cancellation.

    With a = eps/mu - mu/2 and b = eps/mu + mu/2: e^eps phi(b) = phi(a), and
    Phi(-t) = phi(t) R(t) with R(t) = sqrt(pi/2) erfcx(t/sqrt 2). So for a > 0
    delta = phi(a) (R(a) - R(b)), where R is smooth and falling.
    """
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if a <= 0:
        return float(ndtr(-a)) - math.exp(epsilon + float(log_ndtr(-b)))
    density = math.exp(-a * a / 2) / 2
    return density * _erfcx_drop(a / math.sqrt(2), b / math.sqrt(2))


def _erfcx_drop(a: float, b: float) -> float:
    """erfcx(a) - erfcx(b) for 0 < a < b, by integrating the derivative where they nearly agree."""
    if b - a > 1e-3 * (1 + a):
        return float(erfcx(a) - erfcx(b))
    middle, half = (a + b) / 2, (b - a) / 2
    # Gauss-Legendre with three nodes on -erfcx'(t) = 2/sqrt(pi) - 2 t erfcx(t): error O(half^7).
    offset = half * math.sqrt(3 / 5)
    nodes = ((middle - offset, 5 / 9), (middle, 8 / 9), (middle + offset, 5 / 9))
    return half * sum(weight * _erfcx_fall(t) for t, weight in nodes)


def _erfcx_fall(t: float) -> float:
    """-erfcx'(t): the closed form, or for large t (where it cancels) its asymptotic series."""
    if t < 20:
        return 2 / math.sqrt(math.pi) - 2 * t * float(erfcx(t))
    s = 1 / (2 * t * t)
    series = s * (1 - 3 * s * (1 - 5 * s * (1 - 7 * s * (1 - 9 * s * (1 - 11 * s)))))
    return 2 / math.sqrt(math.pi) * series


def _log_ratio(mu: float, epsilon: float, delta: float) -> float:
    return math.log(max(_delta(mu, epsilon), 1e-320)) - math.log(delta)


def _push(root: float, valid: object, *, upwards: bool) -> float:
    """Move a root to the safe side until the safe check holds."""
    assert callable(valid)
    step = _SLACK
    while not valid(root):
        root = root * (1 + step) + 1e-15 if upwards else root * (1 - step)
        step *= 2
    return root


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise InputError(
            f"delta must be above 0 and below 1 for Gaussian noise, not {delta:g}; "
            "1e-6 is usual, and delta 0 needs Laplace noise"
        )
