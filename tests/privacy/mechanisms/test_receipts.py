"""No charge, no noise: what every mechanism asks of a receipt, and what it never lets out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from discreet.domain import InputError
from discreet.privacy import (
    Event,
    NotCharged,
    Receipt,
    SeededRandomness,
    SystemRandomness,
    Unit,
    unbooked,
)
from discreet.privacy.mechanisms import (
    GumbelTopK,
    KSubset,
    ModifiedLaplace,
    RandomizedResponse,
    RoundedGaussian,
    TwoSidedGeometric,
)

SECRET = 424_242


@dataclass
class Case:
    """A mechanism with data, its event and others that are not its event."""

    name: str
    event: Event
    release: Callable[[Event, Receipt], Any]
    wrong: list[Event]


def _noise_case(mechanism: RoundedGaussian | TwoSidedGeometric, other: Any) -> Case:
    values = np.full(2000, SECRET)
    event = mechanism.event(1.0, Unit.USER, "sums")
    wrong = [other.event(1.0, Unit.USER, "sums"), replace(event, count=2)]
    name = type(mechanism).__name__
    return Case(name, event, lambda e, r: mechanism.release(values, e, r), wrong)


def _selection_case(mechanism: GumbelTopK | KSubset) -> Case:
    scores = np.full((40, 30), SECRET)
    event = mechanism.event(Unit.USER, "top", 40)
    wrong = [
        mechanism.event(Unit.USER, "top", 39),
        mechanism.event(Unit.USER, "top"),
        replace(event, epsilon=event.epsilon / 2),
        replace(event, mechanism="another"),
    ]
    return Case(mechanism.name, event, lambda e, r: mechanism.release(scores, e, r), wrong)


def _cases() -> list[Case]:
    responses, laplace = RandomizedResponse(6, 1.0), ModifiedLaplace(SECRET, 1.0)
    symbols, present = np.full(500, 4), np.ones(500, dtype=bool)
    values = np.full(500, SECRET)
    reports = responses.event("reports", 500)
    others = laplace.event("reports", 500)
    return [
        _noise_case(RoundedGaussian(3.0), RoundedGaussian(3.5)),
        _noise_case(TwoSidedGeometric(3.0), TwoSidedGeometric(3.5)),
        _selection_case(GumbelTopK(3, 1.0, 1, "all")),
        _selection_case(KSubset(3, 1.0, 1, "all")),
        Case(
            "randomized response",
            reports,
            lambda e, r: responses.release(symbols, e, r),
            [responses.event("reports", 499), RandomizedResponse(6, 0.9).event("reports", 500)],
        ),
        Case(
            "modified Laplace",
            others,
            lambda e, r: laplace.release(values, present, e, r),
            [laplace.event("reports", 499), replace(others, epsilon=0.5)],
        ),
    ]


@pytest.fixture(params=_cases(), ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


def test_one_charge_buys_one_draw(case: Case) -> None:
    receipt = unbooked([case.event])
    case.release(case.event, receipt)
    with pytest.raises(NotCharged):
        case.release(case.event, receipt)


def test_two_charges_buy_two_draws_that_differ(case: Case) -> None:
    receipt = unbooked([case.event, case.event])
    first, second = case.release(case.event, receipt), case.release(case.event, receipt)
    assert not np.array_equal(first, second)
    with pytest.raises(NotCharged):
        case.release(case.event, receipt)


def test_nothing_is_drawn_without_a_charge(case: Case) -> None:
    other = replace(case.event, label="something else")
    with pytest.raises(NotCharged, match=case.event.label):
        case.release(case.event, unbooked([other]))
    with pytest.raises(NotCharged):
        case.release(case.event, unbooked([]))


def test_another_mechanism_s_event_is_refused_and_not_used_up(case: Case) -> None:
    for wrong in case.wrong:
        receipt = unbooked([wrong, case.event])
        with pytest.raises(InputError):
            case.release(wrong, receipt)
        receipt.redeem(wrong)  # still there
        case.release(case.event, receipt)


def test_a_seed_repeats_and_says_that_it_is_not_private(case: Case) -> None:
    receipts = [unbooked([case.event], SeededRandomness(5)) for _ in range(2)]
    first, second = (case.release(case.event, receipt) for receipt in receipts)
    assert np.array_equal(first, second)
    assert not receipts[0].is_private
    other = case.release(case.event, unbooked([case.event], SeededRandomness(6)))
    assert not np.array_equal(first, other)


def test_the_system_s_randomness_is_private_and_never_repeats(case: Case) -> None:
    for receipt in (unbooked([case.event]), unbooked([case.event], SystemRandomness())):
        assert receipt.is_private
    first, second = (case.release(case.event, unbooked([case.event])) for _ in range(2))
    assert not np.array_equal(first, second)


def test_errors_and_names_hold_nothing_private(case: Case) -> None:
    receipt = unbooked([case.event])
    texts = [repr(receipt), str(receipt), repr(case.event)]
    case.release(case.event, receipt)
    for event in [case.event, *case.wrong]:
        with pytest.raises((NotCharged, InputError)) as caught:
            case.release(event, receipt)
        texts.append(str(caught.value))
    assert not any(str(SECRET) in text or f"{SECRET:,}" in text for text in texts)
