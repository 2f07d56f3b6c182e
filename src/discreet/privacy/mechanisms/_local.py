"""What the two mechanisms that randomize at home have in common."""

from __future__ import annotations

from discreet.privacy._events import PureEvent
from discreet.privacy._units import Unit


def report_event(mechanism: str, epsilon: float, label: str, items: int) -> PureEvent:
    """What one report on each of `items` items costs.

    Epsilon for one rating added, removed or changed; `items` times that for a whole user.
    """
    return PureEvent(
        unit=Unit.RATING,
        label=label,
        ratings_per_user=items,
        covers_change=True,
        epsilon=epsilon,
        mechanism=mechanism,
    )
