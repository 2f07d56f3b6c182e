"""Noise of running totals: each period's noise takes back part of what earlier periods added.

Fresh noise on every period adds up: after n periods a running total has sqrt(n) times the noise of
one. Here a period's noise is a fresh draw minus part of the noise of earlier periods, so that the
sum stays small, at the price of a longer memory: what was added is a secret that later periods
need. PROOF.md has the statement, and what a unit pays that is there in one period or in many.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.domain import InputError
from discreet.domain.lazy import LazyModule

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    _Ints = npt.NDArray[np.int64]
    _Floats = npt.NDArray[np.float64]
else:
    np = LazyModule("numpy")

# Weights and decays are whole numbers of 2^-16: small enough that what they multiply stays within
# 64 bits, fine enough for decays of thousands of periods. Chosen by hand.
BOOST_BITS = 16
_ONE = 1 << BOOST_BITS
# How many buffers of old noise are kept. With 5 the total's noise is within 0.1 % of the best
# factorisation of this kind, for 52 to 260 periods and for half-lives of 6 to 52. Computed.
_BUFFERS = 5
# Periods until noise starts afresh where older periods count as much as new ones: the noise of
# the total grows with the logarithm of this number. A year of weeks and some. Chosen by hand.
DEFAULT_HORIZON = 64
# The most periods of one plan: eleven years of days. Chosen by hand; rounding grows with it.
MOST_PERIODS = 4096
# What rounding in buffers may add to what draws are moved by, as a part of it. Always paid for, so
# that it is the same in all periods: what several periods add up to rests on that. Chosen by hand:
# it costs a thousandth more noise.
ROUNDING = 2.0**-10
# What a period counts one period later in a second total, of what is going on now. Chosen by hand:
# the latest period and the one before make three quarters of it. It happens to be near the best
# decay for `held_back`: noise is within 1 % of the least for 12 periods, and 10 % for 52.
NOW = 0.5
# The power of the factorisation. 1/2 makes totals even over the horizon, and is what people who
# come often pay least for. Where single records are protected _RECORD_POWER makes late totals
# better, and the first few worse: on average over the horizon they are alike. Chosen on a
# validation part of MovieLens 1M in 12 periods.
_POWER, _RECORD_POWER = 0.5, 0.6
# The longest horizon with that power: beyond it the rounding of buffers would exceed what PROOF.md
# allows for all plans (e0 below 57). Computed.
_LONGEST_RECORDS = 300
# Covers the rounding of the formulas in doubles, which is below 2^-40 for MOST_PERIODS terms.
_UP = 1 + 2.0**-32


@dataclass(frozen=True)
class NoisePlan:
    """How much of the noise of earlier periods a new period takes back. Public.

    With c(0) = 1 and c(k) = sum over j of weight_j decay_j^(k-1), a period's records are seen
    through c(k) times themselves k periods later. No weights: fresh noise on every period.

    Attributes:
        weights: One for each buffer, in units of 2^-16, from 0 to 2^16.
        decays: One for each buffer, in units of 2^-16, from 0 to below 2^16.
        horizon: Periods after which noise starts afresh.
        forgetting: What a period counts for one period later: 1 for as much as before.
    """

    weights: tuple[int, ...] = ()
    decays: tuple[int, ...] = ()
    horizon: int = MOST_PERIODS
    forgetting: float = field(default=1.0)

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.decays):
            raise InputError("a noise plan has a decay for every weight")
        whole = all(type(n) is int and 0 <= n <= _ONE for n in (*self.weights, *self.decays))
        if not whole or _ONE in self.decays:
            raise InputError(
                "a noise plan's weights and decays are whole numbers of 2^-16, up to 1"
            )
        if type(self.horizon) is not int or not 1 <= self.horizon <= MOST_PERIODS:
            raise InputError(f"a noise plan is for 1 to {MOST_PERIODS:,} periods")
        if not 0 < self.forgetting <= 1:
            raise InputError("what a period counts for one period later is above 0 and at most 1")
        c = self.coefficients(min(self.horizon, 2))
        if np.any(c > 1):
            raise InputError("the weights of a noise plan add up to at most 1")

    @classmethod
    def fresh(cls, half_life: float | None = None) -> NoisePlan:
        """Noise that does not depend on earlier periods: what Laplace noise needs."""
        return cls(forgetting=forgetting_of(half_life))

    @classmethod
    def factorised(
        cls,
        half_life: float | None = None,
        horizon: int | None = None,
        *,
        records: bool = False,
    ) -> NoisePlan:
        """The plan whose totals have the least noise, but for a tenth of a percent.

        The best coefficients of this kind are those of (1 - gamma x)^(-1/2), gamma being what a
        period counts for one period later: c(k) = gamma^k binom(2k, k)/4^k. A sum of a few
        falling exponentials comes close to them, and needs a buffer for each instead of all
        earlier noise. A larger power than 1/2 favours late periods.

        Args:
            half_life: Periods after which a record counts half; None for records that count for
                ever.
            horizon: Periods after which noise starts afresh; None for 64, or with a half-life
                for the most there are.
            records: Whether single records are protected: then, if records count for ever and the
                horizon is 300 or less, late periods are favoured.
        """
        gamma = forgetting_of(half_life)
        if horizon is None:
            horizon = DEFAULT_HORIZON if half_life is None else MOST_PERIODS
        if type(horizon) is not int or not 1 <= horizon <= MOST_PERIODS:
            raise InputError(f"a horizon is a whole number of periods from 1 to {MOST_PERIODS:,}")
        late = records and gamma == 1 and horizon <= _LONGEST_RECORDS
        return _fit(gamma, horizon, _RECORD_POWER if late else _POWER)

    @property
    def buffers(self) -> int:
        """How many buffers of old noise are kept."""
        return len(self.weights)

    def coefficients(self, number: int) -> _Floats:
        """c(0) to c(number - 1)."""
        c = np.zeros(number)
        c[:1] = 1.0
        power = np.arange(max(number - 1, 0), dtype=np.float64)
        for weight, decay in zip(self.weights, self.decays, strict=True):
            c[1:] += weight / _ONE * (decay / _ONE) ** power
        return c

    @functools.cached_property
    def _lengths(self) -> _Floats:
        """The root of the sum of c(0)^2 to c(n - 1)^2, for n = 0 to the horizon."""
        squares = np.cumsum(self.coefficients(self.horizon) ** 2)
        return np.sqrt(np.concatenate(([0.0], squares)))

    @functools.cached_property
    def lifetime(self) -> float:
        """By how much a record is seen more often than once, in L2: the longest of `_lengths`."""
        return _UP * float(self._lengths[-1])

    def boost(self, step: int) -> int:
        """How much larger integers are made at a step from 1 on, in units of 2^-16.

        Records of late steps are seen in few draws. Made larger, they cost as much as the others,
        and their noise is smaller beside them.
        """
        return math.floor(_ONE * float(self._lengths[-1] / self._lengths[self.horizon + 1 - step]))

    @functools.cached_property
    def _boosts(self) -> _Floats:
        steps = np.arange(self.horizon)
        wanted = self._lengths[-1] / self._lengths[self.horizon - steps]
        return np.asarray(np.floor(_ONE * wanted) / _ONE)

    def sensitivity(self, once: float, size: int) -> float:
        """How far a unit of one period moves all draws of the plan together, in L2.

        Args:
            once: How far it moves the period's own integers, in L2, before they are made larger.
            size: How many integers there are.
        """
        return _UP * self.lifetime * (once + max(self.slack(size), ROUNDING * once))

    def slack(self, size: int) -> float:
        """What rounding adds to `once`: on a grid that is fine enough at most `ROUNDING` of it.

        Args:
            size: How many integers there are.
        """
        return self._rounding * math.sqrt(size * self.horizon) / self.lifetime

    @property
    def _rounding(self) -> float:
        """By how much draws in two worlds may differ besides what follows from the data."""
        return sum(
            weight / (_ONE - decay) + 1
            for weight, decay in zip(self.weights, self.decays, strict=True)
        )

    def growth(self, periods: int, active: int | None = None) -> float:
        """What somebody pays who is there in many periods, over what one period costs, squared.

        The square of the ratio of mus; for fresh noise it is the number of periods. With noise
        that is taken back it grows faster, since a person's parts in several periods are seen
        through each other.

        Args:
            periods: How many there have been.
            active: In how many of them somebody is at most; None for all.
        """
        whole, rest = divmod(periods, self.horizon)
        grown = whole * self._grown[-1] + self._grown[rest]
        if active is None or active >= periods:
            return float(grown)
        return min(float(grown), self.worst(active))

    def worst(self, active: int) -> float:
        """The same over the whole life of a series, for somebody who is there in so many periods.

        At most: periods that are near to each other are seen through each other the most.
        """
        nearest = self._nearness(min(active, self.horizon))
        return float(nearest @ np.maximum(active - np.arange(len(nearest)), 0))

    @functools.cached_property
    def _grown(self) -> _Floats:
        """The sum over draws up to t of (sum of a(s) c(t - s) over s up to t)^2, over lifetime^2.

        For t = 0 to the horizon, rounded up.
        """
        seen = np.convolve(self._boosts, self.coefficients(self.horizon))[: self.horizon]
        squares = np.concatenate(([0.0], np.cumsum(seen**2)))
        return np.asarray(_UP * squares / float(self._lengths[-1]) ** 2)

    @functools.lru_cache(maxsize=256)  # noqa: B019 (plans are few, small and frozen)
    def _nearness(self, distances: int) -> _Floats:
        """The most that two periods at a distance have in common, each pair twice but for 0.

        Never rising, over lifetime^2, rounded up.
        """
        c, boosts, n = self.coefficients(self.horizon), self._boosts, self.horizon
        common = np.empty(distances)
        for d in range(distances):
            shared = np.cumsum(c[: n - d] * c[d:])[::-1]  # of periods s and s + d, s = 1, 2, ...
            common[d] = np.max(shared * boosts[: n - d] * boosts[d:])
        common = np.maximum.accumulate(common[::-1])[::-1]
        common[1:] *= 2
        return np.asarray(_UP * common / float(self._lengths[-1]) ** 2)

    def spread(self, periods: int, forgetting: float | None = None) -> float:
        """The noise of a total after so many periods, in draws' standard deviations.

        Args:
            periods: How many there have been, this one included.
            forgetting: Of the total, if it is another than the plan's.
        """
        gamma = self.forgetting if forgetting is None else forgetting
        whole, rest = divmod(periods, self.horizon)
        within = self._variance(self.horizon, gamma) if whole else 0.0
        fading = gamma ** (2 * self.horizon)
        older = within * (whole if fading == 1 else (1 - fading**whole) / (1 - fading))
        return math.sqrt(older * gamma ** (2 * rest) + self._variance(rest, gamma))

    def noise(self, periods: int) -> float:
        """The noise of what a release is made from, over that of a single release, all told.

        The total, in which the latest periods count less (`held_back`) and all others more.

        Args:
            periods: How many there have been, of equal size.
        """
        whole, steps = divmod(periods - 1, self.horizon)
        back = self.held_back(steps + 1)
        older = self.spread(whole * self.horizon) ** 2 * self.forgetting ** (2 * (steps + 1))
        held = float(np.sum(NOW ** np.arange(periods)))
        total = math.sqrt(older + self.combined(steps + 1, back) ** 2)
        return self.lifetime * total / (1 - back * held / periods)

    def _variance(self, periods: int, gamma: float) -> float:
        """Of a total after that many periods since noise started afresh, for draws of variance 1.

        The sum of squares of the last row of A diag(1/a) C^-1.
        """
        total = self._row(periods, gamma)
        return float(total @ total)

    @functools.lru_cache(maxsize=256)  # noqa: B019 (plans are few, small and frozen)
    def _row(self, periods: int, gamma: float) -> _Floats:
        """What each draw since noise started afresh has added to a total: of A diag(1/a) C^-1."""
        inverse = np.zeros(periods)
        buffers = np.zeros(self.buffers)
        weights, decays = np.array(self.weights) / _ONE, np.array(self.decays) / _ONE
        for k in range(periods):
            inverse[k] = 1.0 if k == 0 else -float(weights @ buffers)
            buffers = decays * buffers + inverse[k]
        total = np.zeros(periods)  # what each draw has added to the total
        for t in range(periods):
            total[: t + 1] = gamma * total[: t + 1] + inverse[t::-1] / self._boosts[t]
        return total

    def held_back(self, steps: int) -> float:
        """How much of the second total (`NOW`) to take off the total for the least noise.

        The noise of the latest periods has not been taken back yet: a total in which they count
        less has less noise beside its data. That of the difference, over what it holds of periods
        of equal size, is least for what is returned, from 0 to 1. It is 0 with forgetting, which
        says itself how much periods count.

        Args:
            steps: Draws since noise started afresh.
        """
        if not self.buffers or self.forgetting < 1 or not steps:
            return 0.0
        total, second = self._row(steps, 1.0), self._row(steps, NOW)
        held = float(np.sum(NOW ** np.arange(steps)))
        # Where |total - b second|^2 / (steps - b held)^2 is least.
        above = steps * float(total @ second) - held * float(total @ total)
        below = steps * float(second @ second) - held * float(total @ second)
        return min(max(above / below, 0.0), 1.0) if below > 0 else 0.0

    def combined(self, steps: int, back: float) -> float:
        """The noise of the total less `back` times the second, in draws' standard deviations.

        Args:
            steps: Draws since noise started afresh.
            back: As `held_back` says, or 0.
        """
        row = self._row(steps, self.forgetting) - back * self._row(steps, NOW)
        return math.sqrt(float(row @ row))

    def recall(self, buffers: _Ints) -> _Ints:
        """What the next period takes back: sum over j of floor(weight_j buffer_j)."""
        back = np.zeros(buffers.shape[1:], np.int64)
        for weight, buffer in zip(self.weights, buffers, strict=True):
            back += scaled_down(buffer, weight)
        return back

    def remember(self, buffers: _Ints, noise: _Ints) -> _Ints:
        """The buffers after a period whose integers got this noise in all: a secret."""
        after = np.empty_like(buffers)
        for j, decay in enumerate(self.decays):
            after[j] = scaled_down(buffers[j], decay) + noise
        return after

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `from_dict` reads back without loss."""
        return {
            "weights": list(self.weights),
            "decays": list(self.decays),
            "horizon": self.horizon,
            "forgetting": self.forgetting,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> NoisePlan:
        """Read what `to_dict` wrote.

        Raises:
            InputError: A field is off.
        """
        try:
            return cls(
                tuple(data["weights"]),
                tuple(data["decays"]),
                data["horizon"],
                float(data["forgetting"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"a noise plan has wrong fields: {error}") from error


def forgetting_of(half_life: float | None) -> float:
    """What a period counts for one period later, by the periods after which it counts half.

    Raises:
        InputError: A half-life is above 0.
    """
    if half_life is None:
        return 1.0
    if not 0 < half_life < math.inf:
        raise InputError(f"a half-life is a number of periods above 0, not {half_life:g}")
    return float(0.5 ** (1 / half_life))


def scaled_down(values: _Ints, factor: int) -> _Ints:
    """floor(values factor / 2^16) exactly, for a factor up to 2^16: no product leaves 64 bits."""
    return (values >> BOOST_BITS) * factor + (((values & (_ONE - 1)) * factor) >> BOOST_BITS)


@functools.lru_cache(maxsize=16)
def _fit(gamma: float, horizon: int, power: float) -> NoisePlan:
    """Weights on decays that are spread evenly on a logarithmic scale, by least squares."""
    from scipy.optimize import nnls

    if horizon == 1:
        return NoisePlan(horizon=1, forgetting=gamma)
    # How many coefficients are fitted at most. Chosen by hand: with a half-life next to nothing is
    # left beyond, and slower decays would make rounding worse.
    length = min(horizon, 1024)
    k = np.arange(1, length, dtype=np.float64)
    wanted = np.cumprod((k - 1 + power) / k) * gamma**k
    # What decays lack to gamma, from 0.7 (chosen by hand) to one in as many periods as are fitted.
    gaps = np.exp(np.linspace(math.log(0.7), -math.log(length), _BUFFERS))
    decays = np.minimum(np.round(gamma * (1 - gaps) * _ONE).astype(np.int64), _ONE - 1)
    decays = np.unique(np.maximum(decays, 0))
    # Relative errors count, but not where next to nothing is left.
    per = 1 / np.maximum(wanted, 1e-3)
    powers = (decays / _ONE)[None, :] ** (k - 1)[:, None]
    weights, _ = nnls(powers * per[:, None], wanted * per)
    whole = np.floor(weights * _ONE).astype(np.int64)
    kept = whole > 0
    return NoisePlan(
        tuple(int(w) for w in whole[kept]), tuple(int(d) for d in decays[kept]), horizon, gamma
    )
