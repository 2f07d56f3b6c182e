"""The messages of local reports: the announced collection, and a report on all its items.

Every item of the catalogue has an answer: an integer on a grid, or nothing. Answers of nothing are
not sent. A message marks the items that have one in a bit each and lists the integers beside them.
"""

from __future__ import annotations

import enum
import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import Catalog, InputError, Scale
from discreet.privacy import PureEvent
from discreet.privacy.mechanisms import ModifiedLaplace, RandomizedResponse
from discreet.protocols.common import Fields, bytes_text, numbers_text, spell_sum

PROTOCOL, VERSION = "local-reports", 1
# Items, for safety: a report on this many takes tens of megabytes.
MOST_ITEMS = 1 << 24
# For safety: it fits any integer type.
MOST_EPOCHS = 1 << 31

_LEAST_EPSILON, _MOST_EPSILON = 10, 50_000
# Grid steps from the middle of a continuous scale to its end: rounding to them costs far less
# than the noise. Chosen by hand.
_CONTINUOUS_REACH = 100
_FURTHEST = 20
"""Scales of noise (a chance of e^-20) beyond which modified Laplace is cut."""
# Answers of rounded response: the two ends of the scale.
_ENDS = 2

_HEAD = ("protocol", "version", "type")
_COLLECTION = (
    *_HEAD, "catalog", "items", "scale", "mechanism", "epsilon_thousandths", "epoch", "reach",
    "least", "largest", "number", "digest",
)  # fmt: skip
_REPORT = (*_HEAD, "collection", "epoch", "reported", "values")


class Mechanism(enum.StrEnum):
    """How answers are randomised."""

    ROUNDED_RESPONSE = "rounded-response"
    RANDOMIZED_RESPONSE = "randomized-response"
    MODIFIED_LAPLACE = "modified-laplace"


@dataclass(frozen=True)
class Collection:
    """What everybody reports on, and how: all of it public.

    A rating r is the integer (r - mid) 2 reach/(hi - lo), from -reach to reach. Modified Laplace
    sends such integers with noise, randomized response the number of the level, 1 for the lowest.
    Rounded response first rounds a rating at random to an end of the scale, so that it is right on
    average, and then is randomized response between the two ends and nothing.

    Args:
        catalog: The items.
        scale: The scale of ratings; randomized response needs one in steps.
        mechanism: How answers are randomised.
        epsilon: For each answer; in thousandths, from 0.01 to 50.
        epoch: The number of the period, from 1 on. Within a period everybody's answers stay as
            they are; a new period asks for new ones, and costs everybody epsilon again.
    """

    catalog: Catalog
    scale: Scale
    mechanism: Mechanism
    epsilon: float
    epoch: int = 1

    def __post_init__(self) -> None:
        if self.mechanism not in list(Mechanism):
            raise InputError(f"a collection's mechanism is one of {', '.join(Mechanism)}")
        object.__setattr__(self, "mechanism", Mechanism(self.mechanism))
        if self.scale.presence:
            raise InputError("local reports are about ratings, and the scale is presence alone")
        if self.scale.step is None and self.mechanism is Mechanism.RANDOMIZED_RESPONSE:
            raise InputError("randomized response needs a scale in steps; use modified-laplace")
        if len(self.catalog) > MOST_ITEMS:
            raise InputError(f"local reports are on at most {MOST_ITEMS:,} items")
        least, most = _LEAST_EPSILON / 1000, _MOST_EPSILON / 1000
        if not least <= self.epsilon <= most or self.thousandths / 1000 != self.epsilon:
            raise InputError(
                f"epsilon is from {least:g} to {most:g}, with three decimals at most, "
                f"not {self.epsilon!r}"
            )
        whole = isinstance(self.epoch, int) and not isinstance(self.epoch, bool)
        if not whole or not 1 <= self.epoch <= MOST_EPOCHS:
            raise InputError("a period is a whole number from 1 on")

    @property
    def thousandths(self) -> int:
        """Epsilon in thousandths."""
        return round(self.epsilon * 1000)

    @cached_property
    def _parts(self) -> int | None:
        """Into how many steps the scale is divided; None if it is continuous."""
        return None if self.scale.step is None else round(self.scale.range / self.scale.step)

    @cached_property
    def reach(self) -> int:
        """Ratings are integers from -reach to reach: the coarsest such grid that has them all."""
        if self._parts is None:
            return _CONTINUOUS_REACH
        # With mid as 0: an even number of steps has it as a level, an odd one has levels at odd
        # numbers of half steps.
        return self._parts if self._parts % 2 else self._parts // 2

    @cached_property
    def unit(self) -> float:
        """How far apart two neighbouring integers are on the scale."""
        return self.scale.range / (2 * self.reach)

    @cached_property
    def levels(self) -> int:
        """How many levels the scale has; 0 if it is continuous."""
        return 0 if self._parts is None else self._parts + 1

    @property
    def answers(self) -> int:
        """How many different answers there are besides nothing; 0 if they are noisy integers."""
        if self.mechanism is Mechanism.MODIFIED_LAPLACE:
            return 0
        return _ENDS if self.mechanism is Mechanism.ROUNDED_RESPONSE else self.levels

    @property
    def least(self) -> int:
        """The smallest integer that a report may hold."""
        return 1 if self.answers else -self.largest

    @property
    def largest(self) -> int:
        """The largest integer that a report may hold."""
        if self.answers:
            return self.answers
        # reach + ceil(_FURTHEST scales): a scale is 2 reach/epsilon = 2000 reach/thousandths grid
        # steps. Minus the floor of a negative number is the ceiling, in whole numbers that all
        # sides agree on.
        return self.reach - (-_FURTHEST * 2000 * self.reach // self.thousandths)

    @property
    def number(self) -> str:
        """The type of a report's integers."""
        if self.answers and self.largest < 1 << 8:
            return "uint8"
        return "int16" if self.largest < 1 << 15 else "int32"

    @cached_property
    def laplace(self) -> ModifiedLaplace:
        """The mechanism, if it is modified Laplace."""
        assert self.mechanism is Mechanism.MODIFIED_LAPLACE
        return ModifiedLaplace(self.reach, self.epsilon)

    @cached_property
    def response(self) -> RandomizedResponse:
        """The mechanism, unless it is modified Laplace; symbol 0 is "not rated"."""
        assert self.answers
        return RandomizedResponse(self.answers + 1, self.epsilon)

    @property
    def event(self) -> PureEvent:
        """What one report costs its sender."""
        mechanism = self.response if self.answers else self.laplace
        return mechanism.event(f"a local report, period {self.epoch}", len(self.catalog))

    @property
    def sum_in_words(self) -> str:
        """What reports of several periods add up to for one rating; see `spell_sum`."""
        return spell_sum(self.event, self.epoch)

    @cached_property
    def influence(self) -> Influence:
        """The most that one report can do, whatever its sender does."""
        if self.answers:
            keep = self.response.keep
            other = keep * math.exp(-self.epsilon)
            gap, fake = keep - other, self.answers * other
            furthest, slope = self.reach, self.unit / gap
        else:
            keep = self.laplace.keep
            gap, fake = 2 * keep - 1, 1 - keep
            furthest, slope = self.largest, self.unit / keep
        return Influence(self.scale, furthest * slope, (1 - fake) / gap, fake / gap)

    def to_grid(self, ratings: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Ratings of the scale as integers from -reach to reach."""
        # On the scale they are whole already; a continuous one is rounded to the nearest.
        found = np.rint((ratings - self.scale.mid) / self.unit).astype(np.int64)
        return np.clip(found, -self.reach, self.reach)

    def centred(self, values: npt.NDArray[np.integer]) -> npt.NDArray[np.int32]:
        """A report's integers in grid steps above mid; levels lie from -reach to reach, evenly."""
        steps = values.astype(np.int32)
        if self.answers:
            steps = (steps - 1) * (2 * self.reach // (self.answers - 1)) - self.reach
        return steps

    @cached_property
    def digest(self) -> str:
        """SHA-256 over everything but the epoch: who has the same one speaks of the same."""
        lines = (
            f"discreet {PROTOCOL} {VERSION}", self.catalog.digest(), self.scale.spelling,
            str(self.mechanism), str(self.thousandths),
        )  # fmt: skip
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """The announcement; the catalogue is fetched separately, and named by its digest here."""
        return {
            **_head("collection"),
            "catalog": self.catalog.digest(),
            "items": len(self.catalog),
            "scale": self.scale.spelling,
            "mechanism": str(self.mechanism),
            "epsilon_thousandths": self.thousandths,
            "epoch": self.epoch,
            "reach": self.reach,
            "least": self.least,
            "largest": self.largest,
            "number": self.number,
            "digest": self.digest,
        }

    @classmethod
    def from_json(cls, content: Any, catalog: Catalog) -> Collection:
        """Read an announcement that speaks of this catalogue.

        Raises:
            InputError: It is malformed, names another catalogue, or contradicts itself.
        """
        fields = Fields(content, "collection", _COLLECTION)
        _check_head(fields, "collection")
        if fields.text("catalog") != catalog.digest():
            raise InputError("collection: 'catalog' is not the digest of the catalogue at hand")
        collection = cls(
            catalog,
            Scale.parse(fields.text("scale")),
            Mechanism(fields.choice("mechanism", tuple(Mechanism))),
            fields.whole("epsilon_thousandths", _LEAST_EPSILON, _MOST_EPSILON) / 1000,
            fields.whole("epoch", 1, MOST_EPOCHS),
        )
        # Announcements repeat what follows from them for clients in other languages. If it did not
        # agree, two clients might read two protocols in it.
        for name, value in collection.as_json().items():
            given = content[name] if fields.has(name) else None
            if type(given) is not type(value) or given != value:
                raise InputError(f"collection: '{name}' does not follow from the other fields")
        return collection


@dataclass(frozen=True)
class Influence:
    """How far one report can move what is estimated of an item. See PROOF.md.

    Attributes:
        scale: Of the ratings.
        on_sum: The most by which it changes the sum of the item's ratings less mid.
        on_count: The most by which it raises the number of them.
        below: The most by which it lowers that number.
    """

    scale: Scale
    on_sum: float
    on_count: float
    below: float

    @property
    def on_mean(self) -> float:
        """W: one report moves the mean of n ratings by at most W/(n - below)."""
        return self.on_sum + self.scale.range / 2 * self.on_count

    def __str__(self) -> str:
        # Rounded up: the sentence is a bound.
        most = math.ceil(100 * self.on_mean) / 100
        return (
            f"Whatever its sender does, one report moves the mean of an item with n ratings by at "
            f"most about {most:,.10g}/n; one rating without noise moves it by up to "
            f"{self.scale.range:g}/n."
        )


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """One person's answers, randomised: nothing in here is a secret any more.

    Attributes:
        collection: The digest of what it answers.
        epoch: When.
        reported: A bit for each item of the catalogue, the lowest bit of the first byte first.
        values: The integers beside the items that are marked, in the catalogue's order.
    """

    collection: str
    epoch: int
    reported: bytes
    values: npt.NDArray[np.integer]

    @classmethod
    def of(
        cls,
        collection: Collection,
        items: npt.NDArray[np.integer],
        values: npt.NDArray[np.integer],
    ) -> Report:
        """The message for these items, all different, and the integers beside them."""
        order = np.argsort(items)
        marks = np.zeros(len(collection.catalog), np.bool_)
        marks[items] = True
        bits = np.packbits(marks, bitorder="little").tobytes()
        integers = values[order].astype(np.dtype(collection.number))
        return cls(collection.digest, collection.epoch, bits, integers)

    @property
    def items(self) -> npt.NDArray[np.int32]:
        """The catalogue indices that have an answer, rising."""
        bits = np.unpackbits(np.frombuffer(self.reported, np.uint8), bitorder="little")
        return np.flatnonzero(bits).astype(np.int32)

    def as_json(self) -> dict[str, Any]:
        """The message."""
        return {
            **_head("report"),
            "collection": self.collection,
            "epoch": self.epoch,
            "reported": bytes_text(self.reported),
            "values": numbers_text(self.values, self.values.dtype.name),
        }

    @classmethod
    def from_json(cls, content: Any, collection: Collection) -> Report:
        """Read a report on this collection.

        Raises:
            InputError: It is malformed, answers another collection or epoch, or is out of range.
        """
        fields = Fields(content, "report", _REPORT)
        _check_head(fields, "report")
        if fields.text("collection") != collection.digest:
            raise InputError("report: it answers another collection; ask for the present one")
        if fields.whole("epoch", 1, MOST_EPOCHS) != collection.epoch:
            raise InputError(f"report: this is period {collection.epoch:,}; report for that")
        size = len(collection.catalog)
        bits = fields.content("reported", -(-size // 8), -(-size // 8))
        # Bits past the end would carry something of the sender's choice past every check.
        if size % 8 and bits[-1] >> size % 8:
            raise InputError("report: 'reported' marks items past the end of the catalogue")
        values = fields.numbers("values", collection.number, size)
        marked = int.from_bytes(bits, "little").bit_count()
        if len(values) != marked:
            raise InputError(f"report: {marked:,} items are marked beside {len(values):,} values")
        least, largest = collection.least, collection.largest
        if len(values) and not (values.min() >= least and values.max() <= largest):
            raise InputError(f"report: 'values' are from {least} to {largest}")
        return cls(collection.digest, collection.epoch, bits, values)


def _head(kind: str) -> dict[str, Any]:
    return {"protocol": PROTOCOL, "version": VERSION, "type": kind}


def _check_head(fields: Fields, kind: str) -> None:
    fields.choice("protocol", (PROTOCOL,))
    fields.whole("version", VERSION, VERSION)
    fields.choice("type", (kind,))
