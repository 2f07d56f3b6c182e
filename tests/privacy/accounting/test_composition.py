"""compose(e, n) is n times compose(e), for every kind of event."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain import InputError
from discreet.privacy import Event, GaussianEvent, GeometricEvent, PureEvent, Unit
from discreet.privacy._events import _KINDS
from discreet.privacy.accounting import Totals, compose

DELTA = 1e-6
EXAMPLES: dict[type[Event], Any] = {
    GaussianEvent: GaussianEvent(unit=Unit.RATING, label="x", sensitivity=1.1, sigma=7.3),
    GeometricEvent: GeometricEvent(unit=Unit.RATING, label="x", sensitivity=1.1, scale=13.7),
    PureEvent: PureEvent(unit=Unit.RATING, label="x", epsilon=0.07, mechanism="coin"),
}


def exact(event: Event, power: int) -> Fraction:
    """Its mu or epsilon to the power of 1 or 2, times its count, without rounding."""
    match event:
        case GaussianEvent():
            cost = Fraction(event.sensitivity) / Fraction(event.sigma)
        case GeometricEvent():
            cost = Fraction(event.sensitivity) / Fraction(event.scale)
        case PureEvent():
            cost = Fraction(event.epsilon)
        case _:
            raise AssertionError(event.kind)
    return cost**power * event.count


def is_just_above(got: float, truth: Fraction, steps: int) -> bool:
    """Not below the truth, and above it by a few roundings for each step at most."""
    return truth <= Fraction(got) <= truth * (1 + Fraction(4 * (steps + 4), 2**52))


def test_no_kind_goes_untested() -> None:
    assert EXAMPLES.keys() == set(_KINDS.values())


def test_an_event_of_a_new_kind_is_refused() -> None:
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Novel(Event):
        kind = "novel"

        def scaled(self, factor: int) -> Event:
            return self

    with pytest.raises(InputError, match="there is no rule to compose novel noise"):
        compose([Novel(unit=Unit.RATING, label="x")])
    Novel.__module__ = __name__


@pytest.mark.parametrize("kind", EXAMPLES)
@given(count=st.integers(1, 60))
def test_totals_of_n_are_n_times_the_total_of_one(kind: type[Event], count: int) -> None:
    event = EXAMPLES[kind]
    many = dataclasses.replace(event, count=count)
    for events in ([many], [event] * count):
        totals = compose(events)
        gaussian = kind is GaussianEvent
        got, other = (totals.mu_squared, totals.pure)[:: 1 if gaussian else -1]
        assert other == 0
        assert is_just_above(got, exact(many, 2 if gaussian else 1), count)


@given(st.floats(1e-9, 1e9), st.floats(1e-9, 1e9))
def test_one_cost_is_rounded_up(sensitivity: float, noise: float) -> None:
    gaussian = dataclasses.replace(EXAMPLES[GaussianEvent], sensitivity=sensitivity, sigma=noise)
    geometric = dataclasses.replace(EXAMPLES[GeometricEvent], sensitivity=sensitivity, scale=noise)
    totals = compose([gaussian, geometric])
    assert is_just_above(totals.mu_squared, exact(gaussian, 2), 1)
    assert is_just_above(totals.pure, exact(geometric, 1), 1)
    assert Fraction(totals.mu) ** 2 >= exact(gaussian, 2)


@pytest.mark.parametrize("kind", EXAMPLES)
@pytest.mark.parametrize("count", [2, 3, 7])
def test_one_event_n_times_is_n_events(kind: type[Event], count: int) -> None:
    event = EXAMPLES[kind]
    together, apart = compose([dataclasses.replace(event, count=count)]), compose([event] * count)
    epsilon = apart.epsilon(DELTA)
    assert together.epsilon(DELTA) == pytest.approx(epsilon, rel=1e-8)
    assert epsilon > compose([event]).epsilon(DELTA) * 1.2
    at = 0.7 * epsilon
    assert together.delta(at) == pytest.approx(apart.delta(at), rel=1e-8)


@pytest.mark.parametrize("count", [1, 40])
@given(st.lists(st.sampled_from(sorted(EXAMPLES, key=str)), min_size=1, max_size=6))
def test_mixed_events_add_up_each_in_its_own_account(count: int, kinds: list[type[Event]]) -> None:
    events = [dataclasses.replace(EXAMPLES[kind], count=count) for kind in kinds]
    totals = compose(events)
    gaussian = [event for event in events if isinstance(event, GaussianEvent)]
    pure = [event for event in events if not isinstance(event, GaussianEvent)]
    assert is_just_above(totals.pure, sum((exact(e, 1) for e in pure), Fraction(0)), len(pure))
    squares = sum((exact(e, 2) for e in gaussian), Fraction(0))
    assert is_just_above(totals.mu_squared, squares, len(gaussian))
    assert Fraction(totals.mu) ** 2 >= squares


def test_a_large_count_costs_no_time_and_loses_nothing() -> None:
    event = dataclasses.replace(EXAMPLES[PureEvent], count=10**12)
    assert is_just_above(compose([event]).pure, exact(event, 1), 1)


def test_nothing_costs_nothing() -> None:
    assert compose([]) == Totals()
    assert Totals().epsilon(DELTA) == 0.0
    assert Totals().delta(0.0) == 0.0
    # Even then P(all) - e^-1 Q(all) = 1 - 1/e.
    assert Totals().delta(-1.0) == pytest.approx(1 - 1 / math.e, rel=1e-9)


@pytest.mark.parametrize(
    ("pure", "squared"), [(-1.0, 0.0), (0.0, -1.0), (math.nan, 0.0), (0.0, math.nan)]
)
def test_totals_are_not_negative(pure: float, squared: float) -> None:
    with pytest.raises(InputError) as caught:
        Totals(pure, squared)
    assert str(caught.value) == f"spends are at least 0, not pure {pure:g} and mu^2 {squared:g}"


@pytest.mark.parametrize("count", [0, -3])
def test_a_spend_happens_at_least_once(count: int) -> None:
    with pytest.raises(InputError, match=f"a spend happens at least once, not {count} times"):
        Totals(1.0, 1.0).times(count)


def test_an_unbounded_total_stays_unbounded() -> None:
    total = Totals(pure=math.inf) + Totals(1.0, 1.0)
    assert (total.pure, total.mu_squared) == (math.inf, 1.0)
    assert total.epsilon(1e-6) == math.inf
    assert total.delta(100.0) == 1.0
    assert Totals(mu_squared=math.inf).epsilon(1e-6) == math.inf
