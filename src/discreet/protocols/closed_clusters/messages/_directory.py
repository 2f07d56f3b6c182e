"""The directory: everybody's public key in a slot of its own, signed by the authority.

Within an epoch slots never move: who joins gets the next one, who leaves is listed as gone. Keys
are chained (each link hashes the one before and the next key), so a client that has seen the first
n slots checks the signature from the keys after them alone.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from discreet.domain import InputError
from discreet.protocols.closed_clusters.messages._collection import (
    LAST_EPOCH,
    LONGEST_HASH,
    PROTOCOL,
    VERSION,
)
from discreet.protocols.closed_clusters.messages._keys import KEY_BYTES, check_keys
from discreet.protocols.common import Fields, bytes_text

MOST_USERS = 1 << 24
CHAIN_START = bytes(32)

_KIND = f"{PROTOCOL} directory"
_TITLE = b"discreet closed directory 1"
# Title, epoch, version, bits, slots, gone, hash digest, chain, digest of the gone.
_STATEMENT = struct.Struct("<32sQQHII32s32s32s")
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
            _TITLE.ljust(32, b"\0"), self.epoch, self.version, self.bits, self.slots,
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
            raise InputError(f"{_KIND}: not signed by the pinned authority") from None
        if chain_keys(self.keys, link) != self.chain:
            raise InputError(f"{_KIND}: the keys are not those that were signed")
        check_keys(self.keys, self.first)

    def since(self, first: int) -> Directory:
        """The same directory, with the keys from a slot on."""
        if not self.first <= first <= self.slots:
            raise InputError(f"{_KIND}: keys are here from slot {self.first:,} to {self.slots:,}")
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
        if len(content) < head or content[:32] != _TITLE.ljust(32, b"\0"):
            raise InputError(f"{_KIND}: should start with '{_TITLE.decode()}' and have a signature")
        _, epoch, version, bits, slots, left, hash_digest, chain, digest = _STATEMENT.unpack_from(
            content
        )
        (first,) = struct.unpack_from("<I", content, head - 4)
        if not (1 <= epoch <= LAST_EPOCH and 1 <= bits <= LONGEST_HASH and slots <= MOST_USERS):
            raise InputError(f"{_KIND}: the epoch, the bits or the number of slots is out of range")
        if not first <= slots or len(content) != head + KEY_BYTES * (slots - first) + 4 * left:
            raise InputError(f"{_KIND}: its length does not fit its number of slots")
        keys = np.frombuffer(content, np.uint8, KEY_BYTES * (slots - first), head)
        gone = np.frombuffer(content, "<u4", left, len(content) - 4 * left).astype(np.uint32)
        if np.any(gone[1:] <= gone[:-1]) or np.any(gone >= slots):
            raise InputError(f"{_KIND}: who left should be listed by slot, ascending")
        found = cls(
            epoch, version, hash_digest, bits, slots, gone, chain,
            content[_STATEMENT.size : head - 4], first, keys.reshape(-1, KEY_BYTES),
        )  # fmt: skip
        if found.statement()[-32:] != digest:
            raise InputError(f"{_KIND}: the list of who left is not what was signed")
        return found

    def as_json(self) -> dict[str, Any]:
        """The bytes, in an object that names the protocol."""
        content = bytes_text(self.as_bytes())
        return {"protocol": PROTOCOL, "version": VERSION, "directory": content}

    @classmethod
    def from_json(cls, content: Any) -> Directory:
        """Read one.

        Raises:
            InputError: A field is missing, unknown or wrong.
        """
        fields = Fields(content, _KIND, ("protocol", "version", "directory"))
        fields.choice("protocol", (PROTOCOL,))
        fields.whole("version", VERSION, VERSION)
        return cls.from_bytes(fields.content("directory", 0, 400 + 36 * MOST_USERS))
