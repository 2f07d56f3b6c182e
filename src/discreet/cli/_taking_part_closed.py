"""Closed clusters in words for the person who takes part."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.cli import _console
from discreet.cli._console import bar
from discreet.cli._popularity import popularity_for
from discreet.cli._taking_part import OTHER_TERMS, SEEN, spell_again, spell_waiting
from discreet.domain import InputError, OwnRatings

if TYPE_CHECKING:
    from discreet.protocols.closed_clusters.client import ClosedClient
    from discreet.protocols.closed_clusters.messages import Directory
    from discreet.protocols.common.http import ServiceClient


class ClosedPart:
    """Closed clusters; see `Part`."""

    def __init__(self, service: ServiceClient, state: Path | None, limit: float | None) -> None:
        from discreet.protocols.closed_clusters.messages import Collection
        from discreet.protocols.obfuscation.client import Obfuscator

        if limit is not None:
            raise InputError("--limit is for local reports: closed clusters have no epsilon")
        self._service, self._state = service, state
        self._announced = Collection.from_json(service.collection(), service.catalog())
        if self._announced.ratings is None:
            raise InputError(f"{service.server} announces no terms for ratings")
        self.collection = self._announced.ratings
        self._known = popularity_for(service, self.collection)
        self._obfuscator = Obfuscator(self.collection, **self._known)

    @property
    def is_within_limit(self) -> bool:
        """See `Part`: there is no limit."""
        return True

    def terms(self) -> list[str]:
        """See `Part`."""
        terms, announced = self.collection, self._announced
        return [
            "Protocol: closed clusters. Tags tell the service who is alike, and hide by what; your "
            "true ratings are sent among made-up ones: plausible deniability, not differential "
            "privacy, and the ratings tell what the tags hide.",
            "Epsilon: none, neither for one rating nor for all of them together.",
            f"Authority: {announced.authority.hex()}. It decides who is in; compare its key with "
            "the one that it gave you itself.",
            f"Made up: {self._obfuscator.terms.fake_percent} ratings for every hundred true ones, "
            f"as far as there are items left, and so many that {self._least:,} items or more look "
            f"rated; {terms.suppress_percent} of a hundred true ratings are held back.",
            f"Epoch: {announced.epoch:,}. Within an epoch your tags stay as they are, even if your "
            "ratings change.",
            f"Items: {len(terms.catalog):,}. Scale: {terms.scale}. Bits of the hash: {terms.bits}.",
            "What leaves your device: a tag of 16 bytes for every other member, and a list of "
            f"items with a rating each. {SEEN}",
        ]

    def remember(self) -> None:
        """See `Part`: there is no limit."""

    def foresee(self, own: OwnRatings) -> list[str]:
        """See `Part`."""
        from discreet.protocols.closed_clusters.messages import PROTOCOL, Directory
        from discreet.protocols.common import StateFile
        from discreet.protocols.obfuscation.client import standing

        directory = Directory.from_bytes(self._service.directory())
        known = {} if self._state is None else StateFile(self._state, PROTOCOL).read()
        held = standing(self.collection, known)
        before = held.true + held.taken_back + held.fakes
        if self._obfuscator.repeats(own.items, known):
            ratings, count = spell_again(before), before
        else:
            true, fakes = self._obfuscator.foresee(len(own), known)
            mine = (
                "your 1 rating" if len(own) == 1 else f"about {true:,} of your {len(own):,} ratings"
            )
            ratings, count = f"{mine} among about {fakes:,} made-up ones", true + fakes
        size = _console.spell_size(self._size(directory.slots, count))
        return [
            f"Tags for {_members(directory.slots - len(directory.gone))} would be sent, and "
            f"{ratings}: about {size} in all. Your true ratings are among them: nothing but the "
            "made-up ones beside them protects them.",
            *spell_waiting(self._obfuscator.waiting(own.items, known)),
            *(held.sentences() if before else []),
        ]

    def report(self, own: OwnRatings) -> tuple[Mapping[str, Any], list[str]]:
        """See `Part`."""
        from discreet.protocols.closed_clusters.messages import PROTOCOL, Directory
        from discreet.protocols.common import StateFile

        assert self._state is not None
        client = self._client()
        directory = Directory.from_bytes(self._service.directory())
        self._check_admitted(client, directory)
        with bar("Tags") as told:
            made = client.report(self._announced, directory, own, progress=told, **self._known)
        known = StateFile(self._state, PROTOCOL).read()
        waiting = spell_waiting(self._obfuscator.waiting(own.items, known))
        return made.as_json(), [*waiting, *client.standing(self._announced).sentences()]

    def describe(self, message: Mapping[str, Any]) -> list[str]:
        """See `Part`."""
        from discreet.protocols.closed_clusters.messages import Report

        standing = self._client().standing(self._announced).sentences()
        try:
            found = Report.from_json(message, self._announced)
        except InputError:
            return [OTHER_TERMS, *standing]
        size = _console.spell_size(len(json.dumps(message)))
        return [
            f"The service has your tags for {_members(len(found.tags))}, and "
            f"{len(found.sent.items):,} items with a rating each ({size}). --json prints the "
            "message itself.",
            *standing,
        ]

    @property
    def _least(self) -> int:
        return max(self.collection.least, self._obfuscator.terms.least)

    def _size(self, slots: int, items: int) -> int:
        """The bytes of a message with tags for so many slots and ratings of so many items."""
        from discreet.protocols.closed_clusters.messages import Report, TagUpload
        from discreet.protocols.obfuscation.messages import SentRatings

        tags = TagUpload(self._announced.epoch, 0, 0, bytes(16 * slots), bytes(16))
        sent = SentRatings(
            "obfuscated", np.arange(items, dtype=np.int32), np.zeros(items, np.uint8)
        )
        return len(json.dumps(Report(tags, sent).as_json()))

    def _check_admitted(self, client: ClosedClient, directory: Directory) -> None:
        """Say what to do where the client would only refuse: it is for the authority to admit."""
        trusted = client.authority == self._announced.authority
        if trusted and directory.slot_of(client.public_key) is None:
            raise InputError(
                f"your key is not in the directory: give {client.public_key.hex()} to the "
                "authority, who admits it and gives the operator the new directory; then send again"
            )

    def _client(self) -> ClosedClient:
        from discreet.protocols.closed_clusters.client import ClosedClient

        assert self._state is not None
        return ClosedClient(self._state)


def _members(count: int) -> str:
    return f"{count:,} member" + ("" if count == 1 else "s")


def make_key(service: ServiceClient, state: Path, authority: str | None) -> str:
    """The member's own public key in hexadecimal; the authority is pinned with it.

    Raises:
        InputError: The authority's key is missing or none, another one was pinned, or the service
            announces another. Nothing was written.
    """
    from discreet.protocols.closed_clusters.client import ClosedClient
    from discreet.protocols.closed_clusters.messages import PROTOCOL, Collection
    from discreet.protocols.common import StateFile

    told = None if authority is None else _key(authority)
    has_key = "private" in StateFile(state, PROTOCOL).read()
    pinned = ClosedClient(state).authority if has_key else None
    if told is None and pinned is None:
        raise InputError(
            "closed clusters need --authority, the authority's public key: from the authority "
            "itself, not from the service"
        )
    if pinned is not None and told not in (None, pinned):
        raise InputError(
            f"pins another authority, {pinned.hex()}, for good; to start over with "
            f"{authority} name another file with --state",
            path=state,
        )
    announced = Collection.from_json(service.collection(), service.catalog()).authority
    trusted = told or pinned
    if trusted is not None and trusted != announced:
        which = "yours is" if told is None else "--authority is"
        raise InputError(
            f"{service.server} announces the authority {announced.hex()}, and {which} "
            f"{trusted.hex()}: ask the authority itself which is its own"
        )
    return ClosedClient(state, told).public_key.hex()


def _key(text: str) -> bytes:
    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if len(found) != 32:
        raise InputError("--authority is a public key, 64 hexadecimal digits")
    return found
