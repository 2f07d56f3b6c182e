"""What an attack came to: one result type for all of them, and the bounds that epsilon implies."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audit._bands import Band, mean_band, success_band
from discreet.domain import InputError

Wins = npt.NDArray[np.bool_] | npt.NDArray[np.float64]
"""For each attack whether it was right, or which part of what it claimed was right."""


@dataclass(frozen=True)
class Outcome:
    """How one target stood against an attack. Bands are of 95 %.

    Attributes:
        against: What was attacked.
        is_protected: Whether the project offers it as a protection from this attack. Some things
            that are attacked are shown because they do not protect.
        success: How often the attacker was right; where an attack claims many things at once, the
            mean part of them that was right.
        band: Clopper and Pearson's of what is right or wrong, the normal one of parts.
        baseline: How often somebody is right who does not see what is attacked, and has the best
            guess otherwise.
        baseline_band: Likewise.
        bound: The most that the target's epsilon lets any attacker reach who has no better guess
            beforehand, from the upper end of the baseline's band; None where nothing is proved.
        tries: How many attacks were made.
    """

    against: str
    is_protected: bool
    success: float
    band: Band
    baseline: float
    baseline_band: Band
    bound: float | None
    tries: int

    @property
    def is_near_guessing(self) -> bool:
        """Whether the attack cannot be told from guessing, or does worse: the bands overlap."""
        return self.band[0] <= self.baseline_band[1]

    @property
    def is_within_bound(self) -> bool:
        """Whether the bound is not refuted."""
        return self.bound is None or self.band[0] <= self.bound


@dataclass(frozen=True)
class AttackResult:
    """One attack: who, what for, and how often it worked.

    Attributes:
        name: As the command line has it.
        knows: What the attacker knows and sees.
        tries_to: What the attacker wants.
        counts: What a success is.
        outcomes: Without protection first.
        remark: What to make of it; may be empty.
    """

    name: str
    knows: str
    tries_to: str
    counts: str
    outcomes: tuple[Outcome, ...]
    remark: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain data; whether an outcome is within its bound is null where there is none."""
        told = asdict(self)
        for plain, outcome in zip(told["outcomes"], self.outcomes, strict=True):
            plain["within_bound"] = None if outcome.bound is None else outcome.is_within_bound
        return told

    @property
    def is_within_bounds(self) -> bool:
        """Whether no bound of its outcomes is refuted."""
        return all(outcome.is_within_bound for outcome in self.outcomes)

    def against(self, name: str) -> Outcome:
        """The outcome of one target.

        Raises:
            InputError: There is none of that name.
        """
        for outcome in self.outcomes:
            if outcome.against == name:
                return outcome
        known = ", ".join(f"'{outcome.against}'" for outcome in self.outcomes)
        raise InputError(f"'{name}' was not attacked by {self.name}; there are {known}")


def judge(
    against: str,
    won: Wins,
    guessed: Wins,
    *,
    is_protected: bool,
    bound: Callable[[float], float] | None = None,
) -> Outcome:
    """The outcome of many attacks and of as many guesses.

    Args:
        against: What was attacked.
        won: Attacks, right or wrong or the part that was right: independent, or such that their
            mean varies no more than if they were.
        guessed: The same of guesses.
        is_protected: See `Outcome`.
        bound: From how often a guess is right to how often anything can be; it rises.
    """
    most = None if bound is None else min(1.0, bound(band_of(guessed)[1]))
    return Outcome(
        against, is_protected,
        float(won.mean()), band_of(won),
        float(guessed.mean()), band_of(guessed),
        most, len(won),
    )  # fmt: skip


def band_of(won: Wins) -> Band:
    """A band for the mean: exact where every attack is right or wrong."""
    whole = won.astype(np.float64)
    if np.isin(whole, (0.0, 1.0)).all():
        return success_band(whole > 0.5)
    return mean_band(whole)


def most_with_prior(prior: float, epsilon: float, delta: float = 0.0) -> float:
    """The most that a guess among secrets can be right where any two are (epsilon, delta)-close.

    With chances pi_v beforehand, laws P_v of what is seen and G_v where v is guessed:
    P_v(G_v) <= e^eps P_w(G_v) + delta for all w. Weighed with pi_w and added up over w other than
    v this says, with S_v = pi_v P_v(G_v) and M the mixture of the laws,
    S_v (1 - pi_v)/pi_v <= e^eps (M(G_v) - S_v) + (1 - pi_v) delta. So
    S_v <= pi_v e^eps/(1 - pi_v + pi_v e^eps) M(G_v) + pi_v delta, whose sum over v is at most
    b e^eps/(1 - b + b e^eps) + delta, b the largest pi_v. That is concave in b, so the mean of many
    attacks with different chances keeps to it as well.

    Args:
        prior: b, the chance that the best guess is right beforehand.
        epsilon: Between any two secrets: twice that of a record if a record is replaced.
        delta: Likewise.
    """
    if prior <= 0:
        return min(1.0, delta)
    odds = math.exp(min(epsilon + math.log(prior), 700.0))
    return min(1.0, odds / (1 - prior + odds) + delta)


def most_without_record(absent: float, epsilon: float, delta: float = 0.0) -> float:
    """The most that claims about somebody can be right, from what they are without that somebody.

    For any claim, P(right) <= e^eps P'(right) + delta, and the same of being wrong, with P' the law
    where the record is not in the data.

    Args:
        absent: How often the same attack is right where the record was left out.
        epsilon: Of the record.
        delta: Likewise.
    """
    up = math.exp(min(epsilon, 700.0)) * absent + delta
    return min(1.0, up, 1 - math.exp(-epsilon) * (1 - absent - delta))


def twice(epsilon: float, delta: float) -> tuple[float, float]:
    """What (epsilon, delta) for a record more or less is for a record that is replaced."""
    return 2 * epsilon, (1 + math.exp(epsilon)) * delta
