"""From a budget to noise and back, and where the paper's own formula falls short."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain import InputError
from discreet.privacy import GaussianEvent, GeometricEvent, Unit
from discreet.privacy.accounting import (
    PAPER_SPLIT,
    calibrate_gaussian,
    calibrate_geometric,
    compose,
    gaussian_epsilon,
    gaussian_mu,
    mu_of_theta,
)
from privacy.accounting import _exact

LOG_EPSILONS = st.floats(-3, 3)
LOG_DELTAS = st.floats(-300, -0.5)
LOG_SIZES = st.floats(-3, 14)
WEIGHTS = st.lists(st.floats(1e-3, 1), min_size=1, max_size=8)


def gaussian(sensitivity: float, sigma: float) -> GaussianEvent:
    return GaussianEvent(unit=Unit.RATING, label="x", sensitivity=sensitivity, sigma=sigma)


@given(LOG_EPSILONS, LOG_DELTAS, LOG_SIZES)
def test_noise_from_a_budget_spends_the_budget_and_no_more(
    log_epsilon: float, log_delta: float, log_size: float
) -> None:
    epsilon, delta, size = 10**log_epsilon, 10**log_delta, 10**log_size
    event = gaussian(size, calibrate_gaussian(size, epsilon, delta))
    spent = compose([event]).epsilon(delta)
    assert spent <= epsilon
    # Where delta alone nearly suffices, epsilon is steep in mu: a millionth of mu as well, then.
    wider = gaussian_mu(epsilon, delta) * (1 - 1e-6)
    assert spent >= min(epsilon * (1 - 1e-6), gaussian_epsilon(wider, delta))


@given(LOG_EPSILONS, st.floats(-15, -2), st.lists(LOG_SIZES, min_size=8, max_size=8), WEIGHTS)
def test_shares_of_one_budget_add_up_to_it_and_no_more(
    log_epsilon: float, log_delta: float, log_sizes: list[float], weights: list[float]
) -> None:
    epsilon, delta = 10**log_epsilon, 10**log_delta
    shares = [weight / sum(weights) for weight in weights]
    events = [
        gaussian(10**log_size, calibrate_gaussian(10**log_size, epsilon, delta, share))
        for log_size, share in zip(log_sizes, shares, strict=False)
    ]
    mu = compose(events).mu
    assert compose(events).epsilon(delta) <= epsilon
    assert mu == pytest.approx(gaussian_mu(epsilon, delta), rel=1e-6)
    for event, share in zip(events, shares, strict=True):
        assert event.mu**2 == pytest.approx(share * mu**2, rel=1e-6)


@given(st.floats(0.02, 50), st.floats(-15, -1))
def test_a_budget_from_noise_gives_the_noise_back(mu: float, log_delta: float) -> None:
    delta = 10**log_delta
    epsilon = compose([gaussian(mu, 1.0)]).epsilon(delta)
    if epsilon > 1e-3:
        assert calibrate_gaussian(mu, epsilon, delta) == pytest.approx(1.0, rel=1e-6)


def test_a_little_less_noise_would_pass_the_budget() -> None:
    for epsilon, delta in [(0.1, 1e-6), (1.0, 1e-6), (10.0, 1e-5), (100.0, 1e-9)]:
        sigma = calibrate_gaussian(1.0, epsilon, delta)
        assert _exact.gaussian_delta(1 / sigma, epsilon) <= delta
        assert _exact.gaussian_delta(1 / (sigma * (1 - 1e-6)), epsilon) > delta


@given(LOG_EPSILONS, LOG_SIZES)
def test_geometric_noise_spends_its_epsilon_and_no_more(
    log_epsilon: float, log_size: float
) -> None:
    epsilon, size = 10**log_epsilon, 10**log_size
    scale = calibrate_geometric(size, epsilon)
    event = GeometricEvent(unit=Unit.RATING, label="x", sensitivity=size, scale=scale)
    spent = compose([event]).epsilon(0.0)
    assert epsilon * (1 - 1e-15) <= spent <= epsilon


def test_the_papers_theta() -> None:
    # sqrt(.02^2 + .19^2 + .79^2) = sqrt(.6606) = 0.81277...
    assert PAPER_SPLIT == (0.02, 0.19, 0.79)
    assert mu_of_theta(0.15) == pytest.approx(0.15 * math.sqrt(0.6606), rel=1e-14)
    epsilon = gaussian_epsilon(mu_of_theta(0.15), 1e-6)
    assert round(epsilon, 2) == 0.49
    truth = _exact.smallest(
        lambda e: _exact.gaussian_delta(0.15 * math.sqrt(0.6606), e) <= 1e-6, 1.0
    )
    assert epsilon == pytest.approx(truth, rel=1e-6)


def test_theta_is_the_same_budget_as_the_stages_it_is_split_into() -> None:
    theta, sensitivities = 0.15, (4.0, 1.0, 1.69)
    events = [
        gaussian(size, size / (part * theta))
        for size, part in zip(sensitivities, PAPER_SPLIT, strict=True)
    ]
    assert compose(events).mu == pytest.approx(mu_of_theta(theta), rel=1e-12)


@given(st.floats(1e-6, 1e3), st.lists(st.floats(0.01, 10), min_size=1, max_size=5))
def test_the_mu_of_theta_is_not_below_that_of_its_stages(theta: float, split: list[float]) -> None:
    exact = math.fsum((theta * part) ** 2 for part in split)
    assert exact * (1 - 1e-15) <= mu_of_theta(theta, split) ** 2 <= exact * (1 + 1e-14)


@pytest.mark.parametrize(
    ("epsilon", "holds"), [(1, True), (5, True), (9, True), (10, False), (20, False), (50, False)]
)
def test_the_published_sigma_breaks_its_promise_from_epsilon_10_on(
    epsilon: float, holds: bool
) -> None:
    # McSherry and Mironov 2009, Theorem 3: sigma = sqrt(2 ln(2/delta))/eps.
    delta = 1e-5
    published = epsilon / math.sqrt(2 * math.log(2 / delta))
    assert (_exact.gaussian_delta(published, epsilon) <= delta) == holds
    assert (published <= gaussian_mu(epsilon, delta)) == holds
    ours = 1 / calibrate_gaussian(1.0, epsilon, delta)
    assert _exact.gaussian_delta(ours, epsilon) <= delta


def test_the_published_sigma_in_figures() -> None:
    assert round(gaussian_mu(10.0, 1e-5), 2) == 2.00
    assert round(10 / math.sqrt(2 * math.log(2e5)), 2) == 2.02


BAD = [0.0, -1.0, math.nan, math.inf, -math.inf]


@pytest.mark.parametrize("value", BAD)
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("sensitivity", lambda x: calibrate_gaussian(x, 1.0, 1e-6)),
        ("epsilon", lambda x: calibrate_gaussian(1.0, x, 1e-6)),
        ("sensitivity", lambda x: calibrate_geometric(x, 1.0)),
        ("epsilon", lambda x: calibrate_geometric(1.0, x)),
        ("theta", mu_of_theta),
        ("a stage's part of theta", lambda x: mu_of_theta(1.0, (0.5, x))),
    ],
)
def test_sizes_are_positive_numbers(
    name: str, call: Callable[[float], float], value: float
) -> None:
    with pytest.raises(InputError) as caught:
        call(value)
    assert str(caught.value) == f"{name} must be a positive number, not {value:g}"


@pytest.mark.parametrize("share", [0.0, -0.5, 1.0001, math.nan, math.inf])
def test_a_share_is_a_part_of_one(share: float) -> None:
    with pytest.raises(InputError) as caught:
        calibrate_gaussian(1.0, 1.0, 1e-6, share)
    assert str(caught.value) == f"a share of the budget is above 0 and at most 1, not {share:g}"


def test_theta_needs_stages() -> None:
    with pytest.raises(InputError, match="theta needs at least one stage"):
        mu_of_theta(1.0, ())


def test_an_absurd_epsilon_is_refused() -> None:
    with pytest.raises(InputError, match="epsilon must be from 0 to 10,000,000, not 1e\\+08"):
        calibrate_gaussian(1.0, 1e8, 1e-6)
