"""The same laws drawn by somebody else's code."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp

from discreet.privacy import SystemRandomness
from discreet.privacy.noise import GaussianLaw, GeometricLaw, draw_noise
from statistical._laws import Discrete, Geometric, Ints, alarms, fit, judge

dp = pytest.importorskip("opendp.prelude")

COUNT = 20_000
FEW = 4_000
RANDOM = SystemRandomness()


def _draws(mechanism: str, metric: str, scale: float, count: int) -> Ints:
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    make = getattr(dp.m, mechanism)
    measurement = make(domain, getattr(dp, metric)(T="i64"), scale=scale)
    return np.array(measurement([0] * count), dtype=np.int64)


@pytest.mark.parametrize("scale", [0.5, 7.5, 600.0, 2.0**40])
def test_its_discrete_laplace_is_our_two_sided_geometric(scale: float) -> None:
    theirs = _draws("make_laplace", "l1_distance", scale, COUNT)
    ours = draw_noise(GeometricLaw(scale), COUNT, RANDOM)
    judge(ks_2samp(theirs, ours, method="asymp").pvalue, f"Laplace {scale:g}: two samples")
    judge(fit(theirs, Geometric(scale), bins=32), f"Laplace {scale:g}: our reference, their draws")


@pytest.mark.parametrize("sigma", [50.0, 600.0])
def test_its_discrete_gaussian_is_near_our_rounded_one_at_a_large_sigma(sigma: float) -> None:
    # The rounded law has variance sigma^2 + 1/12, the discrete one sigma^2 up to e^(-2 pi^2
    # sigma^2). At sigma = 50 the ratio is 1 + 3.4e-5: the distribution functions differ by less
    # than 1e-5, and two samples of 4,000 resolve 2e-2.
    theirs = _draws("make_gaussian", "l2_distance", sigma, FEW)
    ours = draw_noise(GaussianLaw(sigma), FEW, RANDOM)
    judge(ks_2samp(theirs, ours, method="asymp").pvalue, f"Gaussian {sigma:g}: two samples")


def test_its_discrete_gaussian_is_another_law_at_a_small_sigma() -> None:
    theirs = _draws("make_gaussian", "l2_distance", 0.5, COUNT)
    judge(fit(theirs, Discrete(0.5)), "discrete Gaussian: our reference, their draws")
    ours = draw_noise(GaussianLaw(0.5), COUNT, RANDOM)
    assert alarms(ks_2samp(theirs, ours, method="asymp").pvalue)
