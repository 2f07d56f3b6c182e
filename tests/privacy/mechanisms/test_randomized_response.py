"""Randomized response."""

from __future__ import annotations

import math
from collections.abc import Iterator

import mpmath
import numpy as np
import pytest

from discreet.privacy import Event, PureEvent, Receipt, Unit, unbooked
from discreet.privacy.mechanisms import RandomizedResponse
from privacy.mechanisms.battery import PureBattery, Refusal, Sample
from statistical._laws import Floats, Ints, independence, judge

DRAWS = 100_000


class TestRandomizedResponse(PureBattery):
    kind, arguments = RandomizedResponse, (6, 1.0)
    senseless = ((1, 1.0), (6, 0.0), (6, -1.0), (6, math.nan), (6, math.inf), (6, 701.0))

    def event(self, mechanism: RandomizedResponse) -> PureEvent:
        return mechanism.event("reports", 500)

    def release(self, mechanism: RandomizedResponse, event: PureEvent, receipt: Receipt) -> Ints:
        return mechanism.release(np.full(500, 4), event, receipt)

    def wrong_events(self, mechanism: RandomizedResponse) -> list[Event]:
        return [mechanism.event("reports", 499), RandomizedResponse(6, 0.9).event("reports", 500)]

    def bad_data(self, mechanism: RandomizedResponse) -> Iterator[Refusal]:
        for said, values in (
            ("from 0 to 5", [0, -1, 5]),
            ("from 0 to 5", [0, 6, 5]),
            ("integers", [0.0, 1.0, 2.0]),
        ):
            data = np.array(values)
            yield said, mechanism.event("x", 3), lambda e, r, d=data: mechanism.release(d, e, r)

    def samples(self) -> Iterator[Sample]:
        for symbols, epsilon in ((2, 1.0), (6, 0.5), (6, 4.0)):
            mechanism = RandomizedResponse(symbols, epsilon)
            for symbol in range(symbols):
                event = mechanism.event("reports", DRAWS)
                reports = mechanism.release(np.full(DRAWS, symbol), event, unbooked([event]))
                laws = []
                for power in (math.exp(epsilon), math.exp(1.4 * epsilon)):
                    law = np.full(symbols, 1 / (power + symbols - 1))
                    law[symbol] *= power
                    laws.append(law)
                counts = np.bincount(reports, minlength=symbols)
                yield Sample(f"{mechanism}: symbol {symbol}", counts, *laws)

    def neighbours(self) -> Iterator[tuple[float, Floats, Floats]]:
        for symbols in (2, 6, 12):
            for epsilon in (1e-3, 0.1, 1.0, 5.0, 40.0):
                mechanism = RandomizedResponse(symbols, epsilon)
                laws = np.array([mechanism.probabilities(symbol) for symbol in range(symbols)])
                assert np.allclose(laws.sum(axis=1), 1, rtol=1e-14)
                yield mechanism.event("reports", 1).epsilon, np.log(laws), np.log(laws)


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


def test_reports_are_independent() -> None:
    mechanism = RandomizedResponse(5, 0.7)
    event = mechanism.event("reports", DRAWS)
    reports = mechanism.release(np.zeros(DRAWS, np.int64), event, unbooked([event]))
    judge(independence(reports[::2], reports[1::2]), "neighbouring reports")


def test_what_reports_cost() -> None:
    event = RandomizedResponse(6, 0.7).event("reports", 50)
    assert (event.unit, event.epsilon, event.ratings_per_user) == (Unit.RATING, 0.7, 50)
    assert event.seen_by_change() == event  # a changed rating costs no more than an added one
    user = event.seen_by(Unit.USER)
    assert isinstance(user, PureEvent)
    assert math.isclose(user.epsilon, 35.0, rel_tol=1e-12)
