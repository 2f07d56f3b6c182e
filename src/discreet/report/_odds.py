"""What an epsilon lets an attacker find out, as odds and as guesses; rounding to the safe side."""

from __future__ import annotations

import math

# The probability, in deltas, with which a bound on odds may fail. Chosen by hand: 10 makes the
# factor only 1/0.9 larger than e^epsilon.
_RARER = 10.0
# A bound that may fail with a larger probability is not stated. Chosen by hand.
_OFTEN = 0.01
# Relative slack in rounding: what exceeds a digit only by errors of arithmetic keeps it.
_TOLERANCE = 1e-9


def best_guess(epsilon: float, delta: float) -> float:
    """How often, at most, a guess between two equally likely neighbouring data sets is right.

    For neighbours A and B and any set S on which A is guessed, P_A(S) <= e^eps P_B(S) + delta and
    P_B(not S) <= e^eps P_A(not S) + delta. Adding them, with s = P_A(S) + P_B(not S), gives
    s <= e^eps (2 - s) + 2 delta, so that half of s is at most (e^eps + delta)/(1 + e^eps).
    """
    rare = math.exp(-epsilon)
    return min((1 + delta * rare) / (1 + rare), 1.0)


def odds_factor(epsilon: float, delta: float) -> tuple[float, float]:
    """The factor by which odds grow at most, and the probability with which they may grow more.

    Let S be the outcomes that make A more than K times as likely against B as before. Then
    P_A(S) >= K P_B(S), and with P_A(S) <= e^eps P_B(S) + delta the chance of S is at most
    delta/(1 - e^eps/K), for A and for B. For delta 0 and K = e^eps there is no such outcome; else
    K = e^eps/0.9 has a probability of failure of at most 10 delta. Where that is not small, no
    bound is stated: the factor is infinite.
    """
    if _RARER * delta > _OFTEN:
        return math.inf, 0.0
    factor = math.exp(epsilon) if epsilon < 700 else math.inf
    return (factor, 0.0) if delta == 0 else (factor / (1 - 1 / _RARER), _RARER * delta)


def after(prior: float, factor: float) -> float:
    """The largest belief after its odds have grown by a factor."""
    if math.isinf(factor):
        return 1.0
    odds = prior / (1 - prior) * factor
    return odds / (1 + odds)


def percent_up(share: float) -> str:
    """A share in per cent, rounded up to a tenth; below 1 % to two significant digits."""
    if share < 0.01 * (1 - _TOLERANCE):
        return f"{number_up(100 * share, 2)} %"
    tenths = math.ceil(share * 1000 * (1 - _TOLERANCE))
    return f"{min(tenths, 1000) / 10:g} %"


def number_up(value: float, digits: int = 4) -> str:
    """Rounded up to significant digits: for costs and claims."""
    if math.isinf(value):
        return "without bound"
    if value <= 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(value)) + 1 - digits)
    above = math.ceil(value / unit * (1 - _TOLERANCE)) * unit
    return f"{above:,.0f}" if 1000 <= above < 1e9 else f"{above:.{digits}g}"


def number_down(value: float, digits: int = 4) -> str:
    """Rounded down to significant digits: for lower bounds and noise."""
    if math.isinf(value):
        return "above every number"
    if value <= 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(value)) + 1 - digits)
    below = math.floor(value / unit * (1 + _TOLERANCE)) * unit
    return f"{below:,.0f}" if 1000 <= below < 1e9 else f"{below:.{digits}g}"


def one_in(chance: float) -> str:
    """A probability as 1 in a number, rounded to the safe side."""
    return f"1 in {math.floor(1 / chance * (1 + _TOLERANCE)):,}"
