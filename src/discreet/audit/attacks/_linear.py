"""The linear ideal adversary of Park and Acharya, as one attack among others."""

from __future__ import annotations

import math

from discreet.audit._linear_ideal import RiskUtility, risk_utility
from discreet.audit.attacks._attack import AttackResult, Outcome, most_with_prior
from discreet.privacy import SeededRandomness
from discreet.ratings import Ratings

_ATTACKS = 1000
_EPSILONS = (math.inf, 100.0, 10.0, 1.0, 0.1)


def linear_ideal(ratings: Ratings, seed: int) -> AttackResult:
    """Solve one noisy Slope One answer for the one rating that is not known."""
    curve = risk_utility(
        ratings,
        "slope-one",
        _EPSILONS,
        attacks=_ATTACKS,
        top=1,
        randomness=SeededRandomness(f"linear ideal {seed}"),
    )
    return AttackResult(
        "linear-ideal",
        "every record but one, and one answer to the person whose record it is",
        "find out that rating, from an answer that is linear in it",
        "the rating was found",
        tuple(_outcome(point) for point in curve),
        "Epsilon is of one answer; what a person is shown altogether costs the sum.",
    )


def _outcome(point: RiskUtility) -> Outcome:
    is_protected = math.isfinite(point.epsilon)
    bound = None
    if is_protected:
        # Another value is a record less and a record more.
        bound = most_with_prior(point.majority_band[1], 2 * point.epsilon)
    return Outcome(
        f"answers, epsilon {point.epsilon:g}" if is_protected else "answers without noise",
        is_protected,
        point.risk_clipped,
        point.risk_clipped_band,
        point.majority,
        point.majority_band,
        bound,
        _ATTACKS,
    )
