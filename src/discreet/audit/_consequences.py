"""What an epsilon gains and costs, method by method: measured by real attacks on real outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from discreet.audit._adversary import Guesses, guess
from discreet.audit._compared import (
    Bench,
    ComparedMethod,
    method_of,
    methods_for,
)
from discreet.audit._intervals import Band, excess_band, student_band, success_band
from discreet.domain import InputError
from discreet.privacy import GaussianNoise, Unit, fit_unit
from discreet.ratings import Ratings

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done and how much there is."""

# From nearly no utility to nearly no privacy, each about three times the one before.
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


@dataclass(frozen=True)
class Consequence:
    """What one epsilon of one method gains and costs. Intervals have level 95 %.

    Attributes:
        method: Its name.
        epsilon: Of what `of` says, and of nothing more.
        of: A user, a rating, a report on one item or one answer.
        utility: How well held-out ratings are predicted (their variance that is explained; of
            presence, how far held-out pairs rank above others), as a share of what the best method
            tried achieves without noise: 0 is no better than a constant prediction.
        utility_band: Student's, over the draws of the noise.
        risk: How often the ideal adversary finds out a rating, or of presence whether a record is
            there: from everything the method publishes, and from all other records.
        risk_band: Clopper and Pearson's, like those of the other risks.
        likelihood: How often it would if it ignored the distribution of the other ratings.
        likelihood_band: Its interval.
        prior: How often that distribution alone is right: what the method is not to blame for.
        prior_band: Its interval.
        excess: How much more often than that: what the method itself gives away.
        excess_band: From the attacks in which the two differ.
        majority: How often the most frequent value is right.
        majority_band: Its interval.
        error: The RMSE of predictions on held-out ratings; None of presence.
        attacks: How many were made.
        draws: How many times the noise was drawn.
        people: How many people's held-out ratings the utility is measured on.
        candidates: How many people have any; of more than 2,000, so many are chosen at random.
    """

    method: str
    epsilon: float
    of: str
    utility: float
    utility_band: Band
    risk: float
    risk_band: Band
    likelihood: float
    likelihood_band: Band
    prior: float
    prior_band: Band
    excess: float
    excess_band: Band
    majority: float
    majority_band: Band
    error: float | None
    attacks: int
    draws: int
    people: int
    candidates: int

    def value(self, value_of_utility: float, cost_of_breach: float) -> float:
        """Its worth, given what full utility is worth and what a found-out rating costs."""
        return value_of_utility * self.utility - cost_of_breach * self.risk

    def margin(self, value_of_utility: float, cost_of_breach: float) -> float:
        """Half the width of that value's interval, except for what guessing costs everywhere.

        All methods are tried on the same victims, so how easy they are to guess moves all values
        alike.
        """
        widths = [(high - low) / 2 for low, high in (self.utility_band, self.excess_band)]
        return math.hypot(value_of_utility * widths[0], cost_of_breach * widths[1])

    def as_json(self) -> dict[str, Any]:
        """Plain data, without an error where there is none."""
        return {name: each for name, each in asdict(self).items() if each is not None}


def consequences(
    ratings: Ratings,
    methods: Iterable[str] | None = None,
    epsilons: Iterable[float] = EPSILONS,
    *,
    protect: Unit | str = Unit.USER,
    delta: float = GaussianNoise.default_delta,
    attacks: int = 80,
    draws: int = 4,
    seed: int | None = None,
    progress: Progress | None = None,
) -> list[Consequence]:
    """Fit, attack and compare, for each method and epsilon. For the curator's eyes only.

    Args:
        ratings: Private, or public or synthetic data.
        methods: Of `METHODS`; all that make sense if absent.
        epsilons: Finite.
        protect: Whom releases protect. Reports and answers have their own units.
        delta: Of releases.
        attacks: How many for each method and epsilon, on the same victims.
        draws: How many times the noise is drawn for them.
        seed: Makes everything repeatable.
        progress: Called with a stage's name, how much of it is done and how much there is.

    Raises:
        InputError: An argument, or these ratings, cannot be used.
    """
    budgets = _budgets(epsilons)
    names = _names(ratings.scale.presence, methods, protect)
    bench = Bench(ratings, attacks=attacks, draws=draws, seed=seed)
    settings = {"protect": protect, "delta": delta}
    chosen = {name: method_of(bench, name, settings) for name in names}
    # Utility is a share of what the best of them foresees without noise, the same for all.
    most = max(bench.foreseen(method.without_noise()) for method in chosen.values())
    # Shares of nothing would be noise divided by rounding errors.
    if most <= 1e-9:
        raise InputError("there is nothing to lose: even without noise nothing is predicted")
    found: list[Consequence] = []
    for name, method in chosen.items():
        for epsilon in budgets:
            if progress is not None:
                progress("attacks", len(found), len(names) * len(budgets))
            found.append(_measure(bench, name, method, most, epsilon))
    return found


def _names(presence: bool, methods: Iterable[str] | None, protect: str) -> list[str]:
    fit_unit(protect)
    names = list(dict.fromkeys(methods_for(presence) if methods is None else methods))
    if not names:
        raise InputError("there is nothing to compare: name at least one method")
    return names


def _budgets(epsilons: Iterable[float]) -> list[float]:
    budgets = sorted({float(epsilon) for epsilon in epsilons})
    if not budgets or not all(math.isfinite(epsilon) and epsilon > 0 for epsilon in budgets):
        raise InputError("epsilons are finite numbers above 0, at least one of them")
    return budgets


def _measure(
    bench: Bench, name: str, method: ComparedMethod, most: float, epsilon: float
) -> Consequence:
    # Each draw of the noise has its own part of the victims, so that all of them are attacked once.
    bounds = np.linspace(0, len(bench.victims), bench.draws + 1).astype(int)
    utilities, errors, guesses = [], [], []
    for draw in range(bench.draws):
        victims = bench.victims.part(int(bounds[draw]), int(bounds[draw + 1]))
        source = bench.randomness(name, epsilon, draw)
        predicted, likelihoods = method.draw(epsilon, victims, source)
        # Noise can be lucky: a utility above 1 would count as more than everything.
        utilities.append(min(bench.foreseen(predicted) / most, 1.0))
        errors.append(bench.error(predicted))
        guesses.append(guess(victims, likelihoods, bench.choices))
    known = [error for error in errors if error is not None]
    return Consequence(
        method=str(name),
        epsilon=epsilon,
        of=method.of,
        utility=float(np.mean(utilities)),
        utility_band=student_band(np.array(utilities)),
        error=float(np.mean(known)) if known else None,
        attacks=len(bench.victims),
        draws=bench.draws,
        people=len(bench.people),
        candidates=bench.candidates,
        **_risks(guesses),
    )


def _risks(guesses: Sequence[Guesses]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    kinds = {"risk": "posterior", "likelihood": "likelihood"}
    kinds |= {"prior": "prior", "majority": "majority"}
    for name, kind in kinds.items():
        won = np.concatenate([getattr(each, kind) for each in guesses])
        found |= {name: float(won.mean()), f"{name}_band": success_band(won)}
    # Pairs on the same victims: their difference varies less than either of them.
    seen, blind = (np.concatenate([getattr(g, k) for g in guesses]) for k in ("posterior", "prior"))
    excess = float(seen.mean() - blind.mean())
    return found | {"excess": excess, "excess_band": excess_band(seen, blind)}


@dataclass(frozen=True)
class Choice:
    """The best epsilon of a method, and those that are as good within the measured accuracy.

    Attributes:
        best: The smallest epsilon that is worth as much as any, within the measured accuracy.
        value: Its worth.
        margin: Half the width of its interval.
        as_good: All of the same method whose value lies in that interval, by epsilon.
        is_edge: Whether the best is the smallest or the largest epsilon that was tried.
    """

    best: Consequence
    value: float
    margin: float
    as_good: tuple[Consequence, ...]
    is_edge: bool

    @property
    def neighbourhood(self) -> tuple[float, float]:
        """The range of epsilons that are as good, without a gap in between."""
        epsilons = [each.epsilon for each in self.as_good]
        return epsilons[0], epsilons[-1]


def choose_epsilons(
    rows: Sequence[Consequence], *, value_of_utility: float, cost_of_breach: float
) -> list[Choice]:
    """A choice for each method; the best of them all comes first.

    An epsilon chosen on private data depends on it: choose on public or synthetic data.
    """
    if not rows:
        raise InputError("there is nothing to choose from: no epsilon was tried")
    for name, worth in {"utility": value_of_utility, "a breach": cost_of_breach}.items():
        if not (math.isfinite(worth) and worth >= 0):
            raise InputError(f"the worth of {name} is a number from 0 on, not {worth:g}")
    weights = (value_of_utility, cost_of_breach)
    methods: dict[str, list[Consequence]] = {}
    for row in sorted(rows, key=lambda row: row.epsilon):
        methods.setdefault(row.method, []).append(row)
    choices = [_choose(curve, *weights) for curve in methods.values()]
    return sorted(choices, key=lambda choice: -choice.value)


def _choose(curve: list[Consequence], utility: float, breach: float) -> Choice:
    """The smallest among equals; neighbours count as far as no worse one lies between."""
    values = [row.value(utility, breach) for row in curve]
    at = int(np.argmax(values))
    margin = curve[at].margin(utility, breach)
    close = [value >= values[at] - margin for value in values]
    first = last = at
    while first > 0 and close[first - 1]:
        first -= 1
    while last + 1 < len(curve) and close[last + 1]:
        last += 1
    is_edge = len(curve) > 1 and first in (0, len(curve) - 1)
    return Choice(curve[first], values[first], margin, tuple(curve[first : last + 1]), is_edge)
