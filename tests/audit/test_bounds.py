"""What counts prove: intervals, claims, one run; checked against their definitions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm

from discreet.audit._intervals import at_least, at_most, mean_band, success_band
from discreet.audit.lower_bound import Claim
from discreet.audit.lower_bound._canaries import (
    Guessed,
    chance,
    chance_under,
    guess_coins,
    refuted_size,
)
from discreet.domain import InputError
from discreet.privacy import GaussianEvent, GeometricEvent, PureEvent, Unit
from discreet.privacy.accounting import gaussian_delta, gaussian_epsilon


@settings(max_examples=100)
@given(st.integers(1, 400), st.data())
def test_intervals_are_clopper_and_pearsons(tries: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, tries))
    miss = data.draw(st.sampled_from([0.05, 1e-3, 1e-5]))
    low, high = float(at_least(hits, tries, miss)), float(at_most(hits, tries, miss))
    assert 0 <= low <= hits / tries <= high <= 1
    if hits:
        assert binom.sf(hits - 1, tries, low) == pytest.approx(miss, rel=1e-6)
    if hits < tries:
        assert binom.cdf(hits, tries, high) == pytest.approx(miss, rel=1e-6)
    assert (low == 0) == (hits == 0) and (high == 1) == (hits == tries)


@pytest.mark.parametrize("p", [0.003, 0.2, 0.9])
def test_intervals_miss_no_more_often_than_they_say(p: float) -> None:
    hits = np.arange(201)
    weights = binom.pmf(hits, 200, p)
    assert weights[at_least(hits, 200, 0.01) > p].sum() <= 0.01
    assert weights[at_most(hits, 200, 0.01) < p].sum() <= 0.01


def test_a_pure_claim_is_refuted_by_the_ratio() -> None:
    claim = Claim(1.0)
    assert float(claim.refuted(0.6, 0.1)) == pytest.approx(math.log(6))
    assert float(claim.refuted(0.1, 0.6)) == 0
    assert claim.is_refuted_by(1.01) and not claim.is_refuted_by(1.0)
    assert claim.as_epsilon(1.5) == 1.5


def test_delta_is_taken_off_before() -> None:
    assert float(Claim(1.0, 0.1).refuted(0.6, 0.1)) == pytest.approx(math.log(5))
    assert float(Claim(1.0, 0.7).refuted(0.6, 0.1)) == 0


def test_a_gaussian_claim_is_refuted_along_its_whole_curve() -> None:
    claim = Claim.gaussian(1.0, 1e-6)
    low, high = norm.cdf(0.8), norm.cdf(-0.8)
    found = float(claim.refuted(low, high))
    assert found == pytest.approx(1.6)
    assert claim.is_refuted_by(found)
    assert claim.as_epsilon(found) == pytest.approx(gaussian_epsilon(found, 1e-6))
    # A little below what was refuted some point of the curve is passed; a little above none is.
    points = np.linspace(0, 20, 2001)
    for mu, passed in ((1.59, True), (1.61, False)):
        gaps = [low - math.exp(e) * high - gaussian_delta(mu, e) for e in points]
        assert bool(max(gaps) > 0) is passed


@pytest.mark.parametrize("claim", [Claim(1.3), Claim(1.3, 0.05), Claim.gaussian(1.1)])
def test_rates_that_a_claim_allows_refute_no_more_than_it(claim: Claim) -> None:
    rare = np.linspace(1e-6, 0.5, 400)
    if claim.mu is None:
        likely = np.minimum(math.exp(claim.epsilon) * rare + claim.delta, 1.0)
    else:
        likely = norm.cdf(norm.ppf(rare) + claim.mu)
    assert np.all(claim.refuted(likely, rare) <= claim.size * (1 + 1e-9))


def test_what_events_claim() -> None:
    told: dict[str, Any] = {"unit": Unit.USER, "label": "x", "sensitivity": 1.0}
    pure = GeometricEvent(**told, scale=2.0)
    gaussian = GaussianEvent(**told, sigma=1.0)
    report = PureEvent(unit=Unit.USER, label="x", epsilon=0.25, mechanism="x")
    both_pure = Claim.of([pure, report])
    assert both_pure.epsilon == pytest.approx(0.75) and both_pure.delta == 0
    curve = Claim.of([gaussian, gaussian])
    assert curve.mu == pytest.approx(math.sqrt(2)) and curve.delta == 1e-6
    both = Claim.of([pure, gaussian], 1e-3)
    assert both.mu is None
    assert both.epsilon == pytest.approx(0.5 + gaussian_epsilon(1.0, 1e-3))


@pytest.mark.parametrize(("epsilon", "delta"), [(-1.0, 0.0), (math.inf, 0.0), (1.0, 1.0)])
def test_a_claim_that_is_none_is_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(InputError, match="a claim has a finite epsilon"):
        Claim(epsilon, delta)


def test_the_chance_of_right_guesses_is_the_binomial_tail_and_the_price_of_delta() -> None:
    q = math.e / (1 + math.e)
    guessed = Guessed(coins=50, guesses=20, right=18)
    assert chance(guessed, 1.0, 0.0) == pytest.approx(binom.sf(17, 20, q))
    assert chance(guessed, 1.0, 1e-3) == pytest.approx(binom.sf(17, 20, q) + 50 * (1 - q) * 1e-3)
    assert chance(Guessed(50, 20, 0), 1.0, 0.0) == 1


def test_coins_answered_by_randomized_response_reach_the_bound() -> None:
    """Pure: guesses that are each right with probability q are exactly what (3) allows."""
    rng, q = np.random.default_rng(1), math.exp(0.8) / (1 + math.exp(0.8))
    right = rng.binomial(30, q, size=20_000)
    for v in (18, 22, 26):
        assert np.mean(right >= v) == pytest.approx(chance(Guessed(30, 30, v), 0.8, 0.0), abs=0.012)


def test_a_mechanism_that_tells_everything_now_and_then_stays_within_the_bound() -> None:
    """With probability delta every coin is told; otherwise randomized response: (eps, delta)-DP."""
    rng, m, epsilon, delta = np.random.default_rng(2), 40, 0.5, 0.05
    q = math.exp(epsilon) / (1 + math.exp(epsilon))
    right = rng.binomial(m, q, size=50_000)
    right[rng.random(50_000) < delta] = m
    for v in (30, 35, 40):
        assert np.mean(right >= v) <= chance(Guessed(m, m, v), epsilon, delta)
    told = rng.random((50_000, m)) < delta  # or each coin by itself
    right = (told | (rng.random((50_000, m)) < q)).sum(axis=1)
    for v in (28, 32, 36):
        assert np.mean(right >= v) <= chance(Guessed(m, m, v), epsilon, delta)


def test_of_a_gaussian_curve_the_best_point_counts() -> None:
    claim, guessed = Claim.gaussian(0.5), Guessed(100, 100, 75)
    found = chance_under(claim, 0.5, guessed)
    points = [(e, gaussian_delta(0.5, e)) for e in np.linspace(0, 4, 200)]
    assert found <= min(chance(guessed, *point) for point in points) * 1.05
    assert found > 1e-9


@pytest.mark.parametrize("claim", [Claim(1.0), Claim(1.0, 1e-6), Claim.gaussian(0.3)])
def test_the_refuted_size_is_where_the_chance_passes_the_level(claim: Claim) -> None:
    guessed = Guessed(200, 100, 95)
    size = refuted_size(claim, guessed, 0.01)
    assert 0 < size < 10
    assert (
        chance_under(claim, size * 0.99, guessed)
        <= 0.01
        < chance_under(claim, size * 1.05, guessed)
    )
    assert refuted_size(claim, Guessed(200, 100, 50), 0.01) == 0


def test_with_a_delta_the_chance_may_fall_before_it_rises() -> None:
    claim, guessed, miss = Claim(3.0, 2e-5), Guessed(4000, 400, 400), 0.05 / 3
    assert chance(guessed, 0.0, 2e-5) > miss > chance(guessed, 3.0, 2e-5)
    size = refuted_size(claim, guessed, miss)
    assert claim.is_refuted_by(size) and 4 < size < 5
    assert chance(guessed, size * 0.999, 2e-5) <= miss < chance(guessed, size * 1.01, 2e-5)


@pytest.mark.parametrize("count", [20, 21, 23, 27, 39])
def test_no_coin_is_guessed_both_ways(count: int) -> None:
    """Of an odd number one is left out: so everything that is told is guessed rightly."""
    coins = np.arange(count) % 2 == 0
    found = guess_coins("x", Claim(1.0), coins.astype(np.float64), coins).finding(0.95)
    assert found.runs <= count and found.refuted == found.most > 1


def test_one_run_of_nothing_but_noise_refutes_nothing() -> None:
    rng = np.random.default_rng(3)
    flagged = [
        guess_coins("x", Claim(0.1), rng.normal(size=100), rng.random(100) < 0.5)
        .finding(0.9)
        .is_violated
        for _ in range(300)
    ]
    assert np.mean(flagged) <= 0.1


def test_one_run_that_tells_everything_refutes_much() -> None:
    coins = np.random.default_rng(4).random(400) < 0.5
    found = guess_coins("x", Claim(1.0), coins.astype(np.float64), coins).finding(0.9999)
    assert found.is_violated and found.refuted > 2
    assert "canaries were right" in found.seen


def test_too_few_canaries_are_refused() -> None:
    with pytest.raises(InputError, match="20 canaries or more"):
        guess_coins("x", Claim(1.0), np.zeros(5), np.zeros(5, np.bool_))
    with pytest.raises(InputError, match="a score for each"):
        guess_coins("x", Claim(1.0), np.zeros(5), np.zeros(50, np.bool_))


@pytest.mark.parametrize(("won", "tries"), [(0, 50), (7, 50), (50, 50)])
def test_bands_of_successes_are_clopper_and_pearsons(won: int, tries: int) -> None:
    known = binomtest(won, tries).proportion_ci(0.95, "exact")
    assert success_band(np.arange(tries) < won) == pytest.approx((known.low, known.high))


def test_bands_of_means_stay_between_0_and_1() -> None:
    assert mean_band(np.ones(9)) == (1.0, 1.0)
    low, high = mean_band(np.array([0.0, 1.0] * 50))
    assert (low, high) == pytest.approx((0.4015, 0.5985), abs=1e-3)
