"""The linear ideal adversary: both limits of its definition, its arithmetic, what it may know."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from discreet.audit import Over, RiskUtility, best_value, risk_utility
from discreet.audit._intervals import mean_band, success_band
from discreet.audit._scenes import cosine_scenes, slope_one_scenes
from discreet.domain import Catalog, InputError, Scale
from discreet.measure.outputs import OutputFunction, OutputMethod, Sensitivity, ShownTo
from discreet.privacy import SeededRandomness
from discreet.ratings import Ratings, find_shape, make_ratings

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


@pytest.mark.parametrize(("won", "tries"), [(0, 50), (7, 50), (50, 50)])
def test_bands_of_successes_are_clopper_and_pearsons(won: int, tries: int) -> None:
    told = binomtest(won, tries).proportion_ci(0.95, "exact")
    assert success_band(np.arange(tries) < won) == pytest.approx((told.low, told.high))


def test_bands_of_means_stay_between_0_and_1() -> None:
    assert mean_band(np.ones(9)) == (1.0, 1.0)
    low, high = mean_band(np.array([0.0, 1.0] * 50))
    assert (low, high) == pytest.approx((0.4015, 0.5985), abs=1e-3)


def test_the_best_epsilon_depends_on_what_counts(curve: list[RiskUtility]) -> None:
    assert best_value(curve, utility_weight=1, risk_weight=0).utility == 1.0
    careful = best_value(curve, utility_weight=0, risk_weight=1)
    assert careful.risk_clipped == min(point.risk_clipped for point in curve)
    between = best_value(curve)
    assert between.value(1, 1) == max(p.utility - p.risk_clipped for p in curve)


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
    with pytest.raises(InputError, match="no point"):
        best_value([])
