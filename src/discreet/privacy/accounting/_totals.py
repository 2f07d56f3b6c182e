"""What events add up to: pure epsilons on one side, squared mus on the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from discreet.domain import InputError
from discreet.privacy._events import Event, GaussianEvent, GeometricEvent, PureEvent, round_up
from discreet.privacy.accounting._gaussian import gaussian_delta, gaussian_epsilon

# Relative, dimensionless: far above the error of five float operations. Chosen for safety.
_SLACK = 1e-10


@dataclass(frozen=True)
class Totals:
    """What events add up to: pure epsilons, and the squared mus of the Gaussian ones.

    Infinity stands for a cost that nothing bounds.
    """

    pure: float = 0.0
    mu_squared: float = 0.0

    def __post_init__(self) -> None:
        if not (self.pure >= 0 and self.mu_squared >= 0):
            raise InputError(
                f"spends are at least 0, not pure {self.pure:g} and mu^2 {self.mu_squared:g}"
            )

    @property
    def mu(self) -> float:
        """The mu of all Gaussian events together, rounded up."""
        return round_up(math.sqrt(self.mu_squared)) if self.mu_squared else 0.0

    def __add__(self, other: Totals) -> Totals:
        return Totals(_sum_up(self.pure, other.pure), _sum_up(self.mu_squared, other.mu_squared))

    def times(self, count: int) -> Totals:
        """This much, `count` times over."""
        if count < 1:
            raise InputError(f"a spend happens at least once, not {count} times")
        if count == 1:
            return self
        return Totals(
            round_up(self.pure * count) if self.pure else 0.0,
            round_up(self.mu_squared * count) if self.mu_squared else 0.0,
        )

    def epsilon(self, delta: float) -> float:
        """The epsilon at `delta`, rounded up: pure + the exact Gaussian epsilon (PROOF.md).

        Raises:
            InputError: delta is not from 0 to below 1, or is 0 and there is Gaussian noise.
        """
        if not 0 <= delta < 1:
            raise InputError(f"delta must be from 0 to below 1, not {delta:g}")
        if self.mu_squared == 0:
            return self.pure
        return _sum_up(self.pure, gaussian_epsilon(self.mu, delta))

    def delta(self, epsilon: float) -> float:
        """The delta at `epsilon` (may be negative), rounded up."""
        if math.isnan(epsilon):
            raise InputError("epsilon must be a number, not nan")
        if self.mu_squared == 0:
            return 0.0 if epsilon >= self.pure else _pure_delta(self.pure, epsilon)
        return gaussian_delta(self.mu, epsilon - self.pure)


def _pure_cost(event: GeometricEvent | PureEvent) -> Totals:
    return Totals(pure=event.epsilon)


def _gaussian_cost(event: GaussianEvent) -> Totals:
    return Totals(mu_squared=round_up(event.mu * event.mu))


# What one event of a kind costs; `compose` applies the count, in one place for all kinds.
_COST: dict[type[Event], Callable[[Any], Totals]] = {
    GaussianEvent: _gaussian_cost,
    GeometricEvent: _pure_cost,
    PureEvent: _pure_cost,
}


def compose(events: Iterable[Event]) -> Totals:
    """What all events cost together: the accountant.

    Pure epsilons add up and squared mus add up. Events may be chosen one after the other, in the
    light of what came out before, as long as the two totals were fixed in advance (PROOF.md). A
    ledger, whose totals are not, makes sure of that by its own rule.

    Raises:
        InputError: An event is of an unknown kind.
    """
    total = Totals()
    for event in events:
        cost = _COST.get(type(event))
        if cost is None:
            raise InputError(f"there is no rule to compose {event.kind} noise")
        total = total + cost(event).times(event.count)
    return total


def _sum_up(a: float, b: float) -> float:
    """The sum, rounded up; exact where one of them is 0."""
    return a + b if a == 0 or b == 0 else round_up(a + b)


def _pure_delta(pure: float, epsilon: float) -> float:
    """What `pure`-DP says about a smaller epsilon: the trade-off of randomized response.

    P(S) - e^eps Q(S) is largest for the likelier answer, p - e^eps (1 - p) with
    p = e^pure/(1 + e^pure), or for an epsilon below -pure for both answers, 1 - e^eps.
    """
    likelier = -math.expm1(epsilon - pure) / (1 + math.exp(-pure))
    return min(1.0, max(likelier, -math.expm1(epsilon)) * (1 + _SLACK))
