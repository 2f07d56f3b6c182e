"""A person's side: one key pair, one frozen hash value an epoch, tags, ratings among fakes."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from discreet.domain import InputError, OwnRatings
from discreet.protocols.closed_clusters.client._pairs import Progress, pair_tags
from discreet.protocols.closed_clusters.messages import (
    CHAIN_START,
    PROTOCOL,
    Collection,
    Directory,
    Report,
    TagUpload,
    agree,
    key_info,
    public_bytes,
)
from discreet.protocols.common import StateFile, bytes_text
from discreet.protocols.obfuscation.client import Obfuscator, Standing, read_own, standing
from discreet.protocols.obfuscation.messages import Obfuscation, SentRatings


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
                return Report(tags, SentRatings.none())
            if reveal:
                return Report(tags, SentRatings("revealed", items, codes))
            return Report(tags, obfuscator.obfuscate(items, codes, state)[0])

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
        value = int(known.get("value", value))
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
            raise InputError("the directory is of another epoch or hash than the server announces")
        seen = (int(state.get("epoch", 0)), int(state.get("version", 0)))
        if (directory.epoch, directory.version) < seen:
            raise InputError("the directory is older than one that this client has seen")
        same_epoch = directory.epoch == seen[0]
        if same_epoch and _bytes(state, "hash") != directory.hash_digest:
            raise InputError("the directory changes the hash within an epoch")

    @staticmethod
    def _link(directory: Directory, known: dict[str, Any], seen: int) -> bytes:
        """The chain's link that the directory's keys follow."""
        if directory.first == 0:
            return CHAIN_START
        if directory.first != seen:
            raise InputError(f"the directory is needed whole, or from slot {seen:,} on")
        return _bytes(known, "chain")

    def _sealed(self, collection: Collection, upload: TagUpload) -> TagUpload:
        info = key_info(
            "mac", self.public_key, collection.server, collection.hash_digest, collection.epoch
        )
        try:
            key = agree(self._private, collection.server, info)
        except InputError as error:
            raise InputError(f"the server's key: {error}") from None
        return replace(upload, mac=upload.mac_under(key))


def _terms(collection: Collection) -> Obfuscation:
    if collection.ratings is None:
        raise InputError("this collection takes tags alone, and no ratings")
    return collection.ratings


def _bytes(state: dict[str, Any], name: str) -> bytes:
    return base64.b64decode(state[name])
