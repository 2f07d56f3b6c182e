"""Messages of the protocols, from their real clients: what leaves a person's hands."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from discreet.audit._neighbours import STARS, catalog_of
from discreet.audit._tags import our_tags
from discreet.audit.lower_bound._claims import Claim
from discreet.audit.lower_bound._engine import PairSubject, Subject
from discreet.audit.lower_bound._mechanisms import laplace_ratio
from discreet.domain import OwnRatings
from discreet.privacy import Randomness
from discreet.protocols.local_reports.client import LocalClient, draw_report
from discreet.protocols.local_reports.messages import Collection, Mechanism, Report
from discreet.protocols.open_clusters.client import OpenClient
from discreet.protocols.open_clusters.messages import Collection as OpenCollection

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]

_EPSILON = 1.0
_NOTHING = -(10**6)
_SMALL = 8


def protocols() -> Iterator[tuple[str, Callable[[], Subject]]]:
    """Names and what makes the subjects."""
    for mechanism in Mechanism:
        start = f"local-reports/{mechanism}"
        for change, other in (("presence", "no rating"), ("value", "a 1")):
            told = (f"{start}/{change}", f"the answer about one item; a 5 or {other}", mechanism)
            yield told[0], partial(ReportSubject, *told, change=change)
        for kind, (make, about) in _KINDS.items():
            yield f"{start}/{kind}", partial(make, f"{start}/{kind}", about, mechanism)
    yield "open-clusters/hash-bits", HashBitsSubject
    yield "open-clusters/hash", HashSubject
    yield "closed-clusters/tags", TagSubject


def own_of(count: int, value: float) -> OwnRatings:
    """The same rating for each of the first items."""
    return OwnRatings(np.arange(count, dtype=np.int32), np.full(count, value))


def answers(report: Report, size: int) -> _Ints:
    """The integer beside each item, or a number far below all where there is none."""
    found = np.full(size, _NOTHING, np.int64)
    found[report.items] = report.values
    return found


@dataclass(frozen=True)
class _LocalSubject(PairSubject):
    """Answers of a client about items that are all rated alike.

    A report on many items is many runs: its answers are drawn independently.

    Args:
        name: By which it is asked for.
        about: Which neighbours.
        mechanism: Of the collection.
        runs: Items of the catalogue, unless whole reports are audited.
    """

    name: str
    about: str
    mechanism: Mechanism
    runs: int = 20_000

    @property
    def claim(self) -> Claim:
        return Claim.of([self.collection(1).event])

    def collection(self, items: int, epoch: int = 1) -> Collection:
        """Of so many items."""
        return Collection(catalog_of(items), STARS, self.mechanism, _EPSILON, epoch)


@dataclass(frozen=True)
class ReportSubject(_LocalSubject):
    """One item's answer in a report: a 5, or what `change` says."""

    change: str = field(kw_only=True)

    def draw(self, world: int, runs: int, randomness: Randomness) -> _Floats:
        collection = self.collection(runs)
        rated = runs if world == 0 or self.change == "value" else 0
        own = own_of(rated, 5.0 if world == 0 else 1.0)
        said = answers(draw_report(collection, own, randomness), runs)
        return _scores(collection, said, self.change)


def _scores(collection: Collection, said: _Ints, change: str) -> _Floats:
    """How much more likely each answer is of a 5."""
    if collection.mechanism is Mechanism.MODIFIED_LAPLACE:
        return laplace_ratio(collection.laplace, said, said != _NOTHING, change)
    other = _NOTHING if change == "presence" else 1
    return np.asarray((said == collection.levels).astype(np.float64) - (said == other))


@dataclass(frozen=True)
class WholeReportSubject(_LocalSubject):
    """A whole report of a small catalogue: all answers together, and how many there are."""

    runs: int = 2000

    @property
    def claim(self) -> Claim:
        return Claim.of([self.collection(_SMALL).event])

    def draw(self, world: int, runs: int, randomness: Randomness) -> _Floats:
        collection, own = self.collection(_SMALL), own_of(3 if world == 0 else 2, 5.0)
        rows = [answers(draw_report(collection, own, randomness), _SMALL) for _ in range(runs)]
        said = np.array(rows)
        shown = said != _NOTHING
        cut = np.where(shown, np.clip(said, collection.least, collection.reach), 0)
        return np.hstack([shown, cut, shown.sum(axis=1, keepdims=True)]).astype(np.float64)


Reporting = Callable[[Collection, Path, list[OwnRatings], Randomness], list[Report]]
"""Reports that a client sends as its ratings change, its memory in a folder."""


def _report_all(
    collection: Collection, folder: Path, history: list[OwnRatings], randomness: Randomness
) -> list[Report]:
    """By the real client, begun anew each time."""
    state = folder / "client"
    return [LocalClient(collection, state, randomness=randomness).report(own) for own in history]


@dataclass(frozen=True)
class ChangedRatingSubject(_LocalSubject):
    """Two reports in one epoch, between which a rating changes or stays; `reporting` the client."""

    reporting: Reporting = field(default=_report_all)

    def draw(self, world: int, runs: int, randomness: Randomness) -> _Floats:
        collection = self.collection(runs)
        history = [own_of(runs, 1.0), own_of(runs, 5.0 if world == 0 else 1.0)]
        with tempfile.TemporaryDirectory() as folder:
            told = self.reporting(collection, Path(folder), history, randomness)
        first, second = (answers(report, runs) for report in told)
        return np.asarray(_scores(collection, second, "value") + 100.0 * (first != second))


@dataclass(frozen=True)
class EpochsSubject(_LocalSubject):
    """Two epochs: new answers, and twice the epsilon."""

    @property
    def claim(self) -> Claim:
        return Claim.of([self.collection(1, epoch).event for epoch in (1, 2)])

    def draw(self, world: int, runs: int, randomness: Randomness) -> _Floats:
        own, scores = own_of(runs, 5.0 if world == 0 else 1.0), np.zeros(runs)
        with tempfile.TemporaryDirectory() as folder:
            for epoch in (1, 2):
                collection = self.collection(runs, epoch)
                (told,) = _report_all(collection, Path(folder), [own], randomness)
                scores += _scores(collection, answers(told, runs), "value")
        return scores


_HASHED = np.where(np.arange(40) * 7 % 11 < 5, 5.0, 1.0)
"""Ratings that hash bits are made of; nothing is special about them."""


@dataclass(frozen=True)
class _HashSubject(PairSubject):
    """Hash values of open clusters under randomized response, from the real client."""

    runs: int

    bits: ClassVar[int]
    thousandths: ClassVar[int]

    @cached_property
    def collection(self) -> OpenCollection:
        """Of eighty items."""
        return OpenCollection(
            catalog_of(80), STARS, bits=self.bits, bit_epsilon_thousandths=self.thousandths
        )

    @property
    def _epsilon(self) -> float:
        """Of a whole message."""
        event = self.collection.hash_event
        assert event is not None
        return event.epsilon

    def hash_of(self, values: _Floats) -> int:
        """Without noise."""
        items = np.arange(len(values), dtype=np.int32)
        return self.collection.cluster_hash.value(items, (values - 1).astype(np.uint8))

    def said(self, values: _Floats, count: int, randomness: Randomness) -> _Ints:
        """What so many clients send who all have these ratings, bit by bit."""
        own = OwnRatings(np.arange(len(values), dtype=np.int32), values)
        with tempfile.TemporaryDirectory() as folder:
            states = (Path(folder) / str(number) for number in range(count))
            sent = [self._report(state, own, randomness) for state in states]
        return np.asarray(np.array(sent)[:, None] >> np.arange(self.bits) & 1)

    def _report(self, state: Path, own: OwnRatings, randomness: Randomness) -> int:
        client = OpenClient(self.collection, state, hash_only=True, randomness=randomness)
        return client.report(own).hash


@dataclass(frozen=True)
class HashBitsSubject(_HashSubject):
    """One bit of a hash; each of a message's bits is a run (PROOF.md).

    The two people rate the same items, one turned round: every bit differs.
    """

    runs: int = 3200

    name, about = "open-clusters/hash-bits", "one reported hash bit; any other person"
    bits, thousandths = 16, 1000

    @property
    def claim(self) -> Claim:
        return Claim(self._epsilon / self.bits)

    def draw(self, world: int, runs: int, randomness: Randomness) -> _Floats:
        said = self.said(6 - _HASHED if world else _HASHED, -(-runs // self.bits), randomness)
        true = self.hash_of(_HASHED) >> np.arange(self.bits) & 1
        return np.asarray((said == true).ravel()[:runs], np.float64)


@dataclass(frozen=True)
class HashSubject(_HashSubject):
    """A whole message: every bit, and of any two whether they are alike.

    Half of the bits differ between the two people. If all did, a client that turns all bits round
    by one coin would give neither away.
    """

    runs: int = 1000

    name, about = "open-clusters/hash", "a whole reported hash; somebody with half of its bits"
    bits, thousandths = 4, 500

    @property
    def claim(self) -> Claim:
        return Claim(self._epsilon)

    @cached_property
    def people(self) -> tuple[_Floats, _Floats]:
        """Ratings whose hashes have half of their bits in common."""
        tried = (np.where(np.arange(40) < turned, 6 - _HASHED, _HASHED) for turned in range(40))
        true = self.hash_of(_HASHED)
        half = self.bits // 2
        return _HASHED, next(
            each for each in tried if (self.hash_of(each) ^ true).bit_count() == half
        )

    def draw(self, world: int, runs: int, randomness: Randomness) -> _Floats:
        said = self.said(self.people[world], runs, randomness)
        one, other = np.triu_indices(self.bits, 1)
        return np.hstack([said, said[:, one] == said[:, other]]).astype(np.float64)


@dataclass(frozen=True)
class TagSubject(PairSubject):
    """A pair's two tags: that hash values differ is told, by how much is not."""

    runs: int = 4000

    name, about = "closed-clusters/tags", "two people's tags; hash values 1 apart or 100"
    claim = Claim(0.0)

    def draw(self, world: int, runs: int, randomness: Randomness) -> _Floats:
        values = (5, 6 if world == 0 else 105)
        tags = np.empty((runs, 32), np.uint8)
        for run in range(runs):
            keys = [X25519PrivateKey.from_private_bytes(_bytes(randomness)) for _ in values]
            said = our_tags(values, keys)
            tags[run] = np.concatenate([said[0, 1], said[1, 0]])
        return relations(tags)


def _bytes(randomness: Randomness) -> bytes:
    return randomness.words(4).tobytes()


def relations(tags: npt.NDArray[np.uint8]) -> _Floats:
    """Numbers in which a relation between two tags of 16 bytes would show."""
    one, other = tags[:, :16], tags[:, 16:]
    bits = np.unpackbits(one ^ other, axis=1)
    apart = (one.astype(np.int64) - other) % 256
    counts = np.column_stack([bits.sum(axis=1), (one == other).sum(axis=1)])
    return np.hstack([one, other, apart, bits, counts]).astype(np.float64)


CHANGED = "two answers about one item in an epoch; between them its rating changes or stays"
_KINDS: dict[str, tuple[type[_LocalSubject], str]] = {
    "whole": (WholeReportSubject, "a whole report; one rating more"),
    "changed": (ChangedRatingSubject, CHANGED),
    "epochs": (EpochsSubject, "the answers about one item in two epochs; a 5 or a 1"),
}
