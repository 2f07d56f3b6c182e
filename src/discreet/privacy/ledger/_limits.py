"""The rule by which a ledger adds up and admits, and what more charges would cost under it.

The rule is a privacy filter; PROOF.md proves it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from discreet.domain import InputError
from discreet.domain.errors import BudgetExceeded
from discreet.privacy._events import Event, GaussianEvent, PureEvent, Unit, round_up
from discreet.privacy.accounting import (
    LEAST_DELTA,
    Totals,
    calibrate_gaussian,
    compose,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    mu_of_pure,
    pure_of_mu,
)

SLACK = 1e-9
"""How far above its epsilon, relatively, a limit still admits: ten times 0.1 fits into 1."""

# Relative: far above the error of the special functions, far below SLACK. Chosen for safety.
_ROUNDING = 1e-10
# Far above any epsilon that says something; keeps sums of floats finite. Chosen by hand.
_MOST_EPSILON = 1e6

# Charges: how far a plan counts. Chosen by hand; ten thousand take a few seconds.
MOST = 10_000

# Halvings of an interval of epsilons: to a 10^-15th part of it, about what a float can express.
_HALVINGS = 50

_LONG = {("day", 365): "a year", ("week", 52): "a year", ("month", 12): "a year"}


@dataclass(frozen=True)
class Cost:
    """What one event costs one unit: `once`, `count` times over; an infinite one is unbounded."""

    once: Totals
    count: int = 1


@dataclass(frozen=True)
class Room:
    """What still fits, each on its own: taking one of them leaves less of the others.

    Attributes:
        epsilon: The largest Gaussian release, said as its epsilon at the limit's delta.
        mu: The same release, said as its mu.
        pure: The largest pure charge.
    """

    epsilon: float
    mu: float
    pure: float


@dataclass(frozen=True)
class Limit:
    """The most that all releases together may cost one unit.

    Pure epsilons and Gaussian mus share it. Until the first Gaussian charge pure epsilons add up.
    That charge fixes how much of epsilon is for pure steps: what they have cost by then, itself
    included, or `reserve` if that is more. Later pure steps use what is left of this part, or are
    booked as the Gaussian noise that no pure step can be worse than.

    Args:
        unit: Whom it protects.
        epsilon: At `delta`.
        delta: 0 admits pure charges only.
        reserve: The part of epsilon kept for pure charges that come after Gaussian ones.
    """

    unit: Unit
    epsilon: float
    delta: float
    reserve: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= _MOST_EPSILON:
            raise InputError(
                f"a limit's epsilon is above 0 and at most {_MOST_EPSILON:,.0f}, "
                f"not {self.epsilon:g}"
            )
        if self.delta != 0 and not LEAST_DELTA <= self.delta < 1:
            raise InputError(
                f"a limit's delta is 0, or from {LEAST_DELTA:g} to below 1, not {self.delta:g}"
            )
        if not 0 <= self.reserve <= self.epsilon:
            raise InputError(
                f"a reserve is from 0 to the limit's epsilon, {self.epsilon:g}, "
                f"not {self.reserve:g}"
            )

    def __str__(self) -> str:
        return f"epsilon {self.epsilon:g} at delta {self.delta:g} per {self.unit}"

    def admits(self, spent: Totals) -> bool:
        """Whether spends that add up to this much stay within epsilon (1 + SLACK) at delta."""
        allowed = self.epsilon * (1 + SLACK)
        if spent.mu_squared == 0:
            return spent.pure <= allowed
        left = allowed - pure_part(spent, self.reserve)
        return left >= 0 and self.delta > 0 and gaussian_delta(spent.mu, left) <= self.delta

    def spent_epsilon(self, spent: Totals) -> float:
        """The epsilon of these totals at this delta, rounded up; infinite if nothing bounds it."""
        if spent.mu_squared and (self.delta == 0 or spent.mu > _MOST_EPSILON):
            return math.inf
        return spent.epsilon(self.delta)

    def room(self, spent: Totals) -> Room:
        """What still fits after spends that add up to this much."""
        if self.delta == 0:
            return Room(0.0, 0.0, max(0.0, self.epsilon - spent.pure))
        part = max(self.reserve, spent.pure)
        most = gaussian_mu(max(0.0, self.epsilon - part), self.delta)
        mu = math.sqrt(max(0.0, most * most - spent.mu_squared))
        if spent.mu_squared == 0:
            pure = self.epsilon - spent.pure
        else:
            pure = max(part - spent.pure, pure_of_mu(mu))
        return Room(_epsilon_below(mu, self.delta), mu, max(0.0, pure))

    def check_bounded(self, costs: Iterable[Cost]) -> None:
        """Refuse what no amount of room could hold.

        Raises:
            BudgetExceeded: Nothing bounds a cost, or Gaussian noise meets a limit of delta 0.
        """
        for cost in costs:
            if math.isinf(cost.once.pure):
                raise BudgetExceeded(
                    f"nothing bounds what this costs a {self.unit}, and the ledger limits it; "
                    "protect users, or bound how many ratings of a user count (most_ratings, "
                    "--most-ratings)"
                )
            if cost.once.mu_squared and self.delta == 0:
                raise BudgetExceeded(
                    f"Gaussian noise has a delta above 0, and the ledger's limit per {self.unit} "
                    f"has delta 0; use Laplace noise"
                )


def costs_of(events: Iterable[Event], unit: Unit) -> tuple[Cost, ...]:
    """What each event costs one `unit`."""
    return tuple(_cost(event, unit) for event in events)


def pure_part(spent: Totals, reserve: float) -> float:
    """The part of epsilon that is for pure steps once there is Gaussian noise.

    Pure spends stop growing at the larger of the reserve and their sum at the first Gaussian
    charge, so that larger one can be read off the totals at any later time.
    """
    return max(reserve * (1 + SLACK), spent.pure)


def spend(spent: Totals, costs: Sequence[Cost], reserve: float = 0.0) -> Totals:
    """The totals after one more charge.

    Before the first Gaussian charge, and in it, pure epsilons add up. After it a pure step uses
    what is left of the pure part, or else is booked as the Gaussian noise that dominates it.
    """
    started, part = spent.mu_squared > 0, pure_part(spent, reserve)
    for cost in costs:
        added = spent + cost.once.times(cost.count)
        if started and part < added.pure < math.inf:
            added = spent + _as_gaussian(cost.once).times(cost.count)
        spent = added
    return spent


def _cost(event: Event, unit: Unit) -> Cost:
    seen = event.seen_by(unit)
    if seen is None:
        return Cost(Totals(pure=math.inf))
    return Cost(compose([replace(seen, count=1)]), seen.count)


def _epsilon_below(mu: float, delta: float) -> float:
    """The epsilon of a mu-GDP release, rounded down: noise calibrated to it has at most this mu."""
    epsilon, step = gaussian_epsilon(mu, delta), _ROUNDING
    while epsilon > 0 and gaussian_mu(epsilon, delta) > mu:
        epsilon, step = max(0.0, epsilon * (1 - step)), 2 * step
    return epsilon


def _as_gaussian(cost: Totals) -> Totals:
    mu = mu_of_pure(cost.pure)
    return Totals(mu_squared=round_up(cost.mu_squared + round_up(mu * mu)))


@dataclass(frozen=True)
class PlannedCost:
    """What a plan costs under one limit, in epsilons at the limit's delta.

    Attributes:
        limit: The limit.
        spent: Before the plan.
        once: One charge alone.
        all: The plan alone.
        after: The plan on top of what is spent.
        fitting: How many charges fit, counted to `MOST`.
    """

    limit: Limit
    spent: float
    once: float
    all: float
    after: float
    fitting: int


@dataclass(frozen=True)
class Plan:
    """What `times` more charges cost under every limit of a ledger."""

    times: int
    costs: tuple[PlannedCost, ...]

    @property
    def fitting(self) -> int:
        """How many charges fit, counted to `MOST`."""
        return self._tightest.fitting

    @property
    def fits(self) -> bool:
        """Whether all of them do."""
        return self.fitting >= self.times

    def words(self, every: str | None = None) -> str:
        """One sentence for a person; `every` names the time between two charges: "month"."""
        cost = self._tightest
        limit = cost.limit
        verdict = "and fits" if self.fits else f"and does not fit: {_only(self.fitting)}"
        return (
            f"A release like this {_how_often(self.times, every)} costs epsilon {cost.all:.4g} "
            f"at delta {limit.delta:g} per {limit.unit}{_on_top(cost)}, {verdict} "
            f"(the limit is {limit.epsilon:g})."
        )

    @property
    def _tightest(self) -> PlannedCost:
        return min(self.costs, key=lambda cost: cost.fitting)


def make_plan(
    limits: Sequence[Limit], spent: Mapping[Unit, Totals], events: Sequence[Event], times: int
) -> Plan:
    """Work out a plan.

    Raises:
        InputError: `times` is not from 1 to `MOST`, or there is no event.
        BudgetExceeded: Nothing bounds a cost, or a limit's delta admits no such noise.
    """
    _check_times(times)
    if not events:
        raise InputError("there is nothing to plan: no event was given")
    return Plan(times, tuple(_planned(limit, spent[limit.unit], events, times) for limit in limits))


def planned_release(
    unit: Unit, epsilon: float, delta: float, ratings_per_user: int | None = None
) -> Event:
    """A release of this size: Gaussian, or a pure one if delta is 0.

    Args:
        unit: What it protects.
        epsilon: At `delta`.
        delta: 0 for pure differential privacy.
        ratings_per_user: For unit `rating`, the most ratings that a user may have.
    """
    label, bound = "a planned release", ratings_per_user if unit is Unit.RATING else None
    if delta == 0:
        return PureEvent(
            unit=unit, label=label, epsilon=epsilon, mechanism="any", ratings_per_user=bound
        )
    sigma = calibrate_gaussian(1.0, epsilon, delta)
    return GaussianEvent(
        unit=unit, label=label, sensitivity=1.0, sigma=sigma, ratings_per_user=bound
    )


def largest_release(
    limits: Sequence[Limit],
    spent: Mapping[Unit, Totals],
    times: int,
    of_size: Callable[[float], Event],
) -> float:
    """The largest epsilon of which `times` more releases fit, rounded down; 0 if none does.

    Raises:
        InputError: `times` is not from 1 to `MOST`.
        BudgetExceeded: Nothing bounds a cost, or a limit's delta admits no such noise.
    """
    _check_times(times)

    def fits(epsilon: float) -> bool:
        for limit in limits:
            costs = costs_of([of_size(epsilon)], limit.unit)
            limit.check_bounded(costs)
            if not limit.admits(_repeated(limit, spent[limit.unit], costs, times)):
                return False
        return True

    # No release is larger than a limit for its own unit; of a larger unit it is even less.
    small, large = 0.0, 2 * max(limit.epsilon for limit in limits)
    while fits(large):  # where only a smaller unit is limited
        small, large = large, 2 * large
    for _ in range(_HALVINGS):
        middle = (small + large) / 2
        small, large = (middle, large) if fits(middle) else (small, middle)
    return small


def _check_times(times: int) -> None:
    if not 1 <= times <= MOST:
        raise InputError(f"a plan is for 1 to {MOST:,} charges, not {times:,}")


def _planned(limit: Limit, spent: Totals, events: Sequence[Event], times: int) -> PlannedCost:
    costs = costs_of(events, limit.unit)
    limit.check_bounded(costs)
    return PlannedCost(
        limit,
        limit.spent_epsilon(spent),
        limit.spent_epsilon(_repeated(limit, Totals(), costs, 1)),
        limit.spent_epsilon(_repeated(limit, Totals(), costs, times)),
        limit.spent_epsilon(_repeated(limit, spent, costs, times)),
        _fitting(limit, spent, costs),
    )


def _repeated(limit: Limit, spent: Totals, costs: Sequence[Cost], times: int) -> Totals:
    for _ in range(times):
        spent = spend(spent, costs, limit.reserve)
    return spent


def _fitting(limit: Limit, spent: Totals, costs: Sequence[Cost]) -> int:
    for done in range(MOST):
        spent = spend(spent, costs, limit.reserve)
        if not limit.admits(spent):
            return done
    return MOST


def _how_often(times: int, every: str | None) -> str:
    if every is None:
        return "once" if times == 1 else f"{times:,} times"
    long = _LONG.get((every, times), f"{times:,} {every}s" if times > 1 else f"one {every}")
    return f"every {every} for {long}"


def _on_top(cost: PlannedCost) -> str:
    return f", {cost.after:.4g} with what is spent already" if cost.spent else ""


def _only(fitting: int) -> str:
    if fitting == 0:
        return "not one does"
    return "only one does" if fitting == 1 else f"only {fitting:,} do"
