"""What more charges of one kind would cost, before any of them is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.domain import InputError
from discreet.privacy._events import Event
from discreet.privacy.accounting import Totals
from discreet.privacy.ledger._entries import Spent
from discreet.privacy.ledger._limits import Cost, Limit, costs_of, spend

MOST = 10_000
"""How far a plan counts."""

_LONG = {("day", 365): "a year", ("week", 52): "a year", ("month", 12): "a year"}


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


def make_plan(limits: Sequence[Limit], spent: Spent, events: Sequence[Event], times: int) -> Plan:
    """Work out a plan.

    Raises:
        InputError: `times` is not from 1 to `MOST`, or there is no event.
        BudgetExceeded: Nothing bounds a cost, or a limit's delta admits no such noise.
    """
    if not 1 <= times <= MOST:
        raise InputError(f"a plan is for 1 to {MOST:,} charges, not {times:,}")
    if not events:
        raise InputError("there is nothing to plan: no event was given")
    return Plan(times, tuple(_planned(limit, spent[limit.unit], events, times) for limit in limits))


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
