"""What events add up to, and what that is in (epsilon, delta), rounded to the safe side.

Pure epsilons add up on one side and squared mus on the other. The Gaussian mechanism's trade-off:

delta(eps; mu) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)      (Balle and Wang 2018)

PROOF.md bounds the errors.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.domain import InputError
from discreet.domain.lazy import LazyModule
from discreet.privacy._events import Event, GaussianEvent, GeometricEvent, PureEvent, round_up

if TYPE_CHECKING:
    from scipy import special
else:
    special = LazyModule("scipy.special")

# Relative. ndtr and erfcx are good to about 1e-15; the answers are moved by more than the error
# that this leaves (PROOF.md counts it), always towards more epsilon, more delta, less mu.
_SLACK = 1e-10
# A delta below the smallest normal float is answered with that float: never with 0.
_SMALLEST = sys.float_info.min
# The least delta that an epsilon or a mu is computed for: safely above _SMALLEST.
LEAST_DELTA = 1e-300
# Far above any epsilon that says something; bounds the search for mu. Chosen by hand.
_MAX_EPSILON = 1e7
# The largest mu for which the error bounds of PROOF.md hold; beyond, cruder bounds are given.
_MAX_MU = 1e6


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The delta of a mu-GDP mechanism at `epsilon` (may be negative), rounded up.

    Exact for mu up to 10^6; beyond, the answer is 1. A delta too small for a float is the smallest
    float, never 0.

    Raises:
        InputError: mu is negative or not a number, or epsilon is not a number.
    """
    _check_mu(mu)
    if math.isnan(epsilon):
        raise InputError("epsilon must be a number, not nan")
    if mu == 0:
        return min(1.0, max(0.0, -math.expm1(epsilon) * (1 + _SLACK)))
    if mu > _MAX_MU:
        return 1.0
    # eps/mu and mu/2 nearly cancel in a large mu's tail; their error is a multiple of mu.
    slack = _SLACK * (1 + mu / 1e4)
    return min(1.0, max(_SMALLEST, _delta(mu, epsilon) * (1 + slack)))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon >= 0 that a mu-GDP mechanism has at `delta`, rounded up.

    Raises:
        InputError: mu is negative or not a number, or delta is not between 1e-300 and 1.
    """
    _check_mu(mu)
    _check_delta(delta)
    if mu == 0 or gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    # delta(eps) <= Phi(mu/2 - eps/mu), and Phi(-x) <= e^(-x^2/2)/2: at the upper end of the
    # bracket that is half of delta.
    high = mu * (mu / 2 + math.sqrt(-2 * math.log(delta))) * (1 + _SLACK)
    if mu > _MAX_MU:
        return high
    root = find_root(lambda e: _log_ratio(mu, e, delta), 0.0, high)
    return _push(root, lambda e: gaussian_delta(mu, e) <= delta, 1 + _SLACK)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu whose Gaussian mechanism is (epsilon, delta)-DP, rounded down.

    Raises:
        InputError: epsilon is negative or absurd, or delta is not between 1e-300 and 1.
    """
    _check_delta(delta)
    if not 0 <= epsilon <= _MAX_EPSILON:
        raise InputError(f"epsilon must be from 0 to {_MAX_EPSILON:,.0f}, not {epsilon:g}")
    high = 1.0
    while gaussian_delta(high, epsilon) <= delta:
        high *= 2
    low = high / 2
    while gaussian_delta(low, epsilon) > delta:
        low /= 2
    root = find_root(
        lambda log_mu: _log_ratio(math.exp(log_mu), epsilon, delta),
        math.log(low * (1 - _SLACK)),
        math.log(high * (1 + _SLACK)),
    )
    # Rounding up must not make the epsilon of the answer more than was asked for.
    return _push(
        math.exp(root),
        lambda m: gaussian_delta(m, epsilon) <= delta and gaussian_epsilon(m, delta) <= epsilon,
        1 - _SLACK,
    )


def mu_of_pure(epsilon: float) -> float:
    """The smallest mu such that every epsilon-DP step is mu-GDP, rounded up.

    It is 2 Phi^-1(p) with p = e^eps/(1 + e^eps), the mu at which the Gaussian trade-off curve
    meets the corner of the pure one (`ledger/PROOF.md`). With p = (1 + tanh(eps/2))/2 this is
    2 sqrt(2) erfinv(tanh(eps/2)), exact for small epsilon; in the tail, -2 Phi^-1(1 - p).
    """
    if epsilon < 1:
        mu = 2 * math.sqrt(2) * float(special.erfinv(math.tanh(epsilon / 2)))
    else:
        mu = -2 * float(special.ndtri_exp(-(epsilon + math.log1p(math.exp(-epsilon)))))
    return mu * (1 + _SLACK)


def pure_of_mu(mu: float) -> float:
    """The largest epsilon with `mu_of_pure(epsilon) <= mu`, rounded down."""
    shrunk = mu / (1 + _SLACK) ** 2 / 2
    if shrunk < 1e-3:
        # log(Phi(h)/Phi(-h)) = 4 phi(0) h + O(h^3), and the cubic term is positive.
        return 4 * shrunk / math.sqrt(2 * math.pi)
    return float(special.log_ndtr(shrunk) - special.log_ndtr(-shrunk)) * (1 - _SLACK)


def _delta(mu: float, epsilon: float) -> float:
    """The formula, free of cancellation.

    With a = eps/mu - mu/2 and b = eps/mu + mu/2: e^eps phi(b) = phi(a), and
    Phi(-t) = phi(t) R(t) with R(t) = sqrt(pi/2) erfcx(t/sqrt 2). So
    delta = phi(a) (R(a) - R(b)), where R is smooth and falling; for a far below 0, where R is
    large, delta = Phi(-a) - phi(a) R(b). The Gaussian pair is symmetric, so a negative epsilon
    has delta(-eps) = 1 - e^-eps + e^-eps delta(eps).
    """
    if epsilon < 0:
        return -math.expm1(epsilon) + math.exp(epsilon) * _delta(mu, -epsilon)
    middle, half = epsilon / mu, mu / 2
    a = middle - half
    if a > 39:
        return 0.0  # below e^(-39^2/2), which is too small for a float
    density = math.exp(-a * a / 2) / 2
    if a < -0.5:
        return ndtr(-a) - density * erfcx((middle + half) / math.sqrt(2))
    return density * _erfcx_drop(middle / math.sqrt(2), half / math.sqrt(2))


def _erfcx_drop(middle: float, half: float) -> float:
    """erfcx(middle - half) - erfcx(middle + half), by integrating the derivative if half is small.

    Taking `half` as it is, instead of as a difference of two nearly equal ends, keeps its digits.
    """
    if half > 5e-4 * (1 + middle):
        return erfcx(middle - half) - erfcx(middle + half)
    # Gauss-Legendre with three nodes on -erfcx'(t) = 2/sqrt(pi) - 2 t erfcx(t): error O(half^7).
    offset = half * math.sqrt(3 / 5)
    nodes = ((middle - offset, 5 / 9), (middle, 8 / 9), (middle + offset, 5 / 9))
    return half * sum(weight * _erfcx_fall(t) for t, weight in nodes)


def _erfcx_fall(t: float) -> float:
    """-erfcx'(t), which loses three digits where t reaches 39/sqrt 2."""
    return 2 / math.sqrt(math.pi) - 2 * t * erfcx(t)


def _log_ratio(mu: float, epsilon: float, delta: float) -> float:
    return math.log(gaussian_delta(mu, epsilon)) - math.log(delta)


def _push(root: float, is_valid: Callable[[float], bool], factor: float) -> float:
    """Move a root to the safe side, faster and faster, until the safe check holds."""
    while not is_valid(root):
        root *= factor
        factor *= factor
    return root


def _check_mu(mu: float) -> None:
    if not mu >= 0:
        raise InputError(f"mu must be at least 0, not {mu:g}")


def _check_delta(delta: float) -> None:
    if not LEAST_DELTA <= delta < 1:
        raise InputError(
            f"delta must be from {LEAST_DELTA:g} to below 1 for Gaussian noise, not {delta:g}; "
            "1e-6 is usual, and delta 0 needs Laplace noise"
        )


@dataclass(frozen=True)
class Totals:
    """What events add up to: pure epsilons, and the squared mus of the Gaussian ones.

    Infinity stands for a cost that nothing bounds.
    """

    pure: float = 0.0
    mu_squared: float = 0.0

    def __post_init__(self) -> None:
        if not (self.pure >= 0 and self.mu_squared >= 0):
            raise InputError(
                f"spends are at least 0, not pure {self.pure:g} and mu^2 {self.mu_squared:g}"
            )

    @property
    def mu(self) -> float:
        """The mu of all Gaussian events together, rounded up."""
        return round_up(math.sqrt(self.mu_squared)) if self.mu_squared else 0.0

    def __add__(self, other: Totals) -> Totals:
        return Totals(_sum_up(self.pure, other.pure), _sum_up(self.mu_squared, other.mu_squared))

    def times(self, count: int) -> Totals:
        """This much, `count` times over."""
        if count < 1:
            raise InputError(f"a spend happens at least once, not {count} times")
        if count == 1:
            return self
        return Totals(
            round_up(self.pure * count) if self.pure else 0.0,
            round_up(self.mu_squared * count) if self.mu_squared else 0.0,
        )

    def epsilon(self, delta: float) -> float:
        """The epsilon at `delta`, rounded up: pure + the exact Gaussian epsilon (PROOF.md).

        Raises:
            InputError: delta is not from 0 to below 1, or is 0 and there is Gaussian noise.
        """
        if not 0 <= delta < 1:
            raise InputError(f"delta must be from 0 to below 1, not {delta:g}")
        if self.mu_squared == 0:
            return self.pure
        return _sum_up(self.pure, gaussian_epsilon(self.mu, delta))

    def delta(self, epsilon: float) -> float:
        """The delta at `epsilon` (may be negative), rounded up."""
        if math.isnan(epsilon):
            raise InputError("epsilon must be a number, not nan")
        if self.mu_squared == 0:
            return 0.0 if epsilon >= self.pure else _pure_delta(self.pure, epsilon)
        return gaussian_delta(self.mu, epsilon - self.pure)


def _pure_cost(event: GeometricEvent | PureEvent) -> Totals:
    return Totals(pure=event.epsilon)


def _gaussian_cost(event: GaussianEvent) -> Totals:
    return Totals(mu_squared=round_up(event.mu * event.mu))


# What one event of a kind costs; `compose` applies the count, in one place for all kinds.
_COST: dict[type[Event], Callable[[Any], Totals]] = {
    GaussianEvent: _gaussian_cost,
    GeometricEvent: _pure_cost,
    PureEvent: _pure_cost,
}


def compose(events: Iterable[Event]) -> Totals:
    """What all events cost together: the accountant.

    Pure epsilons add up and squared mus add up. Events may be chosen one after the other, in the
    light of what came out before, as long as the two totals were fixed in advance (PROOF.md). A
    ledger, whose totals are not, makes sure of that by its own rule.

    Raises:
        InputError: An event is of an unknown kind.
    """
    total = Totals()
    for event in events:
        cost = _COST.get(type(event))
        if cost is None:
            raise InputError(f"there is no rule to compose {event.kind} noise")
        total = total + cost(event).times(event.count)
    return total


def _sum_up(a: float, b: float) -> float:
    """The sum, rounded up; exact where one of them is 0."""
    return a + b if a == 0 or b == 0 else round_up(a + b)


def _pure_delta(pure: float, epsilon: float) -> float:
    """What `pure`-DP says about a smaller epsilon: the trade-off of randomized response.

    P(S) - e^eps Q(S) is largest for the likelier answer, p - e^eps (1 - p) with
    p = e^pure/(1 + e^pure), or for an epsilon below -pure for both answers, 1 - e^eps.
    """
    likelier = -math.expm1(epsilon - pure) / (1 + math.exp(-pure))
    return min(1.0, max(likelier, -math.expm1(epsilon)) * (1 + _SLACK))


# The normal distribution's functions, from the standard library alone. Opening a release checks
# its epsilon, and loading SciPy for that would take longer than everything else about it: an
# environment that only predicts does without.

# From here on the continued fraction of erfcx converges fast, and below it e^(x^2) is exact to the
# last digits. Chosen by measuring errors against mpmath.
_FRACTION_FROM = 2.0
# Steps of a root finder that gains a digit or more a step; chosen for safety, never reached.
_MOST_STEPS = 200


def ndtr(x: float) -> float:
    """Phi(x), the normal distribution function."""
    return math.erfc(-x / math.sqrt(2)) / 2


def erfcx(x: float) -> float:
    """e^(x^2) erfc(x) for x from -1 on, good to 1e-15.

    From 2 on by Laplace's continued fraction, sqrt(pi) erfcx(x) = 1/(x + (1/2)/(x + (2/2)/(x +
    (3/2)/(x + ...)))), from its end; at x = 2 the hundredth term no longer changes anything.
    """
    if x < _FRACTION_FROM:
        return math.exp(x * x) * math.erfc(x)
    below = x
    # Terms needed fall with the square of x; measured, with a margin of two.
    for n in range(8 + int(400 / (x * x)), 0, -1):
        below = x + n / (2 * below)
    return 1 / (math.sqrt(math.pi) * below)


def find_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that changes its sign between `low` and `high` is 0, to the last digits.

    The secant, with the value at an end that stays halved ("Illinois"), so that both ends move.
    Callers move what it returns to the safe side themselves.
    """
    at_low, at_high = function(low), function(high)
    for _ in range(_MOST_STEPS):
        if at_low == at_high or abs(high - low) <= 1e-15 * abs(high):
            break
        middle = high - at_high * (high - low) / (at_high - at_low)
        at_middle = function(middle)
        if at_middle == 0:
            return middle
        if (at_middle < 0) == (at_high < 0):
            at_low /= 2
        else:
            low, at_low = high, at_high
        high, at_high = middle, at_middle
    return high
