"""What the parties of closed clusters send each other, as exact bytes."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from discreet.domain import Catalog, InputError
from discreet.protocols.clusters_common.messages import (
    RATINGS_FIELDS,
    TERMS_FIELDS,
    Obfuscation,
    SentRatings,
    read_terms,
)
from discreet.protocols.common import Fields, bytes_text

PROTOCOL = "closed-clusters"
# Of the messages: a change of their form is a new number.
VERSION = 1
# Bits: a hash value is two bytes in a tag.
LONGEST_HASH = 16
LAST_EPOCH = 2**53 - 1  # the largest that every JSON reader has exactly

_COLLECTION_FIELDS = (
    "protocol",
    "version",
    "authority",
    "server",
    "hash",
    "bits",
    "epoch",
    "ratings",
)


@dataclass(frozen=True)
class Collection:
    """One epoch of one server's closed clusters.

    Args:
        authority: The directory authority's Ed25519 public key. A client compares it with the one
            that it was given elsewhere, and never takes it from here.
        server: The server's X25519 public key, with which uploads are authenticated.
        hash_digest: 32 bytes that stand for the public parameters of the hash.
        bits: The length of the hash value, 1 to 16.
        epoch: Within it everybody's hash value is frozen; from 1.
        ratings: What is hashed, and how ratings hide that are sent beside the tags; None for tags
            by themselves, of which no release comes.
    """

    authority: bytes
    server: bytes
    hash_digest: bytes
    bits: int
    epoch: int
    ratings: Obfuscation | None = None

    def __post_init__(self) -> None:
        for name in ("authority", "server", "hash_digest"):
            if len(getattr(self, name)) != 32:
                raise InputError(f"{PROTOCOL} collection: '{name}' should have 32 bytes")
        if not 1 <= self.bits <= LONGEST_HASH:
            raise InputError(f"{PROTOCOL} collection: a hash has 1 to {LONGEST_HASH} bits")
        if not 1 <= self.epoch <= LAST_EPOCH:
            raise InputError(f"{PROTOCOL} collection: a period is a whole number from 1")
        terms = self.ratings
        if terms is not None and (terms.hash_digest, terms.bits) != (self.hash_digest, self.bits):
            raise InputError(
                f"{PROTOCOL} collection: the authority signed another hash than that of these "
                "items, scale, bits and beacon"
            )

    def as_json(self) -> dict[str, Any]:
        """The announcement."""
        return {
            "protocol": PROTOCOL,
            "version": VERSION,
            "authority": bytes_text(self.authority),
            "server": bytes_text(self.server),
            "hash": bytes_text(self.hash_digest),
            "bits": self.bits,
            "epoch": self.epoch,
            "ratings": None if self.ratings is None else self.ratings.terms_json(),
        }

    @classmethod
    def from_json(cls, content: Any, catalog: Catalog | None = None) -> Collection:
        """Read one.

        Args:
            content: The announcement.
            catalog: The items, where it speaks of ratings.

        Raises:
            InputError: A field is missing, unknown or wrong, or of another catalogue.
        """
        fields = Fields(content, f"{PROTOCOL} collection", _COLLECTION_FIELDS)
        fields.choice("protocol", (PROTOCOL,))
        fields.whole("version", VERSION, VERSION)
        return cls(
            fields.content("authority", 32, 32),
            fields.content("server", 32, 32),
            fields.content("hash", 32, 32),
            fields.whole("bits", 1, LONGEST_HASH),
            fields.whole("epoch", 1, LAST_EPOCH),
            _read_ratings(fields, catalog),
        )


def _read_ratings(fields: Fields, catalog: Catalog | None) -> Obfuscation | None:
    if not fields.has("ratings"):
        return None
    if catalog is None:
        raise InputError(f"{PROTOCOL} collection: it mentions items, and no catalogue is given")
    terms = fields.nested("ratings", f"{PROTOCOL} ratings", TERMS_FIELDS)
    return Obfuscation(**read_terms(terms, catalog))


# Of an X25519 or Ed25519 public key.
KEY_BYTES = 32

# The field of Curve25519.
_PRIME = 2**255 - 19
# The points of order 1, 2, 4 and 8 on the curve and its twist, each below the prime: whatever the
# private key, the secret is zero.
_LOW_ORDER = (
    0,
    1,
    _PRIME - 1,
    325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823,
)
_LABELS = {
    "tag": b"discreet closed-clusters 1 tag",
    "mac": b"discreet closed-clusters 1 mac",
}


def public_bytes(private: X25519PrivateKey) -> bytes:
    """The public key that belongs to a private one."""
    return private.public_key().public_bytes_raw()


def key_info(
    use: Literal["tag", "mac"], one: bytes, other: bytes, hash_digest: bytes, epoch: int
) -> bytes:
    """What a key is bound to: its use, both public keys (smaller first), the hash, the epoch."""
    pair = one + other if one < other else other + one
    return _LABELS[use] + pair + hash_digest + epoch.to_bytes(8, "little")


def agree(private: X25519PrivateKey, other: bytes, info: bytes) -> bytes:
    """The 32-byte key that the owners of two X25519 keys share, for one purpose.

    HKDF-SHA256 of the X25519 secret, without salt.

    Raises:
        InputError: The secret is all zeros, so everybody would know the key.
    """
    try:
        secret = private.exchange(X25519PublicKey.from_public_bytes(other))
    except ValueError:
        secret = bytes(KEY_BYTES)
    if not any(secret):
        raise InputError("a public key of low order: the secret would be zero, known to everybody")
    return HKDF(SHA256(), KEY_BYTES, salt=None, info=info).derive(secret)


def check_keys(keys: npt.NDArray[np.uint8], first: int = 0) -> None:
    """Refuse a list with a key that is not in its one canonical form, of low order, or twice.

    Args:
        keys: One key a row.
        first: The slot of the first, for the message.

    Raises:
        InputError: Names the first slot at fault.
    """
    too_large = (keys[:, 0] >= 0xED) & np.all(keys[:, 1:31] == 0xFF, axis=1)
    _refuse((keys[:, 31] > 0x7F) | ((keys[:, 31] == 0x7F) & too_large), "not canonical", first)
    for point in _LOW_ORDER:
        encoded = np.frombuffer(point.to_bytes(KEY_BYTES, "little"), np.uint8)
        _refuse(np.all(keys == encoded, axis=1), "of low order", first)
    whole = np.ascontiguousarray(keys).view(f"S{KEY_BYTES}").ravel()
    again = np.ones(len(keys), np.bool_)
    firsts, group = np.unique(whole, return_index=True, return_inverse=True)[1:]
    again[firsts] = False
    there = first + int(firsts[group[np.argmax(again)]]) if len(keys) else 0
    _refuse(again, f"listed already, in slot {there:,}", first)


def _refuse(wrong: npt.NDArray[Any], what: str, first: int) -> None:
    if wrong.any():
        raise InputError(f"the public key in slot {first + int(np.argmax(wrong)):,} is {what}")


# Slots, for safety: a client of this many computes tags for about 13 minutes.
MOST_USERS = 1 << 24
CHAIN_START = bytes(32)

_DIRECTORY = f"{PROTOCOL} directory"
_DIRECTORY_TITLE = b"discreet closed directory 1"
# Title, epoch, version, bits, slots, gone, hash digest, chain, digest of the gone.
_STATEMENT = struct.Struct("<32sQQHII32s32s32s")
# Of an Ed25519 signature.
_SIGNATURE_BYTES = 64


def chain_keys(keys: npt.NDArray[np.uint8], start: bytes = CHAIN_START) -> bytes:
    """The chain's link after these keys: BLAKE2b of the link before and the key, 32 bytes."""
    link, content, blake2b = start, keys.tobytes(), hashlib.blake2b
    for place in range(0, len(content), KEY_BYTES):
        link = blake2b(link + content[place : place + KEY_BYTES], digest_size=32).digest()
    return link


@dataclass(frozen=True, eq=False)
class Directory:
    """The directory, or what is new in it since a slot.

    Args:
        epoch: Whose keys these are; tags of different epochs have nothing in common.
        version: Grows with every change.
        hash_digest: Stands for the public parameters of the hash that the epoch uses.
        bits: The length of the hash value.
        slots: How many there are.
        gone: The slots of those who left, ascending.
        chain: The chain's link after all keys.
        signature: The authority's, over `statement()`.
        first: The first slot whose key is here.
        keys: The keys of slots `first` to the last, one a row.
    """

    epoch: int
    version: int
    hash_digest: bytes
    bits: int
    slots: int
    gone: npt.NDArray[np.uint32]
    chain: bytes
    signature: bytes
    first: int
    keys: npt.NDArray[np.uint8]

    def __repr__(self) -> str:
        return f"Directory(epoch {self.epoch}, version {self.version}, {self.slots:,} slots)"

    def statement(self) -> bytes:
        """The 154 bytes that the authority signs."""
        gone = np.ascontiguousarray(self.gone, "<u4").tobytes()
        return _STATEMENT.pack(
            _DIRECTORY_TITLE.ljust(32, b"\0"), self.epoch, self.version, self.bits, self.slots,
            len(self.gone), self.hash_digest, self.chain,
            hashlib.blake2b(gone, digest_size=32).digest(),
        )  # fmt: skip

    def verify(self, authority: bytes, link: bytes = CHAIN_START) -> None:
        """Check everything that can be checked.

        Args:
            authority: The pinned Ed25519 public key.
            link: The chain's link before `first`, which a client remembers.

        Raises:
            InputError: The signature is not the authority's, or the keys are not what it signed,
                or it signed a key that must not be used.
        """
        try:
            Ed25519PublicKey.from_public_bytes(authority).verify(self.signature, self.statement())
        except (InvalidSignature, ValueError):
            raise InputError(f"{_DIRECTORY}: not signed by the pinned authority") from None
        if chain_keys(self.keys, link) != self.chain:
            raise InputError(f"{_DIRECTORY}: the keys are not those that were signed")
        check_keys(self.keys, self.first)

    def since(self, first: int) -> Directory:
        """The same directory, with the keys from a slot on."""
        if not self.first <= first <= self.slots:
            raise InputError(
                f"{_DIRECTORY}: keys are here from slot {self.first:,} to {self.slots:,}"
            )
        return Directory(
            self.epoch, self.version, self.hash_digest, self.bits, self.slots, self.gone,
            self.chain, self.signature, first, self.keys[first - self.first :],
        )  # fmt: skip

    def slot_of(self, key: bytes) -> int | None:
        """The slot from `first` on that holds a key and is not gone, or None."""
        found = np.flatnonzero(np.all(self.keys == np.frombuffer(key, np.uint8), axis=1))
        slots = [self.first + int(place) for place in found]
        return next((slot for slot in slots if not np.any(self.gone == slot)), None)

    def as_bytes(self) -> bytes:
        """Statement, signature, first slot (u32), keys, gone (u32 each); little-endian."""
        gone = np.ascontiguousarray(self.gone, "<u4").tobytes()
        first = struct.pack("<I", self.first)
        return b"".join((self.statement(), self.signature, first, self.keys.tobytes(), gone))

    @classmethod
    def from_bytes(cls, content: bytes) -> Directory:
        """Read one; `verify` is the caller's next step.

        Raises:
            InputError: It is not of this form.
        """
        head = _STATEMENT.size + _SIGNATURE_BYTES + 4
        if len(content) < head or content[:32] != _DIRECTORY_TITLE.ljust(32, b"\0"):
            title = _DIRECTORY_TITLE.decode()
            raise InputError(f"{_DIRECTORY}: should start with '{title}' and have a signature")
        _, epoch, version, bits, slots, left, hash_digest, chain, digest = _STATEMENT.unpack_from(
            content
        )
        (first,) = struct.unpack_from("<I", content, head - 4)
        if not (1 <= epoch <= LAST_EPOCH and 1 <= bits <= LONGEST_HASH and slots <= MOST_USERS):
            raise InputError(
                f"{_DIRECTORY}: the period, the bits or the number of slots is out of range"
            )
        if not first <= slots or len(content) != head + KEY_BYTES * (slots - first) + 4 * left:
            raise InputError(f"{_DIRECTORY}: its length does not fit its number of slots")
        keys = np.frombuffer(content, np.uint8, KEY_BYTES * (slots - first), head)
        gone = np.frombuffer(content, "<u4", left, len(content) - 4 * left).astype(np.uint32)
        if np.any(gone[1:] <= gone[:-1]) or np.any(gone >= slots):
            raise InputError(f"{_DIRECTORY}: who left should be listed by slot, ascending")
        found = cls(
            epoch, version, hash_digest, bits, slots, gone, chain,
            content[_STATEMENT.size : head - 4], first, keys.reshape(-1, KEY_BYTES),
        )  # fmt: skip
        if found.statement()[-32:] != digest:
            raise InputError(f"{_DIRECTORY}: the list of who left is not what was signed")
        return found


# Two different values have equal tags with probability 2^-128.
TAG_BYTES = 16

_TAGS = f"{PROTOCOL} tags"
_TAGS_TITLE = b"discreet closed tags 1"
_TAGS_HEAD = struct.Struct("<32sQIII")  # title, epoch, sender's slot, first slot, number of tags
# 128 bits cannot be guessed.
_MAC_BYTES = 16


@dataclass(frozen=True, repr=False)
class TagUpload:
    """The tags of one person for slots `first`, `first` + 1, and so on.

    Sixteen zero bytes stand where there is none: the sender's own slot, and those who left.

    Args:
        epoch: The directory's.
        slot: The sender's.
        first: The slot that the first tag is for.
        tags: Sixteen bytes a slot.
        mac: Shows the server that the owner of the slot's key sent it.
    """

    epoch: int
    slot: int
    first: int
    tags: bytes
    mac: bytes

    def __repr__(self) -> str:
        return f"TagUpload(epoch {self.epoch}, slot {self.slot}, {len(self):,} tags)"

    def __len__(self) -> int:
        return len(self.tags) // TAG_BYTES

    @property
    def stop(self) -> int:
        """The slot after the last one that has a tag here."""
        return self.first + len(self)

    def words(self) -> npt.NDArray[np.uint64]:
        """The tags as two numbers each, for comparing."""
        return np.frombuffer(self.tags, np.uint64).reshape(-1, 2)

    def mac_under(self, key: bytes) -> bytes:
        """What `mac` should be: 16 bytes of BLAKE2b, keyed, over header and tags."""
        state = hashlib.blake2b(self._head(), digest_size=_MAC_BYTES, key=key)
        state.update(self.tags)
        return state.digest()

    def as_bytes(self) -> bytes:
        """Header (52 bytes), tags, mac."""
        return b"".join((self._head(), self.tags, self.mac))

    @classmethod
    def from_bytes(cls, content: bytes) -> TagUpload:
        """Read one.

        Raises:
            InputError: It is not of this form.
        """
        if len(content) < _TAGS_HEAD.size or content[:32] != _TAGS_TITLE.ljust(32, b"\0"):
            raise InputError(f"{_TAGS}: should start with '{_TAGS_TITLE.decode()}'")
        _, epoch, slot, first, count = _TAGS_HEAD.unpack_from(content)
        end = _TAGS_HEAD.size + TAG_BYTES * count
        if len(content) != end + _MAC_BYTES:
            raise InputError(f"{_TAGS}: {TAG_BYTES} bytes for each slot were expected")
        if not 1 <= epoch <= LAST_EPOCH or slot >= MOST_USERS or first + count > MOST_USERS:
            raise InputError(f"{_TAGS}: the period or a slot is out of range")
        return cls(epoch, slot, first, content[_TAGS_HEAD.size : end], content[end:])

    def as_json(self) -> dict[str, Any]:
        """The bytes, in an object that names the protocol."""
        return {"protocol": PROTOCOL, "version": VERSION, "upload": bytes_text(self.as_bytes())}

    @classmethod
    def from_json(cls, content: Any) -> TagUpload:
        """Read one.

        Raises:
            InputError: A field is missing, unknown or wrong.
        """
        fields = Fields(content, _TAGS, ("protocol", "version", "upload"))
        fields.choice("protocol", (PROTOCOL,))
        fields.whole("version", VERSION, VERSION)
        most = _TAGS_HEAD.size + TAG_BYTES * MOST_USERS + _MAC_BYTES
        return cls.from_bytes(fields.content("upload", 0, most))

    def check_epoch(self, collection: Collection) -> None:
        """Refuse what was made for another epoch.

        Raises:
            InputError: It was.
        """
        if self.epoch != collection.epoch:
            raise InputError(f"{_TAGS}: of another period; period {collection.epoch:,} is running")

    def _head(self) -> bytes:
        return _TAGS_HEAD.pack(
            _TAGS_TITLE.ljust(32, b"\0"), self.epoch, self.slot, self.first, len(self)
        )


_REPORT = f"{PROTOCOL} report"
_ENVELOPE = ("protocol", "version", "upload")
# Of the key that authenticates tags too: apart from those by BLAKE2b's personalisation.
_SEAL = b"discreet report"
# Ratings by their kind, how many: what a seal covers between the tags and the ratings.
_SEALED_HEAD = struct.Struct("<16sI")


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A person's tags and ratings; a later one takes its place.

    Args:
        tags: For everybody in the directory.
        sent: The ratings, which are optional: a person who sends tags alone helps to find clusters
            and adds nothing to their averages.
        seal: Shows the server that the owner of the slot's key sent all of it. Empty in messages of
            version 0.1.0, which are still built from and no longer taken.
    """

    tags: TagUpload
    sent: SentRatings
    seal: bytes = b""

    def __repr__(self) -> str:
        return f"Report({self.tags!r}, {self.sent!r})"

    def as_json(self) -> dict[str, Any]:
        """The message."""
        seal = {"seal": bytes_text(self.seal)} if self.seal else {}
        return self.tags.as_json() | self.sent.as_json() | seal

    def seal_under(self, key: bytes) -> bytes:
        """What `seal` should be: 16 bytes of BLAKE2b, keyed, over tags and ratings."""
        state = hashlib.blake2b(digest_size=_MAC_BYTES, key=key, person=_SEAL)
        sent = self.sent
        # Every part has a length that is fixed or comes before it: no two reports are one text.
        state.update(self.tags.as_bytes())
        state.update(_SEALED_HEAD.pack(sent.kind.encode(), len(sent.items)))
        state.update(np.ascontiguousarray(sent.items, "<i4").tobytes())
        state.update(np.ascontiguousarray(sent.codes, np.uint8).tobytes())
        return state.digest()

    @classmethod
    def from_json(cls, content: Any, collection: Collection) -> Report:
        """Read one; who sent it is still to be checked.

        Raises:
            InputError: It is not of the form, of another epoch, or its ratings do not fit.
        """
        fields = Fields(content, _REPORT, (*_ENVELOPE, *RATINGS_FIELDS, "seal"))
        tags = cls.tags_in(content)
        tags.check_epoch(collection)
        if collection.ratings is None:
            raise InputError(f"{_REPORT}: this collection takes no ratings")
        sent = SentRatings.read(fields, collection.ratings)
        has_seal = fields.has("seal")
        return cls(tags, sent, fields.content("seal", _MAC_BYTES, _MAC_BYTES) if has_seal else b"")

    @staticmethod
    def tags_in(content: Mapping[str, Any]) -> TagUpload:
        """The tags of a report, whatever ratings are beside them.

        Raises:
            InputError: They are not of the form.
        """
        return TagUpload.from_json({name: content.get(name) for name in _ENVELOPE})
