"""Sets of k: the float kernel, the exact twin, and brute force on the same bits."""

from __future__ import annotations

import itertools
from collections import Counter

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.privacy import SystemRandomness, Unit, unbooked
from discreet.privacy.mechanisms import GumbelTopK, KSubset
from discreet.privacy.mechanisms import k_subset as home
from privacy.mechanisms._selections import SelectionBattery, log_law, outcomes, sample
from privacy.mechanisms.battery import BLIND, Sample
from privacy.noise._fed import Fed
from statistical._laws import alarms, counts_fit, judge

ONES = 2**64 - 1
FAR = 2**52
RANDOM = SystemRandomness()


class TestKSubset(SelectionBattery):
    kind = KSubset
    drawn = ((3, 1.0, "one"), (3, 9.0, "all"), (1, 2.0, "all"))


def test_the_exact_choice_has_the_same_law() -> None:
    mechanism, scores = KSubset(2, 4.0, 2, "all"), np.array([3, 1, 4, 1, 5, 9])
    rows = RANDOM.words(6 * 2000).reshape(-1, 6)
    chosen = [
        home.choose_exactly(scores, row, mechanism.epsilon, mechanism.divisor, 5, 2, RANDOM)
        for row in rows
    ]
    found = sample(mechanism, scores.tolist(), np.array(chosen))
    judge(counts_fit(found.counts, found.law), "exact choices")


def test_sets_are_not_those_of_peeling() -> None:
    count, scores = 100_000, np.array([[3, 1, 4, 1, 5, 9]])
    sets, lists = KSubset(3, 4.0, 1, "all"), GumbelTopK(3, 4.0, 1, "all")
    assert sets.divisor == lists.divisor
    event = sets.event(Unit.USER, "top", count)
    chosen = sets.release(np.tile(scores, (count, 1)), event, unbooked([event]))
    peeled: Counter[tuple[int, ...]] = Counter()
    listed = outcomes(GumbelTopK, 6, 3).tolist()
    for outcome, part in zip(listed, np.exp(log_law(lists, scores)[0]), strict=True):
        peeled[tuple(sorted(outcome))] += part
    # All but the sets that either law expects too seldom for a chi-square test, in one bin.
    law = np.exp(log_law(sets, scores)[0])
    wrong = np.array([peeled[tuple(outcome)] for outcome in outcomes(KSubset, 6, 3).tolist()])
    found = Counter(map(tuple, chosen.tolist()))
    counts = np.array([found[tuple(outcome)] for outcome in outcomes(KSubset, 6, 3).tolist()])
    common = np.minimum(law, wrong) * count > 100
    bins = [np.append(x[common], x[~common].sum()) for x in (counts, law, wrong)]
    assert common.sum() > 5
    assert Sample("sets", *bins).blindness < BLIND
    assert alarms(counts_fit(bins[0], bins[2]))


def _share(scores: list[int], rate: mpmath.mpf, item: int, wanted: int) -> mpmath.mpf:
    """P(item is in) among the sets of `wanted` of the items 0..item, by listing them."""
    best = max(scores[: item + 1])
    with_item, total = mpmath.mpf(0), mpmath.mpf(0)
    for chosen in itertools.combinations(range(item + 1), wanted):
        weight = mpmath.exp(rate * sum(scores[i] - best for i in chosen))
        total += weight
        with_item += weight if item in chosen else 0
    return with_item / total


def _brute(scores: list[int], words: list[int], rate: mpmath.mpf, k: int) -> list[int] | None:
    """Decide from the last item down, each by its own word; None if 64 bits do not decide."""
    chosen: list[int] = []
    for item in reversed(range(len(scores))):
        wanted = k - len(chosen)
        if wanted == 0:
            break
        with mpmath.workprec(600):
            share = mpmath.mpf(1) if wanted == item + 1 else _share(scores, rate, item, wanted)
            low, high = mpmath.ldexp(words[item], -64), mpmath.ldexp(words[item] + 1, -64)
        if low < share < high:
            return None
        if low < share:
            chosen.append(item)
    return chosen[::-1]


def _kernel(
    scores: npt.NDArray[np.int64], words: npt.NDArray[np.uint64], rate: float, k: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    chosen = np.full((len(scores), k), -1, np.int64)
    return chosen, home.choose_rows(scores, words, rate, chosen)


ROWS = st.integers(1, 6).flatmap(
    lambda items: st.tuples(
        st.lists(
            st.one_of(st.integers(-5, 5), st.sampled_from([-FAR, 0, FAR])),
            min_size=items,
            max_size=items,
        ),
        st.lists(st.integers(0, ONES), min_size=items, max_size=items),
        st.integers(1, items),
    )
)


@settings(max_examples=150, deadline=None)
@given(row=ROWS, epsilon=st.sampled_from([1e-300, 1e-12, 0.1, 1.0, 30.0, 1e9]))
def test_kernel_and_exact_are_what_brute_force_says(
    row: tuple[list[int], list[int], int], epsilon: float
) -> None:
    scores, words, k = row
    truth = _brute(scores, words, mpmath.mpf(epsilon) / 3, k)
    rows = np.array([scores], np.int64), np.array([words], np.uint64)
    chosen, stuck = _kernel(*rows, epsilon / 3, k)
    if stuck[0, 0] < 0:
        assert chosen[0].tolist() == truth
    case = rows[0][0], rows[1][0], epsilon, 3, len(scores) - 1, k
    if truth is not None:
        assert home.choose_exactly(*case, SystemRandomness()) == truth
    else:
        with pytest.raises(AssertionError, match="more random bits"):
            home.choose_exactly(*case, Fed())


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("k", [1, 5, 39, 40])
def test_kernel_and_exact_agree_on_many_random_rows(k: int, epsilon: float) -> None:
    scores = (RANDOM.words(40 * 40) % np.uint64(1000)).astype(np.int64).reshape(40, 40)
    words = RANDOM.words(40 * 40).reshape(40, 40)
    chosen, stuck = _kernel(scores, words, epsilon / 6, k)
    settled = np.flatnonzero(stuck[:, 0] < 0)
    assert len(settled) > 35  # a row is in doubt with probability 1e-6
    for row in settled[::4]:
        exact = home.choose_exactly(scores[row], words[row], epsilon, 6, 39, k, Fed())
        assert chosen[row].tolist() == exact


@pytest.mark.parametrize(
    ("items", "k", "spread", "epsilon"),
    [(3000, 50, 1000, 60.0), (3000, 50, 1, 1.0), (600, 50, 10**6, 5.0), (60, 50, 40, 9.0)],
)
def test_head_counts_are_far_better_than_the_doubt_they_are_given(
    items: int, k: int, spread: int, epsilon: float
) -> None:
    scores = (RANDOM.words(items) % np.uint64(spread)).astype(np.int64)
    exponents = (scores - np.sort(scores)[-k]) * (epsilon / 7)
    heads, chance = home.head_counts(exponents, k)
    centre = mpmath.mpf(float(home.tilt(exponents, k)))
    rate, base = mpmath.mpf(epsilon) / 7, int(np.sort(scores)[-k])
    assert heads[items, k] > 1e-3  # the tilt makes k heads likely
    worst = mpmath.mpf(0)
    with mpmath.workprec(90):
        row = [mpmath.mpf(1)] + [mpmath.mpf(0)] * k
        for j in range(items):
            p = 1 / (1 + mpmath.exp(centre - (int(scores[j]) - base) * rate))
            q = 1 / (1 + mpmath.exp((int(scores[j]) - base) * rate - centre))
            row = [row[0] * q, *(row[t] * q + row[t - 1] * p for t in range(1, k + 1))]
            if j % 50 and j < items - 1:
                continue
            worst = max(worst, _relative(heads[j + 1], row), _relative(chance[j : j + 1], [p]))
    assert worst < mpmath.ldexp(1, -32)


def _relative(floats: npt.NDArray[np.float64], exact: list[mpmath.mpf]) -> mpmath.mpf:
    trusted = [t for t in range(len(exact)) if floats[t] > home.TRUSTED]
    errors = (abs(mpmath.mpf(float(floats[t])) / exact[t] - 1) for t in trusted)
    return max(errors, default=mpmath.mpf(0))


def _release(
    scores: list[int], k: int, words: list[int], bits: list[int], epsilon: float = 1.0
) -> tuple[list[int], Fed]:
    mechanism = KSubset(k, epsilon, 1, "one")
    event = mechanism.event(Unit.USER, "top")
    fed = Fed(words, bits=bits)
    return mechanism.release(np.array(scores), event, unbooked([event], fed)).tolist(), fed


@pytest.mark.parametrize("stuck_at", [3, 2])
@pytest.mark.parametrize("levels", [1, 3])
@pytest.mark.parametrize("side", [-1, 1])
def test_words_that_follow_a_share_and_leave_it_late(stuck_at: int, levels: int, side: int) -> None:
    # At item 3 nothing is decided yet, at item 2 item 3 is in already: one wanted of three.
    scores = [2, -1, 0, 1]
    wanted = 2 if stuck_at == 3 else 1
    with mpmath.workprec(600):
        share = _share(scores, mpmath.mpf(1), stuck_at, wanted)
        numerator = int(mpmath.floor(mpmath.ldexp(share, 64 + 64 * levels))) + side
    first, *more = [(numerator >> 64 * (levels - i)) & ONES for i in range(levels + 1)]
    # Item 1's word takes it whenever asked, item 3's too; item 2's leaves it unless it is the case.
    words = [ONES, 0, ONES - 1, 0]
    words[stuck_at] = first
    chosen, fed = _release(scores, 2, words, more)
    taken = side < 0
    expected = ([1, 3] if taken else [0, 1]) if stuck_at == 3 else ([2, 3] if taken else [1, 3])
    assert chosen == expected
    assert fed.used_up


def test_one_item_all_items_and_ties() -> None:
    assert _release([5], 1, [ONES], [])[0] == [0]
    assert _release([5, -FAR, 9], 3, [ONES] * 3, [])[0] == [0, 1, 2]
    # Equal scores: item 3 is in with probability 2/4, then item 2 with 1/3 or 2/3.
    third, half = ONES // 3, ONES // 2
    assert _release([7] * 4, 2, [0, 0, third - 2**40, half - 2**40], [])[0] == [2, 3]
    assert _release([7] * 4, 2, [0, 0, third + 2**40, half - 2**40], [])[0] == [1, 3]
    assert _release([7] * 4, 2, [0, 0, 2 * third - 2**40, half + 2**40], [])[0] == [1, 2]
    assert _release([7] * 4, 2, [0, 0, 2 * third + 2**40, half + 2**40], [])[0] == [0, 1]


@pytest.mark.parametrize("epsilon", [1e9, 1e100, 1e300])
def test_a_huge_epsilon_takes_the_largest(epsilon: float) -> None:
    scores, words = [4, -FAR, 7, 7 - FAR, 5], RANDOM.words(5).tolist()
    assert _release(scores, 3, words, [0] * 50, epsilon)[0] == [0, 2, 4]


@pytest.mark.parametrize("spread", [0.0, 1.0, 300.0, 1e6])
@pytest.mark.parametrize("k", [1, 2, 250, 499, 500])
def test_the_tilt_centres_the_number_of_heads(k: int, spread: float) -> None:
    values = np.linspace(-spread, spread, 500)
    values -= values[-k]  # the k-th largest is 0
    centre = home.tilt(values, k)
    heads = 1 / (1 + np.exp(np.clip(centre - values, -700, 700)))
    assert abs(heads.sum() - k) < 0.26
