"""Gumbel top-k: the float kernel, the exact twin, and brute force on the same bits."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.privacy import SystemRandomness, Unit, unbooked
from discreet.privacy.mechanisms import GumbelTopK
from discreet.privacy.mechanisms import gumbel_top_k as home
from privacy.mechanisms._selections import SelectionBattery, sample
from privacy.noise._fed import Fed
from statistical._laws import counts_fit, judge

ONES = 2**64 - 1
FAR = 2**52
RANDOM = SystemRandomness()


class TestGumbelTopK(SelectionBattery):
    kind = GumbelTopK
    drawn = ((3, 3.0, "one"), (2, 9.0, "all"), (6, 12.0, "one"))


def test_the_exact_choice_has_the_same_law() -> None:
    mechanism, scores = GumbelTopK(2, 4.0, 2, "all"), np.array([3, 1, 4, 1, 5, 9])
    rows = RANDOM.words(6 * 2000).reshape(-1, 6)
    chosen = [
        home.top_k_exactly(scores, row, mechanism.epsilon, mechanism.divisor, 2, RANDOM)
        for row in rows
    ]
    found = sample(mechanism, scores.tolist(), np.array(chosen))
    judge(counts_fit(found.counts, found.law), "exact choices")


def _gumbel(numerator: int, bits: int = 64) -> mpmath.mpf:
    """-log(-log(1 - u)), which falls from +inf at 0 to -inf at 1."""
    if numerator in (0, 1 << bits):
        return mpmath.inf if numerator == 0 else -mpmath.inf
    return -mpmath.log(-mpmath.log(1 - mpmath.ldexp(numerator, -bits)))


def _top(scores: list[int], words: list[int], rate: mpmath.mpf, k: int) -> list[int] | None:
    """Brute force with intervals of 400 bits; None if 64 bits of each do not decide."""
    best = max(scores)
    with mpmath.workprec(400):
        shifts = [(score - best) * rate for score in scores]
        ends = [
            (shift + _gumbel(word + 1), shift + _gumbel(word))
            for shift, word in zip(shifts, words, strict=True)
        ]
    order = sorted(range(len(ends)), key=lambda item: ends[item], reverse=True)
    for place, item in enumerate(order[:k]):
        if any(ends[item][0] <= ends[other][1] for other in order[place + 1 :]):
            return None
    return order[:k]


def _words() -> npt.NDArray[np.uint64]:
    """Random ones, both ends, the switch between two formulas at 1/2, and where t is about 1."""
    ends = [*range(300), *(ONES - i for i in range(300))]
    half = [2**63 + i for i in range(-20, 20)]
    one = int(2**64 * (1 - 1 / np.e))
    scattered = [int(word) >> shift for shift in range(0, 64, 4) for word in RANDOM.words(50)]
    mirrored = [ONES - word for word in scattered if word < ONES]
    around = [one + 1000 * i for i in range(-20, 20)]
    return np.array([*ends, *half, *around, *scattered, *mirrored], dtype=np.uint64)


def test_the_gumbel_number_s_error_bound_holds() -> None:
    with mpmath.workprec(200):
        for word in _words():
            value, error = home._gumbel(word)
            low, high = _gumbel(int(word) + 1), _gumbel(int(word))
            assert value - error <= low
            assert high <= value + error


def test_the_error_bound_is_not_wasteful() -> None:
    # A bound of 1 everywhere would pass the test above and send every row to slow arithmetic.
    errors = [home._gumbel(word)[1] for word in RANDOM.words(1000)]
    assert np.median(errors) < 2.0**-46
    # Above 2^-24 only for u within 2^-38 of an end: with probability below 1e-8 in all.
    assert max(errors) < 2.0**-24


ROWS = st.integers(1, 7).flatmap(
    lambda items: st.tuples(
        st.lists(
            st.one_of(st.integers(-5, 5), st.sampled_from([-FAR, 0, FAR])),
            min_size=items,
            max_size=items,
        ),
        st.lists(
            st.one_of(st.integers(0, ONES), st.sampled_from([0, 1, 2**63, ONES])),
            min_size=items,
            max_size=items,
        ),
        st.integers(1, items),
    )
)


@settings(max_examples=150, deadline=None)
@given(row=ROWS, epsilon=st.sampled_from([1e-300, 1e-12, 0.1, 1.0, 30.0, 1e9, 1e200]))
def test_sure_rows_are_what_brute_force_says(
    row: tuple[list[int], list[int], int], epsilon: float
) -> None:
    scores, words, k = row
    chosen = np.empty((1, k), np.int64)
    sure = home.top_k_rows(
        np.array([scores], np.int64), np.array([words], np.uint64), epsilon / k, chosen
    )[0]
    truth = _top(scores, words, mpmath.mpf(epsilon) / k, k)
    if sure:
        assert chosen[0].tolist() == truth
    arrays = np.array(scores), np.array(words, np.uint64)
    if truth is not None:
        assert home.top_k_exactly(*arrays, epsilon, k, k, SystemRandomness()) == truth
    else:
        with pytest.raises(AssertionError, match="more random bits"):
            home.top_k_exactly(*arrays, epsilon, k, k, Fed())


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("k", [1, 4, 40])
def test_kernel_and_exact_agree_on_many_random_rows(k: int, epsilon: float) -> None:
    scores = (RANDOM.words(60 * 40) % np.uint64(1000)).astype(np.int64).reshape(60, 40)
    words = RANDOM.words(60 * 40).reshape(60, 40)
    chosen = np.empty((60, k), np.int64)
    sure = home.top_k_rows(scores, words, epsilon / (2 * k), chosen)
    assert sure.all()  # doubt has probability 1e-9 or so
    for row in range(0, 60, 4):
        exact = home.top_k_exactly(scores[row], words[row], epsilon, 2 * k, k, Fed())
        assert chosen[row].tolist() == exact


def _release(
    scores: list[int], k: int, epsilon: float, words: list[int], bits: list[int]
) -> tuple[list[int], Fed]:
    mechanism = GumbelTopK(k, epsilon, 1, "one")
    event = mechanism.event(Unit.USER, "top")
    fed = Fed(words, bits=bits)
    return mechanism.release(np.array(scores), event, unbooked([event], fed)).tolist(), fed


def test_equal_words_are_told_apart_by_more_bits() -> None:
    # Equal scores and equal first bits: the smaller number gives the larger Gumbel number.
    chosen, fed = _release([3, 3, 3], 2, 1.0, [5 << 40] * 3, [90, 70, 80])
    assert chosen == [1, 2]
    assert fed.used_up
    chosen, fed = _release([3, 3, 3], 3, 1.0, [5 << 40] * 3, [70, 70, 90, 20, 10, 0])
    assert chosen == [1, 0, 2]
    assert fed.used_up


def test_a_slightly_better_score_has_not_won_yet() -> None:
    # Both numbers lie between 2^-64 and 2^-63: whose is smaller counts for more than 1e-9 of score.
    assert _release([0, 1], 1, 1e-9, [1, 1], [0, 1 << 63])[0] == [0]
    assert _release([0, 1], 1, 1e-9, [1, 1], [1 << 63, 0])[0] == [1]


def test_zero_bits_have_no_largest_gumbel_number() -> None:
    # 64 zeros could still beat any score: more bits say that the first item's number is 2^-65, a
    # Gumbel number of 45, and the second one's 2^-130, worth 90 and 44 less for its score.
    chosen, fed = _release([0, -44], 1, 1.0, [0, 0], [1 << 63, 0, 5, 1 << 62])
    assert fed.used_up
    assert chosen == [1]


def test_one_item_and_all_items() -> None:
    assert _release([-FAR], 1, 1.0, [17], [])[0] == [0]
    words = [10, 1 << 40, 1 << 60]
    assert _release([0, 0, 0], 3, 1.0, words, [])[0] == [0, 1, 2]
    for order in itertools.permutations(range(3)):
        mixed = [words[place] for place in order]
        assert _release([0, 0, 0], 3, 1.0, mixed, [])[0] == np.argsort(mixed).tolist()


def test_a_huge_epsilon_is_plain_sorting() -> None:
    scores = [4, -FAR, 7, 7 - FAR, 5]
    words = RANDOM.words(5).tolist()
    assert _release(scores, 5, 1e300, words, [0] * 50)[0] == [2, 4, 0, 3, 1]


def test_an_overflowing_shift_is_never_taken_for_certain() -> None:
    scores = np.array([[2**52, 0, 0]])
    words = np.array([[4, 0, 0]], dtype=np.uint64)
    assert not home.top_k_rows(scores, words, 1e300, np.empty((1, 1), np.int64))[0]
