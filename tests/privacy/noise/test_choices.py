"""Exact coins and integers, bit by bit."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.privacy import SystemRandomness
from discreet.privacy.noise import below_exactly, draw_below, flip_coins
from privacy.noise._fed import Fed

ONES = 2**64 - 1


@given(leading=st.integers(0, 2**64 - 1), threshold=st.fractions(0, 1))
def test_a_decision_is_right_whatever_bits_follow(leading: int, threshold: Fraction) -> None:
    def exact() -> mpmath.mpf:
        return mpmath.mpf(threshold.numerator) / threshold.denominator

    low, high = Fraction(leading, 2**64), Fraction(leading + 1, 2**64)
    slack = Fraction(1, 2**100)
    if high <= threshold - slack:
        assert below_exactly(leading, 64, exact, Fed())
    elif low >= threshold + slack:
        assert not below_exactly(leading, 64, exact, Fed())
    else:
        with pytest.raises(AssertionError, match="more random bits"):
            below_exactly(leading, 64, exact, Fed())


@pytest.mark.parametrize("levels", [1, 2, 5])
@pytest.mark.parametrize("side", [-1, 1])
def test_bits_that_follow_a_probability_and_leave_it_late(levels: int, side: int) -> None:
    def exact() -> mpmath.mpf:
        return 1 / (1 + mpmath.exp(-mpmath.mpf(0.7)))

    with mpmath.workprec(700):
        numerator = int(mpmath.floor(mpmath.ldexp(exact(), 64 + 64 * levels))) + side
    words = [(numerator >> 64 * (levels - i)) & ONES for i in range(levels + 1)]
    fed = Fed([words[0]], bits=words[1:])
    assert flip_coins(exact, 1, fed).tolist() == [side < 0]
    assert fed.used_up


def test_certain_coins() -> None:
    assert flip_coins(lambda: mpmath.mpf(1), 2, Fed([0, ONES - 1])).all()
    assert not flip_coins(lambda: mpmath.ldexp(1, -200), 1, Fed([0], bits=[5])).any()
    # 2^-200 is hit by 200 zeros and a little more.
    assert flip_coins(lambda: mpmath.ldexp(1, -200), 1, Fed([0], bits=[0, 0, 0])).all()


@pytest.mark.parametrize("epsilon", [1e-9, 1.0, 700.0])
def test_a_float_s_worth_of_doubt_never_decides(epsilon: float) -> None:
    def exact() -> mpmath.mpf:
        return 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))

    words = SystemRandomness().words(200)
    near = flip_coins(exact, 200, Fed(words.tolist(), bits=[7] * 400), margin=1.0)
    assert np.array_equal(near, flip_coins(exact, 200, Fed(words.tolist())))


@given(bound=st.integers(1, 2**63))
def test_words_that_would_favour_small_remainders_are_drawn_again(bound: int) -> None:
    fair = 2**64 - 2**64 % bound  # words below it hold every remainder equally often
    assert fair % bound == 0
    assert draw_below(bound, 1, Fed([fair - 1])).tolist() == [bound - 1]
    if fair < 2**64:
        fed = Fed([fair, 0, ONES, fair, bound // 2])
        assert draw_below(bound, 2, fed).tolist() == [bound // 2, 0]
        assert fed.used_up
