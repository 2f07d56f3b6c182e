"""A member of closed clusters: one key pair, one hash value per epoch, tags, obfuscated ratings."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from discreet.domain import InputError, OwnRatings
from discreet.domain.files import spell_size
from discreet.protocols.clients import OTHER_TERMS, SEEN, Participant, Progress
from discreet.protocols.closed_clusters.messages import (
    CHAIN_START,
    PROTOCOL,
    TAG_BYTES,
    Collection,
    Directory,
    Report,
    TagUpload,
    agree,
    key_info,
    public_bytes,
)
from discreet.protocols.clusters_common.client import (
    Obfuscator,
    Standing,
    popularity_for,
    read_own,
    spell_again,
    spell_waiting,
    standing,
)
from discreet.protocols.clusters_common.messages import Obfuscation, SentRatings
from discreet.protocols.common import StateFile, bytes_text
from discreet.protocols.common.http import ServiceClient

# Keys between two reports of progress: about 0.2 seconds; chosen by hand.
_STRIDE = 4096


def pair_tags(
    private: X25519PrivateKey,
    directory: Directory,
    value: int,
    progress: Progress | None = None,
) -> bytes:
    """The tags of a hash value for the directory's keys, in its order.

    For each: BLAKE2b with 16 bytes of output, keyed by what the two people's keys agree on, over
    the hash value as two little-endian bytes. Zeros for the own slot and for those who left. About
    45 microseconds a key on one core, nearly all of it in X25519.

    Args:
        private: The own key.
        directory: A verified one, or what is new in it.
        value: The own hash value.
        progress: Told every few thousand keys.

    Raises:
        InputError: The value is out of range, or a key gives a zero secret.
    """
    if not 0 <= value < 1 << directory.bits:
        raise InputError(f"a hash value of {directory.bits} bits was expected")
    own, message = public_bytes(private), value.to_bytes(2, "little")
    # One string, cut at every 32 bytes: a row of the array would cost a copy and an object more for
    # each of perhaps a million keys.
    content, total = directory.keys.tobytes(), len(directory.keys)
    tags = np.zeros((total, TAG_BYTES), np.uint8)
    wanted = _wanted(directory, own)
    for start in range(0, len(wanted), _STRIDE):
        part = wanted[start : start + _STRIDE]
        made = []
        for place in part.tolist():
            key = content[32 * place : 32 * place + 32]
            # Both names, the hash and the epoch go into the key, so that a tag says nothing in
            # another epoch or under another hash.
            info = key_info("tag", own, key, directory.hash_digest, directory.epoch)
            try:
                secret = agree(private, key, info)
            except InputError as error:
                raise InputError(f"slot {directory.first + place:,}: {error}") from None
            made.append(hashlib.blake2b(message, digest_size=TAG_BYTES, key=secret).digest())
        tags[part] = np.frombuffer(b"".join(made), np.uint8).reshape(-1, TAG_BYTES)
        if progress is not None:
            progress(min(start + _STRIDE, len(wanted)), len(wanted))
    return tags.tobytes()


def _wanted(directory: Directory, own: bytes) -> npt.NDArray[np.int64]:
    """The places in `directory.keys` that get a tag."""
    asked = ~np.all(directory.keys == np.frombuffer(own, np.uint8), axis=1)
    gone = directory.gone.astype(np.int64) - directory.first
    asked[gone[gone >= 0]] = False
    return np.flatnonzero(asked)


class ClosedClient:
    """A member of closed clusters. Its file holds the private key; the key is made with the file.

    Args:
        path: The client's own file; made if there is none.
        authority: The directory authority's Ed25519 public key, given by the authority itself and
            not by the server. It is pinned: the file remembers it and never takes another. It may
            be left out where the file has it.

    Raises:
        InputError: The file is another protocol's, readable by others, or pins another authority
            or none.
    """

    def __init__(self, path: str | os.PathLike[str], authority: bytes | None = None) -> None:
        if authority is not None and len(authority) != 32:
            raise InputError("the authority's Ed25519 public key has 32 bytes")
        self._file = StateFile(path, PROTOCOL)
        with self._file.change() as state:
            # Key and pinned authority are written together: a file with a key always says whom it
            # trusts.
            if "private" not in state:
                if authority is None:
                    raise InputError("has no key yet: the authority's is needed first", path=path)
                private = X25519PrivateKey.generate().private_bytes_raw()
                state |= {"private": bytes_text(private), "authority": bytes_text(authority)}
            self.authority = _bytes(state, "authority")
            self._private = X25519PrivateKey.from_private_bytes(_bytes(state, "private"))
        if authority not in (None, self.authority):
            raise InputError("this client's file pins another authority", path=path)
        self.public_key = public_bytes(self._private)

    def __repr__(self) -> str:
        return f"ClosedClient({self.public_key.hex()[:8]}…)"

    def next_slot(self, epoch: int) -> int:
        """The slot from which on this client needs the directory's keys."""
        state = self._file.read()
        return int(state["stop"]) if state.get("epoch") == epoch else 0

    def upload(
        self,
        collection: Collection,
        directory: Directory,
        value: int,
        progress: Progress | None = None,
        since: int | None = None,
    ) -> TagUpload:
        """The tags for every key of the directory that has none yet.

        The first value of an epoch is frozen: whatever is given later in it, the tags say that one,
        so that nobody sees a value change and come back. What the next call needs is on disk
        before this returns.

        Args:
            collection: What the server announces.
            directory: The whole directory, or what is new since `next_slot(epoch)`.
            value: The own hash value.
            progress: Told every few thousand keys.
            since: Start at an earlier slot, because an upload was lost on its way; needs the whole
                directory. The tags are the same ones again.

        Raises:
            InputError: The directory is not the pinned authority's, older than one seen before, of
                another epoch or hash than announced, or lists a bad key; or this client is not in
                it. Nothing was made.
        """
        with self._file.change() as state:
            return self._tagged(state, collection, directory, value, progress, since)

    def report(
        self,
        collection: Collection,
        directory: Directory,
        own: Mapping[str, float] | OwnRatings,
        *,
        progress: Progress | None = None,
        tags_only: bool = False,
        reveal: bool = False,
        **obfuscation: Any,
    ) -> Report:
        """The tags for the whole directory, and the ratings among made-up ones.

        Args:
            collection: What the server announces.
            directory: The whole directory.
            own: The person's ratings. Those at the first report of an epoch decide the hash value,
                and the tags say that one until the next epoch.
            progress: Told every few thousand keys.
            tags_only: Send no ratings.
            reveal: Send all true ratings and say so.
            obfuscation: Further arguments of `Obfuscator`: stricter terms than the collection's.

        Raises:
            InputError: As `upload`; nothing is rated; or the terms cannot be used.
        """
        if reveal and tags_only:
            raise InputError("either reveal all ratings or send only the tags, not both")
        terms = _terms(collection)
        items, codes = read_own(own, terms)
        value = terms.cluster_hash.value(items, codes)
        obfuscator = Obfuscator(terms, **obfuscation)
        with self._file.change() as state:
            tags = self._tagged(state, collection, directory, value, progress, 0)
            if tags_only:
                sent = SentRatings.none()
            elif reveal:
                sent = SentRatings("revealed", items, codes)
            else:
                sent = obfuscator.obfuscate(items, codes, state)[0]
        return self._sealed_report(collection, Report(tags, sent))

    def standing(self, collection: Collection) -> Standing:
        """What was sent so far, for the person's own eyes."""
        return standing(_terms(collection), self._file.read())

    def _tagged(
        self,
        state: dict[str, Any],
        collection: Collection,
        directory: Directory,
        value: int,
        progress: Progress | None,
        since: int | None,
    ) -> TagUpload:
        self._check_announced(collection, directory, state)
        known = state if state.get("epoch") == directory.epoch else {}
        slot, first = self._place(directory, known, since)
        # Two values in one epoch would show the server which pairs began or ceased to agree.
        value = int(known.get("value", value))
        # Before the state changes: a bad key in the directory leaves everything as it was.
        tags = pair_tags(self._private, directory.since(first), value, progress)
        made = TagUpload(directory.epoch, slot, first, tags, bytes(16))
        state |= {
            "epoch": directory.epoch,
            "version": directory.version,
            "hash": bytes_text(directory.hash_digest),
            "value": value,
            "slot": slot,
            "stop": directory.slots,
            "chain": bytes_text(directory.chain),
        }
        return self._sealed(collection, made)

    def _place(
        self, directory: Directory, known: dict[str, Any], since: int | None
    ) -> tuple[int, int]:
        """Verify the directory; the own slot, and the first one that gets a tag."""
        seen = int(known.get("stop", 0))
        directory.verify(self.authority, self._link(directory, known, seen))
        # Never beyond `seen`: the server takes tags without gaps alone.
        first = seen if since is None else since
        if not seen <= directory.slots or not 0 <= first <= seen:
            raise InputError(f"tags start at slot {seen:,} or before, in a directory of as many")
        slot = known.get("slot", directory.slot_of(self.public_key))
        if slot is None or slot in directory.gone:
            raise InputError("this client's key is not in the directory")
        return int(slot), first

    def _check_announced(
        self, collection: Collection, directory: Directory, state: dict[str, Any]
    ) -> None:
        if collection.authority != self.authority:
            raise InputError("the server announces another authority than the pinned one")
        announced = (collection.epoch, collection.hash_digest, collection.bits)
        if announced != (directory.epoch, directory.hash_digest, directory.bits):
            raise InputError("the directory is of another period or hash than the server announces")
        # An old directory still lists who has left or was removed since.
        seen = (int(state.get("epoch", 0)), int(state.get("version", 0)))
        if (directory.epoch, directory.version) < seen:
            raise InputError("the directory is older than one that this client has seen")
        # Under a second hash the same ratings have a second value, which the tags would compare
        # too.
        same_epoch = directory.epoch == seen[0]
        if same_epoch and _bytes(state, "hash") != directory.hash_digest:
            raise InputError("the directory changes the hash within a period")

    @staticmethod
    def _link(directory: Directory, known: dict[str, Any], seen: int) -> bytes:
        """The chain's link that the directory's keys follow."""
        # A directory in part continues the chain that this client verified when it last looked, so
        # that nobody can be swapped for another person among the slots seen before.
        if directory.first == 0:
            return CHAIN_START
        if directory.first != seen:
            raise InputError(f"the directory is needed whole, or from slot {seen:,} on")
        return _bytes(known, "chain")

    def _sealed(self, collection: Collection, upload: TagUpload) -> TagUpload:
        return replace(upload, mac=upload.mac_under(self._server_key(collection)))

    def _sealed_report(self, collection: Collection, report: Report) -> Report:
        return replace(report, seal=report.seal_under(self._server_key(collection)))

    def _server_key(self, collection: Collection) -> bytes:
        """The key that authenticates what is sent to the server."""
        info = key_info(
            "mac", self.public_key, collection.server, collection.hash_digest, collection.epoch
        )
        try:
            return agree(self._private, collection.server, info)
        except InputError as error:
            raise InputError(f"the server's key: {error}") from None


def _terms(collection: Collection) -> Obfuscation:
    if collection.ratings is None:
        raise InputError("this collection takes tags alone, and no ratings")
    return collection.ratings


def _bytes(state: dict[str, Any], name: str) -> bytes:
    return base64.b64decode(state[name])


class ClosedParticipant(Participant):
    """Closed clusters; see `Participant`."""

    collection: Obfuscation

    def __init__(self, service: ServiceClient, state: Path | None, limit: float | None) -> None:
        if limit is not None:
            raise InputError("--limit is for local reports: closed clusters have no epsilon")
        self._service, self._state = service, state
        self._announced = Collection.from_json(service.collection(), service.catalog())
        if self._announced.ratings is None:
            raise InputError(f"{service.server} announces no terms for ratings")
        self.collection = self._announced.ratings
        self._known = popularity_for(service, self.collection)
        self._obfuscator = Obfuscator(self.collection, **self._known)

    def terms(self) -> list[str]:
        terms, announced = self.collection, self._announced
        return [
            "Protocol: closed clusters. Tags tell the service who is alike, and hide by what; your "
            "true ratings are sent among made-up ones: plausible deniability, not differential "
            "privacy, and the ratings tell what the tags hide.",
            "Epsilon: none, neither for one rating nor for all of them together.",
            f"Authority: {announced.authority.hex()}. It decides who is in; compare its key with "
            "the one that it gave you itself.",
            f"Made up: {self._obfuscator.terms.fake_percent} ratings for every hundred true ones, "
            f"as far as there are items left, so that {self._least:,} items or more look "
            f"rated; {terms.suppress_percent} of a hundred true ratings are held back.",
            f"Period: {announced.epoch:,}. Within a period your tags stay as they are, even if "
            "your ratings change.",
            f"Items: {len(terms.catalog):,}. Scale: {terms.scale}. Bits of the hash: {terms.bits}.",
            "What leaves your device: a tag of 16 bytes for every other member, and a list of "
            f"items with a rating each. {SEEN}",
        ]

    def foresee(self, own: OwnRatings) -> list[str]:
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
        size = spell_size(self._size(directory.slots, count))
        return [
            f"Tags for {_members(directory.slots - len(directory.gone))} would be sent, and "
            f"{ratings}: about {size} in all. Your true ratings are among them: nothing but the "
            "made-up ones beside them protects them.",
            *spell_waiting(self._obfuscator.waiting(own.items, known)),
            *(held.sentences() if before else []),
        ]

    def report(
        self, own: OwnRatings, progress: Progress | None = None
    ) -> tuple[Mapping[str, Any], list[str]]:
        assert self._state is not None
        client = self._client()
        directory = Directory.from_bytes(self._service.directory())
        self._check_admitted(client, directory)
        made = client.report(self._announced, directory, own, progress=progress, **self._known)
        known = StateFile(self._state, PROTOCOL).read()
        waiting = spell_waiting(self._obfuscator.waiting(own.items, known))
        return made.as_json(), [*waiting, *client.standing(self._announced).sentences()]

    def describe(self, message: Mapping[str, Any]) -> list[str]:
        standing = self._client().standing(self._announced).sentences()
        try:
            found = Report.from_json(message, self._announced)
        except InputError:
            return [OTHER_TERMS, *standing]
        size = spell_size(len(json.dumps(message)))
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
        """The bytes of a message with tags for `slots` and ratings of `items`."""
        # The true message cannot be made without a key for each member, but its length depends on
        # counts alone.
        tags = TagUpload(self._announced.epoch, 0, 0, bytes(16 * slots), bytes(16))
        sent = SentRatings(
            "obfuscated", np.arange(items, dtype=np.int32), np.zeros(items, np.uint8)
        )
        return len(json.dumps(Report(tags, sent, bytes(16)).as_json()))

    def _check_admitted(self, client: ClosedClient, directory: Directory) -> None:
        """Say what to do where the client would only refuse: it is for the authority to admit."""
        trusted = client.authority == self._announced.authority
        if trusted and directory.slot_of(client.public_key) is None:
            raise InputError(
                f"your key is not in the directory: give {client.public_key.hex()} to the "
                "authority, who admits it and gives the operator the new directory; then send again"
            )

    def _client(self) -> ClosedClient:
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
    given = None if authority is None else _key(authority)
    has_key = "private" in StateFile(state, PROTOCOL).read()
    pinned = ClosedClient(state).authority if has_key else None
    if given is None and pinned is None:
        raise InputError(
            "closed clusters need --authority, the authority's public key: from the authority "
            "itself, not from the service"
        )
    if pinned is not None and given not in (None, pinned):
        raise InputError(
            f"pins another authority, {pinned.hex()}, for good; to start over with "
            f"{authority} name another file with --state",
            path=state,
        )
    # Compared before anything is written, and in both directions: the pin is for good.
    announced = Collection.from_json(service.collection(), service.catalog()).authority
    trusted = given or pinned
    if trusted is not None and trusted != announced:
        which = "yours is" if given is None else "--authority is"
        raise InputError(
            f"{service.server} announces the authority {announced.hex()}, and {which} "
            f"{trusted.hex()}: ask the authority itself which is its own"
        )
    return ClosedClient(state, given).public_key.hex()


def _key(text: str) -> bytes:
    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if len(found) != 32:
        raise InputError("--authority is a public key, 64 hexadecimal digits")
    return found
