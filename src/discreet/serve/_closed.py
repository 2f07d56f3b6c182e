"""Closed clusters: a directory goes out, tags come in, and who is together comes of it.

A person sends their tags for the whole directory each time, in place of those they sent before:
with a larger directory the client makes them from the first slot on (`since=0`). Where there were
tags before they have to be the same: whoever could send others would try one value after the other.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from discreet.domain import InputError
from discreet.domain.files import whole_file
from discreet.protocols.closed_clusters.server import (
    Collection,
    Directory,
    Matching,
    TagUpload,
    build,
    read_upload,
)
from discreet.protocols.common import bytes_text, numbers_text
from discreet.serve._collectors import parameters_digest
from discreet.serve._published import FileContent, MemoryContent, Representation

_ENVELOPE_BYTES = 1 << 10
_TAG_BYTES = 16


@dataclass(frozen=True, repr=False)
class Tagged:
    """The tags of a slot, which may be said once in an epoch; see `Claim`.

    Args:
        upload: They.
        gone: The slots of those who left; a client tags them no more.
        key: The server's, for digests.
    """

    upload: TagUpload
    gone: npt.NDArray[np.uint32]
    key: bytes

    @property
    def slot(self) -> int:
        """The sender's."""
        return self.upload.slot

    @property
    def stop(self) -> int:
        """The slot after the last tag."""
        return self.upload.stop

    @property
    def mark(self) -> bytes:
        """A digest of all tags."""
        return self._mark(self.upload.tags)

    def follows(self, stop: int, mark: bytes, stored: bytes | None) -> bool:
        """Whether the tags are those of before, but for who left since.

        That somebody left is seen as long as the earlier tags are stored.
        """
        tags = self.upload.tags[: stop * _TAG_BYTES]
        if stop > self.stop:
            return False
        if self._mark(tags) == mark:
            return True
        earlier = TagUpload.from_json(json.loads(stored)) if stored is not None else None
        if earlier is None or (earlier.slot, earlier.stop) != (self.slot, stop):
            return False
        differ = (earlier.words() != self.upload.words()[:stop]).any(axis=1)
        differ[self.gone[self.gone < stop]] = False
        return self._mark(earlier.tags) == mark and not differ.any()

    def _mark(self, tags: bytes) -> bytes:
        state = hashlib.blake2b(tags, digest_size=32, key=self.key, person=b"discreet claim")
        return state.digest()


class ClosedCollector:
    """Closed clusters as the service sees them; see `Collects`.

    Args:
        authority: The directory authority's Ed25519 public key.
        directory: The whole directory, signed; a new one needs a new start of the service.
        private: The server's X25519 private key, 32 bytes.

    Raises:
        InputError: The directory is not the authority's, or the key is none.
    """

    kind = "closed"

    def __init__(self, authority: bytes, directory: Directory, private: bytes) -> None:
        if len(private) != 32:
            raise InputError("the server's X25519 private key has 32 bytes")
        public = X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()
        self.collection = Collection(
            authority, public, directory.hash_digest, directory.bits, directory.epoch
        )
        self.directory, self._private = directory, private
        # It never takes an upload, so that it checks each as a person's first.
        self._checking = Matching(self.collection, directory, private)
        weakref.finalize(self, self._checking.close)

    @classmethod
    def from_files(cls, authority: str, directory: Path, key: Path) -> ClosedCollector:
        """From what an operator has.

        Args:
            authority: The authority's public key in hexadecimal.
            directory: The file that the authority signed.
            key: The server's private key in hexadecimal; a new one is made if there is no file.

        Raises:
            InputError: One of them cannot be used; no key is repeated.
        """
        try:
            signed = Directory.from_bytes(directory.read_bytes())
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise InputError(f"cannot be read: {reason}", path=directory) from None
        if not key.exists():
            with whole_file(key, private=True) as temporary:
                temporary.write_text(f"{secrets.token_hex(32)}\n", "ascii")
        try:
            return cls(bytes.fromhex(authority), signed, bytes.fromhex(key.read_text("ascii")))
        except (OSError, ValueError):
            reason = "the authority's and the server's key are 64 hexadecimal digits each"
            raise InputError(reason) from None

    @classmethod
    def from_order(cls, order: Mapping[str, Any]) -> ClosedCollector:
        """The collector that gave this order."""
        authority, directory, private = (base64.b64decode(text) for text in order["closed"])
        return cls(authority, Directory.from_bytes(directory), private)

    @property
    def document(self) -> dict[str, Any]:
        """The public parameters as clients fetch them."""
        return self.collection.as_json()

    @property
    def digest(self) -> str:
        """What is stored beside each upload."""
        return parameters_digest(self.kind, self.document)

    @property
    def largest(self) -> int:
        """The most bytes that an upload's JSON may take: tags in base64."""
        return _ENVELOPE_BYTES + (_TAG_BYTES * self.directory.slots + 2) // 3 * 4

    def announced(self) -> dict[str, Representation]:
        """The parameters and the directory."""
        content = MemoryContent(self.directory.as_bytes())
        return {
            "collection": Representation.of_json(self.document),
            "directory": Representation.of(content, "application/octet-stream"),
        }

    def check(self, upload: Any) -> Tagged:
        """Refuse tags that are not whole, or not by the owner of their slot."""
        read = read_upload(self.collection, upload)
        self._checking.check(read)
        return Tagged(read, self.directory.gone, self._private)

    def order(self) -> dict[str, Any]:
        """All that another process needs."""
        told = (self.collection.authority, self.directory.as_bytes(), self._private)
        return {"kind": self.kind, "closed": [bytes_text(each) for each in told]}

    def build(self, contents: Iterable[bytes], path: Path) -> None:
        """Compare all tags, and write who is together."""
        clusters = build(self.collection, self.directory, self._private, self._uploads(contents))
        told = {
            "collection": parameters_digest(self.kind, self.document),
            "directory_version": self.directory.version,
            "slots": self.directory.slots,
            "labels": numbers_text(clusters.labels, "int32"),
            "figures": clusters.report(),
        }
        with whole_file(path, private=True) as temporary:
            temporary.write_text(json.dumps(told), "utf-8")

    def publish(self, path: Path) -> dict[str, Representation]:
        """The clusters, as JSON: a number for each slot, -1 for nobody."""
        return {"clusters": Representation.of(FileContent(path), "application/json")}

    def _uploads(self, contents: Iterable[bytes]) -> Iterator[TagUpload]:
        """Whoever enrolled twice counts once: a slot's second tags would be refused."""
        seen: set[int] = set()
        for content in contents:
            upload = read_upload(self.collection, json.loads(content))
            gone = bool((self.directory.gone == upload.slot).any())
            if upload.slot not in seen and not gone:
                seen.add(upload.slot)
                yield upload
