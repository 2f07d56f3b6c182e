"""`choose_epsilon`: an epsilon by its consequences, on public, synthetic or private ratings."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.audit._compared import methods_for, too_large
from discreet.audit._consequences import (
    EPSILONS,
    Choice,
    Consequence,
    choose_epsilons,
    consequences,
)
from discreet.domain import PRESENCE, InputError
from discreet.privacy import GaussianNoise, Unit
from discreet.ratings import Ratings, Shape, find_shape, make_ratings

DEFAULT_SHAPE = Shape(users=2000, items=100, ratings=40_000)
"""Of synthetic ratings: small enough for hundreds of attacks in a minute."""

_SYNTHETIC = "Synthetic ratings: nobody's were used, so the choice gives nothing away."
_GIVEN = (
    "For the curator's eyes only: these figures and the choice depend on the ratings given. If "
    "those are private, publishing an epsilon chosen here gives something away about them; choose "
    "on public ratings like yours, or leave RATINGS out to use synthetic ones."
)


@dataclass(frozen=True)
class EpsilonChoice:
    """An epsilon, and what it was chosen by.

    Attributes:
        epsilon: The best of those that were tried: the smallest that is as good as the best.
        choices: A choice for each method, the best first.
        rows: Every method and epsilon that was tried.
        note: Whether the choice may be published.
        presence: Whether records were interactions.
        left_out: Methods that were not tried, and why, each a sentence.
    """

    epsilon: float
    choices: tuple[Choice, ...]
    rows: tuple[Consequence, ...]
    note: str
    presence: bool
    left_out: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The choice in words."""
        choice = self.choices[0]
        best, (low, high) = choice.best, choice.neighbourhood
        what = "whether a record is there" if self.presence else "a rating"
        as_good = "no other epsilon that was tried is as good"
        if low < high:
            as_good = f"anything from {low:g} to {high:g} is as good"
        return (
            f"With {best.method} at epsilon {best.epsilon:g} per {best.of}, predictions have "
            f"{_percent(best.utility)} of what the best noise-free method gains over a constant "
            f"prediction, and the best attack finds out {what} {_percent(best.risk)} of the time, "
            f"compared with {_percent(best.prior)} by guessing alone; {as_good} within the "
            "accuracy of this experiment."
        )

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "note": self.note,
            "sentence": self.sentence,
            "left_out": list(self.left_out),
            "choices": [
                {
                    "method": choice.best.method,
                    "epsilon": choice.best.epsilon,
                    "of": choice.best.of,
                    "value": choice.value,
                    "margin": choice.margin,
                    "as_good": [row.epsilon for row in choice.as_good],
                }
                for choice in self.choices
            ],
            "rows": [row.as_json() for row in self.rows],
        }


def choose_epsilon(
    ratings: Ratings | Shape | str | None = None,
    *,
    value_of_utility: float,
    cost_of_breach: float,
    methods: Iterable[str] | None = None,
    epsilons: Iterable[float] = EPSILONS,
    protect: Unit | str = Unit.USER,
    delta: float = GaussianNoise.default_delta,
    attacks: int = 80,
    draws: int = 4,
    seed: int | None = None,
    implicit: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> EpsilonChoice:
    """Attack releases and choose the epsilon with the best value.

    The value of an epsilon is the value of utility times the utility of the predictions, less the
    cost of a breach times the rate at which the best attack succeeds.

    Args:
        ratings: Public ratings like yours; or a shape, or the name of one, for synthetic ratings,
            which the default is too. On private ratings the choice itself reveals something.
        value_of_utility: The value of predictions as good as the best without noise.
        cost_of_breach: The cost of an attacker learning every rating.
        methods: Of `discreet.audit.METHODS`; if absent, all that apply to ratings of this kind and
            size.
        epsilons: To choose from.
        protect: Whom releases protect.
        delta: Of releases.
        attacks: How many to run for each method and epsilon.
        draws: How many times to draw the noise of each release.
        seed: Makes it repeatable, synthetic ratings included.
        implicit: Whether synthetic ratings are interactions.
        progress: Called with a stage's name, how much of it is done and how much there is.

    Raises:
        InputError: An argument or the ratings cannot be used.

    Example:
        >>> import discreet
        >>> chosen = discreet.choose_epsilon(
        ...     discreet.Shape(users=100, items=20, ratings=1000),
        ...     value_of_utility=1,
        ...     cost_of_breach=2,
        ...     methods=["refined"],
        ...     epsilons=[1, 10],
        ...     attacks=10,
        ...     draws=2,
        ...     seed=1,
        ... )
        >>> chosen.epsilon in (1, 10), len(chosen.rows)
        (True, 2)
    """
    tried = [float(epsilon) for epsilon in epsilons]
    _check(value_of_utility, cost_of_breach, tried)
    data = ratings if isinstance(ratings, Ratings) else _synthetic(ratings, seed or 0, implicit)
    left_out: dict[str, str] = {}
    if methods is None:
        known = methods_for(data.scale.presence)
        left_out = {name: why for name in known if (why := too_large(name, data))}
        methods = [name for name in known if name not in left_out]
    rows = consequences(
        data, methods, tried, protect=protect, delta=delta, attacks=attacks, draws=draws, seed=seed,
        progress=progress,
    )  # fmt: skip
    choices = choose_epsilons(
        rows, value_of_utility=value_of_utility, cost_of_breach=cost_of_breach
    )
    note = _GIVEN if isinstance(ratings, Ratings) else _SYNTHETIC
    best = choices[0].best.epsilon
    skipped = tuple(left_out.values())
    return EpsilonChoice(best, tuple(choices), tuple(rows), note, data.scale.presence, skipped)


def _check(utility: float, breach: float, epsilons: list[float]) -> None:
    for name, weight in (("value_of_utility", utility), ("cost_of_breach", breach)):
        if not (math.isfinite(weight) and weight >= 0):
            raise InputError(f"{name} is a number from 0 on, not {weight:g}")
    if not utility and not breach:
        raise InputError("if neither utility nor a breach counts, every epsilon is equally good")
    if any(map(math.isinf, epsilons)):
        raise InputError("without noise nothing is private: epsilons must be finite")


def _synthetic(shape: Shape | str | None, seed: int, implicit: bool) -> Ratings:
    known = DEFAULT_SHAPE if shape is None else shape
    made = make_ratings(find_shape(known) if isinstance(known, str) else known, seed=seed)
    if not implicit:
        return made
    return dataclasses.replace(made, scale=PRESENCE, codes=np.ones(len(made), np.uint8))


def _percent(part: float) -> str:
    return f"{100 * part:.0f} %"
