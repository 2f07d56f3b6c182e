"""Leave to draw: what a ledger hands out after it has booked a charge, and never before."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from typing import Protocol

from discreet.domain.errors import NotCharged
from discreet.privacy._events import Event
from discreet.privacy.accounting import FilterAccountant, Totals
from discreet.privacy.noise import Randomness, SystemRandomness


class Leave(Protocol):
    """What a mechanism needs to see before it draws: a receipt, or a purse opened with one."""

    @property
    def is_private(self) -> bool:
        """Whether the noise comes from the operating system; seeded noise protects nobody."""

    def redeem(self, event: Event) -> Randomness:
        """Use up a charged event; the randomness returned is for its draws alone."""


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
        self._lock = threading.Lock()

    @property
    def is_private(self) -> bool:
        """Whether the noise comes from the operating system; seeded noise protects nobody."""
        return self._randomness.is_private

    def redeem(self, event: Event) -> Randomness:
        """Use up one charged event; the randomness returned is for its draws alone.

        Raises:
            NotCharged: The event was not charged, or was redeemed before.
        """
        with self._lock:
            if self._left[event] < 1:
                raise NotCharged(f"'{event.label}' was not charged, or was drawn before")
            self._left[event] -= 1
        return self._randomness

    def open_purse(self, event: Event) -> Purse:
        """Use up one charged event as a sum of money for smaller ones, chosen as they come."""
        return Purse(event, self.redeem(event), private=self.is_private)


class Purse:
    """A charged total that smaller events are paid from, each chosen after seeing the last.

    Pure events draw on a pure total and Gaussian ones on a Gaussian total: epsilons add up, squared
    mus add up, and both sums stay valid under adaptive choice as long as the total is fixed
    beforehand (`ledger/PROOF.md`).
    """

    def __init__(self, total: Event, randomness: Randomness, *, private: bool) -> None:
        self.total = total
        self.events: tuple[Event, ...] = ()
        self._randomness = randomness
        self._private = private
        self._most = FilterAccountant().totals([total])
        self._spent = Totals()
        self._lock = threading.Lock()

    @property
    def is_private(self) -> bool:
        """Whether the noise comes from the operating system; seeded noise protects nobody."""
        return self._private

    @property
    def is_spent(self) -> bool:
        """Whether all of it was paid out, but for a millionth."""
        least = 1 - 1e-6
        return (
            self._spent.pure >= self._most.pure * least
            and self._spent.mu_squared >= self._most.mu_squared * least
        )

    def redeem(self, event: Event) -> Randomness:
        """Pay for one event.

        Raises:
            NotCharged: It is of another unit than the total, or more than what is left.
        """
        with self._lock:
            after = self._spent + FilterAccountant().totals([event])
            fits = after.pure <= self._most.pure and after.mu_squared <= self._most.mu_squared
            if event.unit is not self.total.unit or not fits:
                raise NotCharged(f"'{event.label}' is more than what is left of the charge")
            self._spent = after
            self.events = (*self.events, event)
        return self._randomness
