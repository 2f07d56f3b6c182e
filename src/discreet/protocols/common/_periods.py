"""What reports of several periods add up to, in the words that series of releases use."""

from __future__ import annotations

import dataclasses
import math

from discreet.privacy import Event
from discreet.privacy.accounting import compose

# A year of months: what a cost is stated for, whatever the length of a period is.
_PERIODS = 12
# Epsilons are announced in thousandths, so a sum has three decimals; this absorbs a float's error.
_TOLERANCE = 1e-6


def spell_sum(event: Event, periods: int) -> str:
    """What an event that everybody pays once a period adds up to: in 12 periods, and in all so far.

    Each period's answers are drawn afresh, so that epsilons add.

    Args:
        event: What one period costs.
        periods: How many there have been, this one included.
    """
    so_far = "the one" if periods == 1 else f"all {periods:,}"
    return (
        f"for somebody who takes part in {_PERIODS} periods the epsilon is "
        f"{_epsilon(event, _PERIODS)}; in {so_far} so far, {_epsilon(event, periods)}"
    )


def _epsilon(event: Event, periods: int) -> str:
    epsilon = compose([dataclasses.replace(event, count=event.count * periods)]).epsilon(0.0)
    up = math.ceil(epsilon * 1000 - _TOLERANCE) / 1000
    return f"{up:,.3f}".rstrip("0").rstrip(".")
