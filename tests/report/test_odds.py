"""Odds and guesses: bounds that are reached, and never told too small."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from discreet.privacy.accounting import gaussian_delta
from discreet.report import best_guess, odds_factor
from discreet.report._odds import after, number_down, number_up, one_in, percent_up


def test_the_best_guess_of_randomized_response_is_reached() -> None:
    epsilon = 1.5  # keeps a bit with e^eps/(1 + e^eps), and that is how often its answer is right
    kept = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert best_guess(epsilon, 0.0) == pytest.approx(kept)
    assert best_guess(0.0, 0.0) == 0.5
    assert best_guess(0.0, 0.1) == pytest.approx(0.55)
    assert best_guess(5_000.0, 1e-6) == 1.0


@given(mu=st.floats(0.05, 4), epsilon=st.floats(0.01, 8))
def test_no_guess_about_gaussian_noise_is_better(mu: float, epsilon: float) -> None:
    delta = gaussian_delta(mu, epsilon)
    best = norm.cdf(mu / 2)  # the likelihood test between N(0, 1) and N(mu, 1)
    assert best <= best_guess(epsilon, delta) + 1e-12


@given(mu=st.floats(0.1, 3), epsilon=st.floats(0.1, 6))
def test_odds_pass_the_factor_as_rarely_as_is_told(mu: float, epsilon: float) -> None:
    delta = gaussian_delta(mu, epsilon)
    factor, chance = odds_factor(epsilon, delta)
    # The likelihood ratio of N(mu, 1) to N(0, 1) at x is exp(mu x - mu^2/2).
    edge = math.log(factor) / mu + mu / 2
    assert norm.sf(edge - mu) <= chance + 1e-12


def test_pure_odds_have_no_exception() -> None:
    assert odds_factor(math.log(2), 0.0) == (pytest.approx(2.0), 0.0)
    assert odds_factor(10_000.0, 0.0)[0] == math.inf
    assert after(0.5, 3.0) == pytest.approx(0.75)
    assert after(0.001, math.inf) == 1.0


def test_a_chance_that_is_not_small_is_not_left_aside() -> None:
    assert odds_factor(1.0, 1e-3) == (pytest.approx(math.e / 0.9), pytest.approx(0.01))
    assert odds_factor(0.001, 0.2) == odds_factor(0.1, 0.0011) == (math.inf, 0.0)


@given(st.floats(1e-12, 1e8))
def test_numbers_are_rounded_to_the_safe_side(value: float) -> None:
    up, down = (float(f(value).replace(",", "")) for f in (number_up, number_down))
    assert down <= value * (1 + 1e-8) and up >= value * (1 - 1e-8)
    assert up - down <= 2e-3 * value


def test_numbers_in_words() -> None:
    assert [number_up(v) for v in (1.0, 1.00001, 12345.6, 0.0, math.inf)] == [
        "1", "1.001", "12,350", "0", "without bound",
    ]  # fmt: skip
    assert number_down(0.99999) == "0.9999"
    assert [percent_up(share) for share in (0.5, 0.50001, 0.99999, 1.0)] == [
        "50 %", "50.1 %", "100 %", "100 %",
    ]  # fmt: skip
    assert [percent_up(share) for share in (0.001, 0.00304, 0.01, 0.0000123, 0.0)] == [
        "0.1 %", "0.31 %", "1 %", "0.0013 %", "0 %",
    ]  # fmt: skip
    assert one_in(1e-5) == "1 in 100,000"
    assert np.isfinite(best_guess(1.0, 1e-6))
