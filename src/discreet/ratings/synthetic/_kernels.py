"""The work per rating: choosing items, scoring them, dating them.

Pure functions of their arguments. The three that fill a block of consecutive users release the
interpreter lock.

Chance is a seeded generator without state: draw number n of stream s is a hash of (s, n), so that
any user's ratings can be made alone, in any order and on any thread, always the same. The hash is
SplitMix64, as in `_keyed`. It is public and predictable: right for made-up data, and never to be
used for noise that protects anybody.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from discreet.ratings._keyed import INCREMENT, mix

# For sets of items as bits: 64 of them in a word.
_ONE = np.uint64(1)
_LOW6 = np.uint64(63)
_TOP6 = np.uint64(58)
# A De Bruijn sequence: its 64 shifts begin with 64 different runs of six bits, which say which bit
# of a word is the lowest that is set.
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_BIT_OF = np.zeros(64, np.int64)
_BIT_OF[[((0x03F79D71B4CB0A89 << bit) & (2**64 - 1)) >> 58 for bit in range(64)]] = np.arange(64)
# Seconds that rating an item takes within a sitting; chosen by hand.
_SECONDS_PER_RATING = 15.0

# Names of streams, each for one purpose. Arbitrary, but changing one changes all made-up data.
PROPOSAL = np.uint64(2)
RACE = np.uint64(3)
TASTE = np.uint64(4)
HABIT = np.uint64(5)
NOISE = np.uint64(6)
CALENDAR = np.uint64(7)
TIMES = np.uint64(8)

# As a 64-bit word, so that numba stays in integers: leaves 52 of 64 bits.
_S12 = np.uint64(12)
# Keeps a uniform draw away from 0 and 1.
_HALF = 0.5
# The distance between two uniform draws.
_UNIT = 2.0**-52
# A full turn in radians.
_TURN = 2.0 * math.pi


@njit(cache=True)
def stream(seed: Any, purpose: Any, user: int) -> Any:
    """The name of a user's stream for one purpose."""
    return mix(mix(seed + purpose * INCREMENT) + np.uint64(user) * INCREMENT)


@njit(cache=True)
def uniform(name: Any, n: int) -> float:
    """Draw number n of a stream, strictly between 0 and 1.

    52 bits and a half are exact in a double; with one bit more, the largest would round to 1.
    """
    return (float(mix(name + np.uint64(n + 1) * INCREMENT) >> _S12) + _HALF) * _UNIT


@njit(cache=True)
def normal(name: Any, n: int) -> float:
    """Draw number n of a stream, standard normal (Box and Muller)."""
    radius = math.sqrt(-2.0 * math.log(uniform(name, 2 * n)))
    return radius * math.cos(_TURN * uniform(name, 2 * n + 1))


class ItemTable(NamedTuple):
    """What the kernels know of the items."""

    weights: npt.NDArray[np.float64]
    """How readily each comes to mind."""
    cut: npt.NDArray[np.float64]
    """With `other`, an alias table of the weights: a cell is its own item below its cut."""
    other: npt.NDArray[np.int32]
    factors: npt.NDArray[np.float32]
    """Taste factors, items by rank; user factors are standard normal."""
    effects: npt.NDArray[np.float32]


@njit(cache=True)
def alias_table(weights: Any) -> Any:
    """Walker's alias table: a uniform cell and one comparison draw in proportion to weights."""
    count = len(weights)
    cut = weights * (count / weights.sum())
    other = np.arange(count).astype(np.int32)
    # One array holds both lists: cells below one grow from its left, the others from its right.
    cells = np.empty(count, np.int64)
    poor, rich = 0, count
    for cell in range(count):
        if cut[cell] < 1.0:
            cells[poor] = cell
            poor += 1
        else:
            rich -= 1
            cells[rich] = cell
    while poor > 0 and rich < count:
        poor -= 1
        taker, giver = cells[poor], cells[rich]
        other[taker] = giver
        cut[giver] -= 1.0 - cut[taker]
        if cut[giver] < 1.0:
            cells[poor] = giver
            poor += 1
            rich += 1
    cut[cells[:poor]] = 1.0  # what rounding left over
    return cut, other


@njit(cache=True)
def _liking(taste: Any, factors: Any, item: int) -> Any:
    total = np.float32(0.0)
    for k in range(len(taste)):
        total += taste[k] * factors[item, k]
    return total


@njit(cache=True)
def _taken(choice: float, liking: float) -> float:
    return 1.0 / (1.0 + math.exp(-choice * liking))


@njit(cache=True)
def _fill_taste(seed: Any, user: int, taste: Any) -> None:
    name = stream(seed, TASTE, user)
    for k in range(len(taste)):
        taste[k] = normal(name, k)


@njit(cache=True)
def _is_marked(marks: Any, item: int) -> Any:
    return (marks[item >> 6] >> (np.uint64(item) & _LOW6)) & _ONE


@njit(cache=True)
def _mark(marks: Any, item: int) -> None:
    marks[item >> 6] |= _ONE << (np.uint64(item) & _LOW6)


@njit(cache=True)
def propose(
    name: Any, wanted: int, budget: int, choice: float, taste: Any, items: Any, marks: Any
) -> int:
    """Mark up to `wanted` different items, drawn by weight and accepted by liking."""
    count = len(items.cut)
    found = 0
    for n in range(budget):
        if found == wanted:
            break
        place = uniform(name, 2 * n) * count
        item = int(place)
        if place - item >= items.cut[item]:
            item = int(items.other[item])
        if _is_marked(marks, item):
            continue
        if uniform(name, 2 * n + 1) < _taken(choice, _liking(taste, items.factors, item)):
            _mark(marks, item)
            found += 1
    return found


@njit(cache=True)
def _select(values: Any, rank: int) -> float:
    """The value of this rank, from 0; reorders the values (Hoare's quickselect).

    `np.partition` says the same, but took 5 of the 8 CPU seconds that `choose_items` compiled.
    """
    low, high = 0, len(values) - 1
    while low < high:
        pivot, left, right = values[(low + high) >> 1], low, high
        # Afterwards what is left of `left` is at most the pivot, and what is right of `right` at
        # least: the rank lies in one of the two parts, or between them, where all are equal.
        while left <= right:
            while values[left] < pivot:
                left += 1
            while values[right] > pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left, right = left + 1, right - 1
        low = left if right < rank else low
        high = right if rank < left else high
    return float(values[rank])


@njit(cache=True)
def race(name: Any, wanted: int, choice: float, taste: Any, items: Any, marks: Any) -> None:
    """Mark the `wanted` unmarked items that arrive first, at exponential times."""
    count = len(items.weights)
    arrivals = np.empty(count)
    for item in range(count):
        if _is_marked(marks, item):
            arrivals[item] = np.inf
        else:
            rate = items.weights[item] * _taken(choice, _liking(taste, items.factors, item))
            arrivals[item] = -math.log(uniform(name, item)) / rate
    last = _select(arrivals.copy(), wanted - 1)
    for item in range(count):
        if wanted > 0 and arrivals[item] <= last and not _is_marked(marks, item):
            _mark(marks, item)
            wanted -= 1


@njit(cache=True)
def emit(marks: Any, out: Any) -> None:
    """Write the marked items in rising order, and clear all marks."""
    n = 0
    for word in range(len(marks)):
        rest = marks[word]
        marks[word] = 0
        while rest:
            lowest = rest & (~rest + _ONE)
            out[n] = (word << 6) + _BIT_OF[(lowest * _DE_BRUIJN) >> _TOP6]
            rest ^= lowest
            n += 1


@njit(cache=True, nogil=True)
def choose_items(seed: Any, first: int, starts: Any, choice: float, items: Any, out: Any) -> None:
    """Choose the items of the users `first`, `first + 1`, ..., rising within each user.

    Proposals cost per rating, a race costs per item. Users who take a large share of the catalogue
    race at once; others race for what is left after twice the race's price in proposals. Both ways
    draw from the same distribution: arrivals are memoryless.
    """
    count = len(items.weights)
    marks = np.zeros((count + 63) >> 6, np.uint64)
    taste = np.empty(items.factors.shape[1], np.float32)
    for u in range(len(starts) - 1):
        begin, end = starts[u] - starts[0], starts[u + 1] - starts[0]
        wanted = end - begin
        _fill_taste(seed, first + u, taste)
        if 4 * wanted < count:
            name = stream(seed, PROPOSAL, first + u)
            wanted -= propose(name, wanted, 2 * count, choice, taste, items, marks)
        if wanted > 0:
            race(stream(seed, RACE, first + u), wanted, choice, taste, items, marks)
        emit(marks, out[begin:end])


class Spreads(NamedTuple):
    """Standard deviations of the parts of a score."""

    user: float
    taste: float
    noise: float
    range_use: float


@njit(cache=True, nogil=True)
def score(
    seed: Any, first: int, starts: Any, chosen: Any, items: Any, spreads: Any, out: Any
) -> None:
    """Score the chosen items: `user + range * (item + taste + noise)`."""
    taste = np.empty(items.factors.shape[1], np.float32)
    for u in range(len(starts) - 1):
        _fill_taste(seed, first + u, taste)
        habit = stream(seed, HABIT, first + u)
        effect = spreads.user * normal(habit, 0)
        used = math.exp(spreads.range_use * normal(habit, 1))
        name = stream(seed, NOISE, first + u)
        for n in range(starts[u] - starts[0], starts[u + 1] - starts[0]):
            item = chosen[n]
            own = spreads.taste * _liking(taste, items.factors, item)
            own += items.effects[item] + spreads.noise * normal(name, item)
            out[n] = effect + used * own


class Calendar(NamedTuple):
    """When people come, and how they rate."""

    begin: int
    seconds: int
    growth: float
    session: float
    returning: float


@njit(cache=True, nogil=True)
def date_ratings(seed: Any, first: int, starts: Any, calendar: Any, out: Any) -> None:
    """Date the ratings of each user: an arrival, perhaps later sittings, bursts within each."""
    for u in range(len(starts) - 1):
        habit = stream(seed, CALENDAR, first + u)
        name = stream(seed, TIMES, first + u)
        begin, end = starts[u] - starts[0], starts[u + 1] - starts[0]
        sittings = 1
        if uniform(habit, 0) < calendar.returning:
            sittings += (end - begin) // calendar.session
        arrival = uniform(habit, 1) ** (1.0 / calendar.growth)
        length = min(_SECONDS_PER_RATING * (end - begin) / sittings, calendar.seconds - 1.0)
        latest = calendar.seconds - 1.0 - length
        for n in range(end - begin):
            # The square makes the first sittings the longest.
            sitting = int(sittings * uniform(name, 2 * n) ** 2)
            since = arrival
            if sitting > 0:
                since += (1.0 - arrival) * uniform(habit, 1 + sitting)
            when = since * latest + length * uniform(name, 2 * n + 1)
            out[begin + n] = calendar.begin + int(when)
