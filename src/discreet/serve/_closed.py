"""Closed clusters: a directory goes out, tags and ratings come in, a release comes of them.

A person sends their tags for the whole directory each time, in place of those they sent before.
Where there were tags before they have to be the same: whoever could send others would try one value
after the other. Who is together is known while a release is being built, and is written nowhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from discreet.domain import InputError
from discreet.domain.files import whole_file
from discreet.protocols.closed_clusters.messages import TAG_BYTES
from discreet.protocols.closed_clusters.server import (
    Collection,
    Directory,
    Matching,
    Report,
    TagUpload,
    build_release,
    read_report,
)
from discreet.protocols.common import bytes_text
from discreet.protocols.obfuscation.messages import Obfuscation
from discreet.serve._collectors import catalog_from, catalog_order, parameters_digest
from discreet.serve._published import (
    MemoryContent,
    Representation,
    catalog_document,
    open_release,
)

_ENVELOPE_BYTES = 4 << 10
_BYTES_PER_ITEM = 8


@dataclass(frozen=True, repr=False)
class Tagged:
    """The tags of a slot, which may be said once in an epoch; see `Claim`.

    Args:
        upload: They.
        gone: The slots of those who left; a client tags them no more.
        scope: A digest of the authority, the hash and the epoch.
    """

    upload: TagUpload
    gone: npt.NDArray[np.uint32]
    scope: str

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
        tags = self.upload.tags[: stop * TAG_BYTES]
        if stop > self.stop:
            return False
        if self._mark(tags) == mark:
            return True
        try:
            earlier = None if stored is None else Report.tags_in(json.loads(stored))
        except InputError:
            earlier = None  # a message of another protocol
        if earlier is None or (earlier.slot, earlier.stop) != (self.slot, stop):
            return False
        differ = (earlier.words() != self.upload.words()[:stop]).any(axis=1)
        differ[self.gone[self.gone < stop]] = False
        return self._mark(earlier.tags) == mark and not differ.any()

    def _mark(self, tags: bytes) -> bytes:
        # Tags cannot be guessed, so their digest needs no secret.
        state = hashlib.blake2b(tags, digest_size=32, person=b"discreet claim")
        return state.digest()


class ClosedCollector:
    """Closed clusters as the service sees them; see `Collects`.

    Args:
        authority: The directory authority's Ed25519 public key.
        directory: The whole directory, signed; see `take`.
        private: The server's X25519 private key, 32 bytes.
        terms: What is hashed and how ratings hide; the hash is the one that the authority signed.
        path: The directory's file, where a newer one is looked for.

    Raises:
        InputError: The directory is not the authority's, of another hash, or the key is none.
    """

    kind = "closed"

    def __init__(
        self,
        authority: bytes,
        directory: Directory,
        private: bytes,
        terms: Obfuscation,
        path: Path | None = None,
    ) -> None:
        if len(private) != 32:
            raise InputError("the server's X25519 private key has 32 bytes")
        public = X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()
        self.collection = Collection(
            authority, public, directory.hash_digest, directory.bits, directory.epoch, terms
        )
        self._private, self._terms, self._path = private, terms, path
        # It never takes an upload, so that it checks each as a person's first; nor another
        # directory: another takes its place, whole, while uploads are being checked.
        self._checking = Matching(self.collection, directory, private)

    @classmethod
    def from_files(
        cls, authority: str, directory: Path, key: Path, terms: Obfuscation
    ) -> ClosedCollector:
        """From what an operator has.

        Args:
            authority: The authority's public key in hexadecimal.
            directory: The file that the authority signed.
            key: The server's private key in hexadecimal; a new one is made if there is no file.
            terms: See the class.

        Raises:
            InputError: One of them cannot be used; no key is repeated.
        """
        signed = _read_directory(directory)
        if not key.exists():
            with whole_file(key, private=True) as temporary:
                temporary.write_text(f"{secrets.token_hex(32)}\n", "ascii")
        try:
            keys = bytes.fromhex(authority), bytes.fromhex(key.read_text("ascii"))
        except (OSError, ValueError):
            reason = "the authority's and the server's key are 64 hexadecimal digits each"
            raise InputError(reason) from None
        return cls(keys[0], signed, keys[1], terms, directory)

    @classmethod
    def from_order(cls, order: Mapping[str, Any]) -> ClosedCollector:
        """The collector that gave this order."""
        authority, directory, private = (base64.b64decode(text) for text in order["closed"])
        collection = Collection.from_json(order["collection"], catalog_from(order))
        assert collection.ratings is not None
        return cls(authority, Directory.from_bytes(directory), private, collection.ratings)

    @property
    def directory(self) -> Directory:
        """The directory in use."""
        return self._checking.directory

    @property
    def document(self) -> dict[str, Any]:
        """The public parameters as clients fetch them."""
        return self.collection.as_json()

    @property
    def digest(self) -> str:
        """What is stored beside each upload."""
        return parameters_digest(self.kind, self.document)

    @property
    def _scope(self) -> str:
        told = self.collection
        parts = (told.authority, told.hash_digest, told.epoch.to_bytes(8, "little"))
        return hashlib.sha256(b"discreet tags are said once\n" + b"".join(parts)).hexdigest()

    @property
    def largest(self) -> int:
        """The most bytes that an upload's JSON may take: tags and ratings in base64."""
        ratings = _BYTES_PER_ITEM * len(self._terms.catalog)
        return _ENVELOPE_BYTES + ratings + (TAG_BYTES * self.directory.slots + 2) // 3 * 4

    def announced(self) -> dict[str, Representation]:
        """The parameters, the items and the directory."""
        content = MemoryContent(self.directory.as_bytes())
        return {
            "collection": Representation.of_json(self.document),
            "catalog": catalog_document(self._terms.catalog, self._terms.scale),
            "directory": Representation.of(content, "application/octet-stream"),
        }

    def reload(self) -> bool:
        """Take the directory's file if it is a newer one of this epoch; False if it is the same.

        Raises:
            InputError: It cannot be read, is older, of another epoch or hash, or not the
                authority's; the one before stays.
        """
        if self._path is None:
            raise InputError("the directory was not read from a file")
        found = _read_directory(self._path)
        if found.version == self.directory.version and found.epoch == self.directory.epoch:
            return False
        checking = Matching(self.collection, self.directory, self._private)
        checking.update(found)
        self._checking = checking
        return True

    def check(self, upload: Any) -> Tagged:
        """Refuse tags that are not whole or not by the owner of their slot; ratings off terms."""
        read = read_report(self.collection, upload)
        checking = self._checking
        checking.check(read.tags)
        return Tagged(read.tags, checking.directory.gone, self._scope)

    def later_epoch(self, epoch: int) -> str:
        """The directory has it."""
        return f"a directory of epoch {epoch}, which the authority signs"

    def order(self) -> dict[str, Any]:
        """All that another process needs."""
        told = (self.collection.authority, self.directory.as_bytes(), self._private)
        return {
            "kind": self.kind,
            "closed": [bytes_text(each) for each in told],
            "collection": self.document,
            "catalog": catalog_order(self._terms.catalog),
        }

    def build(self, contents: Iterable[bytes], path: Path) -> int:
        """Compare all tags, and average the ratings of those who are together.

        A slot is one person, however many reports there are of it.
        """
        reports = (read_report(self.collection, json.loads(content)) for content in contents)
        release, clusters = build_release(
            self.collection, self.directory, self._private, reports, folder=path.parent
        )
        release.save(path)
        return int((clusters.labels >= 0).sum())

    def publish(self, path: Path) -> dict[str, Representation]:
        """The release."""
        return open_release(path)


def _read_directory(path: Path) -> Directory:
    try:
        return Directory.from_bytes(path.read_bytes())
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"cannot be read: {reason}", path=path) from None
