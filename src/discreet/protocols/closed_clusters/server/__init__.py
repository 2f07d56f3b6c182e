"""The server of closed clusters: compares tags pair by pair, groups who agrees, averages ratings.

A person sends their tags for the whole directory each time, in place of those they sent before.
Where there were tags before they must be the same: whoever could send different ones would try one
hash value after another. Who is together is known while a release is built, and written nowhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
import string
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from discreet.domain import Catalog, InputError, Scale
from discreet.domain.files import whole_file
from discreet.privacy import Guarantee, Unit
from discreet.protocols import servers
from discreet.protocols.closed_clusters.messages import (
    KEY_BYTES,
    PROTOCOL,
    TAG_BYTES,
    Collection,
    Directory,
    Report,
    TagUpload,
    public_bytes,
)
from discreet.protocols.closed_clusters.server._clusters import Clusters, group
from discreet.protocols.closed_clusters.server._matching import Matching
from discreet.protocols.clusters_common.messages import Obfuscation, SentRatings
from discreet.protocols.clusters_common.server import (
    DENIABLE,
    LEAST_PEOPLE,
    Placed,
    Totals,
    averages,
)
from discreet.protocols.common import bytes_text
from discreet.release import Release

__all__ = ["ClosedClusters", "Clusters", "Matching", "group"]

TELLING = "the averages of a cluster tell the hash value of the people in it, whoever they are"
_BUCKETS = ("sizes", "raters", "fakes", "fake_means", "ends")

# Bytes of JSON around tags and ratings: generous, since it only bounds what is read.
_ENVELOPE_BYTES = 4 << 10
# Per rated item, an index of 4 bytes and a code of 1 byte in base64 take 6.7.
_BYTES_PER_ITEM = 8


@dataclass(frozen=True, repr=False)
class _Tagged:
    """The tags of a slot as a `Claim`: within an epoch they stay what they were first.

    Args:
        upload: The tags.
        gone: The slots of those who left; clients no longer tag them.
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
        return _mark(self.upload.tags)

    def follows(self, stop: int, mark: bytes, stored: bytes | None) -> bool:
        """Whether the tags are those of before, except for those who left since.

        That somebody left can be seen only as long as the earlier tags are stored.
        """
        tags = self.upload.tags[: stop * TAG_BYTES]
        if stop > self.stop:
            return False
        if _mark(tags) == mark:
            return True
        try:
            earlier = None if stored is None else Report.tags_in(json.loads(stored))
        except InputError:
            earlier = None  # a message of another protocol
        if earlier is None or (earlier.slot, earlier.stop) != (self.slot, stop):
            return False
        differ = (earlier.words() != self.upload.words()[:stop]).any(axis=1)
        differ[self.gone[self.gone < stop]] = False
        return _mark(earlier.tags) == mark and not differ.any()


def _mark(tags: bytes) -> bytes:
    # Tags cannot be guessed, so their digest needs no secret.
    return hashlib.blake2b(tags, digest_size=32, person=b"discreet claim").digest()


class ClosedClusters(servers.Protocol):
    """Closed clusters under their public terms; see `servers.Protocol`.

    Args:
        authority: The directory authority's Ed25519 public key.
        directory: The whole directory, signed.
        private: The server's X25519 private key, 32 bytes.
        ratings: What is hashed and how ratings hide; the authority must have signed this hash.
        path: The directory's file, which `reload` reads again.

    Raises:
        InputError: The directory is not the authority's, or of another hash.
    """

    name = PROTOCOL
    terms = Obfuscation
    files = ("directory", "server_key")
    collection: Collection

    def __init__(
        self,
        authority: bytes,
        directory: Directory,
        private: bytes,
        ratings: Obfuscation,
        path: Path | None = None,
    ) -> None:
        if len(private) != KEY_BYTES:
            raise InputError("the server's X25519 private key has 32 bytes")
        public = public_bytes(X25519PrivateKey.from_private_bytes(private))
        super().__init__(
            Collection(
                authority, public, directory.hash_digest, directory.bits, directory.epoch, ratings
            )
        )
        self._private, self._ratings, self._path = private, ratings, path
        # It never takes an upload, so it checks each one as a person's first. Nor does it take
        # another directory: a new object replaces it as a whole while uploads are being checked.
        self._checking = Matching(self.collection, directory, private)

    @classmethod
    def from_terms(
        cls, catalog: Catalog, scale: Scale, terms: Mapping[str, Any], **files: Path
    ) -> Self:
        """See `servers.Protocol`.

        Args:
            catalog: The items.
            scale: The rating scale.
            terms: `authority`, its public key in hexadecimal; the others are `Obfuscation`'s.
            files: `directory`, which the authority signed, and `server_key`, the server's private
                key in hexadecimal; a new key is made if that file does not exist.

        Raises:
            InputError: One of them cannot be used; no key is repeated.
        """
        authority = terms.get("authority", "")
        if set(files) != set(cls.files) or not authority:
            raise InputError(
                f"'{cls.name}' needs the directory that the authority signed, a file for the "
                "server's key, and the term 'authority', the authority's public key"
            )
        if not _is_key(authority):
            raise InputError("the term 'authority' is a public key, 64 hexadecimal digits")
        if files["server_key"].exists():
            _read_key(files["server_key"])  # what is wrong with it comes before the terms
        others = {name: value for name, value in terms.items() if name != "authority"}
        ratings = cls.read_terms(catalog, scale, others)
        directory = _read_directory(files["directory"])
        private = _read_key(files["server_key"])
        return cls(bytes.fromhex(authority), directory, private, ratings, files["directory"])

    @classmethod
    def from_order(cls, order: Mapping[str, Any]) -> Self:
        """See `servers.Protocol`."""
        directory, private = (base64.b64decode(order[name]) for name in ("directory", "private"))
        collection = Collection.from_json(order["collection"], servers.catalog_from(order))
        assert collection.ratings is not None
        return cls(
            collection.authority, Directory.from_bytes(directory), private, collection.ratings
        )

    def order(self) -> dict[str, Any]:
        """See `servers.Protocol`; it holds the private key."""
        return super().order() | {
            "directory": bytes_text(self.directory.as_bytes()),
            "private": bytes_text(self._private),
        }

    @property
    def catalog(self) -> Catalog:
        """See `servers.Protocol`."""
        return self._ratings.catalog

    @property
    def scale(self) -> Scale:
        """See `servers.Protocol`."""
        return self._ratings.scale

    @property
    def directory(self) -> Directory:
        """The directory in use."""
        return self._checking.directory

    @property
    def largest(self) -> int:
        """See `servers.Protocol`: tags and ratings in base64."""
        ratings = _BYTES_PER_ITEM * len(self.catalog)
        return _ENVELOPE_BYTES + ratings + (TAG_BYTES * self.directory.slots + 2) // 3 * 4

    def documents(self) -> dict[str, bytes]:
        """The directory."""
        return {"directory": self.directory.as_bytes()}

    def reload(self) -> bool:
        """Use the directory's file if it is a newer one of this epoch; see `servers.Protocol`."""
        if self._path is None:
            raise InputError("the directory was not read from a file")
        found = _read_directory(self._path)
        if found.version == self.directory.version and found.epoch == self.directory.epoch:
            return False
        checking = Matching(self.collection, self.directory, self._private)
        checking.update(found)
        self._checking = checking
        return True

    def read(self, content: Any) -> Report:
        """See `servers.Protocol`; who sent the tags is not checked."""
        return Report.from_json(content, self.collection)

    def check(self, content: Any) -> servers.Claim:
        """See `servers.Protocol`; tags are complete, and all is sent by the owner of the slot."""
        report, checking = self.read(content), self._checking
        checking.check_report(report)
        tags = report.tags
        terms = self.collection
        parts = (terms.authority, terms.hash_digest, terms.epoch.to_bytes(8, "little"))
        scope = hashlib.sha256(b"discreet tags are said once\n" + b"".join(parts)).hexdigest()
        return _Tagged(tags, checking.directory.gone, scope)

    def later_epoch(self, epoch: int) -> str:
        """See `servers.Protocol`."""
        return f"a directory of period {epoch}, which the authority signs"

    def build(
        self,
        messages: Iterable[Report],
        *,
        folder: Path | None = None,
        least_people: int = LEAST_PEOPLE,
        memory: int = 1 << 27,
        **options: Any,
    ) -> Release:
        """Averages by cluster, as a release of method `closed-clusters`.

        The release says of clusters how large they are and how they rate, the largest first and
        equal ones in random order. Of a slot the first report counts.

        Args:
            messages: In any order; their ratings stay in memory, their tags do not.
            folder: Where tags wait while they are compared; see `Matching`.
            least_people: Clusters with fewer people are not in the release. Their ratings count in
                the averages over everybody, unless they are of fewer people than this altogether.
            memory: About how many bytes to use for a block of tags.
            options: Further arguments of `averages`.

        Raises:
            InputError: A report is refused, or there are too few.
        """
        sent: dict[int, SentRatings] = {}
        with Matching(self.collection, self.directory, self._private, folder, memory) as matching:
            matching.add(_tags(self.directory, messages, sent))
            clusters = matching.clusters()
        totals, large = _totals(self._ratings, clusters, sent, least_people)
        shown = np.arange(large + 1) < large
        parameters, arrays = averages(totals, least_people=least_people, shown=shown, **options)
        for name in _BUCKETS:
            arrays[f"bucket_{name}"] = arrays[f"bucket_{name}"][:large]
        people, epoch = int((clusters.labels >= 0).sum()), self.collection.epoch
        parameters |= {"epoch": epoch, "people": people, "clusters": len(clusters.sizes)}
        return Release(
            method=PROTOCOL,
            scale=self.scale,
            catalog=self.catalog,
            guarantee=Guarantee(Unit.RATING, (), 0.0, not_private=(DENIABLE, TELLING)),
            parameters=parameters,
            arrays=arrays,
        )


def _tags(
    directory: Directory, reports: Iterable[Report], sent: dict[int, SentRatings]
) -> Iterator[Any]:
    """The tags, one report a slot; the ratings go to `sent`.

    What was sent for a newer directory than this waits for the next release.
    """
    gone = set(directory.gone.tolist())
    for report in reports:
        slot = report.tags.slot
        newer = report.tags.stop > directory.slots
        if slot not in sent and slot not in gone and not newer:
            sent[slot] = report.sent
            yield report.tags


def _totals(
    terms: Obfuscation, clusters: Clusters, sent: dict[int, SentRatings], least_people: int
) -> tuple[Totals, int]:
    """Sums by cluster, the large ones first and all others in one more; and how many are large."""
    labels = clusters.labels
    count = len(clusters.sizes)
    rated = [slot for slot, ratings in sent.items() if ratings.kind != "none"]
    raters = np.bincount(labels[np.array(rated, np.int64)], minlength=count)
    shown = np.flatnonzero(raters >= least_people)
    # By size, and equals by lot: in the order of labels they would tell of slots.
    lot = np.frombuffer(os.urandom(8 * len(shown)), np.uint64)
    shown = shown[np.lexsort((lot, -raters[shown]))]
    place: npt.NDArray[np.int64] = np.full(count, len(shown))
    place[shown] = np.arange(len(shown))
    people = (Placed(int(place[labels[slot]]), ratings) for slot, ratings in sent.items())
    return Totals.of(terms, len(shown) + 1, people), len(shown)


def _read_directory(path: Path) -> Directory:
    try:
        return Directory.from_bytes(path.read_bytes())
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"cannot be read: {reason}", path=path) from None


def _read_key(path: Path) -> bytes:
    if not path.exists():
        with whole_file(path, private=True) as temporary:
            temporary.write_text(f"{secrets.token_hex(KEY_BYTES)}\n", "ascii")
    try:
        text = path.read_bytes().decode("ascii", "replace").strip()
    except OSError as error:
        reason = f"the server's key cannot be read: {error.strerror or error}"
        raise InputError(reason, path=path) from None
    if not _is_key(text):
        reason = "is not a server's key (64 hexadecimal digits); to make one, name a new file"
        raise InputError(reason, path=path)
    return bytes.fromhex(text)


def _is_key(text: Any) -> bool:
    return (
        isinstance(text, str)
        and len(text) == 2 * KEY_BYTES
        and set(text.lower()) <= set(string.hexdigits)
    )
