"""The type of an attack, its result, and the bounds on its success that epsilon implies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audit._intervals import Band, mean_band, success_band
from discreet.domain import InputError
from discreet.ratings import Ratings

Wins = npt.NDArray[np.bool_] | npt.NDArray[np.float64]
"""For each try whether it was right, or the share of its claims that were right."""

# Beyond this exponent e^x overflows a double; a bound is 1 long before.
_LARGEST_EXPONENT = 700.0


@dataclass(frozen=True)
class Outcome:
    """How one target withstood an attack. Confidence intervals have level 95 %.

    Attributes:
        against: What was attacked.
        is_protected: Whether the project offers it as a protection from this attack. Some targets
            are shown because they do not protect.
        success: How often the attacker was right; where an attack claims many things at once, the
            mean share of them that was right.
        band: Clopper and Pearson's interval if a try is right or wrong, the normal one of shares.
        baseline: How often the best guess is right that does not see what is attacked.
        baseline_band: Its interval.
        bound: The highest success that the target's epsilon allows any attacker who has no better
            guess beforehand, from the upper end of the baseline's interval; None where nothing is
            proved.
        tries: How many there were.
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
        """Whether the attack is no better than guessing, as far as the intervals show."""
        return self.band[0] <= self.baseline_band[1]

    @property
    def is_within_bound(self) -> bool:
        """Whether the bound is not refuted."""
        return self.bound is None or self.band[0] <= self.bound


@dataclass(frozen=True)
class AttackResult:
    """What an attack achieved.

    Attributes:
        name: Of the attack, like the next three.
        knows: See `Attack`.
        tries_to: See `Attack`.
        counts: See `Attack`.
        outcomes: Without protection first.
        remark: See `Attack`.
    """

    name: str
    knows: str
    tries_to: str
    counts: str
    outcomes: tuple[Outcome, ...]
    remark: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain data; whether an outcome is within its bound is null where there is none."""
        plain_data = asdict(self)
        for plain, outcome in zip(plain_data["outcomes"], self.outcomes, strict=True):
            plain["within_bound"] = None if outcome.bound is None else outcome.is_within_bound
        return plain_data

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


@dataclass(frozen=True)
class Attack:
    """An attack that can be carried out.

    Attributes:
        name: On the command line.
        about: One line.
        source: Where it comes from.
        knows: What the attacker knows and sees.
        tries_to: What the attacker wants.
        counts: What a success is.
        remark: What to make of the result.
        outcomes: Carries it out, on ratings and with a seed: the first target has no protection.
    """

    name: str
    about: str
    source: str
    knows: str
    tries_to: str
    counts: str
    remark: str
    outcomes: Callable[[Ratings, int], Iterable[Outcome]]

    def run(self, ratings: Ratings, seed: int) -> AttackResult:
        """Carry it out.

        Raises:
            InputError: It cannot be made on these ratings.
        """
        found = tuple(self.outcomes(ratings, seed))
        return AttackResult(self.name, self.knows, self.tries_to, self.counts, found, self.remark)


def judge(
    against: str,
    won: Wins,
    guessed: Wins,
    *,
    is_protected: bool,
    bound: Callable[[float], float] | None = None,
) -> Outcome:
    """The outcome of many tries and of as many guesses.

    Args:
        against: What was attacked.
        won: Tries, right or wrong or the share that was right: independent, or such that their
            mean varies no more than if they were.
        guessed: The same of guesses.
        is_protected: See `Outcome`.
        bound: From how often a guess is right to how often anything can be; increasing.
    """
    most = None if bound is None else min(1.0, bound(band_of(guessed)[1]))
    return Outcome(
        against, is_protected,
        float(won.mean()), band_of(won),
        float(guessed.mean()), band_of(guessed),
        most, len(won),
    )  # fmt: skip


def band_of(won: Wins) -> Band:
    """An interval for the mean: exact where every try is right or wrong."""
    whole = won.astype(np.float64)
    if np.isin(whole, (0.0, 1.0)).all():
        return success_band(whole > 0.5)
    return mean_band(whole)


def most_with_prior(prior: float, epsilon: float, delta: float = 0.0) -> float:
    """The highest success of a guess among secrets of which any two are (epsilon, delta)-close.

    With prior probabilities pi_v, laws P_v of what is seen and G_v where v is guessed:
    P_v(G_v) <= e^eps P_w(G_v) + delta for all w. Weighed with pi_w and added up over w other than
    v this says, with S_v = pi_v P_v(G_v) and M the mixture of the laws,
    S_v (1 - pi_v)/pi_v <= e^eps (M(G_v) - S_v) + (1 - pi_v) delta. So
    S_v <= pi_v e^eps/(1 - pi_v + pi_v e^eps) M(G_v) + pi_v delta, whose sum over v is at most
    b e^eps/(1 - b + b e^eps) + delta, b the largest pi_v. That is concave in b, so the mean of many
    tries with different priors keeps to it as well.

    Args:
        prior: b, the probability that the best guess is right beforehand.
        epsilon: Between any two secrets: twice that of a record if a record is replaced.
        delta: Likewise.
    """
    if prior <= 0:
        return min(1.0, delta)
    odds = math.exp(min(epsilon + math.log(prior), _LARGEST_EXPONENT))
    return min(1.0, odds / (1 - prior + odds) + delta)


def most_without_record(absent: float, epsilon: float, delta: float = 0.0) -> float:
    """The highest success of claims about a person, from their success without that person.

    For any claim, P(right) <= e^eps P'(right) + delta, and the same of being wrong, with P' the law
    where the record is not in the data.

    Args:
        absent: How often the same attack is right where the record was left out.
        epsilon: Of the record.
        delta: Likewise.
    """
    up = math.exp(min(epsilon, _LARGEST_EXPONENT)) * absent + delta
    return min(1.0, up, 1 - math.exp(-epsilon) * (1 - absent - delta))


def twice(epsilon: float, delta: float) -> tuple[float, float]:
    """What (epsilon, delta) for one record more or less becomes for a record that is replaced."""
    return 2 * epsilon, (1 + math.exp(epsilon)) * delta
