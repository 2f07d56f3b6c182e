"""Permission to draw: what a ledger issues after it has recorded a charge, and never before.

Receipts are issued by `Ledger.charge`, or by `unbooked` where no ledger is kept. No public call
makes, copies or fakes one: mechanisms draw only on objects that were issued here. A receipt has the
source of random bits that it lets a mechanism draw from; the sources come first.
"""

from __future__ import annotations

import abc
import dataclasses
import hashlib
import os
import threading
import weakref
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn, Self

from discreet.domain.errors import NotCharged
from discreet.domain.lazy import LazyModule
from discreet.privacy._events import Event
from discreet.privacy._guarantee import ChargeRecord
from discreet.privacy.accounting import Totals, compose

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from cryptography.hazmat.primitives import ciphers
else:
    np, ciphers = LazyModule("numpy"), LazyModule("cryptography.hazmat.primitives.ciphers")

# Bytes that are made with one key and in one call; larger ones were not faster. Chosen by hand.
_CHUNK = 1 << 20
# Bytes up to which the system is asked directly: setting up a cipher would take longer.
_SMALL = 1 << 12
_ZEROS = bytes(_CHUNK)


class Randomness(abc.ABC):
    """A source of independent fair bits."""

    is_private: bool
    """Whether the bits are unpredictable. Releases made otherwise say that they are not private."""

    @abc.abstractmethod
    def fill(self, buffer: memoryview) -> None:
        """Overwrite a writable byte buffer with random bytes."""

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        """Random 64-bit words."""
        out = np.empty(count, dtype=np.uint64)
        self.fill(out.data.cast("B"))
        return out

    def half_words(self, count: int) -> npt.NDArray[np.uint32]:
        """Random 32-bit words."""
        out = np.empty(count, dtype=np.uint32)
        self.fill(out.data.cast("B"))
        return out

    def bits(self, count: int) -> int:
        """A random integer of `count` bits."""
        buffer = bytearray((count + 7) // 8)
        self.fill(memoryview(buffer))
        return int.from_bytes(buffer, "big") >> (-count % 8)


class SystemRandomness(Randomness):
    """The operating system's cryptographic source.

    Large requests run through AES-256 in counter mode, one fresh key from the system for every
    mebibyte: about as fast as memory, and nothing is kept that a fork, a thread or a snapshot
    of the machine could repeat.
    """

    is_private = True

    def fill(self, buffer: memoryview) -> None:
        size = len(buffer)
        if size <= _SMALL:
            buffer[:] = os.urandom(size)
            return
        for start in range(0, size, _CHUNK):
            part = buffer[start : start + _CHUNK]
            _keystream(os.urandom(32)).update_into(_ZEROS[: len(part)], part)


class SeededRandomness(Randomness):
    """A repeatable stream for tests and experiments: the same seed, the same bits.

    Whoever knows the seed can subtract the noise, so nothing made with it is private: a release
    made with it says so, and needs no ledger. For anything that you publish, leave `randomness`
    out; then noise comes from the operating system's cryptographic source.

    Args:
        seed: A number or a text.

    Example:
        >>> import discreet
        >>> ratings = discreet.make_ratings("ml-100k", ratings=2000, seed=1)
        >>> release = discreet.fit(
        ...     ratings, epsilon=1.0, randomness=discreet.SeededRandomness("experiment 1")
        ... )
        >>> release.guarantee.is_private
        False
    """

    is_private = False

    def __init__(self, seed: int | str) -> None:
        self._stream = _keystream(hashlib.sha256(f"discreet seed {seed}".encode()).digest())

    def fill(self, buffer: memoryview) -> None:
        for start in range(0, len(buffer), _CHUNK):
            part = buffer[start : start + _CHUNK]
            self._stream.update_into(_ZEROS[: len(part)], part)


def _keystream(key: bytes) -> ciphers.CipherContext:
    # AES-256 of a counter, under a key that is used for nothing else: the counter may begin at 0.
    mode = ciphers.modes.CTR(bytes(16))
    return ciphers.Cipher(ciphers.algorithms.AES256(key), mode).encryptor()


_ALL_BUT = 1e-6
"""The share of a purse that may be left when it counts as spent: above the rounding of shares."""

_issued: weakref.WeakSet[_Issued] = weakref.WeakSet()
"""Every receipt, purse and book of tickets that this module has made."""


class _Issued:
    """What exists once, for the process that it was issued to, and cannot be made by a caller."""

    __slots__ = ("__weakref__", "_lock", "_process", "_randomness")

    _lock: threading.Lock
    _process: int
    _randomness: Randomness

    def __new__(cls, *_args: Any, **_options: Any) -> Self:
        """Refuse: see `_issue`."""
        raise TypeError(
            f"a {cls.__name__} cannot be made by hand: Ledger.charge issues receipts, and "
            "discreet.privacy.unbooked does where no ledger is kept"
        )

    def __init_subclass__(cls) -> None:
        if cls.__module__ != __name__:
            raise TypeError("receipts and purses cannot be subclassed")

    @classmethod
    def _issue(cls, randomness: Randomness) -> Self:
        # Around `__new__`, which refuses everybody else.
        new = object.__new__(cls)
        new._lock = threading.Lock()
        new._process = os.getpid()
        new._randomness = randomness
        _issued.add(new)
        return new

    @property
    def is_private(self) -> bool:
        """Whether the noise comes from the operating system; seeded noise is not private."""
        return self._randomness.is_private

    def _check_owner(self) -> None:
        """A forked process has a copy of everything: it must not draw what its parent paid for."""
        check_permit(self)
        if self._process != os.getpid():
            raise NotCharged("this receipt was issued to another process, which alone may draw")

    def _refuse_copy(self, *_: object) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be copied: one charge pays for one draw")

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __replace__ = _refuse_copy


class Receipt(_Issued):
    """The events that were charged, each good for one draw.

    Mechanisms take their randomness from a receipt and from nowhere else: no charge, no noise.
    """

    __slots__ = ("_charge", "_events", "_left")

    _charge: ChargeRecord | None
    _events: tuple[Event, ...]
    _left: Counter[Event]

    @property
    def events(self) -> tuple[Event, ...]:
        """What was charged."""
        return self._events

    @property
    def charge(self) -> ChargeRecord | None:
        """Which ledger's charge this is the receipt of; None if no ledger recorded it."""
        return self._charge

    @property
    def ledger(self) -> str | None:
        """The population whose ledger was charged; None if no ledger recorded it."""
        return None if self._charge is None else self._charge.population

    def redeem(self, event: Event) -> Randomness:
        """Use up one charged event; the randomness returned is for its draws alone.

        Raises:
            NotCharged: The event was not charged, or was redeemed before.
        """
        self._check_owner()
        with self._lock:
            if self._left[event] < 1:
                raise NotCharged(f"'{event.label}' was not charged, or was drawn before")
            self._left[event] -= 1
        return self._randomness

    def open_purse(self, event: Event) -> Purse:
        """Use up one charged event as a sum of money for smaller ones, chosen as they come."""
        purse = Purse._issue(self.redeem(event))
        purse._total = event
        purse._events = ()
        # As it was charged, rounded up: shares are composed and rounded up too, so the sum of what
        # fits is never more than what was recorded.
        purse._most = compose([event])
        purse._spent = Totals()
        return purse

    def open_tickets(self, event: Event) -> Tickets:
        """Use up one charged event for the draws that it counts, some of them at a time."""
        return self._open_tickets(event, 1)

    def _open_tickets(self, event: Event, disjoint: int) -> Tickets:
        """The same where each draw that was charged is divided into `disjoint` ones.

        A unit moves at most one of these, so that together they cost what one of them costs. Only
        `measure/sets` proves such a thing (PROOF.md there), and only it may call this.
        """
        tickets = Tickets._issue(self.redeem(event))
        tickets._each = dataclasses.replace(event, count=1)
        tickets._left = event.count * disjoint
        return tickets


class Purse(_Issued):
    """A charged total that smaller events are paid from, each chosen after seeing the last.

    Pure events draw on a pure total and Gaussian ones on a Gaussian total: epsilons add up, squared
    mus add up, and both sums stay valid under adaptive choice as long as the total is fixed
    beforehand (`ledger/PROOF.md`). `Receipt.open_purse` opens one.
    """

    __slots__ = ("_events", "_most", "_spent", "_total")

    _events: tuple[Event, ...]
    _most: Totals
    _spent: Totals
    _total: Event

    @property
    def total(self) -> Event:
        """What was charged."""
        return self._total

    @property
    def events(self) -> tuple[Event, ...]:
        """What was paid from it so far."""
        return self._events

    @property
    def is_spent(self) -> bool:
        """Whether all of it was paid out, but for a millionth."""
        least = 1 - _ALL_BUT
        return (
            self._spent.pure >= self._most.pure * least
            and self._spent.mu_squared >= self._most.mu_squared * least
        )

    def redeem(self, event: Event) -> Randomness:
        """Pay for one event.

        Raises:
            NotCharged: It is of another unit than the total, or more than what is left.
        """
        self._check_owner()
        with self._lock:
            # Decided before it is added, and under the lock: a refused event leaves the purse as it
            # was.
            after = self._spent + compose([event])
            fits = after.pure <= self._most.pure and after.mu_squared <= self._most.mu_squared
            if event.unit is not self._total.unit or not fits:
                raise NotCharged(f"'{event.label}' is more than what is left of the charge")
            self._spent = after
            self._events = (*self._events, event)
        return self._randomness


class Tickets(_Issued):
    """A charged number of draws of one mechanism. `Receipt.open_tickets` hands them out."""

    __slots__ = ("_each", "_left")

    _each: Event
    _left: int

    @property
    def each(self) -> Event:
        """One draw."""
        return self._each

    def redeem(self, event: Event) -> Randomness:
        """Use up as many draws as the event counts.

        Raises:
            NotCharged: It is another kind of draw, or there are too many.
        """
        self._check_owner()
        with self._lock:
            # Everything but the number of draws must be what was charged, the noise and the label
            # included.
            if dataclasses.replace(event, count=1) != self._each or event.count > self._left:
                raise NotCharged(f"'{event.label}' is more than the draws that were charged")
            self._left -= event.count
        return self._randomness


Permit = Receipt | Purse | Tickets
"""What a mechanism needs to see before it draws."""


def unbooked(events: Iterable[Event], randomness: Randomness | None = None) -> Receipt:
    """A receipt for events that no ledger records: the caller has to keep count of them.

    For local reports, whose noise is drawn and accounted for at home, for experiments, and where
    a curator has decided to do without a ledger. The receipt says so: its `charge` is None.

    Args:
        events: What is to be drawn.
        randomness: The source of the noise; the operating system if absent.
    """
    return issue(events, randomness, None)


def issue(
    events: Iterable[Event], randomness: Randomness | None, charge: ChargeRecord | None
) -> Receipt:
    """A receipt. For `Ledger.charge`, once a charge is on disk, and for `unbooked`."""
    receipt = Receipt._issue(randomness or SystemRandomness())
    receipt._charge = charge
    receipt._events = tuple(events)
    receipt._left = Counter(receipt._events)
    return receipt


def check_permit(permit: object) -> None:
    """Refuse what was not issued here: an object that only looks like a receipt.

    Raises:
        NotCharged: It is something else.
    """
    # The exact type, and known to this module: a lookalike, or an object made past `__new__`, is
    # refused.
    if type(permit) not in (Receipt, Purse, Tickets) or permit not in _issued:
        raise NotCharged(
            "noise is drawn only on a receipt that Ledger.charge or discreet.privacy.unbooked "
            "issued, and this is something else"
        )


def redeem(permit: Permit, event: Event) -> Randomness:
    """The randomness for a charged event, as every mechanism asks for it.

    Raises:
        NotCharged: The permit was not issued, or does not cover the event.
    """
    check_permit(permit)
    return permit.redeem(event)
