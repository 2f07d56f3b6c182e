"""Rounded Gaussian noise: its law, and its exact hockey-stick divergence against its formula."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import mpmath
import numpy as np
import pytest

from discreet.privacy import Event, GaussianEvent, Receipt, Unit, unbooked
from discreet.privacy.accounting import gaussian_delta
from discreet.privacy.mechanisms import RoundedGaussian, TwoSidedGeometric
from privacy.mechanisms.battery import SECRET, Battery, Refusal, Sample
from statistical._laws import Ints, Rounded, independence, judge

DRAWS = 200_000
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


class TestRoundedGaussian(Battery):
    kind, arguments = RoundedGaussian, (3.0,)
    senseless = ((0.0,), (-1.0,), (math.nan,), (math.inf,), (2.0**50 + 1,))

    def event(self, mechanism: RoundedGaussian) -> GaussianEvent:
        return mechanism.event(1.0, Unit.USER, "sums")

    def release(self, mechanism: RoundedGaussian, event: Event, receipt: Receipt) -> Ints:
        return mechanism.release(np.full(2000, SECRET), event, receipt)

    def wrong_events(self, mechanism: RoundedGaussian) -> list[Event]:
        others = [kind(scale) for kind, scale in ((RoundedGaussian, 3.5), (TwoSidedGeometric, 3.0))]
        own = self.event(mechanism)
        return [replace(own, count=2), *(other.event(1.0, Unit.USER, "sums") for other in others)]

    def bad_data(self, mechanism: RoundedGaussian) -> Iterator[Refusal]:
        data = np.array([0.5, 1.0])
        yield "integers", self.event(mechanism), lambda e, r: mechanism.release(data, e, r)

    def samples(self) -> Iterator[Sample]:
        for sigma in (0.8, 3e5):
            mechanism = RoundedGaussian(sigma)
            values = np.arange(DRAWS).reshape(2, -1)
            event = mechanism.event(1.0, Unit.USER, "sums")
            noise = mechanism.release(values, event, unbooked([event])) - values
            right, wrong = Rounded(sigma), Rounded(0.95 * sigma)
            yield Sample.of_noise(str(mechanism), noise, right, wrong)
            bins = np.searchsorted(right.edges(8, 0.02), noise)
            judge(independence(bins[0], bins[1]), f"{mechanism}: rows")

    def check_privacy_map(self) -> None:
        """The exact divergence never exceeds the formula."""
        for sigma, shift in CASES:
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


def test_its_event() -> None:
    event = RoundedGaussian(4.0).event(3.0, Unit.USER, "sums")
    assert (event.sigma, event.sensitivity, event.unit) == (4.0, 3.0, Unit.USER)
    assert 0.75 <= event.mu <= 0.75 * (1 + 1e-15)
