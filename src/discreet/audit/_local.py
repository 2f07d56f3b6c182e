"""Reports on every item, randomised at home, and the simplest server that can use them.

Whoever reads a person's report on an item attacks that rating. The server adds up debiased reports
into an item's level, drawn towards the mean as far as their own scatter asks for; at home a
person's own ratings say how far they lie above such levels. A server that learns tastes would do
better, and no attack on a report would do worse.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.audit._victims import Victims
from discreet.domain import InputError, Scale
from discreet.predict import People
from discreet.privacy import Randomness, unbooked
from discreet.privacy.mechanisms import ModifiedLaplace, RandomizedResponse
from discreet.ratings import Ratings

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Marks = npt.NDArray[np.bool_]

_BLOCK = 1 << 21
_MOST_CELLS = 1 << 28
_EFFECTS, _OWN_DAMPING = 0.3, 5.0
"""The variance of items' levels on a scale of width 4, and what a person's own level starts at."""


class LocalMechanism(enum.StrEnum):
    """How a report is randomised."""

    MODIFIED_LAPLACE = "modified-laplace"
    RANDOMIZED_RESPONSE = "randomized-response"


@dataclass(frozen=True, eq=False, repr=False)
class Reports:
    """What came in: the sums of a server, and what the victims' reports say.

    Attributes:
        sums: Per item, of ratings less the middle of the scale, debiased.
        counts: Per item, debiased.
        scatter: Per item, the sum of squares of what the sums are made of.
        likelihoods: For each victim and each possible secret; see `guess`.
    """

    sums: _Floats
    counts: _Floats
    scatter: _Floats
    likelihoods: _Floats

    def levels(self, scale: Scale) -> _Floats:
        """The expected rating of each item."""
        n, total = np.maximum(self.counts, 0.0), max(float(self.counts.sum()), 1.0)
        mean = min(max(float(self.sums.sum()) / total, -scale.range / 2), scale.range / 2)
        usual = _EFFECTS * (scale.range / 4) ** 2
        gain = usual * n / (usual * n**2 + self.scatter + 1e-9)
        return np.clip(scale.mid + mean + gain * (self.sums - n * mean), scale.lo, scale.hi)


def true_reports(ratings: Ratings) -> Reports:
    """The same sums without noise."""
    items, x = ratings.items, ratings.values() - ratings.scale.mid
    columns = (x, np.ones(len(x)), x**2)
    totals = np.array([np.bincount(items, each, len(ratings.catalog)) for each in columns])
    return Reports(totals[0], totals[1], totals[2], np.empty((0, 0)))


def send_reports(
    ratings: Ratings,
    mechanism: LocalMechanism,
    epsilon: float,
    victims: Victims,
    randomness: Randomness,
) -> Reports:
    """Everybody reports on every item.

    Raises:
        InputError: There is presence alone, or there are too many reports.
    """
    items, scale = len(ratings.catalog), ratings.scale
    if scale.presence:
        raise InputError(f"{mechanism} reports ratings here, and there is presence alone")
    if ratings.user_count * items > _MOST_CELLS:
        raise InputError(
            f"{mechanism}: everybody reports on every item, which is too much to try here; "
            "leave the method out or give fewer ratings"
        )
    device = _DEVICES[mechanism](scale, epsilon)
    totals = np.zeros((3, items))
    likelihoods = np.zeros((len(victims), victims.options))
    step = max(1, _BLOCK // items)
    for first in range(0, ratings.user_count, step):
        last = min(first + step, ratings.user_count)
        shown = device.report(*_table(ratings.select_users(first, last)), randomness)
        weights, worth = device.debias(shown)
        totals += np.array([weights.sum(axis=0), worth.sum(axis=0), (weights**2).sum(axis=0)])
        here = (victims.people >= first) & (victims.people < last)
        seen = shown[victims.people[here] - first, victims.items[here]]
        likelihoods[here] = device.likelihoods(seen)
    return Reports(totals[0], totals[1], totals[2], likelihoods)


def predict_at_home(
    levels: _Floats, scale: Scale, people: People, rows: _Ints, items: npt.NDArray[np.int32]
) -> _Floats:
    """An item's level and how far the person's own ratings lie above such levels."""
    counts = np.diff(people.starts)
    owner = np.repeat(np.arange(len(people)), counts)
    above = np.bincount(owner, people.values - levels[people.items], len(people))
    own = above / (counts + _OWN_DAMPING)
    return np.clip(levels[items] + own[rows], scale.lo, scale.hi)


def _table(block: Ratings) -> tuple[_Ints, _Marks]:
    """A row for each person: the codes, and which of them are there."""
    codes = np.zeros((block.user_count, len(block.catalog)), dtype=np.int64)
    present = np.zeros(codes.shape, dtype=np.bool_)
    at = block.user_of_rating(), block.items
    codes[at], present[at] = block.codes, True
    return codes, present


class _Laplace:
    """Modified Laplace; nothing reported is the smallest integer."""

    _NOTHING = np.iinfo(np.int64).min

    def __init__(self, scale: Scale, epsilon: float) -> None:
        self._parts = _parts(scale)
        self._half = scale.range / (2 * self._parts)
        self._mechanism = ModifiedLaplace(self._parts, epsilon)

    def report(self, codes: _Ints, present: _Marks, randomness: Randomness) -> _Ints:
        event = self._mechanism.event("reports", codes.size)
        receipt = unbooked([event], randomness)
        values = np.where(present, 2 * codes - self._parts, 0)
        shown, there = self._mechanism.release(values, present, event, receipt)
        return np.where(there, shown, self._NOTHING)

    def debias(self, shown: _Ints) -> tuple[_Floats, _Floats]:
        there, keep = shown != self._NOTHING, self._mechanism.keep
        values = np.where(there, shown, 0) * (self._half / keep)
        return values, (there - (1 - keep)) / (2 * keep - 1)

    def likelihoods(self, seen: _Ints) -> _Floats:
        there = (seen != self._NOTHING)[:, None]
        options = 2 * np.arange(self._parts + 1) - self._parts
        far = np.abs(np.where(there, seen[:, None], 0) - options)
        return np.where(there, -far / self._mechanism.scale, 0.0)


class _Response:
    """Randomized response; symbol 0 is "not rated"."""

    def __init__(self, scale: Scale, epsilon: float) -> None:
        levels = scale.levels
        assert levels is not None
        self._centred = np.concatenate(([0.0], levels - scale.mid))
        self._mechanism = RandomizedResponse(len(levels) + 1, epsilon)

    def report(self, codes: _Ints, present: _Marks, randomness: Randomness) -> _Ints:
        event = self._mechanism.event("reports", codes.size)
        symbols = np.where(present, codes + 1, 0)
        return self._mechanism.release(symbols, event, unbooked([event], randomness))

    def debias(self, shown: _Ints) -> tuple[_Floats, _Floats]:
        keep = self._mechanism.keep
        other = keep * math.exp(-self._mechanism.epsilon)
        # Levels lie evenly about the middle, so what the wrong answers add to a sum cancels.
        worth = (shown > 0) - other * (self._mechanism.symbols - 1)
        return self._centred[shown] / (keep - other), np.asarray(worth / (keep - other))

    def likelihoods(self, seen: _Ints) -> _Floats:
        laws = [self._mechanism.probabilities(each) for each in range(1, len(self._centred))]
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(np.array(laws)), -1e6).T[seen]


_DEVICES: dict[LocalMechanism, type[_Laplace] | type[_Response]] = {
    LocalMechanism.MODIFIED_LAPLACE: _Laplace,
    LocalMechanism.RANDOMIZED_RESPONSE: _Response,
}


def _parts(scale: Scale) -> int:
    if scale.step is None:
        raise InputError("guessing ratings needs a scale with steps, not a continuous one")
    return round(scale.range / scale.step)
