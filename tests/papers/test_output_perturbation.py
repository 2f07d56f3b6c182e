"""Park and Acharya: the linear ideal adversary, the birth-death chain, figures and errata."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binomtest

from discreet.audit.attacks import most_with_prior
from discreet.audit.counterexamples import theorem_3_2
from discreet.domain import Catalog, InputError, Scale
from discreet.measure.outputs import OutputFunction, OutputMethod, Sensitivity, ShownTo
from discreet.privacy import SeededRandomness
from discreet.ratings import Ratings, find_shape, make_ratings
from papers.erratum import Erratum
from papers.output_perturbation.answers import _epsilon_said
from papers.output_perturbation.birth_death import (
    BirthDeathChain,
    Exponent,
    divergence,
    generated_share,
    paper_divergence,
    proposed_step,
    set_logs,
    window_swaps,
)
from papers.output_perturbation.linear_ideal import (
    Over,
    RiskUtility,
    cosine_scenes,
    risk_utility,
    slope_one_scenes,
)

FIGURES = {
    "park-fig1a": ({"sensitivity", "over", "epsilon", "difference"}, ("goes to 0", "0.5 (T = 20")),
    "park-fig1b": (
        {"sensitivity", "over", "epsilon", "risk_rounded", "risk_clipped"},
        ("goes to 1",),
    ),
    "park-fig2": ({"sensitivity", "over", "utility", "risk_rounded"}, ("| 4% |",)),
    "park-fig4a": ({"method", "epsilon", "overlap"}, ("90 %", "100 %")),
    "park-fig4b": (
        {"epsilon", "iterations", "paper_kl_top_10", "kl_of_visits"},
        ("0 since the beginning",),
    ),
}

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


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_a_picture_a_table_and_a_text(
    check_figure: Callable[..., None], name: str
) -> None:
    check_figure(name, *FIGURES[name])


@pytest.mark.parametrize(
    ("utilities", "said"),
    [
        ((0.2, 0.6, 0.8), "3e+03"),
        ((0.2, 0.1, 0.5), "more differ up to 5,000"),
        ((0.9, 0.95, 1.0), "fewer differ already at 0.1"),
        ((0.6, 0.5, 0.8), "3e+03"),  # by chance it fell
    ],
)
def test_an_epsilon_that_was_not_reached_is_not_said(
    utilities: tuple[float, ...], said: str
) -> None:
    curve = [SimpleNamespace(utility=utility) for utility in utilities]
    assert _epsilon_said(curve, (0.1, 1_000.0, 5_000.0)) == said  # type: ignore[arg-type]


# The linear ideal adversary.

ATTACKS = 1500
EPSILONS = (1e-4, 1.0, 30.0, 300.0, 1e7, math.inf)


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return make_ratings(find_shape("ml-100k").scaled(ratings=20_000), seed=3)


@pytest.fixture(scope="module", params=list(OutputMethod))
def method(request: pytest.FixtureRequest) -> OutputMethod:
    return OutputMethod(request.param)


@pytest.fixture(scope="module", params=list(Sensitivity))
def curve(
    request: pytest.FixtureRequest, ratings: Ratings, method: OutputMethod
) -> list[RiskUtility]:
    return risk_utility(
        ratings, method, EPSILONS, attacks=ATTACKS, sensitivity=request.param,
        randomness=SeededRandomness(4),
    )  # fmt: skip


def test_without_noise_every_attack_succeeds(curve: list[RiskUtility]) -> None:
    for point in curve[-2:]:
        assert point.risk_rounded >= 0.995
        assert point.risk_clipped >= 0.995
        assert point.utility > 0.999
    assert curve[-1].utility == 1.0
    assert curve[-1].spread == 0.0


def test_in_noise_the_rounded_adversary_falls_to_nothing(curve: list[RiskUtility]) -> None:
    assert curve[0].risk_rounded == 0.0
    assert curve[0].risk_rounded_band[1] < 0.01
    assert curve[0].utility < 0.15


def test_in_noise_the_clipped_adversary_guesses_an_end_of_the_scale(
    curve: list[RiskUtility], ratings: Ratings, method: OutputMethod
) -> None:
    if method is OutputMethod.COSINE:
        guessing = 0.5
    else:
        counts = np.diff(ratings.starts)
        weights = (1 / counts / len(counts))[ratings.user_of_rating()]
        ends = np.isin(ratings.codes, (0, 4))
        guessing = float(weights[ends].sum()) / 2
    assert curve[0].risk_clipped == pytest.approx(guessing, abs=0.05)
    assert curve[0].risk_clipped <= curve[0].majority + 0.05


def test_more_epsilon_means_more_of_both(curve: list[RiskUtility]) -> None:
    risks = [point.risk_rounded for point in curve]
    utilities = [point.utility for point in curve]
    assert risks == sorted(risks)
    assert utilities == sorted(utilities)
    for point in curve:
        assert point.risk_rounded <= point.risk_clipped
        assert point.risk_rounded_band[0] <= point.risk_rounded <= point.risk_rounded_band[1]
        assert point.utility_band[0] <= point.utility <= point.utility_band[1]


def test_slope_one_attacks_succeed_as_often_as_the_noise_lets_them(ratings: Ratings) -> None:
    """|r_i| times the noise is below half a step with chance 1 - exp(-1/(2 |r_i| scale))."""
    function = OutputFunction("slope-one", ratings.scale)
    counts = np.diff(ratings.starts)
    fit = counts[(counts >= 20) & (counts <= len(ratings.catalog) - 2)]
    for point in risk_utility(ratings, "slope-one", (5.0, 50.0), randomness=SeededRandomness(8)):
        scale = function.one_answer(ShownTo.ANYBODY) / point.epsilon / function.grid
        expected = float(np.mean(1 - np.exp(-0.5 / (fit * scale))))
        assert point.spread == pytest.approx(math.sqrt(2) * scale, rel=1e-6)
        won = round(point.risk_rounded * 2000)
        assert binomtest(won, 2000, expected).pvalue > 1e-6


def test_what_the_adversary_knows_about_a_rating_does_not_contain_it(ratings: Ratings) -> None:
    function = OutputFunction("slope-one", ratings.scale)
    first = slope_one_scenes(ratings, function, 1, np.random.default_rng(2))
    person = int(first.people[0])
    hits = 0
    for place in range(int(ratings.starts[person]), int(ratings.starts[person + 1])):
        codes = ratings.codes.copy()
        codes[place] = (codes[place] + 1) % 5
        other = dataclasses.replace(ratings, codes=codes)
        second = slope_one_scenes(other, function, 1, np.random.default_rng(2))
        if second.secrets[0] != first.secrets[0]:  # the attacked record: known is all but that
            hits += 1
            assert second.shift == pytest.approx(first.shift, abs=1e-9)
            assert second.slope == first.slope
    assert hits == 1


def test_the_cosine_adversary_knows_both_answers(ratings: Ratings) -> None:
    """0 and 1 are the answers without and with the purchase, measured on data that differ in it."""
    function = OutputFunction("cosine", ratings.scale)
    scenes = cosine_scenes(ratings, function, 12, np.random.default_rng(5))
    bought = np.flatnonzero(scenes.secrets == 1)
    assert len(bought) > 2
    for a in bought[:4]:
        person, asked = scenes.people[a : a + 1], scenes.asked[a : a + 1]
        found = []
        for gone in range(int(ratings.starts[person[0]]), int(ratings.starts[person[0] + 1])):
            keep = np.ones(len(ratings), dtype=bool)
            keep[gone] = False
            answer = function.to_answers(function.measure(ratings.where(keep), person, asked))[0]
            found.append(abs(float(scenes.slope[a] * answer[0] + scenes.shift[a])))
        with_it = function.to_answers(function.measure(ratings, person, asked))[0, 0]
        assert scenes.slope[a] * with_it + scenes.shift[a] == pytest.approx(1, abs=1e-3)
        assert min(found) < 1e-3


def test_attacks_look_at_unrated_items_of_people_with_enough_ratings(
    ratings: Ratings, method: OutputMethod
) -> None:
    function = OutputFunction(method, ratings.scale, 10, 40)
    make = slope_one_scenes if method is OutputMethod.SLOPE_ONE else cosine_scenes
    scenes = make(ratings, function, 200, np.random.default_rng(1))
    counts = np.diff(ratings.starts)[scenes.people]
    assert counts.min() >= 40
    assert np.array_equal(scenes.own.sum(axis=1), counts)
    assert not scenes.own[np.arange(200), scenes.asked].any()


def test_attacks_over_records_meet_people_as_often_as_they_rate(ratings: Ratings) -> None:
    function = OutputFunction("slope-one", ratings.scale)
    counts = np.diff(ratings.starts)
    seen = {
        over: counts[
            slope_one_scenes(ratings, function, 4000, np.random.default_rng(1), over).people
        ]
        for over in Over
    }
    fit = counts[(counts >= 20) & (counts <= len(ratings.catalog) - 2)]
    assert seen[Over.PEOPLE].mean() == pytest.approx(fit.mean(), rel=0.1)
    assert seen[Over.RECORDS].mean() == pytest.approx((fit**2).sum() / fit.sum(), rel=0.1)


def test_seeded_attacks_repeat(ratings: Ratings) -> None:
    first, second = (
        risk_utility(ratings, "cosine", [3.0], attacks=50, randomness=SeededRandomness(1))
        for _ in range(2)
    )
    assert first == second


@pytest.mark.parametrize(
    ("told", "complaint"),
    [
        ({"epsilons": []}, "above 0"),
        ({"epsilons": [0.0]}, "above 0"),
        ({"epsilons": [math.nan]}, "above 0"),
        ({"attacks": 1}, "attacks"),
        ({"top": 10**6}, "shorter list"),
        ({"method": "guess"}, "no method"),
        ({"over": "weeks"}, "over people or records"),
        ({"minimum_ratings": 10**6}, "nobody can be attacked"),
    ],
)
def test_what_cannot_be_attacked_is_refused(
    ratings: Ratings, told: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        risk_utility(ratings, **{"attacks": 10} | told)


def test_a_continuous_scale_is_refused() -> None:
    scale = Scale(-10, 10, None)
    jokes = Ratings(
        scale, Catalog(["a", "b", "c"]), np.array([0, 1]), np.array([0], dtype=np.int32),
        scale.encode(np.array([1.0])),
    )  # fmt: skip
    with pytest.raises(InputError, match="steps"):
        risk_utility(jokes, attacks=10, minimum_ratings=1)


def test_no_attack_passes_the_bound_of_its_epsilon(ratings: Ratings) -> None:
    """Changing a rating removes a record and adds one: odds grow by at most e^(2 epsilon)."""
    epsilons = (10.0, 1.0, 0.1)
    source = SeededRandomness("bound")
    for point in risk_utility(ratings, epsilons=epsilons, attacks=1000, top=1, randomness=source):
        bound = most_with_prior(point.majority_band[1], 2 * point.epsilon)
        assert point.risk_clipped_band[0] <= bound
        assert point.risk_clipped_band[0] <= point.majority_band[1]  # one answer is little


# Errata.


def test_theorem_3_2_rests_on_no_division_by_nothing(errata: dict[str, Erratum]) -> None:
    """Item 0 goes from one owner to two, one of whom has the twenty items: 1/sqrt(2 * 2) each."""
    example = theorem_3_2()
    owners = [int((example.neighbours.ratings(world).items == 0).sum()) for world in (0, 1)]
    assert owners == [2, 1]
    assert errata["003, Theorem 3.2"].value("found") == pytest.approx(1 / math.sqrt(4), abs=1e-4)


@pytest.mark.parametrize(
    ("what", "power"),
    [
        ("the largest epsilon, rates as in (31)", 0.5),
        ("the largest epsilon, rates as in its proof", 1.0),
    ],
)
def test_proposition_4_1_by_hand(errata: dict[str, Erratum], what: str, power: float) -> None:
    """3^(power epsilon) = 5; before it the step keeps every chance, after it one is negative."""
    last = errata["003, Proposition 4.1"].value(what)
    assert last == pytest.approx(math.log(5) / math.log(3) / power)
    logs = np.log([3.0, 1.0, 1.0])
    assert (np.diff(logs) <= 0).all()  # as the proposition assumes
    step = proposed_step(logs)
    assert step == pytest.approx(1 / 6)
    exponent = Exponent(2 * power)
    assert BirthDeathChain(logs, 0.99 * last, step, exponent).largest_step > step
    with pytest.raises(InputError, match="a negative probability to stay"):
        BirthDeathChain(logs, 1.01 * last, step, exponent)


def test_no_ratios_of_3_are_worse_for_proposition_4_1(errata: dict[str, Erratum]) -> None:
    """Falling sets with ratios of at most 3, at the epsilon that is said to be the largest."""
    last = errata["003, Proposition 4.1"].value("the largest epsilon, rates as in (31)")
    drops = np.random.default_rng(0).uniform(0, math.log(3), (200, 6))
    for row in drops:
        chain = BirthDeathChain(np.append(0.0, -np.cumsum(row)), last)
        assert chain.largest_step >= 1 / 6 * (1 - 1e-9)
