"""What `discreet client` needs of a protocol, in words for the person who takes part."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from discreet.cli import _console
from discreet.cli._popularity import popularity_for
from discreet.domain import InputError, OwnRatings

if TYPE_CHECKING:
    from discreet.protocols.common.http import ServiceClient

_NOWHERE = Path("no state")
_UPLOAD_BYTES, _BYTES_PER_ITEM = 250, 5 * 4 / 3
SEEN = (
    "Besides, the service sees your address, when you send and how often; your ratings file, a "
    "name or a title never leave."
)
OTHER_TERMS = (
    "The service has a message of yours that was made under other terms than its present ones: "
    "it stays there until you send again or delete it, and is not used."
)


def spell_bits(count: int) -> str:
    """How long a hash is, in words: 1 bit, 2 bits."""
    return "1 bit" if count == 1 else f"{count:,} bits"


def spell_ratings(count: int, kind: str) -> str:
    """How many ratings, in words: 1 true rating, 2 true ratings."""
    return f"{count:,} {kind} rating" + ("" if count == 1 else "s")


def spell_waiting(waiting: tuple[int, int]) -> list[str]:
    """What `Obfuscator.waiting` says, in words; nothing if none wait."""
    news, more = waiting
    if not news:
        return []
    wait, be = "waits" if news == 1 else "wait", "is" if more == 1 else "are"
    whom = "it" if news == 1 else "any of them"
    return [
        f"{spell_ratings(news, 'new')} {wait}; {more:,} more {be} needed for a batch before "
        f"{whom} is sent."
    ]


def beyond(part: Part) -> list[str]:
    """That a report would pass the limit, if it would."""
    if part.is_within_limit:
        return []
    return ["That would pass your limit: the report would be refused, until --limit raises it."]


def spell_again(items: int) -> str:
    """That the ratings are those that were sent before."""
    return f"the same {items:,} items with a rating each as before"


class Part(Protocol):
    """One person's side of a collection.

    Attributes:
        collection: The public terms; it has a `catalog` and a `scale`.
    """

    collection: Any

    @property
    def is_within_limit(self) -> bool:
        """Whether a report would stay within the person's limit."""

    def terms(self) -> list[str]:
        """The terms in words: the protocol, what it costs, what leaves the device."""

    def remember(self) -> None:
        """Write down the limit that was told, whatever comes after it."""

    def foresee(self, own: OwnRatings) -> list[str]:
        """What a report would send and cost; nothing is drawn or written."""

    def report(self, own: OwnRatings) -> tuple[Mapping[str, Any], list[str]]:
        """The message to send, and what to say once it is sent."""

    def describe(self, message: Mapping[str, Any]) -> list[str]:
        """What the service has, in words."""


class LocalPart:
    """Local reports."""

    def __init__(self, service: ServiceClient, state: Path | None, limit: float | None) -> None:
        from discreet.protocols.local_reports.client import LocalClient
        from discreet.protocols.local_reports.messages import Collection

        self.collection = Collection.from_json(service.collection(), service.catalog())
        self._client = LocalClient(self.collection, state or _NOWHERE, limit=limit)

    @property
    def is_within_limit(self) -> bool:
        """See `Part`."""
        return self._client.is_within_limit

    def remember(self) -> None:
        """See `Part`."""
        self._client.limit.remember()

    def terms(self) -> list[str]:
        """See `Part`."""
        collection, size = self.collection, len(self.collection.catalog)
        return [
            "Protocol: local reports. Every answer gets noise on your own machine: differential "
            "privacy against everybody, the service included.",
            f"Cost of a report: epsilon {collection.epsilon:g} for each rating, "
            f"{self._all:,.6g} for everything that you rated and did not rate together. "
            f"{self._bound}",
            f"Epoch: {collection.epoch:,}. Within an epoch your answers stay as they are, and to "
            "send them again costs nothing; the next epoch asks anew, and costs as much again.",
            f"Items: {size:,}. Scale: {collection.scale}. Noise: {collection.mechanism}.",
            f"What leaves your device: one message of about {self._bytes}. It has an answer for "
            f"some of all {size:,} items, whether you rated them or not. {SEEN}",
        ]

    def foresee(self, own: OwnRatings) -> list[str]:
        """See `Part`."""
        client, collection = self._client, self.collection
        if client.cost == 0:
            said = [
                f"Your answers of epoch {collection.epoch:,} would be sent again as they are: "
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
        return [*said, *self._standing(), *beyond(self)]

    def report(self, own: OwnRatings) -> tuple[Mapping[str, Any], list[str]]:
        """See `Part`."""
        repeated = self._client.cost == 0
        message = self._client.report(own)
        said = ["the answers of this epoch are frozen: the same ones were sent again"] * repeated
        return message.as_json(), [*said, *self._standing()]

    def describe(self, message: Mapping[str, Any]) -> list[str]:
        """See `Part`."""
        from discreet.protocols.local_reports.messages import Report

        try:
            found = Report.from_json(message, self.collection)
        except InputError:
            return [OTHER_TERMS, *self._standing()]
        size = len(json.dumps(message))
        return [
            f"The service has your answers of epoch {found.epoch:,}: {len(found.items):,} of "
            f"{len(self.collection.catalog):,} items have one ({_console.spell_size(size)}).",
            "All of them are noisy, and some are on items that you never rated. --json prints the "
            "message itself.",
            *self._standing(),
        ]

    @property
    def _bound(self) -> str:
        factor = math.exp(self.collection.epsilon)
        return f"No guess about a rating becomes more than {factor:,.3g} times as likely by it."

    @property
    def _all(self) -> float:
        from discreet.protocols.local_reports.client import Spent

        return Spent((self.collection.event,)).per_user

    @property
    def _bytes(self) -> str:
        return _console.spell_size(self._client.usual_bytes)

    def _standing(self) -> list[str]:
        limit = self._client.limit.value
        told = "no limit is set (--limit)" if limit is None else f"your limit is {limit:g}"
        return [f"{self._client.spent}; {told}"]


class OpenPart:
    """Open clusters."""

    def __init__(self, service: ServiceClient, state: Path | None, limit: float | None) -> None:
        from discreet.protocols.common import StateFile
        from discreet.protocols.obfuscation.client import Obfuscator
        from discreet.protocols.open_clusters.client import OpenClient
        from discreet.protocols.open_clusters.messages import PROTOCOL, Collection

        self.collection = Collection.from_json(service.collection(), service.catalog())
        if limit is not None and self.collection.hash_event is None:
            raise InputError("--limit bounds an epsilon, and this collection has none")
        known = popularity_for(service, self.collection)
        self._client = OpenClient(self.collection, state or _NOWHERE, limit=limit, **known)
        self._obfuscator = Obfuscator(self.collection, **known)
        self._state = StateFile(state or _NOWHERE, PROTOCOL)

    @property
    def is_within_limit(self) -> bool:
        """See `Part`."""
        return self._client.limit.allows(self._client.standing().hash_epsilon, self._client.cost)

    def remember(self) -> None:
        """See `Part`."""
        self._client.limit.remember()

    def terms(self) -> list[str]:
        """See `Part`."""
        collection, terms = self.collection, self._client.terms
        return [
            "Protocol: open clusters. Your true ratings are sent among made-up ones: plausible "
            "deniability, not differential privacy.",
            "Epsilon of the ratings: none, neither for one nor for all of them together.",
            self._hash(),
            f"Made up: {terms.fake_percent} ratings or more for every hundred true ones, and so "
            f"many that {self._least:,} items or more look rated; {terms.suppress_percent} of a "
            "hundred true ratings are held back.",
            f"Epoch: {collection.epoch:,}. A new one asks for the hash anew; what was made up "
            "stays made up.",
            f"Items: {len(collection.catalog):,}. Scale: {collection.scale}.",
            "What leaves your device: the hash, and a list of items with a rating each, about "
            f"{_console.spell_size(self._size(self._least))} or more. {SEEN}",
        ]

    def foresee(self, own: OwnRatings) -> list[str]:
        """See `Part`."""
        standing, state = self._client.standing(), self._state.read()
        before = standing.true + standing.taken_back + standing.fakes
        if self._obfuscator.repeats(own.items, state):
            size = _console.spell_size(self._size(before))
            again = spell_again(before)
            said = [f"{again[:1].upper()}{again[1:]} would be sent again: about {size}."]
        else:
            said = [self._anew(len(own), *self._obfuscator.foresee(len(own), state))]
        said += [*spell_waiting(self._obfuscator.waiting(own.items, state)), self._hash()]
        if before:
            said += ["Something was sent before: it stays as it was.", *standing.sentences()]
        return [*said, *beyond(self)]

    def report(self, own: OwnRatings) -> tuple[Mapping[str, Any], list[str]]:
        """See `Part`."""
        message = self._client.report(own)
        waiting = self._obfuscator.waiting(own.items, self._state.read())
        said = [*spell_waiting(waiting), *self._client.standing().sentences()]
        return message.as_json(), said

    def describe(self, message: Mapping[str, Any]) -> list[str]:
        """See `Part`."""
        from discreet.protocols.open_clusters.messages import Upload

        standing = self._client.standing().sentences()
        try:
            found = Upload.from_json(message, self.collection)
        except InputError:
            return [OTHER_TERMS, *standing]
        return [
            f"The service has {found.hash:,} as the value of your hash ({self._bits}), and "
            f"{len(found.items):,} items with a rating each. --json prints the message itself.",
            *standing,
        ]

    def _anew(self, true: int, sent: int, fakes: int) -> str:
        """What ratings would be sent, of so many true ones."""
        size = _console.spell_size(self._size(sent + fakes))
        ratings = spell_ratings(true, "true")
        part = ratings if sent == true else f"About {sent:,} of your {ratings}"
        return (
            f"{part} would be sent among {fakes:,} made-up ones or more: about {size}. Nothing but "
            "the made-up ones beside them protects them."
        )

    @property
    def _least(self) -> int:
        return max(self.collection.least, self._client.terms.least)

    @property
    def _bits(self) -> str:
        return spell_bits(self.collection.bits)

    def _size(self, items: int) -> int:
        return _UPLOAD_BYTES + round(_BYTES_PER_ITEM * items)

    def _hash(self) -> str:
        collection = self.collection
        if collection.hash_on == "obfuscated":
            return (
                f"Hash: {self._bits} of the ratings that are sent, made-up ones included; that "
                "tells nothing beyond those."
            )
        event = collection.hash_event
        if event is None:
            return (
                f"Hash: {self._bits} of your true ratings, sent as it is: nothing protects it, and "
                "no epsilon bounds what it tells."
            )
        return (
            f"Hash: {self._bits} of your true ratings, sent by randomized response. That costs "
            f"epsilon {event.epsilon:g}, for one rating and for all alike, once an epoch. It "
            "covers the hash and not the ratings."
        )
