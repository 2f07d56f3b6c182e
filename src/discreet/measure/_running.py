"""Running totals: each period's records are measured once, and what is released adds up.

A `RunningSpender` is what a method measures with when its ratings are those of one period of a
series. It adds noise that takes back part of earlier noise (`privacy/running_noise`), adds what is
released to the totals so far, and hands the totals to the method, which therefore works as if it
had measured all periods at once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import Noisy
from discreet.measure._request import Budget, Spender, diagonal_of
from discreet.measure._source import Ints, Part, Progress, RatingsSource, Statistic
from discreet.privacy import NoisePlan, Receipt, Unit
from discreet.privacy.running_noise import BOOST_BITS, NOW, ROUNDING
from discreet.ratings import Ratings

_Floats = npt.NDArray[np.float64]
Frame = Mapping[str, npt.NDArray[Any]]

# Noise has a standard deviation of 2^32 to 2^33 grid units, or more where the rounding of buffers
# would not be next to nothing beside it: 30 bits are left for sums beyond it. Chosen for safety.
_FINE = 32
# Bits of a period's boost that are used at least, as long as noise stays below 2^46: boosts are
# then right to a sixteenth, and sums have room for a billion ratings. Chosen by hand.
_BOOST_BITS, _COARSE = 4, 46
# What rounding may come to, as a part of what moves: a quarter of what is always paid for it, so
# that tables whose units move entries in several stretches of noise, each entry in one, stay within
# too: at most 1 + ln(largest size / smallest) < 16 times as much, squared (PROOF.md).
_ROUNDED = ROUNDING / 4
# A stream goes on while what it asks for is at most this much more precise than before: starting
# afresh costs the cancelling of earlier noise, so that a little precision is not worth it. Chosen
# by hand.
_SHARPER = 1.5
# The part of the budget for the size of a period: a single number is well known for little.
_SIZE_SHARE = 0.005

SIZE = Part("size of the period", 1.0)


@dataclass(frozen=True)
class PeriodSize(Statistic):
    """How many records there are, or, protecting users, how many users have some.

    One unit moves it by 1.

    Args:
        unit: Whom the release protects.
    """

    unit: Unit

    @property
    def parts(self) -> tuple[Part, ...]:
        return (SIZE,)

    def measure(self, ratings: Ratings) -> int:
        """The exact number; private."""
        if self.unit is Unit.RATING:
            return len(ratings)
        return int(np.count_nonzero(np.diff(ratings.starts)))


@dataclass(frozen=True)
class Carry:
    """How an earlier total is to be read by a statistic that depends on released numbers.

    Attributes:
        frame: What the meaning of the integers depends on, kept for the next period.
        follow: Makes an earlier total, given its frame, into one that this statistic might have
            measured: an array of its own size.
        places: For every integer its place among those measured with an earlier frame, -1 for
            none; None if places are the same, or more come at the end.
    """

    frame: Frame = field(default_factory=dict)
    follow: Callable[[_Floats, Frame], _Floats] | None = None
    places: Callable[[Frame], Ints] | None = None


@dataclass(eq=False)
class Stream:
    """One table of integers from period to period. Only `buffers` is a secret.

    Attributes:
        total: All that was released, older periods counting less: in the part's own unit.
        now: The same with a half-life of one period.
        frame: What the meaning of the total depends on.
        grid: Noise's grid units in one unit of the part.
        sigma: The noise of the latest draw, in those grid units.
        steps: How many draws since noise started afresh.
        first: The period in which noise started afresh.
        last: The period of the latest draw.
        before: The variance of noise from before that time, as it is now.
        seen: The size of the periods in the total, older ones counting less.
        seen_now: The same of `now`.
        buffers: Earlier noise, in grid units: what the next draw takes back. Secret.
    """

    total: _Floats
    now: _Floats
    frame: dict[str, npt.NDArray[Any]]
    grid: float
    sigma: float
    steps: int
    first: int
    last: int
    before: float
    seen: float
    seen_now: float
    buffers: Ints

    def __repr__(self) -> str:
        return f"Stream({self.total.size:,} numbers, {self.steps} steps)"


class RunningSpender(Spender):
    """Releases the statistics of one period, and hands out totals over all periods so far.

    Args:
        budget: What one unit of one period costs over the whole life of the series.
        receipt: Shows that `budget.event(label)` was charged; unused for an infinite budget.
        label: As charged.
        plan: How noise takes back earlier noise.
        period: Which one this is, from 1 on.
        streams: What earlier periods left, by label; changed in place.
        settled: What the first period settled for all, by name; changed in place.
    """

    def __init__(
        self,
        budget: Budget,
        receipt: Receipt | None,
        label: str,
        *,
        plan: NoisePlan,
        period: int,
        streams: dict[str, Stream],
        settled: dict[str, float] | None = None,
    ) -> None:
        super().__init__(budget, receipt, label)
        self.plan, self.period, self.streams = plan, period, streams
        self.settled = {} if settled is None else settled
        self._carries: Mapping[str, Carry] = {}
        self._measured: Counter[str] = Counter()
        self._kept = 0.0
        self._mass, self._all = 1.0, 1.0
        self.size = 0.0
        """About how many ratings, or users, the period has, as it was released."""

    def measure_size(self, source: RatingsSource, unit: Unit) -> None:
        """Release how large the period is, for a small share; all other shares are of the rest.

        What streams that began late stand for is told by it.
        """
        label, before = SIZE.label, self.streams.get(SIZE.label)
        old, seen, now = 0.0, 0.0, 0.0
        if before is not None:
            old, seen, now = float(before.total[0]), before.seen, before.seen_now
        self.measure(source, PeriodSize(unit), {label: _SIZE_SHARE})
        stream = self.streams[label]
        self.size = float(stream.total[0]) - old * self.plan.forgetting
        self._mass = max(self.size, self._spread(stream), 1.0)
        # It was not known before how much this stream itself has seen.
        stream.seen = self._all = seen * self.plan.forgetting + self._mass
        stream.seen_now = now * NOW + self._mass
        self._kept = _SIZE_SHARE

    def frame_of(self, label: str) -> Frame:
        """What a statistic depended on when it was last measured; empty if it never was."""
        stream = self.streams.get(label)
        return {} if stream is None else stream.frame

    def measure(
        self,
        source: RatingsSource,
        statistics: Statistic | Sequence[Statistic],
        shares: Mapping[str, float],
        progress: Progress | None = None,
        carries: Mapping[str, Carry] | None = None,
    ) -> dict[str, Noisy]:
        """Measure this period's ratings; the totals over all periods come back."""
        self._carries = carries or {}
        return super().measure(source, statistics, shares, progress)

    def spread_of(self, share: float) -> float:
        """The standard deviation of a total for a sensitivity of 1 at this share."""
        return super().spread_of(share) * self.plan.noise(self.period)

    def before(self, label: str, carry: Carry) -> Noisy | None:
        """The total of earlier periods, scaled to stand for all so far; None if there are none.

        Args:
            label: Of what was measured in them.
            carry: How it is to be read.
        """
        stream = self.streams.get(label)
        if stream is None:
            return None
        total, spread = self._least_noisy(stream)
        if carry.follow is not None:
            total = carry.follow(total, stream.frame)
        return Noisy(total, spread)

    def now(self, label: str) -> Noisy:
        """A total with a half-life of one period, of what was measured last under this label."""
        stream = self.streams[label]
        spread = stream.sigma / stream.grid * self.plan.spread(stream.steps, NOW)
        return Noisy(stream.now.copy(), spread)

    @property
    def noise(self) -> float:
        """How much noise totals have, over that of a single release with the same budget.

        As it is on the size of the periods; streams that began later have less.
        """
        single = SIZE.sensitivity * super().spread_of(_SIZE_SHARE)
        return self._least_noisy(self.streams[SIZE.label])[1] / single if single else 0.0

    @property
    def _step(self) -> int:
        """Which one this is since noise started afresh for all streams, from 1 on."""
        return (self.period - 1) % self.plan.horizon + 1

    def release(self, part: Part, exact: Ints | int, share: float) -> Noisy:
        """The total over all periods of one part, in its own unit."""
        share *= 1 - self._kept
        whole = exact
        if isinstance(whole, int):  # modulo 2^64 like all others: no size of it is refused
            whole = np.array([(whole + 2**63) % 2**64 - 2**63], np.int64)
        shape, flat = whole.shape, whole.reshape(-1)
        diagonal = diagonal_of(flat) if part.is_triangle else None
        if diagonal is not None:
            flat[diagonal] = 0
        stream = self._stream(part, flat.size, share)
        increment = self._draw(stream, part, flat, share)
        gap = self.period - stream.last
        fading = self.plan.forgetting**gap
        stream.total = stream.total * fading + increment
        stream.now = stream.now * NOW**gap + increment
        stream.seen_now = stream.seen_now * NOW**gap + self._mass
        stream.seen = stream.seen * fading + self._mass
        stream.before *= fading**2
        stream.last = self.period
        total, spread = self._least_noisy(stream)
        if isinstance(exact, int):
            return Noisy(float(total[0]), spread)
        if diagonal is None:
            return Noisy(total.reshape(shape), spread)
        released = total.astype(np.float32)
        released[diagonal] = 0.0
        return Noisy(released, spread)

    def _least_noisy(self, stream: Stream) -> tuple[_Floats, float]:
        """The total that speaks for all periods with the least noise, and how much it has.

        The latest periods, whose noise has not been taken back yet, count a little less. A stream
        that began late speaks for the periods that it has seen.
        """
        back = self.plan.held_back(stream.steps)
        late = self._all / (stream.seen - back * stream.seen_now)
        return (stream.total - back * stream.now) * late, self._spread(stream, back) * late

    def _stream(self, part: Part, size: int, share: float) -> Stream:
        """The part's stream, laid out for this period's integers."""
        self._measured[part.label] += 1
        key = stream_key(part.label, self._measured[part.label])
        carry = self._carries.get(part.label, Carry())
        before = self.streams.get(key)
        if before is None:
            stream = self._new_stream(part, size, share)
        else:
            stream = self._follow(before, carry, size)
            if self._may_go_on(stream, part, size, share):
                # Periods in which the part was not measured count as periods without noise.
                for _ in range(stream.last + 1, self.period):
                    stream.buffers = self.plan.remember(stream.buffers, np.zeros(size, np.int64))
            else:
                self._start_afresh(stream, part, size, share)
        stream.frame = dict(carry.frame)
        self.streams[key] = stream
        return stream

    def _new_stream(self, part: Part, size: int, share: float) -> Stream:
        zeros = np.zeros(size)
        stream = Stream(
            zeros, zeros.copy(), {}, 1.0, 0.0, 0, 0, self.period, 0.0, 0.0, 0.0, _none()
        )
        self._start_afresh(stream, part, size, share)
        return stream

    def _follow(self, before: Stream, carry: Carry, size: int) -> Stream:
        """An earlier stream in the places, and with the meaning, that integers have now."""
        places = _same_places(before.total.size, size)
        if carry.places is not None:
            places = carry.places(before.frame)
        before.buffers = _moved(before.buffers, places)
        if carry.follow is None:
            before.total, before.now = _moved(before.total, places), _moved(before.now, places)
        else:
            before.total = carry.follow(before.total, before.frame)
            # Totals are read as sums over all that was seen, of which the second has a part.
            part = before.seen_now / before.seen
            before.now = carry.follow(before.now / part, before.frame) * part
        return before

    def _may_go_on(self, stream: Stream, part: Part, size: int, share: float) -> bool:
        """Whether the next draw may take back earlier noise.

        Not beyond the horizon, nor with noise much larger than is asked for, nor on another grid.
        """
        if not self.plan.buffers or self.budget.is_infinite:
            return False
        horizon = self.plan.horizon
        same = (self.period - 1) // horizon == (stream.first - 1) // horizon
        power = round(math.log2(stream.grid / part.grid)) if stream.grid > 0 else 0
        if not same or stream.sigma == 0 or math.ldexp(part.grid, power) != stream.grid:
            return False
        if self.plan.slack(size) > _ROUNDED * math.ldexp(part.sensitivity, power):
            return False
        wanted = self._mechanism(part.sensitivity, power, size, share)[0].spread
        return bool(stream.sigma <= _SHARPER * wanted)

    def _start_afresh(self, stream: Stream, part: Part, size: int, share: float) -> None:
        """Forget earlier noise: what it left in the total stays there."""
        stream.before = self._spread(stream) ** 2
        stream.steps, stream.first, stream.sigma = 0, self.period, 0.0
        stream.buffers = np.zeros((self.plan.buffers, size), np.int64)
        power = 0
        if not self.budget.is_infinite:
            plain = part.sensitivity * self.plan.lifetime * super().spread_of(share)
            bits = math.floor(math.log2(plain))
            power = max(_FINE - bits, min(_BOOST_BITS, _COARSE - bits))
            if self.plan.buffers:
                least = self.plan.slack(size) / (_ROUNDED * part.sensitivity)
                power = max(power, math.ceil(math.log2(least)))
        stream.grid = math.ldexp(part.grid, power)

    def _mechanism(self, sensitivity: float, power: int, size: int, share: float) -> Any:
        """What draws, and how far a unit moves all its draws: on a grid 2^power times as fine."""
        once = math.ldexp(sensitivity, power)
        if power < 0:
            # floor(a/m) and floor(b/m) are at most |a - b|/m + 1 apart.
            once += self.budget.noise.kind.root(size)
        life = self.plan.sensitivity(once, size) if self.plan.buffers else once
        return self.budget.noise.kind.mechanism(life, self.budget.amount, share), life

    def _draw(self, stream: Stream, part: Part, exact: Ints, share: float) -> _Floats:
        """This period's integers with noise, in the part's unit; the array is used up."""
        if self.budget.is_infinite:
            stream.steps += 1
            return exact / part.grid
        assert self._purse is not None
        power = round(math.log2(stream.grid / part.grid))
        mechanism, life = self._mechanism(part.sensitivity, power, exact.size, share)
        if mechanism.spread < stream.sigma:
            # Records of earlier periods have paid for draws with no less noise than this.
            mechanism = self.budget.noise.kind.with_spread(stream.sigma)
        # As many bits of the boost as the grid has room for: whole numbers times whole numbers are
        # right modulo 2^64, however large they are. A smaller boost is covered by what is booked.
        bits = min(max(power, 0), BOOST_BITS)
        boost = self.plan.boost(self._step) >> (BOOST_BITS - bits)
        exact *= boost
        if power >= 0:
            exact <<= power - bits
        else:
            exact >>= -power  # right modulo 2^(64 + power)
        event = mechanism.event(life, self.budget.unit, part.label, self.budget.ratings_per_user)
        noisy = exact - self.plan.recall(stream.buffers)
        mechanism.release(noisy, event, self._purse, in_place=True)
        _fold(noisy, -power)
        noise = noisy - exact
        _fold(noise, -power)
        stream.buffers = self.plan.remember(stream.buffers, noise)
        stream.sigma = mechanism.spread
        stream.steps += 1
        return noisy / (stream.grid * math.ldexp(boost, -bits))

    def _spread(self, stream: Stream, back: float = 0.0) -> float:
        """The noise of the total, less `back` times that of the second one, in the part's unit."""
        own = stream.sigma / stream.grid * self.plan.combined(stream.steps, back)
        return math.sqrt(own**2 + stream.before)


def stream_key(label: str, occurrence: int) -> str:
    """A stream's name: a part may be measured several times in a period, each a stream."""
    return label if occurrence == 1 else f"{label} ({occurrence})"


def head_places(head: npt.NDArray[np.int32]) -> Callable[[Frame], Ints]:
    """Where pairs of a head's items were in the packed triangle of an earlier head."""

    def places(before: Frame) -> Ints:
        old = before["head"]
        at = np.searchsorted(old, head)
        known = (at < len(old)) & (old[np.minimum(at, len(old) - 1)] == head)
        at = np.where(known, at, -1).astype(np.int64)
        rows, columns = np.triu_indices(len(head))
        row, column = at[rows], at[columns]
        packed = row * len(old) - row * (row - 1) // 2 + (column - row)
        return np.where((row >= 0) & (column >= 0), packed, -1)

    return places


def _fold(values: Ints, bits: int) -> None:
    """Forget so many of the highest bits: the number nearest to 0 of those that are alike then."""
    if bits > 0:
        values <<= bits
        values >>= bits


def _same_places(before: int, now: int) -> Ints:
    """The same places, and none for what has come at the end."""
    places = np.arange(now, dtype=np.int64)
    places[before:] = -1
    return places


def _moved(values: npt.NDArray[Any], places: Ints) -> npt.NDArray[Any]:
    """The last axis by these places, 0 where there is none."""
    if values.shape[-1] == 0:
        return np.zeros((*values.shape[:-1], len(places)), values.dtype)
    if len(places) == values.shape[-1] and np.array_equal(places, np.arange(len(places))):
        return values
    moved = values[..., np.maximum(places, 0)]
    moved[..., places < 0] = 0
    return moved


def _none() -> Ints:
    return np.zeros((0, 0), np.int64)
