"""Local reports at home: answers are drawn once per epoch, kept, and repeated."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, OwnRatings
from discreet.domain.files import spell_size
from discreet.privacy import Event, Randomness, SystemRandomness, Unit, event_from_dict, unbooked
from discreet.privacy.accounting import compose
from discreet.privacy.noise import GeometricLaw, draw_below, draw_noise, precision
from discreet.protocols.clients import BEYOND_LIMIT, OTHER_TERMS, SEEN, Participant, Progress
from discreet.protocols.common import Limit, StateFile
from discreet.protocols.common.http import ServiceClient
from discreet.protocols.local_reports.messages import PROTOCOL, Collection, Mechanism, Report

_NOWHERE = Path("no state")

# Doubles of the table are this close to the true edges, with a wide margin: their errors are
# about 2^-50. What falls nearer to an edge is settled exactly.
_MARGIN = 2.0**-32
# Extra bits when a draw is settled exactly.
_GUARD = 40
_STDS, _EXTRA = 12, 60


@dataclass(frozen=True)
class FakeCount:
    """Binomial: `items` coins that show with odds `ways` e^-exponent to 1.

    Args:
        items: How many items were not rated, at most 2^24.
        ways: How many answers a missing rating can turn into; 1 for noise.
        exponent: The log odds of one of them against "nothing", negative: -exponent.
    """

    items: int
    ways: int
    exponent: float

    @property
    def odds(self) -> float:
        """The odds that an item shows."""
        return self.ways * math.exp(-self.exponent)

    def draw(self, randomness: Randomness) -> int:
        """One draw, exactly of this law."""
        word = int(randomness.words(1)[0])
        first, edges = _edges(self)
        point = word * 2.0**-64
        cell = int(np.searchsorted(edges, point, side="right"))
        near = cell > 0 and point - edges[cell - 1] <= _MARGIN
        if near or cell == len(edges) or edges[cell] - point <= _MARGIN:
            return self.settle(word, 64, randomness)
        return first + cell

    def settle(self, leading: int, bits: int, randomness: Randomness) -> int:
        """The draw of a uniform number whose first bits are these, with as many as it takes."""
        while True:
            with precision(bits + 2 * _GUARD):
                slack = mpmath.ldexp(1, -bits - _GUARD)
                ends = mpmath.ldexp(leading, -bits), mpmath.ldexp(leading + 1, -bits)
                found = self._place(ends[0] - slack, ends[1] + slack)
            if found is not None:
                return found
            leading, bits = leading << 64 | randomness.bits(64), bits + 64

    def _place(self, low: Any, high: Any) -> int | None:
        """The number whose share of [0, 1] holds both ends, or None; a rare and slow path."""
        odds = self.ways * mpmath.exp(-mpmath.mpf(self.exponent))
        below, term = mpmath.mpf(0), (1 + odds) ** -self.items
        for number in range(self.items):
            edge = below + term
            if high <= edge:
                return number if number == 0 or low >= below else None
            below, term = edge, term * odds * (self.items - number) / (number + 1)
        return self.items if self.items == 0 or low >= below else None


@lru_cache(maxsize=64)
def _edges(law: FakeCount) -> tuple[int, npt.NDArray[np.float64]]:
    """The smallest number of the table, and P(at most it), P(at most the next), ...

    Ratios of neighbouring probabilities are multiplied up and down from the mode.
    """
    share = law.odds / (1 + law.odds)
    mode = min(int((law.items + 1) * share), law.items)
    reach = math.ceil(_STDS * math.sqrt(law.items * share * (1 - share))) + _EXTRA
    first, last = max(mode - reach, 0), min(mode + reach, law.items)
    up = np.arange(mode, last, dtype=np.float64)
    down = np.arange(mode, first, -1, dtype=np.float64)
    above = np.cumprod((law.items - up) / (up + 1) * law.odds)
    below = np.cumprod(down / (law.items - down + 1) / law.odds)
    edges = np.cumsum(np.concatenate((below[::-1], [1.0], above)))
    edges /= edges[-1]
    edges.flags.writeable = False
    return first, edges


def draw_places(count: int, among: int, randomness: Randomness) -> npt.NDArray[np.int64]:
    """A set of `count` numbers from 0 to before `among`, rising; every such set is as likely."""
    wanted = min(count, among - count)
    marked, missing = np.zeros(among, np.bool_), wanted
    while missing:
        marked[draw_below(among, missing, randomness)] = True
        missing = wanted - int(np.count_nonzero(marked))
    return np.flatnonzero(marked if wanted == count else ~marked)


_Ints = npt.NDArray[np.int64]
_PART = "a local report's rated items"


def draw_report(collection: Collection, own: OwnRatings, randomness: Randomness) -> Report:
    """Draw fresh answers for every item of the catalogue.

    Nothing is remembered: calling it again costs epsilon again. `LocalClient` remembers.

    Raises:
        InputError: An item is not in the catalogue or a rating not on the scale.
    """
    rated = own.items.astype(np.int64)
    size = len(collection.catalog)
    inside = len(rated) == 0 or bool(rated[0] >= 0 and rated[-1] < size)
    if not inside or not np.all(np.diff(rated) > 0):
        raise InputError(f"own items are catalogue indices below {size:,} in rising order")
    if not np.all(collection.scale.contains(own.values)):
        raise InputError(f"an own rating is not on the scale {collection.scale}")
    values = collection.to_grid(own.values)
    if collection.mechanism is Mechanism.MODIFIED_LAPLACE:
        answers = _laplace(collection, rated, values, randomness)
    else:
        answers = _response(collection, rated, values, randomness)
    return Report.of(collection, *answers)


def _laplace(
    collection: Collection, rated: _Ints, values: _Ints, randomness: Randomness
) -> tuple[_Ints, _Ints]:
    mechanism = collection.laplace
    answers, shown = values[:0], np.empty(0, np.bool_)
    if len(rated):
        part = mechanism.event(_PART, len(rated))
        present = np.ones(len(rated), np.bool_)
        answers, shown = mechanism.release(values, present, part, unbooked([part], randomness))
    # Half of epsilon hides whether there is a rating, half how large it is; so an item without one
    # shows with odds e^(-epsilon/2), and then with noise around 0.
    fakes = _fakes(collection, rated, 1, collection.epsilon / 2, randomness)
    noise = draw_noise(GeometricLaw(mechanism.scale), len(fakes), randomness)
    both = np.concatenate((answers[shown], noise))
    # Cutting after the noise is post-processing, and the same for true answers and fakes.
    cut = np.clip(both, collection.least, collection.largest)
    return np.concatenate((rated[shown], fakes)), cut


def _response(
    collection: Collection, rated: _Ints, values: _Ints, randomness: Randomness
) -> tuple[_Ints, _Ints]:
    mechanism = collection.response
    answers = values[:0]
    if len(rated):
        part = mechanism.event(_PART, len(rated))
        symbols = _symbols(collection, values, randomness)
        answers = mechanism.release(symbols, part, unbooked([part], randomness))
    shown = answers > 0
    fakes = _fakes(collection, rated, collection.answers, collection.epsilon, randomness)
    # Without a rating every answer is as likely as any other: e^-epsilon each to 1 for nothing.
    others = 1 + draw_below(collection.answers, len(fakes), randomness)
    return np.concatenate((rated[shown], fakes)), np.concatenate((answers[shown], others))


def _symbols(collection: Collection, values: _Ints, randomness: Randomness) -> _Ints:
    """True answers to randomise, 1 and above; 0 would stand for "not rated"."""
    width = 2 * collection.reach
    if collection.mechanism is Mechanism.ROUNDED_RESPONSE:
        # The upper end with probability (value + reach)/width, so that the mean is the value.
        return 1 + (draw_below(width, len(values), randomness) < values + collection.reach)
    return (values + collection.reach) // (width // (collection.levels - 1)) + 1


def _fakes(
    collection: Collection, rated: _Ints, ways: int, exponent: float, randomness: Randomness
) -> _Ints:
    """Which items that were not rated get an answer."""
    others = len(collection.catalog) - len(rated)
    # How many first and which then: the same law as a coin for each item, in a time that grows with
    # the number of answers and not with the catalogue.
    count = FakeCount(others, ways, exponent).draw(randomness)
    places = draw_places(count, others, randomness)
    # The j-th item that was not rated has as many rated ones before it as have r_i - i <= j.
    before = np.searchsorted(rated - np.arange(len(rated)), places, side="right")
    return np.asarray(places + before)


# Bytes of JSON around a report's arrays, about.
_ENVELOPE_BYTES = 250


@dataclass(frozen=True)
class Spent:
    """What a person's reports have cost so far, over all epochs and collections.

    Attributes:
        events: One for each report that was drawn.
    """

    events: tuple[Event, ...]

    @property
    def reports(self) -> int:
        """How many reports were drawn; repeating one costs nothing."""
        return len(self.events)

    @property
    def per_rating(self) -> float:
        """Epsilon for one rating: epsilons add up."""
        return compose(self.events).epsilon(0.0)

    @property
    def per_user(self) -> float:
        """Epsilon for everything that the person rated or not: n times as much, n the catalogue."""
        seen = [event.seen_by(Unit.USER) for event in self.events]
        # An event that does not say how many ratings a person can have bounds nothing for a person;
        # local reports always say it, the whole catalogue.
        bounded = [event for event in seen if event is not None]
        return compose(bounded).epsilon(0.0)

    def __str__(self) -> str:
        reports = f"{self.reports:,} report" + ("" if self.reports == 1 else "s")
        return (
            f"{reports} drawn: epsilon {self.per_rating:,.4g} for each rating, "
            f"{self.per_user:,.6g} for all of them together"
        )


class LocalClient:
    """One person's side of a collection.

    Args:
        collection: What the server announces. A server can announce epoch after epoch to get
            fresh answers: look at `cost` before `report`, or set a limit.
        state: The person's own file, or where it shall be. Without it the client has forgotten
            its answers: it would draw new ones, and could not count the old.
        limit: The most epsilon for each rating that all reports together may cost; a report that
            would pass it is refused. See `Limit`.
        randomness: For tests and experiments; from the operating system if absent.
    """

    def __init__(
        self,
        collection: Collection,
        state: StateFile | str | os.PathLike[str],
        *,
        limit: float | None = None,
        randomness: Randomness | None = None,
    ) -> None:
        self.collection = collection
        self._file = state if isinstance(state, StateFile) else StateFile(state, PROTOCOL)
        self.limit = Limit(self._file, limit)
        self._randomness = randomness or SystemRandomness()

    def __repr__(self) -> str:
        return "LocalClient(private)"

    @property
    def spent(self) -> Spent:
        """The running total."""
        return _spent(self._file, self._file.read())

    @property
    def cost(self) -> float:
        """What `report` would add to each rating's epsilon: 0 if the answer is there already.

        Raises:
            InputError: The epoch is over.
        """
        kept = self._kept(self._file.read())
        return 0.0 if kept is not None else self.collection.epsilon

    @property
    def is_within_limit(self) -> bool:
        """Whether `report` would keep to the limit."""
        return self.limit.allows(self.spent.per_rating, self.cost)

    @property
    def usual_bytes(self) -> int:
        """About how large a report is as JSON: nearly the same for everybody."""
        collection, size = self.collection, len(self.collection.catalog)
        exponent = collection.epsilon if collection.answers else collection.epsilon / 2
        law = FakeCount(size, collection.answers or 1, exponent)
        # A bit for each item says whether it has an answer, then come the answers; base64 makes 4
        # bytes of 3. As if nothing were rated: a few hundred ratings hardly change it.
        values = size * law.odds / (1 + law.odds) * np.dtype(collection.number).itemsize
        return _ENVELOPE_BYTES + round((size / 8 + values) * 4 / 3)

    def report(self, own: Mapping[str, float] | OwnRatings) -> Report:
        """The answers for this epoch: the first ever given, or new ones, on disk before they leave.

        Within an epoch later ratings and changed ones change nothing.

        Args:
            own: The person's own ratings; names that the catalogue does not have are left out, and
                ratings are brought onto the announced scale: whether a report is sent may not
                depend on them.

        Raises:
            InputError: A rating is not a number, the epoch is over, the limit would be passed, or
                the state cannot be read or written; nothing was drawn.
        """
        self.limit.remember()
        collection = self.collection
        if not isinstance(own, OwnRatings):
            own = OwnRatings.onto(own, collection.catalog, collection.scale)
        with self._file.change() as state:
            kept = self._kept(state)
            if kept is not None:
                return kept
            # Checked, drawn and written under one lock of the file, so that two programs cannot
            # both spend.
            self.limit.check(state, _spent(self._file, state).per_rating, collection.epsilon)
            drawn = draw_report(collection, own, self._randomness)
            state["events"] = [*state.get("events", []), collection.event.to_dict()]
            state["reports"] = state.get("reports", {}) | {collection.digest: drawn.as_json()}
        return drawn

    def _kept(self, state: dict[str, Any]) -> Report | None:
        """The answers that were given in this epoch."""
        reports = state.get("reports", {})
        if not isinstance(reports, dict):
            raise InputError("the kept reports are damaged", path=self._file.path)
        kept = reports.get(self.collection.digest)
        if kept is None:
            return None
        epoch = kept.get("epoch") if isinstance(kept, dict) else None
        if not isinstance(epoch, int):
            raise InputError("a kept report is damaged", path=self._file.path)
        if epoch > self.collection.epoch:
            raise InputError(
                f"period {self.collection.epoch:,} is over: this client has answered period "
                f"{epoch:,}, and a second answer would cost again"
            )
        if epoch < self.collection.epoch:
            return None
        return Report.from_json(kept, self.collection)


def _spent(file: StateFile, state: dict[str, Any]) -> Spent:
    events = state.get("events", [])
    if not isinstance(events, list):
        raise InputError("the events are damaged", path=file.path)
    return Spent(tuple(event_from_dict(event) for event in events))


class LocalParticipant(Participant):
    """Local reports; see `Participant`."""

    collection: Collection

    def __init__(self, service: ServiceClient, state: Path | None, limit: float | None) -> None:
        self.collection = Collection.from_json(service.collection(), service.catalog())
        self._client = LocalClient(self.collection, state or _NOWHERE, limit=limit)

    @property
    def is_within_limit(self) -> bool:
        return self._client.is_within_limit

    def remember_limit(self) -> None:
        self._client.limit.remember()

    def terms(self) -> list[str]:
        collection, size = self.collection, len(self.collection.catalog)
        return [
            "Protocol: local reports. Every answer gets noise on your own machine: differential "
            "privacy against everybody, the service included.",
            f"Cost of a report: epsilon {collection.epsilon:g} for each rating, "
            f"{self._all:,.6g} for everything that you rated and did not rate together. "
            f"{self._bound}",
            f"Period: {collection.epoch:,}. Within a period your answers stay as they are, and to "
            "send them again costs nothing; the next period asks anew, and costs as much again: "
            f"{collection.sum_in_words}.",
            f"Items: {size:,}. Scale: {collection.scale}. Noise: {collection.mechanism}. "
            f"{collection.influence}",
            f"What leaves your device: one message of about {self._bytes}. It has an answer for "
            f"some of all {size:,} items, whether you rated them or not. {SEEN}",
        ]

    def foresee(self, own: OwnRatings) -> list[str]:
        client, collection = self._client, self.collection
        if client.cost == 0:
            said = [
                f"Your answers of period {collection.epoch:,} would be sent again as they are: "
                f"about {self._bytes}. Your ratings of today change nothing in them.",
                "Cost: nothing more.",
            ]
        else:
            said = [
                f"Noisy answers would be drawn on all {len(collection.catalog):,} items, of which "
                f"you rated {len(own):,}, and sent: about {self._bytes}. No rating is sent as it "
                "is.",
                f"Cost: epsilon {collection.epsilon:g} for each rating, {self._all:,.6g} for all "
                f"of them together. {self._bound} To delete it later does not undo the cost.",
            ]
        return [*said, *self._standing(), *([] if self.is_within_limit else [BEYOND_LIMIT])]

    def report(
        self,
        own: OwnRatings,
        progress: Progress | None = None,  # noqa: ARG002
    ) -> tuple[Mapping[str, Any], list[str]]:
        repeated = self._client.cost == 0
        message = self._client.report(own)
        said = ["the answers of this period are frozen: the same ones were sent again"] * repeated
        return message.as_json(), [*said, *self._standing()]

    def describe(self, message: Mapping[str, Any]) -> list[str]:
        try:
            found = Report.from_json(message, self.collection)
        except InputError:
            return [OTHER_TERMS, *self._standing()]
        size = len(json.dumps(message))
        return [
            f"The service has your answers of period {found.epoch:,}: {len(found.items):,} of "
            f"{len(self.collection.catalog):,} items have one ({spell_size(size)}).",
            "All of them are noisy, and some are on items that you never rated. --json prints the "
            "message itself.",
            *self._standing(),
        ]

    @property
    def _bound(self) -> str:
        # Rounded up: the sentence is a bound.
        factor = math.ceil(100 * math.exp(self.collection.epsilon)) / 100
        return (
            "For somebody who knows everything else about you, no guess about a rating becomes "
            f"more than {factor:,.10g} times as likely by it."
        )

    @property
    def _all(self) -> float:
        return Spent((self.collection.event,)).per_user

    @property
    def _bytes(self) -> str:
        return spell_size(self._client.usual_bytes)

    def _standing(self) -> list[str]:
        limit = self._client.limit.value
        limit_text = "no limit is set (--limit)" if limit is None else f"your limit is {limit:g}"
        return [f"{self._client.spent}; {limit_text}"]
