"""Accountants: each composes the events it knows, and refuses the others.

An accountant keeps a table from a kind of event to its cost. The count of an event is applied in
one place, so that compose(e, n) is n times compose(e) for every kind.
"""

from __future__ import annotations

import abc
import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from scipy.optimize import minimize_scalar

from discreet.domain import InputError
from discreet.privacy._events import Event, GaussianEvent, GeometricEvent, PureEvent, round_up
from discreet.privacy.accounting._gaussian import gaussian_delta, gaussian_epsilon

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

    def for_group(self, size: int) -> Totals:
        """What a group of `size` units sees: pure and mu grow `size` times."""
        return Totals(self.times(size).pure, self.times(size * size).mu_squared)

    def epsilon(self, delta: float) -> float:
        """The epsilon at `delta`, rounded up: pure + the exact Gaussian epsilon (PROOF.md).

        Raises:
            InputError: delta is not from 0 to below 1, or is 0 and there is Gaussian noise.
        """
        if not 0 <= delta < 1:
            raise InputError(f"delta must be from 0 to below 1, not {delta:g}")
        if self.mu_squared == 0:
            return self.pure
        gaussian = gaussian_epsilon(self.mu, delta)
        return _sum_up(self.pure, gaussian)

    def delta(self, epsilon: float) -> float:
        """The delta at `epsilon` (may be negative), rounded up."""
        _check_epsilon(epsilon)
        if self.mu_squared == 0:
            return 0.0 if epsilon >= self.pure else _pure_delta(self.pure, epsilon)
        return gaussian_delta(self.mu, epsilon - self.pure)


class Accountant(abc.ABC):
    """Composes events into (epsilon, delta). Answers are upper bounds."""

    name: ClassVar[str]

    @abc.abstractmethod
    def epsilon(self, events: Iterable[Event], delta: float) -> float:
        """The epsilon of all events together at `delta`."""

    @abc.abstractmethod
    def delta(self, events: Iterable[Event], epsilon: float) -> float:
        """The delta of all events together at `epsilon`."""


class _SummingAccountant(Accountant):
    """An accountant whose costs are `Totals` that add up."""

    _cost: ClassVar[dict[type[Event], Callable[[Any], Totals]]]

    def totals(self, events: Iterable[Event]) -> Totals:
        """The sum of all costs.

        Raises:
            InputError: This accountant does not know an event's kind.
        """
        total = Totals()
        for event in events:
            cost = self._cost.get(type(event))
            if cost is None:
                raise InputError(f"the {self.name} accountant cannot compose {event.kind} noise")
            total = total + cost(event).times(event.count)
        return total

    def epsilon(self, events: Iterable[Event], delta: float) -> float:
        return self.totals(events).epsilon(delta)

    def delta(self, events: Iterable[Event], epsilon: float) -> float:
        return self.totals(events).delta(epsilon)


def _pure_cost(event: GeometricEvent | PureEvent) -> Totals:
    return Totals(pure=event.epsilon)


def _gaussian_cost(event: GaussianEvent) -> Totals:
    return Totals(mu_squared=round_up(event.mu * event.mu))


class PureAccountant(_SummingAccountant):
    """Pure epsilons add up; delta is 0."""

    name = "pure"
    _cost: ClassVar = {GeometricEvent: _pure_cost, PureEvent: _pure_cost}


class GaussianAccountant(_SummingAccountant):
    """mu = sqrt(sum of mu_i^2), then the exact trade-off."""

    name = "Gaussian"
    _cost: ClassVar = {GaussianEvent: _gaussian_cost}


class FilterAccountant(_SummingAccountant):
    """Both kinds side by side: pure epsilons add up, squared mus add up, then the two epsilons.

    See PROOF.md: events may be chosen one after the other, in the light of what came out before,
    as long as the two totals were fixed in advance. A ledger, whose totals are not, makes sure of
    that by its own rule.
    """

    name = "filter"
    _cost: ClassVar = PureAccountant._cost | GaussianAccountant._cost


class ZcdpAccountant(Accountant):
    """rho adds up: mu^2/2 for Gaussian noise, epsilon^2/2 for a pure step (Bun, Steinke 2016)."""

    name = "zCDP"
    _rho: ClassVar[dict[type[Event], Callable[[Any], float]]] = {
        GaussianEvent: lambda e: round_up(e.mu * e.mu) / 2,
        GeometricEvent: lambda e: round_up(e.epsilon * e.epsilon) / 2,
        PureEvent: lambda e: round_up(e.epsilon * e.epsilon) / 2,
    }

    def rho(self, events: Iterable[Event]) -> float:
        """The sum of all rho, rounded up."""
        total = 0.0
        for event in events:
            cost = self._rho.get(type(event))
            if cost is None:
                raise InputError(f"the zCDP accountant cannot compose {event.kind} noise")
            total = _sum_up(total, round_up(event.count * cost(event)))
        return total

    def epsilon(self, events: Iterable[Event], delta: float) -> float:
        """Minimise over alpha: rho alpha + (ln(1/delta) - ln alpha)/(alpha-1) + ln(1 - 1/alpha).

        Every alpha > 1 gives a valid bound (Canonne, Kamath, Steinke 2020, Proposition 12), so the
        search for the best one cannot make it wrong.
        """
        if not 0 < delta < 1:
            raise InputError(f"delta must be above 0 and below 1, not {delta:g}")
        rho = self.rho(events)
        if rho in (0.0, math.inf):
            return rho

        def bound(log_gap: float) -> float:
            gap = math.exp(log_gap)
            spread = -(math.log(delta) + math.log1p(gap)) / gap
            return _sum_of_terms(rho * (1 + gap), spread, -math.log1p(1 / gap))

        best = minimize_scalar(bound, bounds=(-20.0, 40.0), method="bounded").fun
        return max(0.0, float(best))

    def delta(self, events: Iterable[Event], epsilon: float) -> float:
        """Minimise over alpha: e^((alpha-1)(alpha rho - eps)) (1 - 1/alpha)^alpha / (alpha-1)."""
        _check_epsilon(epsilon)
        rho = self.rho(events)
        if rho == 0:
            return _pure_delta(0.0, min(0.0, epsilon))
        if rho == math.inf:
            return 1.0

        def bound(log_gap: float) -> float:
            gap = math.exp(log_gap)
            alpha = 1 + gap
            moment = _sum_of_terms(gap * alpha * rho, -gap * epsilon)
            return _sum_of_terms(moment, -log_gap, -alpha * math.log1p(1 / gap))

        best = float(minimize_scalar(bound, bounds=(-20.0, 40.0), method="bounded").fun)
        return min(1.0, max(sys.float_info.min, math.exp(min(0.0, best)) * (1 + _SLACK)))


class PldAccountant(_SummingAccountant):
    """Privacy loss distributions by dp-accounting, pessimistic.

    For the parts of one release that were declared before any of them was drawn. Not for ledgers:
    a later release chosen after seeing an earlier one needs a filter.

    Its Fourier transforms err by some 1e-14 of probability in a thousand steps, to either side; a
    larger part of delta is set aside for that. The simple sum is valid as well, and exact for
    Gaussian noise alone, so the smaller answer is given.
    """

    name = "PLD"
    _cost: ClassVar = FilterAccountant._cost

    def __init__(self, interval: float = 1e-4) -> None:
        if not (math.isfinite(interval) and interval > 0):
            raise InputError(f"the interval must be a positive number, not {interval:g}")
        self._interval = interval

    def epsilon(self, events: Iterable[Event], delta: float) -> float:
        events = list(events)
        simple = super().epsilon(events, delta)
        left = delta - _lost_by_fourier(events)
        if left <= 0 or not self.totals(events).pure:
            return simple
        return min(simple, float(self._compose(events).get_epsilon_for_delta(left)))

    def delta(self, events: Iterable[Event], epsilon: float) -> float:
        events = list(events)
        simple, lost = super().delta(events, epsilon), _lost_by_fourier(events)
        if simple <= lost or not self.totals(events).pure:
            return simple
        return min(simple, float(self._compose(events).get_delta_for_epsilon(epsilon)) + lost)

    def _compose(self, events: Iterable[Event]) -> Any:
        composed: Any = None
        for event in events:
            loss = self._loss(replace(event, count=1)).self_compose(event.count)
            composed = loss if composed is None else composed.compose(loss)
        return composed

    def _loss(self, event: Event) -> Any:
        from dp_accounting.pld import common
        from dp_accounting.pld import privacy_loss_distribution as pld

        if isinstance(event, GaussianEvent):
            return pld.from_gaussian_mechanism(
                1.0, sensitivity=event.mu, value_discretization_interval=self._interval
            )
        # Any eps-DP step is a post-processing of randomized response with that eps, which is
        # what this builds; for the two-sided geometric law it gives a little away.
        parameters = common.DifferentialPrivacyParameters(self.totals([event]).pure, 0.0)
        return pld.from_privacy_parameters(parameters, value_discretization_interval=self._interval)


def _sum_up(a: float, b: float) -> float:
    """The sum, rounded up; exact where one of them is 0."""
    return a + b if a == 0 or b == 0 else round_up(a + b)


def _sum_of_terms(*terms: float) -> float:
    """The sum, rounded up by more than the error of the terms and of adding them."""
    return math.fsum(terms) + 1e-12 * math.fsum(map(abs, terms))


def _pure_delta(pure: float, epsilon: float) -> float:
    """What `pure`-DP says about a smaller epsilon: the trade-off of randomized response.

    P(S) - e^eps Q(S) is largest for the likelier answer, p - e^eps (1 - p) with
    p = e^pure/(1 + e^pure), or for an epsilon below -pure for both answers, 1 - e^eps.
    """
    likelier = -math.expm1(epsilon - pure) / (1 + math.exp(-pure))
    return min(1.0, max(likelier, -math.expm1(epsilon)) * (1 + _SLACK))


def _lost_by_fourier(events: Iterable[Event]) -> float:
    """The part of delta set aside for rounding errors, 20 times the most seen (PROOF.md)."""
    return 1e-12 * (1 + sum(event.count for event in events) / 1000)


def _check_epsilon(epsilon: float) -> None:
    if math.isnan(epsilon):
        raise InputError("epsilon must be a number, not nan")
