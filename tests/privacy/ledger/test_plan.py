"""What more charges would cost, before any is made."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from discreet.domain import InputError
from discreet.domain.errors import BudgetExceeded
from discreet.privacy import Event, GaussianEvent, PureEvent, Unit
from discreet.privacy.accounting import gaussian_mu
from discreet.privacy.ledger import Ledger, Limit, planned_release

USER = Limit(Unit.USER, 1.0, 1e-6)


def pure(epsilon: float, unit: Unit = Unit.USER, bound: int | None = None) -> PureEvent:
    return PureEvent(
        unit=unit, label="answers", epsilon=epsilon, mechanism="rr", ratings_per_user=bound
    )


def gaussian(mu: float) -> GaussianEvent:
    return GaussianEvent(unit=Unit.USER, label="item counts", sensitivity=mu, sigma=1.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "customers.ledger"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    return Ledger.create(path, "customers of the shop", [USER])


def test_a_plan_that_fits(ledger: Ledger) -> None:
    ledger.charge([pure(0.25)], "before")
    plan = ledger.plan([pure(0.0625)], 12)
    (cost,) = plan.costs
    assert (plan.fits, plan.fitting) == (True, 12)
    assert (cost.spent, cost.once, cost.all, cost.after) == pytest.approx((0.25, 0.0625, 0.75, 1.0))
    assert plan.words("month") == (
        "A release like this every month for a year costs epsilon 0.75 at delta 1e-06 per user, "
        "1 with what is spent already, and fits (the limit is 1)."
    )
    assert len(ledger.history()) == 1


def test_a_plan_that_does_not_fit(ledger: Ledger) -> None:
    most = gaussian_mu(1.0, 1e-6)
    plan = ledger.plan([gaussian(most / math.sqrt(7.5))], 12)
    assert (plan.fits, plan.fitting) == (False, 7)
    assert plan.words("month").endswith("and does not fit: only 7 do (the limit is 1).")
    assert "12 times" in plan.words()


@pytest.mark.parametrize("event", [pure(0.04), gaussian(0.06)])
def test_as_many_charges_fit_as_a_plan_says(ledger: Ledger, event: Event) -> None:
    ledger.charge([gaussian(0.1)], "before")
    fitting = ledger.plan([event], 1).fitting
    after = ledger.plan([event], fitting).costs[0].after
    for _ in range(fitting):
        ledger.charge([event], "planned")
    with pytest.raises(BudgetExceeded):
        ledger.charge([event], "one too many")
    assert USER.spent_epsilon(ledger.spent(Unit.USER)) == after


def test_the_tighter_limit_decides(path: Path) -> None:
    limits = [Limit(Unit.USER, 30.0, 0.0), Limit(Unit.RATING, 0.5, 0.0)]
    ledger = Ledger.create(path, "customers", limits)
    plan = ledger.plan([pure(0.1, Unit.RATING, bound=10)], 6)
    assert [cost.fitting for cost in plan.costs] == [30, 5]
    assert plan.fitting == 5
    assert "per rating" in plan.words()


@pytest.mark.parametrize(("epsilon", "words"), [(0.6, "only one does"), (1.5, "not one does")])
def test_plans_count_in_words(ledger: Ledger, epsilon: float, words: str) -> None:
    assert words in ledger.plan([pure(epsilon)], 2).words("week")


def test_a_plan_counts_no_further_than_it_must(ledger: Ledger) -> None:
    assert ledger.plan([pure(1e-9)], 3).fitting == 10_000


@pytest.mark.parametrize("times", [0, -1, 10_001])
def test_absurd_plans_are_refused(ledger: Ledger, times: int) -> None:
    with pytest.raises(InputError, match="a plan is for 1 to 10,000"):
        ledger.plan([pure(0.1)], times)


def test_plans_that_no_room_could_hold_are_refused(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceeded, match="bound how many ratings of a user count"):
        ledger.plan([pure(0.1, Unit.RATING)], 1)
    with pytest.raises(InputError, match="nothing to plan"):
        ledger.plan([], 1)


# --- How large each of several may be ---------------------------------------------------------


@pytest.mark.parametrize("times", [1, 2, 12, 365])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-9])
@pytest.mark.parametrize("before", [[], [pure(0.25)], [gaussian(0.1), pure(0.1)]])
def test_the_largest_release_fits_and_a_little_more_does_not(
    ledger: Ledger, times: int, delta: float, before: list[Event]
) -> None:
    if before:
        ledger.charge(before, "before")
    most = ledger.largest(times, Unit.USER, delta)
    assert most > 0
    assert ledger.plan([planned_release(Unit.USER, most, delta)], times).fits
    assert not ledger.plan([planned_release(Unit.USER, most * 1.001, delta)], times).fits


def test_the_largest_release_is_bound_by_every_limit(path: Path) -> None:
    limits = [Limit(Unit.USER, 10.0, 1e-6), Limit(Unit.RATING, 1.0, 1e-6)]
    ledger = Ledger.create(path, "people", limits)
    assert ledger.largest(1, Unit.RATING, 1e-6, ratings_per_user=1) == pytest.approx(1.0)
    # A user's release is a rating's twice, and ten ratings of a rating's release are a user.
    assert ledger.largest(1, Unit.USER, 0.0) == pytest.approx(0.5)
    assert ledger.largest(1, Unit.RATING, 0.0, ratings_per_user=20) == pytest.approx(0.5)
    with pytest.raises(BudgetExceeded, match="nothing bounds"):
        ledger.largest(1, Unit.RATING, 1e-6)
    with pytest.raises(InputError, match="a plan is for 1 to"):
        ledger.largest(0, Unit.USER, 1e-6)


def test_a_release_at_a_smaller_delta_may_have_a_larger_epsilon_than_the_limit(path: Path) -> None:
    ledger = Ledger.create(path, "people", [Limit(Unit.RATING, 4.0, 1e-6)])
    most = ledger.largest(1, Unit.RATING, 1e-12)
    assert most > 4.0
    assert ledger.plan([planned_release(Unit.RATING, most, 1e-12)], 1).fits


def test_nothing_is_the_largest_where_nothing_is_left(ledger: Ledger) -> None:
    ledger.charge([gaussian(gaussian_mu(1.0, 1e-6))], "all of it")
    assert ledger.largest(3, Unit.USER, 1e-6) < 1e-3
