"""Modified Laplace: values that may be missing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import pytest

from discreet.privacy import Event, PureEvent, Receipt, SeededRandomness, unbooked
from discreet.privacy.mechanisms import ModifiedLaplace
from privacy.mechanisms.battery import SECRET, PureBattery, Refusal, Sample
from statistical._laws import Floats, Geometric, Ints

DRAWS = 100_000


class TestModifiedLaplace(PureBattery):
    kind, arguments = ModifiedLaplace, (SECRET, 1.0)
    senseless = (
        (0, 1.0), (4, 0.0), (4, -1.0), (4, math.nan), (4, math.inf), (4, 701.0), (4, 1e-15),
        (2**50, 1.0),
    )  # fmt: skip

    def event(self, mechanism: ModifiedLaplace) -> PureEvent:
        return mechanism.event("reports", 500)

    def release(
        self, mechanism: ModifiedLaplace, event: PureEvent, receipt: Receipt
    ) -> tuple[Ints, Any]:
        return mechanism.release(np.full(500, SECRET), np.ones(500, bool), event, receipt)

    def wrong_events(self, mechanism: ModifiedLaplace) -> list[Event]:
        other = ModifiedLaplace(SECRET, 0.5)
        return [mechanism.event("reports", 499), other.event("reports", 500)]

    def bad_data(self, mechanism: ModifiedLaplace) -> Iterator[Refusal]:
        narrow = ModifiedLaplace(4, 1.0)
        for said, values in (
            ("from -4 to 4", [0, -5]),
            ("from -4 to 4", [0, 5]),
            ("from -4 to 4", [10**12, 1]),
            ("integers", [0.5, 1.0]),
        ):
            data = np.array(values)
            event = narrow.event("x", 2)
            yield said, event, lambda e, r, d=data: narrow.release(d, np.ones(2, bool), e, r)

    def samples(self) -> Iterator[Sample]:
        for value, epsilon in ((None, 1.0), (-4, 0.4), (0, 6.0), (3, 1.0), (4, 2.0)):
            mechanism = ModifiedLaplace(4, epsilon)
            values, present = np.full(DRAWS, value or 0), np.full(DRAWS, value is not None)
            event = mechanism.event("reports", DRAWS)
            reports, shown = mechanism.release(values, present, event, unbooked([event]))
            assert not reports[~shown].any()
            name = f"epsilon {epsilon:g}, value {value}"
            keeps = [1 / (1 + math.exp(-eps / 2)) for eps in (epsilon, 1.5 * epsilon)]
            laws = [np.array([1 - keep, keep][:: 1 if value is not None else -1]) for keep in keeps]
            yield Sample(f"{name}: shown", np.bincount(shown, minlength=2), *laws)
            noise, scale = reports[shown] - (value or 0), 8 / epsilon
            right, wrong = Geometric(scale), Geometric(scale / 1.1)
            yield Sample.of_noise(f"{name}: noise", noise, right, wrong)

    def neighbours(self) -> Iterator[tuple[float, Floats, Floats]]:
        for reach in (1, 4, 9):
            for epsilon in (1e-3, 0.1, 1.0, 5.0, 40.0):
                mechanism = ModifiedLaplace(reach, epsilon)
                with mpmath.workprec(120):
                    values = (None, *range(-reach, reach + 1))
                    laws = np.array([_log_law(mechanism, value) for value in values])
                yield mechanism.event("reports", 1).epsilon, laws, laws


def _log_law(mechanism: ModifiedLaplace, value: int | None) -> list[float]:
    """Absent, then every output from -reach - 2 to reach + 2.

    Past the largest value v both distances grow together: |y - v| - |y - w| is constant there, so
    the window's last outputs stand for the tails.
    """
    keep = mechanism._exact_keep()
    shown = 1 - keep if value is None else keep
    q = mpmath.exp(-1 / mpmath.mpf(mechanism.scale))
    far = mechanism.reach + 2
    outputs = range(-far, far + 1)
    law = [1 - shown] + [shown * q ** abs(y - (value or 0)) * (1 - q) / (1 + q) for y in outputs]
    return [float(mpmath.log(probability)) for probability in law]


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
