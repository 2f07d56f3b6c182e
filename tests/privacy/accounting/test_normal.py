"""The normal distribution's functions against mpmath."""

from __future__ import annotations

import math

import mpmath
import numpy as np
from mpmath import mpf

from discreet.privacy.accounting import _normal

# PROOF.md counts on this much, relatively.
CLOSE = 1e-15


def test_functions_are_good_to_the_last_digits() -> None:
    with mpmath.workdps(40):
        for x in [*np.linspace(-0.5, 12, 400), 27.5, 100.0, 999.0]:
            exact = mpmath.exp(mpf(x) ** 2) * mpmath.erfc(x)
            assert abs(_normal.erfcx(float(x)) / exact - 1) < CLOSE
        for x in np.linspace(0, 40, 100):
            assert abs(_normal.ndtr(float(x)) / mpmath.ncdf(mpf(x)) - 1) < CLOSE


def test_far_out_erfcx_is_its_limit() -> None:
    for x in (1e5, 1e7, 1e12):
        assert abs(_normal.erfcx(x) * x * math.sqrt(math.pi) - 1) < 1e-9


def test_roots_are_found_to_the_last_digits() -> None:
    for root in (1e-9, 0.3, 1.0, 47.0):

        def flat(x: float, at: float = root) -> float:
            return math.log(x + 1) - math.log1p(at)

        def steep(x: float, at: float = root) -> float:
            return math.expm1(x - at)

        for function in (flat, steep):
            found = _normal.find_root(function, 0.0, 50.0)
            assert abs(found - root) <= 1e-14 * max(root, 1)
