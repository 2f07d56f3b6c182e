"""Leave to draw: what a ledger hands out after it has booked a charge, and never before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from discreet.domain.errors import NotCharged
from discreet.privacy._events import Event
from discreet.privacy.noise import Randomness, SystemRandomness


class Receipt:
    """The events that were charged, each good for one draw.

    Mechanisms take their randomness from a receipt and from nowhere else: no charge, no noise.

    Args:
        events: What was charged.
        randomness: Where the noise shall come from.
        ledger: The population whose ledger was charged; None if no ledger was kept.
    """

    def __init__(
        self,
        events: Iterable[Event],
        randomness: Randomness | None = None,
        ledger: str | None = None,
    ) -> None:
        self.events = tuple(events)
        self.ledger = ledger
        self._randomness = randomness or SystemRandomness()
        self._left = Counter(self.events)

    @property
    def is_private(self) -> bool:
        """Whether the noise comes from the operating system; seeded noise protects nobody."""
        return self._randomness.is_private

    def redeem(self, event: Event) -> Randomness:
        """Use up one charged event; the randomness returned is for its draws alone.

        Raises:
            NotCharged: The event was not charged, or was redeemed before.
        """
        if self._left[event] < 1:
            raise NotCharged(f"'{event.label}' was not charged, or was drawn before")
        self._left[event] -= 1
        return self._randomness
