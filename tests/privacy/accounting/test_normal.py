"""The normal distribution's functions against mpmath."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath
import numpy as np
from mpmath import mpf

from discreet.privacy.accounting import _totals

# PROOF.md counts on this much, relatively.
CLOSE = 1e-15


def test_functions_are_good_to_the_last_digits() -> None:
    with mpmath.workdps(40):
        for x in [*np.linspace(-0.5, 12, 400), 27.5, 100.0, 999.0]:
            exact = mpmath.exp(mpf(x) ** 2) * mpmath.erfc(x)
            assert abs(_totals.erfcx(float(x)) / exact - 1) < CLOSE
        for x in np.linspace(0, 40, 100):
            assert abs(_totals.ndtr(float(x)) / mpmath.ncdf(mpf(x)) - 1) < CLOSE


def test_far_out_erfcx_is_its_limit() -> None:
    for x in (1e5, 1e7, 1e12):
        assert abs(_totals.erfcx(x) * x * math.sqrt(math.pi) - 1) < 1e-9


def test_roots_are_found_to_the_last_digits() -> None:
    for root in (1e-9, 0.3, 1.0, 47.0):
        assert abs(_found(lambda x, at: math.log(x + 1) - math.log1p(at), root)) <= 1e-14
        assert abs(_found(lambda x, at: math.expm1(x - at), root)) <= 1e-14


def _found(zero_at: Callable[[float, float], float], root: float) -> float:
    """How far from the root, as a share of it above 1, the search ends."""
    found = _totals.find_root(lambda x: zero_at(x, root), 0.0, 50.0)
    return (found - root) / max(root, 1)
