"""The rule that adds up and admits: exact at both ends, and proof against adaptive choices."""

from __future__ import annotations

import math
from collections.abc import Iterator

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain import InputError
from discreet.domain.errors import BudgetExceeded
from discreet.privacy import GaussianEvent, GeometricEvent, PureEvent, Unit
from discreet.privacy.accounting import (
    Totals,
    calibrate_gaussian,
    calibrate_geometric,
    gaussian_epsilon,
    gaussian_mu,
    mu_of_pure,
    pure_of_mu,
)
from discreet.privacy.ledger import Limit
from discreet.privacy.ledger._limits import Cost, costs_of, spend
from privacy.ledger._adversary import Move, Rule, best_delta, gaussian_hockey_stick

epsilons = st.floats(0.01, 50)
deltas = st.floats(-12, -1.5).map(lambda power: 10**power)


def gaussian(mu: float) -> Cost:
    return Cost(Totals(mu_squared=mu * mu))


def pure(epsilon: float) -> Cost:
    return Cost(Totals(pure=epsilon))


# --- An adversary who sees every output before choosing the next step -------------------------

_SHARES = (0.05, 0.4, 1.0)
_LEAST = 1e-4


def by_ledger(limit: Limit) -> Rule:
    """Every move that `Limit` admits, of a few sizes up to the largest that fits."""

    def moves(spent: Totals) -> Iterator[Move]:
        room = limit.room(spent)
        for share in _SHARES:
            mu, epsilon = room.mu * math.sqrt(share), room.pure * share
            for cost, move in ((gaussian(mu), (mu, 0.0)), (pure(epsilon), (0.0, epsilon))):
                after = spend(spent, [cost], limit.reserve)
                if max(move) > _LEAST:
                    assert limit.admits(after)
                    yield Move(*move, after)

    return moves


def by_one_common_cap(limit: Limit) -> Rule:
    """The rule that does not hold: anything with pure + gaussian_epsilon(mu) <= epsilon."""

    def moves(spent: Totals) -> Iterator[Move]:
        left = limit.epsilon - spent.pure
        most = gaussian_mu(max(left, 0.0), limit.delta) ** 2 - spent.mu_squared
        for share in _SHARES:
            if most > _LEAST:
                mu = math.sqrt(most * share)
                yield Move(mu, 0.0, spent + Totals(mu_squared=mu * mu))
            epsilon = share * (left - gaussian_epsilon(spent.mu, limit.delta))
            if epsilon > _LEAST:
                yield Move(0.0, epsilon, spent + Totals(pure=epsilon))

    return moves


LIMITS = [(e, d) for e in (0.5, 1.0, 3.0, 8.0) for d in (1e-2, 1e-4, 1e-6)]


@pytest.mark.parametrize(("epsilon", "delta"), LIMITS)
@pytest.mark.parametrize("reserve", [0.0, 0.4])
def test_no_adaptive_adversary_of_three_steps_passes_the_limit(
    epsilon: float, delta: float, reserve: float
) -> None:
    limit = Limit(Unit.USER, epsilon, delta, reserve * epsilon)
    worst = best_delta(by_ledger(limit), Totals(), 3, np.array([epsilon])).item()
    assert worst <= delta * (1 + 1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), LIMITS)
def test_the_adversary_reaches_the_limit_so_the_rule_gives_nothing_away(
    epsilon: float, delta: float
) -> None:
    limit = Limit(Unit.USER, epsilon, delta)
    worst = best_delta(by_ledger(limit), Totals(), 2, np.array([epsilon])).item()
    assert worst >= delta * (1 - 1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), LIMITS)
def test_one_common_cap_would_be_passed_by_two_steps(epsilon: float, delta: float) -> None:
    limit = Limit(Unit.USER, epsilon, delta)
    worst = best_delta(by_one_common_cap(limit), Totals(), 2, np.array([epsilon])).item()
    assert worst > 1.2 * delta


# --- Pure steps as Gaussian ones --------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 0.1, 0.999, 1.0, 3.0, 30.0, 700.0, 1e5])
def test_the_mu_of_a_pure_step_solves_its_equation(epsilon: float) -> None:
    with mpmath.workdps(50):
        half = mpmath.mpf(mu_of_pure(epsilon)) / 2
        back = mpmath.log(mpmath.ncdf(half) / mpmath.ncdf(-half))
        assert 1 <= back / epsilon <= 1 + 1e-9


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 4.0, 12.0])
def test_gaussian_noise_of_that_mu_dominates_randomized_response(epsilon: float) -> None:
    x = np.linspace(-epsilon - 3, epsilon + 3, 4001)
    chance = 1 / (1 + math.exp(-epsilon))
    response = np.maximum(0, chance - np.exp(x) * (1 - chance))
    response += np.maximum(0, (1 - chance) - np.exp(x) * chance)
    assert (response <= gaussian_hockey_stick(mu_of_pure(epsilon), x) + 1e-12).all()
    touching = gaussian_hockey_stick(0.999 * mu_of_pure(epsilon), x)
    assert (response > touching).any()


@given(mu=st.floats(1e-9, 300))
def test_pure_of_mu_is_the_inverse_from_below(mu: float) -> None:
    epsilon = pure_of_mu(mu)
    assert mu_of_pure(epsilon) <= mu
    assert mu_of_pure(epsilon) == pytest.approx(mu, rel=1e-6)


# --- What fits --------------------------------------------------------------------------------


@given(epsilon=epsilons, delta=deltas, sensitivity=st.floats(1e-6, 1e12), parts=st.integers(1, 500))
def test_noise_calibrated_to_the_limit_fits_and_a_little_less_does_not(
    epsilon: float, delta: float, sensitivity: float, parts: int
) -> None:
    limit = Limit(Unit.USER, epsilon, delta)
    sigma = calibrate_gaussian(sensitivity, epsilon, delta, share=1 / parts)

    def after(sigma: float) -> Totals:
        event = GaussianEvent(unit=Unit.USER, label="x", sensitivity=sensitivity, sigma=sigma)
        spent, costs = Totals(), costs_of([event], Unit.USER)
        for _ in range(parts):
            spent = spend(spent, costs)
        return spent

    assert limit.admits(after(sigma))
    assert not limit.admits(after(sigma * (1 - 1e-8)))


@given(epsilon=epsilons, sensitivity=st.floats(1e-6, 1e12), parts=st.integers(1, 500))
def test_geometric_noise_calibrated_to_the_limit_fits_and_a_little_less_does_not(
    epsilon: float, sensitivity: float, parts: int
) -> None:
    limit = Limit(Unit.USER, epsilon, 0.0)
    scale = calibrate_geometric(sensitivity, epsilon / parts)

    def after(scale: float) -> Totals:
        event = GeometricEvent(
            unit=Unit.USER, label="x", sensitivity=sensitivity, scale=scale, count=parts
        )
        return spend(Totals(), costs_of([event], Unit.USER))

    assert limit.admits(after(scale))
    assert not limit.admits(after(scale * (1 - 1e-8)))


def test_ten_times_a_tenth_fits_into_one() -> None:
    spent = Totals()
    for _ in range(10):
        spent = spend(spent, [pure(0.1)])
    assert Limit(Unit.USER, 1.0, 0.0).admits(spent)
    assert Limit(Unit.USER, 1.0, 1e-6).admits(spent)
    assert not Limit(Unit.USER, 1.0, 1e-6).admits(spend(spent, [pure(1e-8)]))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_slack_is_no_more_than_a_billionth(delta: float) -> None:
    limit = Limit(Unit.USER, 2.0, delta)
    assert limit.admits(Totals(pure=2.0 * (1 + 0.9e-9)))
    assert not limit.admits(Totals(pure=2.0 * (1 + 1.1e-9)))


# --- How pure and Gaussian spends share a limit -----------------------------------------------


def test_pure_steps_add_up_until_the_first_gaussian_charge_and_in_it() -> None:
    spent = spend(Totals(), [pure(0.25)])
    spent = spend(spent, [gaussian(0.5), pure(0.25)])
    assert (spent.pure, spent.mu_squared) == pytest.approx((0.5, 0.25), rel=1e-12)


def test_later_pure_steps_are_booked_as_gaussian_noise() -> None:
    spent = spend(Totals(pure=0.5, mu_squared=0.25), [Cost(Totals(pure=0.1), count=3)])
    assert spent.pure == 0.5
    with mpmath.workdps(30):
        half = mpmath.findroot(lambda h: mpmath.ncdf(h) - 1 / (1 + mpmath.exp(-0.1)), 0.06)
    assert spent.mu_squared == pytest.approx(0.25 + 3 * float(2 * half) ** 2, rel=1e-9)


def test_a_reserve_takes_later_pure_steps_as_long_as_it_lasts() -> None:
    limit = Limit(Unit.USER, 3.0, 1e-6, reserve=1.0)
    spent = spend(Totals(), [gaussian(gaussian_mu(2.0, 1e-6) * 0.999)], limit.reserve)
    for _ in range(10):
        spent = spend(spent, [pure(0.1)], limit.reserve)
    assert spent.pure == pytest.approx(1.0)
    assert limit.admits(spent)
    beyond = spend(spent, [pure(0.1)], limit.reserve)
    assert beyond.pure == spent.pure
    assert beyond.mu_squared > spent.mu_squared
    assert not limit.admits(beyond)


def test_a_reserve_is_not_there_for_gaussian_noise() -> None:
    limit = Limit(Unit.USER, 3.0, 1e-6, reserve=1.0)
    assert limit.admits(Totals(mu_squared=gaussian_mu(2.0, 1e-6) ** 2))
    assert not limit.admits(Totals(mu_squared=gaussian_mu(2.001, 1e-6) ** 2))


states = st.tuples(st.floats(0, 0.9), st.floats(0, 0.9))


@given(epsilon=epsilons, delta=deltas, state=states, reserve=st.sampled_from([0.0, 0.2, 0.95]))
def test_what_still_fits_does_and_a_little_more_does_not(
    epsilon: float, delta: float, state: tuple[float, float], reserve: float
) -> None:
    limit = Limit(Unit.USER, epsilon, delta, reserve * epsilon)
    spent = Totals(pure=state[0] * epsilon)
    spent += Totals(mu_squared=state[1] * limit.room(spent).mu ** 2)
    room = limit.room(spent)
    for cost in (gaussian, pure):
        size = room.mu if cost is gaussian else room.pure
        assert limit.admits(spend(spent, [cost(size)], limit.reserve))
        assert not limit.admits(spend(spent, [cost(size * 1.001)], limit.reserve))
    if room.epsilon > 0:
        again = gaussian(1 / calibrate_gaussian(1.0, room.epsilon, delta))
        assert limit.admits(spend(spent, [again], limit.reserve))


def test_nothing_is_left_when_all_is_spent() -> None:
    limit = Limit(Unit.USER, 1.0, 0.0)
    room = limit.room(Totals(pure=1.0))
    assert (room.epsilon, room.mu, room.pure) == (0.0, 0.0, 0.0)


def test_spends_are_read_at_the_limits_delta() -> None:
    limit = Limit(Unit.USER, 5.0, 1e-6)
    mu = gaussian_mu(1.0, 1e-6)
    reading = limit.spent_epsilon(Totals(pure=0.5, mu_squared=mu * mu))
    assert reading == pytest.approx(1.5, rel=1e-6)
    assert limit.spent_epsilon(Totals(pure=math.inf)) == math.inf
    assert Limit(Unit.USER, 5.0, 0.0).spent_epsilon(Totals(mu_squared=0.1)) == math.inf


# --- Other units, and what no room could hold -------------------------------------------------


def test_a_rating_event_costs_a_user_as_many_times_as_they_may_rate() -> None:
    event = PureEvent(
        unit=Unit.RATING, label="x", epsilon=0.1, mechanism="rr", count=2, ratings_per_user=20
    )
    spent = spend(Totals(), costs_of([event], Unit.USER))
    assert spent.pure == pytest.approx(2 * 20 * 0.1, rel=1e-12)


def test_an_unbounded_event_is_refused_under_a_limit_and_recorded_without() -> None:
    event = PureEvent(unit=Unit.RATING, label="x", epsilon=0.1, mechanism="rr")
    costs = costs_of([event], Unit.USER)
    with pytest.raises(BudgetExceeded, match="bound how many ratings of a user count"):
        Limit(Unit.USER, 100.0, 1e-6).check_bounded(costs)
    spent = spend(spend(Totals(), [gaussian(1.0)]), costs)
    assert (spent.pure, spent.mu_squared) == (math.inf, 1.0)


def test_gaussian_noise_is_refused_where_delta_is_0() -> None:
    limit = Limit(Unit.USER, 100.0, 0.0)
    with pytest.raises(BudgetExceeded, match="use Laplace noise"):
        limit.check_bounded([gaussian(0.1)])
    assert not limit.admits(Totals(mu_squared=0.01))


@pytest.mark.parametrize(
    ("epsilon", "delta", "reserve"),
    [
        *((epsilon, 0, 0) for epsilon in (0, -1, math.nan, math.inf)),
        *((1, delta, 0) for delta in (1, -1e-9, math.nan)),
        *((1, 1e-6, reserve) for reserve in (1.5, -0.1, math.nan)),
    ],
)
def test_absurd_limits_are_refused(epsilon: float, delta: float, reserve: float) -> None:
    with pytest.raises(InputError):
        Limit(Unit.USER, epsilon, delta, reserve)
