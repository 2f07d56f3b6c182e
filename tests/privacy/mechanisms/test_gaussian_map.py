"""The rounded Gaussian's exact hockey-stick divergence against the formula that is booked."""

from __future__ import annotations

import itertools
from functools import cache

import mpmath
import pytest

from discreet.privacy import Unit
from discreet.privacy.accounting import gaussian_delta
from discreet.privacy.mechanisms import RoundedGaussian

CASES = [
    (0.3, 1), (0.5, 1), (0.7, 1), (1.0, 1), (1.0, 2), (1.0, 5), (1.7, 1), (2.5, 3), (4.0, 1),
    (4.0, 9), (7.5, 2), (12.0, 1),
]  # fmt: skip
MULTIPLES = [0.0, 0.02, 0.3, 0.5, 1.0, 2.5, 5.0, 8.0]  # of mu: a tail of up to 8 sigma


def _rounded(sigma: float, reach: int) -> list[mpmath.mpf]:
    """P(k) for k from 0 to reach: a difference of upper tails, so that small ones stay exact."""
    root = mpmath.mpf(sigma) * mpmath.sqrt(2)
    tails = [mpmath.erfc((k - mpmath.mpf("0.5")) / root) / 2 for k in range(reach + 2)]
    return [a - b for a, b in itertools.pairwise(tails)]


def _discrete(sigma: float, reach: int) -> list[mpmath.mpf]:
    weights = [
        mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * mpmath.mpf(sigma) ** 2)) for k in range(reach + 1)
    ]
    total = 2 * mpmath.fsum(weights) - 1
    return [weight / total for weight in weights]


def _divergence(law: list[mpmath.mpf], shift: int, epsilon: float) -> mpmath.mpf:
    """Sum over the integers of max(0, P(k) - e^eps P(k - shift))."""
    reach = len(law) - 1
    factor = mpmath.exp(mpmath.mpf(epsilon))
    parts = (law[abs(k)] - factor * law[abs(k - shift)] for k in range(shift - reach, reach + 1))
    return mpmath.fsum(part for part in parts if part > 0)


@cache
def _laws(sigma: float, discrete: bool) -> list[mpmath.mpf]:
    with mpmath.workprec(100):
        reach = int(16 * sigma) + 20  # the rest is below 1e-55
        return _discrete(sigma, reach) if discrete else _rounded(sigma, reach)


@pytest.mark.parametrize(("sigma", "shift"), CASES)
def test_the_rounded_gaussian_never_exceeds_its_formula(sigma: float, shift: int) -> None:
    mu = RoundedGaussian(sigma).event(shift, Unit.USER, "sums").mu
    with mpmath.workprec(100):
        for epsilon in (multiple * mu for multiple in MULTIPLES):
            exact = _divergence(_laws(sigma, discrete=False), shift, epsilon)
            assert 0 < exact <= gaussian_delta(mu, epsilon)


@pytest.mark.parametrize("sigma", [4.0, 12.0])
def test_the_formula_is_hardly_more_than_the_truth(sigma: float) -> None:
    # Rounding at sigma = 4 throws away next to nothing; a formula twice too careful would fail.
    mu = RoundedGaussian(sigma).event(1, Unit.USER, "sums").mu
    with mpmath.workprec(100):
        for epsilon in (0.0, 0.1):
            assert _divergence(_laws(sigma, False), 1, epsilon) > 0.98 * gaussian_delta(mu, epsilon)


def test_the_discrete_gaussian_would_exceed_it() -> None:
    """Why noise is rounded: exp(-k^2/2) on the integers breaks the formula at sigma = 1."""
    law, epsilons = _laws(1.0, discrete=True), [tenth / 10 for tenth in range(1, 60)]
    with mpmath.workprec(100):
        ratios = [_divergence(law, 1, e) / gaussian_delta(1.0, e) for e in epsilons]
    assert 2.0 < max(ratios) < 3.0
    assert min(ratios) < 1.0  # not everywhere, which is why moments do not show it
