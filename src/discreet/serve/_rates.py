"""Rate limits: a token bucket a key, in memory, of bounded number."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from discreet.domain import InputError

_MOST_KEYS = 100_000
_BURST_SHARE, _LEAST_BURST = 3, 5


@dataclass(frozen=True)
class Rate:
    """So many a minute in the long run, and `burst` at once; 0 a minute: no limit."""

    per_minute: float
    burst: int

    def __post_init__(self) -> None:
        if not 0 <= self.per_minute < math.inf or self.burst < 1:
            raise InputError("a rate is 0 or more a minute, and its burst 1 or more")

    @classmethod
    def a_minute(cls, count: float) -> Rate:
        """So many a minute; at once a third of them, and never fewer than 5."""
        most = int(count / _BURST_SHARE) if 0 <= count < math.inf else 0
        return cls(count, max(most, _LEAST_BURST))


class Buckets:
    """What each key may still ask for.

    Args:
        rate: What each may.
        most: How many keys are remembered; beyond that the longest unseen are forgotten, and
            begin anew.
        clock: Seconds.
    """

    def __init__(
        self, rate: Rate, most: int = _MOST_KEYS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._most, self._clock = rate, most, clock
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._left)

    def wait(self, key: Hashable) -> int:
        """Take one: 0, or the seconds until there is one again (and none was taken)."""
        if self._rate.per_minute == 0:
            return 0
        speed, now = self._rate.per_minute / 60, self._clock()
        left, then = self._left.pop(key, (float(self._rate.burst), now))
        left = min(left + (now - then) * speed, self._rate.burst)
        taken = left >= 1
        self._left[key] = (left - 1 if taken else left, now)
        if len(self._left) > self._most:
            self._left.popitem(last=False)
        return 0 if taken else max(math.ceil((1 - left) / speed), 1)


def network_of(address: str) -> str:
    """Whom an address stands for: itself, or its /64 where it is IPv6, of which many have 2^64."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 6 and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((int(found) >> 64 << 64, 64)))
    return address
