"""Events: stored without loss, refused when wrong, and seen by other units."""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain import InputError
from discreet.privacy import (
    PERIOD_UNITS,
    Event,
    GaussianEvent,
    GeometricEvent,
    PureEvent,
    Unit,
    event_from_dict,
)
from discreet.privacy._events import _KINDS

# The largest spends stay finite for a group of 10^6: what lies beyond is tested on its own.
SIZES = st.floats(1e-300, 1e300, allow_nan=False)
GROUPS = st.integers(1, 10**6)
# What JSON has to escape, and characters of one to four bytes.
TEXTS = st.text('ab "\\\n\x00\x7fé€\u2028\ud800😀')
COMMON: dict[str, Any] = {
    "unit": st.sampled_from(Unit),
    "label": TEXTS,
    "count": st.integers(1, 10**12),
    "ratings_per_user": st.none() | GROUPS,
    "covers_change": st.booleans(),
}
OF_KIND: dict[type[Event], st.SearchStrategy[Any]] = {
    GaussianEvent: st.builds(GaussianEvent, **COMMON, sensitivity=SIZES, sigma=SIZES),
    GeometricEvent: st.builds(GeometricEvent, **COMMON, sensitivity=SIZES, scale=SIZES),
    PureEvent: st.builds(PureEvent, **COMMON, epsilon=SIZES, mechanism=TEXTS),
}
EVENTS = st.one_of(*OF_KIND.values())
GAUSSIAN = GaussianEvent(unit=Unit.RATING, label="counts", sensitivity=1.5, sigma=4.0)
GEOMETRIC = GeometricEvent(unit=Unit.RATING, label="counts", sensitivity=1.5, scale=4.0)
PURE = PureEvent(unit=Unit.RATING, label="counts", epsilon=0.25, mechanism="coin")
EXAMPLES = [GAUSSIAN, GEOMETRIC, PURE]


def exact_cost(event: Event) -> Fraction:
    """mu or epsilon of one happening, without rounding."""
    match event:
        case GaussianEvent():
            return Fraction(event.sensitivity) / Fraction(event.sigma)
        case GeometricEvent():
            return Fraction(event.sensitivity) / Fraction(event.scale)
        case PureEvent():
            return Fraction(event.epsilon)
    raise AssertionError(event.kind)


def test_every_kind_of_event_is_tested_here() -> None:
    assert set(_KINDS.values()) == OF_KIND.keys() == {type(event) for event in EXAMPLES}
    assert {kind: event.kind for kind, event in _KINDS.items()} == {kind: kind for kind in _KINDS}
    concrete = {kind for kind in Event.__subclasses__() if kind.__module__.startswith("discreet")}
    assert concrete == OF_KIND.keys()


@given(EVENTS)
def test_json_keeps_every_bit(event: Event) -> None:
    text = json.dumps(event.to_dict(), allow_nan=False)
    assert event_from_dict(json.loads(text)) == event
    assert json.dumps(event_from_dict(json.loads(text)).to_dict()) == text


@pytest.mark.parametrize("event", EXAMPLES)
def test_plain_data_holds_the_kind_and_every_field(event: Event) -> None:
    data = json.loads(json.dumps(event.to_dict()))
    assert data.keys() == {"kind", *(field.name for field in dataclasses.fields(event))}
    assert (data["kind"], data["unit"]) == (event.kind, "rating")


@pytest.mark.parametrize("kind", ["laplace", "", None, 7, ["gaussian"], {"a": 1}])
def test_an_unknown_kind_is_refused(kind: object) -> None:
    with pytest.raises(InputError) as caught:
        event_from_dict(GAUSSIAN.to_dict() | {"kind": kind})
    assert str(caught.value) == f"'{kind}' is not a kind of spend that this version knows"


@pytest.mark.parametrize("data", [[], "gaussian", None, 3, {}])
def test_what_is_no_event_at_all_is_refused(data: Any) -> None:
    with pytest.raises(InputError, match="'None' is not a kind of spend"):
        event_from_dict(data)


@pytest.mark.parametrize("event", EXAMPLES)
def test_an_unknown_or_a_missing_field_is_refused(event: Event) -> None:
    data = event.to_dict()
    with pytest.raises(InputError, match=f"a {event.kind} spend has wrong fields: .*'colour'"):
        event_from_dict(data | {"colour": "red"})
    without_default = [
        field.name for field in dataclasses.fields(event) if field.default is dataclasses.MISSING
    ]
    assert len(without_default) == 4
    for name in without_default:
        with pytest.raises(InputError, match=f"a {event.kind} spend has wrong fields: .*'{name}'"):
            event_from_dict({key: value for key, value in data.items() if key != name})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("unit", ["person", None, 3, ["rating"]]),
        ("count", [0, -1, 2**53 + 1, 1.0, 2.5, math.nan, True, "2", None]),
        ("ratings_per_user", [0, -1, 2.0, math.nan, math.inf, True, "2"]),
        ("covers_change", [0, 1, "yes", None]),
    ],
)
@pytest.mark.parametrize("event", EXAMPLES)
def test_wrong_fields_are_refused(event: Event, name: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(InputError) as caught:
            event_from_dict(event.to_dict() | {name: value})
        assert "\n" not in str(caught.value)
        if name != "unit":
            assert name in str(caught.value)
        with pytest.raises(InputError):
            dataclasses.replace(event, **{name: value})


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    ("event", "name"),
    [
        (GAUSSIAN, "sensitivity"),
        (GAUSSIAN, "sigma"),
        (GEOMETRIC, "sensitivity"),
        (GEOMETRIC, "scale"),
        (PURE, "epsilon"),
    ],
)
def test_sizes_are_positive_and_finite(event: Event, name: str, value: float) -> None:
    wrong: dict[str, Any] = {name: value}
    with pytest.raises(InputError) as caught:
        dataclasses.replace(event, **wrong)
    assert str(caught.value) == f"{name} must be a positive finite number, not {value:g}"


def test_sizes_that_are_no_floats_are_refused_when_read() -> None:
    for value in ("1", None, [1], 10**400):
        with pytest.raises(InputError, match="a gaussian spend has wrong fields"):
            event_from_dict(GAUSSIAN.to_dict() | {"sigma": value})


@given(EVENTS, GROUPS)
def test_a_group_costs_so_many_times_as_much_and_never_less(event: Event, size: int) -> None:
    exact = exact_cost(event) * size
    scaled = exact_cost(event.scaled(size))
    assert exact <= scaled <= exact * (1 + Fraction(2) ** -51)
    assert dataclasses.replace(event.scaled(size), **fields_of_cost(event)) == event


def fields_of_cost(event: Event) -> dict[str, Any]:
    """The fields by which an event and its scaled twin may differ."""
    names = {"sensitivity", "epsilon"} & {field.name for field in dataclasses.fields(event)}
    return {name: getattr(event, name) for name in names}


@given(EVENTS)
def test_a_group_of_one_is_the_event_itself(event: Event) -> None:
    assert event.scaled(1) == event


@pytest.mark.parametrize("event", EXAMPLES)
@pytest.mark.parametrize("size", [0, -1])
def test_a_group_has_members(event: Event, size: int) -> None:
    with pytest.raises(InputError) as caught:
        event.scaled(size)
    assert str(caught.value) == f"a group has at least one member, not {size}"


@given(EVENTS)
def test_mu_and_epsilon_are_rounded_up(event: Event) -> None:
    exact = exact_cost(event)
    stated = getattr(event, "mu" if isinstance(event, GaussianEvent) else "epsilon")
    if math.isfinite(stated) and exact > Fraction(1, 10**300):
        assert exact <= Fraction(stated) <= exact * (1 + Fraction(2) ** -51)


@pytest.mark.parametrize("event", EXAMPLES)
def test_a_user_with_r_ratings_is_a_group_of_r(event: Event) -> None:
    bounded = dataclasses.replace(event, ratings_per_user=7, count=3)
    seen = bounded.seen_by(Unit.USER)
    assert seen is not None
    assert exact_cost(seen) == pytest.approx(7 * exact_cost(event), rel=1e-15)
    assert (seen.unit, seen.count, seen.label) == (Unit.USER, 3, "counts")
    assert seen.ratings_per_user is None
    # Once said per user it stays as it is.
    assert seen.seen_by(Unit.USER) is seen


@pytest.mark.parametrize("event", EXAMPLES)
def test_a_user_with_any_number_of_ratings_has_no_bound(event: Event) -> None:
    assert event.ratings_per_user is None
    assert event.seen_by(Unit.USER) is None


@pytest.mark.parametrize("event", EXAMPLES)
def test_a_rating_sees_a_user_leave_and_another_come(event: Event) -> None:
    per_user = dataclasses.replace(event, unit=Unit.USER, count=3)
    seen = per_user.seen_by(Unit.RATING)
    assert seen is not None
    assert exact_cost(seen) == pytest.approx(2 * exact_cost(event), rel=1e-15)
    assert (seen.unit, seen.count) == (Unit.RATING, 3)
    # The way back is not known any more: nothing says how many ratings the user had.
    assert seen.seen_by(Unit.USER) is None


DAY, WEEK, MONTH = PERIOD_UNITS
# How many units of an event's kind change with one of another kind; None for any number.
SEEN = {
    (Unit.RATING, DAY): 7, (Unit.RATING, WEEK): 7, (Unit.RATING, MONTH): 7,
    (Unit.USER, DAY): 2, (Unit.USER, WEEK): 2, (Unit.USER, MONTH): 2,
    (DAY, Unit.RATING): 2, (WEEK, Unit.RATING): 2, (MONTH, Unit.RATING): 2,
    (DAY, Unit.USER): None, (WEEK, Unit.USER): None, (MONTH, Unit.USER): None,
    (WEEK, DAY): 2, (MONTH, DAY): 2, (MONTH, WEEK): 4,
    (DAY, WEEK): 7, (DAY, MONTH): 31, (WEEK, MONTH): 8,
}  # fmt: skip


@pytest.mark.parametrize(("own", "other"), SEEN)
@pytest.mark.parametrize("event", EXAMPLES)
def test_user_periods_are_groups_of_each_other(event: Event, own: Unit, other: Unit) -> None:
    asked = dataclasses.replace(event, unit=own, ratings_per_user=7, count=3)
    seen, factor = asked.seen_by(other), SEEN[own, other]
    if factor is None:
        assert seen is None
        return
    assert seen is not None
    assert exact_cost(seen) == pytest.approx(factor * exact_cost(event), rel=1e-15)
    assert (seen.unit, seen.count, seen.ratings_per_user) == (other, 3, None)


def test_months_meet_weeks_as_the_calendar_says() -> None:
    """By every month of 400 years, after which the calendar repeats itself."""
    most = []
    for month in range(1600 * 12, 2000 * 12):
        first, then = (datetime.date(n // 12, n % 12 + 1, 1) for n in (month, month + 1))
        weeks: dict[int, int] = {}
        for day in range(first.toordinal(), then.toordinal()):
            week = (day - 1) // 7  # 1 January of the year 1 was a Monday
            weeks[week] = weeks.get(week, 0) + 1
        most.append((sum(1 if days == 7 else 2 for days in weeks.values()), len(weeks)))
    assert max(most) == (SEEN[WEEK, MONTH], 6)


@given(EVENTS)
def test_an_event_sees_itself_as_it_is(event: Event) -> None:
    assert event.seen_by(event.unit) is event


@given(EVENTS)
def test_a_change_costs_twice_unless_it_is_covered(event: Event) -> None:
    factor = 1 if event.covers_change else 2
    seen = exact_cost(event.seen_by_change())
    assert factor * exact_cost(event) <= seen
    assert seen <= factor * exact_cost(event) * (1 + Fraction(2) ** -51)
    assert event.seen_by_change().unit is event.unit


def test_events_are_frozen_and_compare_by_value() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        GAUSSIAN.__setattr__("sigma", 1.0)
    assert len({GAUSSIAN, dataclasses.replace(GAUSSIAN), GEOMETRIC}) == 2
