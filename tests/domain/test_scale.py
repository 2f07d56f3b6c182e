"""Scales: what they accept, and that nothing is lost between a rating and its code."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain import PRESENCE, InputError, Scale

# Written in decimals, so that the levels have an exact value to compare with: (lo, step) in units
# of 10^-digits, and the number of steps.
DECIMALS = st.tuples(
    st.integers(-1000, 1000), st.integers(1, 500), st.integers(1, 255), st.integers(0, 3)
)


def decimal(units: int, digits: int) -> float:
    """The float nearest to units / 10^digits, which is what a person's text is read as."""
    return float(f"{units}e-{digits}")


def scale_of(drawn: tuple[int, int, int, int]) -> tuple[Scale, list[float]]:
    lo, step, parts, digits = drawn
    levels = [decimal(lo + step * k, digits) for k in range(parts + 1)]
    return Scale(levels[0], levels[-1], decimal(step, digits)), levels


@pytest.mark.parametrize(
    ("text", "lo", "hi", "step"),
    [
        ("1..5", 1, 5, 1),
        ("0.5..5/0.5", 0.5, 5, 0.5),
        ("-10..10/continuous", -10, 10, None),
        ("0..1/0.1", 0, 1, 0.1),
        ("1e1..2e1/5", 10, 20, 5),
        (" 1 .. 5 ", 1, 5, 1),
        ("0..1", 0, 1, 1),
    ],
)
def test_parse_reads_what_the_command_line_writes(
    text: str, lo: float, hi: float, step: float | None
) -> None:
    assert Scale.parse(text) == Scale(lo, hi, step)


@pytest.mark.parametrize(
    "text", ["", "5", "1-5", "1..", "..5", "a..b", "1..5/half", "1..5/0.5/2", "1,5", "presences"]
)
def test_parse_says_how_a_scale_is_written(text: str) -> None:
    with pytest.raises(InputError) as caught:
        Scale.parse(text)
    assert str(caught.value) == (
        f"'{text}' is not a scale; write 1..5, 0.5..5/0.5, -10..10/continuous or presence"
    )


@pytest.mark.parametrize(
    ("lo", "hi"),
    [(5, 1), (3, 3), (math.nan, 5), (1, math.nan), (-math.inf, 5), (1, math.inf), (-1e308, 1e308)],
)
def test_a_scale_needs_a_finite_span(lo: float, hi: float) -> None:
    with pytest.raises(InputError) as caught:
        Scale(lo, hi)
    assert str(caught.value) == (
        f"a scale needs finite lo < hi, not {lo:g}..{hi:g}; five stars are 1..5"
    )


@pytest.mark.parametrize("step", [0, -1, math.nan, math.inf])
def test_a_step_is_positive(step: float) -> None:
    with pytest.raises(InputError) as caught:
        Scale(1, 5, step)
    assert str(caught.value) == f"a scale's step must be positive, not {step:g}"


@pytest.mark.parametrize(
    ("lo", "hi", "step"), [(1, 5, 0.3), (1, 5, 8), (0, 256, 1), (0, 1, 1e-300), (0, 1e300, 1e-300)]
)
def test_a_step_divides_the_span_into_at_most_255_parts(lo: float, hi: float, step: float) -> None:
    with pytest.raises(InputError) as caught:
        Scale(lo, hi, step)
    assert str(caught.value) == (
        f"step {step:g} does not divide {lo:g}..{hi:g} into 1 to 255 equal parts; "
        f"for a continuous scale give scale=({lo!r}, {hi!r}, None)"
    )


def test_the_largest_and_the_smallest_number_of_levels() -> None:
    most = Scale(0, 255)
    codes = most.encode(np.arange(256.0))
    assert codes.dtype == np.uint8
    assert codes.tolist() == list(range(256))
    assert Scale(0, 1).levels is not None
    assert Scale(0, 1).levels.tolist() == [0.0, 1.0]
    assert Scale(0, 1, None).levels is None


@given(DECIMALS)
def test_levels_are_the_decimals_a_person_would_write(drawn: tuple[int, int, int, int]) -> None:
    scale, levels = scale_of(drawn)
    made = scale.levels
    assert made is not None
    # Two roundings of numbers no larger than the ends: not more than a few units in the last place.
    np.testing.assert_allclose(made, levels, rtol=0, atol=4 * np.spacing(np.abs(levels).max()))
    assert made[0] == scale.lo
    assert made[-1] == scale.hi
    assert (np.diff(made) > 0).all()


def test_levels_of_usual_scales_are_exact() -> None:
    for text, expected in {
        "0.5..5/0.5": [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5],
        "0..1/0.1": [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1],
        "1..5": [1, 2, 3, 4, 5],
    }.items():
        levels = Scale.parse(text).levels
        assert levels is not None
        assert levels.tolist() == expected


@given(DECIMALS, st.data())
def test_encode_and_decode_undo_each_other(
    drawn: tuple[int, int, int, int], data: st.DataObject
) -> None:
    scale, levels = scale_of(drawn)
    codes = np.array(data.draw(st.lists(st.integers(0, len(levels) - 1))), dtype=np.uint8)
    ratings = np.array(levels)[codes]
    assert scale.contains(ratings).all()
    assert scale.encode(ratings).tolist() == codes.tolist()
    back = scale.decode(codes)
    assert scale.encode(back).tolist() == codes.tolist()
    assert ((back >= scale.lo) & (back <= scale.hi)).all()


@given(
    st.floats(-1e6, 1e6), st.floats(1e-2, 1e6), st.lists(st.floats(0, 1), min_size=1, max_size=20)
)
def test_continuous_codes_keep_float32_and_never_leave_the_scale(
    lo: float, span: float, places: list[float]
) -> None:
    scale = Scale(lo, lo + span, None)
    ratings = np.clip(lo + span * np.array(places), scale.lo, scale.hi)
    codes = scale.encode(ratings)
    assert codes.dtype == np.float32
    back = scale.decode(codes)
    assert ((back >= scale.lo) & (back <= scale.hi)).all()
    np.testing.assert_allclose(back, ratings, rtol=2**-23, atol=1e-30)


def test_a_float32_that_rounds_past_the_end_is_brought_back() -> None:
    scale = Scale(0, 0.1, None)
    assert float(np.float32(0.1)) > 0.1
    assert scale.decode(scale.encode(np.array([0.1])))[0] == 0.1


@pytest.mark.parametrize(
    ("scale", "inside", "outside"),
    [
        (Scale(1, 5), [1, 2, 5, 4.9999], [0, 6, 1.5, 0.9, 5.1, math.nan, math.inf, -math.inf]),
        (Scale(0.5, 5, 0.5), [0.5, 4.5], [0, 0.25, 0.75, 5.5, 1e308, -1e308]),
        (Scale(0, 1, 0.1), [0.1 + 0.2, 0.3, 0.7], [0.05, 0.35, 1.1]),
        (Scale(-10, 10, None), [-10, 10, 3.14159], [-10.1, 10.1, math.nan, math.inf]),
    ],
)
def test_contains(scale: Scale, inside: list[float], outside: list[float]) -> None:
    assert scale.contains(inside).all()
    assert not scale.contains(outside).any()


def test_contains_keeps_the_shape() -> None:
    assert Scale(1, 5).contains([[1, 9], [2, 3]]).tolist() == [[True, False], [True, True]]
    assert Scale(1, 5).contains([]).tolist() == []


@given(DECIMALS)
def test_a_spelling_is_read_back(drawn: tuple[int, int, int, int]) -> None:
    scale, _ = scale_of(drawn)
    for one in (scale, Scale(scale.lo, scale.hi, None)):
        assert Scale.parse(one.spelling) == one


def test_spellings_are_as_short_as_a_person_would_write_them() -> None:
    texts = ["1..5", "0.5..5/0.5", "-10..10/continuous", "1.2345678..2.2345678", "presence"]
    assert [Scale.parse(text).spelling for text in texts] == texts


def test_presence_is_a_scale_with_one_value() -> None:
    assert Scale.parse("presence") == Scale.parse(" presence ") == PRESENCE
    assert (PRESENCE.lo, PRESENCE.hi, PRESENCE.step, PRESENCE.presence) == (0, 1, 1, True)
    assert Scale(0, 1) != PRESENCE
    assert PRESENCE.contains([1, 1.0, True]).all()
    assert not PRESENCE.contains([0, 0.5, 2, -1, math.nan, math.inf]).any()
    codes = PRESENCE.encode(np.ones(3))
    assert (codes.dtype, PRESENCE.decode(codes).tolist()) == (np.uint8, [1.0, 1.0, 1.0])
    assert PRESENCE.levels is not None
    assert PRESENCE.levels[codes].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(("lo", "hi", "step"), [(1, 5, 1), (0, 1, 0.5), (0, 1, None), (0, 2, 1)])
def test_presence_has_no_other_span(lo: float, hi: float, step: float | None) -> None:
    with pytest.raises(InputError) as caught:
        Scale(lo, hi, step, presence=True)
    assert str(caught.value) == "presence needs the scale 0..1 in steps of 1"


@pytest.mark.parametrize("presence", [1, "yes", None, []])
def test_presence_is_declared_or_not(presence: Any) -> None:
    with pytest.raises(InputError) as caught:
        Scale(0, 1, 1, presence=presence)
    assert str(caught.value) == "a scale's presence is True or False"


def test_what_a_scale_says_of_itself() -> None:
    assert str(PRESENCE) == "presence only"
    assert str(Scale(0.5, 5, 0.5)) == "0.5..5 in steps of 0.5"
    assert str(Scale(-10, 10, None)) == "-10..10 continuous"
    assert (Scale(0.5, 5, 0.5).range, Scale(0.5, 5, 0.5).mid) == (4.5, 2.75)


@given(
    st.floats(-1e9, 1e9),
    st.integers(-1074, 40),
    st.integers(1, 255),
    st.booleans(),
    st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=10),
)
def test_whatever_is_brought_onto_a_scale_is_on_it(
    lo: float, exponent: int, parts: int, continuous: bool, values: list[float]
) -> None:
    """A scale that could not keep this would be refused: an objection to a rating tells of it."""
    step = 2.0**exponent
    try:
        scale = Scale(lo, lo + parts * step, None if continuous else step)
    except InputError:
        return
    near = [lo, scale.hi, scale.mid, np.nextafter(lo, scale.hi), np.nextafter(scale.hi, lo)]
    assert scale.contains(scale.nearest(np.array([*values, *near]))).all()


def test_a_scale_too_narrow_for_its_numbers_is_refused() -> None:
    ulp = float(np.spacing(4.0))
    for narrow in (
        (4 - 4 * ulp, 4 + 5 * ulp, 3 * ulp),
        (4, 4 + ulp, None),
        (1e9, 1e9 + 1e-6, None),
    ):
        with pytest.raises(InputError, match="too narrow"):
            Scale(*narrow)
