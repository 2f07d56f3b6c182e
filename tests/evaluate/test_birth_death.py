"""The paper's chain: its sets, its true limit, its step bound, and why it is not private."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest

from discreet.domain import InputError
from discreet.evaluate._birth_death import (
    BirthDeathChain,
    Exponent,
    divergence,
    generated_share,
    paper_divergence,
    proposed_step,
    set_logs,
    window_swaps,
)

RANKED = np.array([4.9, 4.8, 4.6, 4.5, 4.1, 4.0, 3.7, 3.1, 2.2, 1.4])
K, LARGEST = 4, 5.0


def sets(scores: npt.NDArray[np.float64], k: int) -> list[frozenset[int]]:
    """The generated sets as items, by the ranking of these scores."""
    order = np.argsort(-scores, kind="stable")
    dropped, taken = window_swaps(len(scores), k)
    best = set(order[:k].tolist())
    swapped = [(best - {order[d]}) | {order[t]} for d, t in zip(dropped, taken, strict=True)]
    return [frozenset(best), *(frozenset(int(i) for i in chosen) for chosen in swapped)]


def matrix(chain: BirthDeathChain) -> npt.NDArray[np.float64]:
    up, down = chain.jumps
    return np.diag(1 - up - down) + np.diag(up[:-1], 1) + np.diag(down[1:], -1)


def test_windows_give_up_the_last_places_and_take_in_block_by_block() -> None:
    dropped, taken = window_swaps(11, 4, 2, 3)
    assert (dropped + 1).tolist() == [4, 4, 4, 3, 3, 3] * 2  # places from 1, as the paper counts
    assert (taken + 1).tolist() == [5, 6, 7, 5, 6, 7, 8, 9, 10, 8, 9, 10]
    made = sets(np.arange(11.0), 4)
    assert len(set(made)) == len(made) == 13
    assert all(len(chosen & made[0]) == 3 for chosen in made[1:])


def test_windows_as_printed_repeat_sets_and_leave_the_window() -> None:
    left, right = 2, 3
    j = np.arange(1, 25)
    turn = (j - 1) // right + 1
    printed_1 = turn - turn // left
    printed_2 = (j - 1) // (left * right) * right + (j - j // right)
    pairs = list(zip(printed_1.tolist(), printed_2.tolist(), strict=True))
    assert len(set(pairs)) < len(pairs)
    assert printed_1.max() > left
    dropped, taken = window_swaps(100, 4, left, right)
    assert len(set(zip(dropped.tolist(), taken.tolist(), strict=True))) == len(dropped)
    assert (4 - dropped).max() == left


def test_log_phi_is_the_sum_of_scores_over_the_largest_rating() -> None:
    logs = set_logs(RANKED, K, LARGEST)
    sums = np.array([sum(RANKED[i] for i in chosen) for chosen in sets(RANKED, K)])
    assert np.allclose(logs, (sums - sums[0]) / LARGEST)
    both = set_logs(np.stack([RANKED, RANKED / 2]), K, LARGEST)
    assert np.allclose(both, np.stack([logs, logs / 2]))


@pytest.mark.parametrize("exponent", Exponent)
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_the_limit_is_the_chains_own(epsilon: float, exponent: Exponent) -> None:
    logs = set_logs(RANKED, K, LARGEST)
    chain = BirthDeathChain(logs, epsilon, exponent=exponent)
    moves = matrix(chain)
    assert np.all(moves >= 0)
    assert np.allclose(moves.sum(axis=1), 1)
    assert np.allclose(chain.limit() @ moves, chain.limit(), atol=1e-15)
    others = [e for e in Exponent if e is not exponent]
    for other in others:
        wrong = BirthDeathChain(logs, epsilon, exponent=other).limit()
        assert np.abs(wrong @ moves - wrong).max() > 1e-6


def test_rates_as_printed_go_to_epsilon_and_not_to_half_of_it() -> None:
    logs, epsilon = set_logs(RANKED, K, LARGEST), 8.0
    chain = BirthDeathChain(logs, epsilon)
    up, down = chain.rates
    assert np.allclose(up[:-1], np.exp(epsilon / 2 * np.diff(logs)))  # (31)
    assert np.allclose(down[1:], 1 / up[:-1])
    after = chain.law_after(20_000)
    whole, half = np.exp(epsilon * logs), np.exp(epsilon / 2 * logs)
    assert divergence(after, whole / whole.sum()) < 1e-9
    assert divergence(after, half / half.sum()) > 0.05


def test_the_law_after_some_iterations_is_the_matrixs_power() -> None:
    chain = BirthDeathChain(set_logs(RANKED, K, LARGEST), 2.0)
    for iterations in (0, 1, 2, 7, 300):
        expected = np.linalg.matrix_power(matrix(chain), iterations)[0]
        assert np.allclose(chain.law_after(iterations), expected, atol=1e-12)


def test_walks_follow_the_law() -> None:
    chain = BirthDeathChain(set_logs(RANKED, K, LARGEST), 4.0)
    rng = np.random.default_rng(5)
    ends = np.bincount([chain.end(60, rng) for _ in range(20_000)], minlength=len(chain.logs))
    assert np.abs(ends / ends.sum() - chain.law_after(60)).max() < 0.015
    visits = chain.visits([0, 10, 2_000_000], rng)
    assert visits.sum(axis=1).tolist() == [1, 11, 2_000_001]
    assert visits[0, 0] == 1
    assert np.abs(visits[2] / visits[2].sum() - chain.limit()).max() < 0.01


@pytest.mark.parametrize(
    ("exponent", "fine", "broken"),
    [(Exponent.PROPOSITION_4_1, 1.0, 1.5), (Exponent.EQUATION_32, 2.0, 3.0)],
)
def test_the_step_bound_fails_once_the_power_passes_one(
    exponent: Exponent, fine: float, broken: float
) -> None:
    # Falling phi, as Proposition 4.1 asks, by a factor 10 where it falls most: U_s = 20.
    logs = -np.log(np.array([1.0, 1.0, 10.0, 10.0, 20.0]))
    step = proposed_step(logs)
    assert step == pytest.approx(1 / 20)
    BirthDeathChain(logs, fine, step, exponent)
    with pytest.raises(InputError, match="negative probability to stay; at most"):
        BirthDeathChain(logs, broken, step, exponent)
    assert BirthDeathChain(logs, broken, None, exponent).step < step  # type: ignore[operator]


def test_divergence_falls_with_iterations_towards_the_generated_sets_only() -> None:
    epsilon, rate = 5.0, 5.0 / LARGEST
    chain = BirthDeathChain(set_logs(RANKED, K, LARGEST), epsilon)
    # The exponential mechanism over all sets, by listing them.
    every = list(itertools.combinations(range(10), K))
    weights = np.exp(rate * np.array([RANKED[list(chosen)].sum() for chosen in every]))
    exact = dict(zip(map(frozenset, every), weights / weights.sum(), strict=True))
    generated = np.array([exact[chosen] for chosen in sets(RANKED, K)])
    assert np.allclose(generated / generated.sum(), chain.limit())
    share = generated_share(RANKED, K, rate)
    assert share == pytest.approx(math.log(generated.sum()))
    near, far = [], []
    for iterations in (0, 10, 100, 1_000, 10_000):
        law = chain.law_after(iterations)
        near.append(divergence(law, chain.limit()))
        known = law > 0
        far.append(float(np.sum(law[known] * np.log(law[known] / generated[known]))))
        assert far[-1] == pytest.approx(near[-1] - share)
    assert near == sorted(near, reverse=True)
    assert near[-1] < 1e-9
    assert far[-1] > 1.0  # most of the mechanism's mass is on sets that the chain never reaches
    rng = np.random.default_rng(7)
    visits = chain.visits([100, 1_000, 1_000_000], rng)
    sampled = [divergence(row, chain.limit()) for row in visits]
    assert sampled[0] > sampled[2]
    assert sampled[2] < 1e-3


def test_the_papers_divergence_is_zero_for_a_chain_that_never_moved() -> None:
    chain = BirthDeathChain(set_logs(RANKED, K, LARGEST), 10.0, step=1e-8)
    visits = chain.visits([1_000], np.random.default_rng(8))[0]
    assert np.count_nonzero(visits) == 1
    assert paper_divergence(visits, chain.limit()) == 0.0
    assert divergence(visits, chain.limit()) > 0.5
    moved = BirthDeathChain(set_logs(RANKED, K, LARGEST), 10.0)
    row = moved.visits([10**6], np.random.default_rng(9))[0]
    assert 0 < paper_divergence(row, moved.limit()) < 1e-3


def test_two_neighbours_have_different_supports() -> None:
    scores = np.array([5.0, 4.0, 3.0, 2.9, 2.0, 1.9, 1.8, 1.7])
    moved = scores.copy()
    moved[7] = 4.5  # one entry of the completed matrix
    own, other = set(sets(scores, 3)), set(sets(moved, 3))
    assert own - other
    assert other - own
    # Each outcome in the difference has a positive probability for one and none for the other.
    outcome = frozenset([0, 2, 3])
    assert outcome in own - other
    place = sets(scores, 3).index(outcome)
    chain = BirthDeathChain(set_logs(np.sort(scores)[::-1], 3, LARGEST), 0.01)
    assert chain.limit()[place] > 0.05


@pytest.mark.parametrize(
    ("items", "k", "left", "right"), [(5, 3, 4, 1), (5, 3, 1, 3), (5, 3, 0, 1), (5, 3, 1, 0)]
)
def test_windows_that_do_not_fit_are_refused(items: int, k: int, left: int, right: int) -> None:
    with pytest.raises(InputError, match="do not fit around place 3 of 5 items"):
        window_swaps(items, k, left, right)


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(InputError, match="ranked, the highest first"):
        set_logs([1.0, 2.0, 3.0, 4.0], 1, 5.0)
    logs = set_logs(RANKED, K, LARGEST)
    for epsilon in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="epsilon must be a positive number"):
            BirthDeathChain(logs, epsilon)
    with pytest.raises(InputError, match="pass every float"):
        BirthDeathChain(logs, 1e6)
