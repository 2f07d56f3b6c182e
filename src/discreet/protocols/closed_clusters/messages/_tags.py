"""A client's tags, one for each slot of the directory."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.protocols.closed_clusters.messages._collection import (
    LAST_EPOCH,
    PROTOCOL,
    VERSION,
    Collection,
)
from discreet.protocols.closed_clusters.messages._directory import MOST_USERS
from discreet.protocols.common import Fields, bytes_text

TAG_BYTES = 16

_KIND = f"{PROTOCOL} tags"
_TITLE = b"discreet closed tags 1"
_HEAD = struct.Struct("<32sQIII")  # title, epoch, sender's slot, first slot, number of tags
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
        if len(content) < _HEAD.size or content[:32] != _TITLE.ljust(32, b"\0"):
            raise InputError(f"{_KIND}: should start with '{_TITLE.decode()}'")
        _, epoch, slot, first, count = _HEAD.unpack_from(content)
        end = _HEAD.size + TAG_BYTES * count
        if len(content) != end + _MAC_BYTES:
            raise InputError(f"{_KIND}: {TAG_BYTES} bytes for each slot were expected")
        if not 1 <= epoch <= LAST_EPOCH or slot >= MOST_USERS or first + count > MOST_USERS:
            raise InputError(f"{_KIND}: the epoch or a slot is out of range")
        return cls(epoch, slot, first, content[_HEAD.size : end], content[end:])

    def as_json(self) -> dict[str, Any]:
        """The bytes, in an object that names the protocol."""
        return {"protocol": PROTOCOL, "version": VERSION, "upload": bytes_text(self.as_bytes())}

    @classmethod
    def from_json(cls, content: Any) -> TagUpload:
        """Read one.

        Raises:
            InputError: A field is missing, unknown or wrong.
        """
        fields = Fields(content, _KIND, ("protocol", "version", "upload"))
        fields.choice("protocol", (PROTOCOL,))
        fields.whole("version", VERSION, VERSION)
        most = _HEAD.size + TAG_BYTES * MOST_USERS + _MAC_BYTES
        return cls.from_bytes(fields.content("upload", 0, most))

    def check_epoch(self, collection: Collection) -> None:
        """Refuse what was made for another epoch.

        Raises:
            InputError: It was.
        """
        if self.epoch != collection.epoch:
            raise InputError(f"{_KIND}: of another epoch; epoch {collection.epoch:,} is running")

    def _head(self) -> bytes:
        return _HEAD.pack(_TITLE.ljust(32, b"\0"), self.epoch, self.slot, self.first, len(self))
