"""Randomized response and modified Laplace: reports on single items."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from discreet.domain import InputError
from discreet.privacy import SeededRandomness, Unit, unbooked
from discreet.privacy.mechanisms import ModifiedLaplace, RandomizedResponse


@pytest.mark.parametrize("epsilon", [1e-12, 0.5, 5.0, 700.0])
@pytest.mark.parametrize("symbols", [2, 6, 1000])
def test_the_law_of_a_response(symbols: int, epsilon: float) -> None:
    mechanism = RandomizedResponse(symbols, epsilon)
    with mpmath.workprec(100):
        power = mpmath.exp(mpmath.mpf(epsilon))
        keep = power / (power + symbols - 1)
        assert abs(mechanism.keep / keep - 1) < 1e-14
        assert abs(mechanism._exact_keep() / keep - 1) < 2.0**-90
        law = mechanism.probabilities(1)
        assert abs(law[1] / keep - 1) < 1e-14
        assert abs(law[0] / (keep / power) - 1) < 1e-12
    assert math.isclose(law.sum(), 1, rel_tol=1e-12)


def test_an_enormous_epsilon_reports_the_truth() -> None:
    mechanism = RandomizedResponse(6, 700.0)
    true = np.arange(600).reshape(20, 30) % 6
    event = mechanism.event("reports", 600)
    assert np.array_equal(mechanism.release(true, event, unbooked([event])), true)


def test_a_tiny_epsilon_reports_every_other_symbol() -> None:
    mechanism = RandomizedResponse(4, 1e-9)
    event = mechanism.event("reports", 4000)
    reports = mechanism.release(np.full(4000, 2), event, unbooked([event]))
    assert set(reports.tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize("symbol", [-1, 6])
def test_unknown_symbols_are_refused(symbol: int) -> None:
    mechanism = RandomizedResponse(6, 1.0)
    event = mechanism.event("reports", 3)
    receipt = unbooked([event])
    with pytest.raises(InputError, match="from 0 to 5"):
        mechanism.release(np.array([0, symbol, 5]), event, receipt)
    receipt.redeem(event)


@pytest.mark.parametrize(
    ("symbols", "epsilon"),
    [(1, 1.0), (6, 0.0), (6, -1.0), (6, math.nan), (6, math.inf), (6, 701.0)],
)
def test_senseless_responses_are_refused(symbols: int, epsilon: float) -> None:
    with pytest.raises(InputError):
        RandomizedResponse(symbols, epsilon)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("reach", [1, 4, 10**6])
def test_the_noise_of_a_report_is_never_too_small(reach: int, epsilon: float) -> None:
    mechanism = ModifiedLaplace(reach, epsilon)
    with mpmath.workprec(200):
        needed = 2 * reach / mpmath.mpf(epsilon)
        assert needed <= mechanism.scale <= needed * (1 + 1e-15)
        keep = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon) / 2))
        assert abs(mechanism.keep / keep - 1) < 1e-14
        assert abs(mechanism._exact_keep() / keep - 1) < 2.0**-190


def test_what_is_absent_reports_nothing_of_its_value() -> None:
    # A value under an absent mark must not matter: it is a leftover, and may be anything.
    mechanism, present = ModifiedLaplace(4, 1.0), np.array([True, False] * 300)
    event = mechanism.event("reports", 600)
    values = np.tile([3, 0], 300)
    reports = []
    for leftover in (0, 4, 10**12):
        values[1::2] = leftover
        receipt = unbooked([event], SeededRandomness(1))
        reports.append(mechanism.release(values, present, event, receipt))
    for other in reports[1:]:
        assert np.array_equal(reports[0][0], other[0])
        assert np.array_equal(reports[0][1], other[1])


@pytest.mark.parametrize("value", [-5, 5, 10**12])
def test_values_off_the_grid_are_refused(value: int) -> None:
    mechanism = ModifiedLaplace(4, 1.0)
    event = mechanism.event("reports", 2)
    receipt = unbooked([event])
    with pytest.raises(InputError, match="from -4 to 4"):
        mechanism.release(np.array([0, value]), np.ones(2, bool), event, receipt)
    receipt.redeem(event)


@pytest.mark.parametrize(
    ("reach", "epsilon"),
    [(0, 1.0), (4, 0.0), (4, -1.0), (4, math.nan), (4, 701.0), (4, 1e-15), (2**50, 1.0)],
)
def test_senseless_reports_are_refused(reach: int, epsilon: float) -> None:
    with pytest.raises(InputError):
        ModifiedLaplace(reach, epsilon)


@pytest.mark.parametrize("mechanism", [RandomizedResponse(6, 0.7), ModifiedLaplace(4, 0.7)])
def test_what_reports_cost(mechanism: RandomizedResponse | ModifiedLaplace) -> None:
    event = mechanism.event("reports", 50)
    assert (event.unit, event.epsilon, event.ratings_per_user) == (Unit.RATING, 0.7, 50)
    assert event.seen_by_change() == event  # a changed rating costs no more than an added one
    user = event.seen_by(Unit.USER)
    assert user is not None
    assert math.isclose(user.epsilon, 35.0, rel_tol=1e-12)
