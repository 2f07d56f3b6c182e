"""What a series would cost, and how much noise its releases would have: before it begins."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.domain import InputError
from discreet.measure import Budget
from discreet.privacy import PERIOD_UNITS, Noise, NoisePlan, SeriesTerms, Unit

_ANY = "0" * 16
"""Which series does not matter for a plan."""

# The most periods that are planned. Chosen by hand: 27 years of days.
_MOST = 10_000


@dataclass(frozen=True)
class PlannedSeries:
    """What a series comes to after so many periods.

    Attributes:
        plan: `factorised` or `fresh`.
        periods: How many.
        noise: How much noise totals have then, over that of a single release with the same
            epsilon on all records.
        divided: The same for a new release every time, with the budget divided between them.
        weight: What all periods count together, over what they would count without forgetting.
        epsilon: What one unit of one period costs, for ever.
        epsilon_of_all: What a person costs who is there in every period; None if nothing bounds
            it.
        epsilon_of_twelve: The same for 12 periods, however they lie; None if nothing bounds it.
    """

    plan: str
    periods: int
    noise: float
    divided: float
    weight: float
    epsilon: float
    epsilon_of_all: float | None
    epsilon_of_twelve: float | None


def plan_series(
    *,
    protect: Unit | str = Unit.USER_WEEK,
    epsilon: float = 1.0,
    delta: float | None = None,
    noise: Noise | str = Noise.GAUSSIAN,
    half_life: float | None = None,
    horizon: int | None = None,
    periods: int = 52,
) -> list[PlannedSeries]:
    """Compare the ways to draw noise for a series, after 1, 12, ... and `periods` periods.

    Args:
        protect: `rating`, `user-day`, `user-week` or `user-month`.
        epsilon: What one unit of one period may cost.
        delta: 1e-6 by default for Gaussian noise.
        noise: `gaussian` or `laplace`.
        half_life: Periods after which a record counts half.
        horizon: For how many periods factorised noise is planned.
        periods: How many periods to look ahead.

    Raises:
        InputError: A number is out of range.

    Example:
        >>> import discreet
        >>> rows = discreet.plan_series(protect="rating", epsilon=1, periods=52)
        >>> [(row.plan, row.periods, round(row.noise, 1)) for row in rows if row.periods == 52]
        [('factorised', 52, 1.8), ('fresh', 52, 7.2)]
    """
    if type(periods) is not int or not 1 <= periods <= _MOST:
        raise InputError(f"a plan looks ahead 1 to {_MOST:,} periods, not {periods}")
    kind = noise_of(noise)
    delta = kind.kind.default_delta if delta is None else delta
    budget = Budget.of(unit_of(protect), kind, epsilon, delta)
    budget.check_finite()
    plans = {"fresh": NoisePlan.fresh(half_life)}
    if kind is Noise.GAUSSIAN:
        records = budget.unit is Unit.RATING
        factorised = NoisePlan.factorised(half_life, horizon, records=records)
        plans = {"factorised": factorised, **plans}
    rows = []
    for name, plan in plans.items():
        terms = SeriesTerms(_ANY, budget.unit, budget.event("series"), plan)
        for n in sorted({1, min(12, periods), periods}):
            gamma = plan.forgetting
            weight = 1.0 if gamma == 1 else (1 - gamma**n) / (1 - gamma) / n
            rows.append(
                PlannedSeries(
                    name,
                    n,
                    plan.noise(n),
                    math.sqrt(n) if kind is Noise.GAUSSIAN else float(n),
                    weight,
                    epsilon,
                    _of_life(terms, n, delta),
                    _of_life(terms, 12, delta),
                )
            )
    return rows


def unit_of(protect: Unit | str) -> Unit:
    """What a series protects, by name.

    Raises:
        InputError: A series cannot protect it.
    """
    units = (Unit.RATING, *PERIOD_UNITS)
    if protect not in units:
        raise InputError(f"a series protects one of {', '.join(units)}, not '{protect}'")
    return Unit(protect)


def noise_of(noise: Noise | str) -> Noise:
    """A kind of noise, by name.

    Raises:
        InputError: There is no such kind.
    """
    if noise not in list(Noise):
        raise InputError(f"noise is one of {', '.join(Noise)}, not '{noise}'")
    return Noise(noise)


def _of_life(terms: SeriesTerms, periods: int, delta: float) -> float | None:
    cost = terms.cost_of_life(periods)
    return None if math.isinf(cost.pure) else cost.epsilon(delta)
