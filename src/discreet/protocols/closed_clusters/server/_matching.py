"""Comparing tags as uploads arrive, in blocks, so that memory does not grow with their number."""

from __future__ import annotations

import hmac
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from discreet.domain import InputError
from discreet.protocols.closed_clusters.messages import (
    PROTOCOL,
    Collection,
    Directory,
    Report,
    TagUpload,
    agree,
    key_info,
    public_bytes,
)
from discreet.protocols.closed_clusters.server._clusters import Clusters, group

Words = npt.NDArray[np.uint64]
Slots = npt.NDArray[np.int64]


class Waiting:
    """The tags of a few senders for the people who have none for them yet.

    On disk: for each recipient a row, in it for each sender two 8-byte words; zeros for no tag.

    Args:
        path: A file of its own.
        senders: Their slots.
        recipients: Their slots, ascending.
        tags: senders x recipients x 2.
    """

    def __init__(self, path: Path, senders: Slots, recipients: Slots, tags: Words) -> None:
        self.path, self.senders, self.recipients = path, senders, recipients
        self._write(np.ascontiguousarray(tags.transpose(1, 0, 2)))

    def compare(self, slots: Slots, first: int, tags: Words) -> npt.NDArray[np.int64]:
        """The pairs (slot, sender) whose tags for each other are there and equal.

        Args:
            slots: Who comes now.
            first: The slot that their first tag is for.
            tags: slots x slots from `first` on x 2, their tags.
        """
        columns = np.flatnonzero((self.senders >= first) & (self.senders < first + tags.shape[1]))
        # Whoever is not among the recipients finds a wrong row, which `here` leaves out.
        rows = np.searchsorted(self.recipients, slots)
        rows[rows == len(self.recipients)] = 0
        here = np.flatnonzero(self.recipients[rows] == slots) if len(self.recipients) else rows[:0]
        if not len(columns) or not len(here):
            return np.empty((0, 2), np.int64)
        # Row by row, so that each is one run on disk.
        theirs = self._read()[rows[here]]
        senders = self.senders[columns]
        ours = tags[here[:, None], senders - first]
        if len(columns) < len(self.senders):
            theirs = theirs[:, columns]
        who, whom = np.nonzero(same(theirs, ours))
        return np.column_stack((slots[here[who]], senders[whom]))

    def prune(self, stop: Slots, gone: npt.NDArray[np.bool_]) -> bool:
        """Forget what will never be compared; False if that is everything, and the file is gone.

        Args:
            stop: For each slot, the first one that its owner has sent no tag for.
            gone: For each slot, whether its owner left.
        """
        # A recipient who has sent tags for all of the senders has been compared with all of them.
        last = self.senders.max(initial=-1)
        rows = (stop[self.recipients] <= last) & ~gone[self.recipients]
        columns = ~gone[self.senders]
        if not rows.any() or not columns.any():
            self.path.unlink()
            return False
        # What people sent goes as soon as they leave; otherwise a file is written anew only where
        # that halves it, so that all rewriting together costs as much as the first writing.
        left = np.any(gone[self.recipients]) or not columns.all()
        if left or 2 * rows.sum() < len(rows):
            tags = self._read()[np.ix_(rows, columns)]
            self.senders, self.recipients = self.senders[columns], self.recipients[rows]
            self._write(tags)
        return True

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return 16 * len(self.senders) * len(self.recipients)

    def _read(self) -> Words:
        shape = (len(self.recipients), len(self.senders), 2)
        return np.memmap(self.path, np.uint64, "r", shape=shape)

    def _write(self, tags: Words) -> None:
        # Unlinked first: an open map of the old content stays whole.
        self.path.unlink(missing_ok=True)
        # Senders together for each recipient: one row is what a person who comes is compared with.
        tags.tofile(self.path)


def same(one: Words, other: Words) -> npt.NDArray[np.bool_]:
    """Where two arrays of tags are equal and there is a tag."""
    low, high = one[..., 0], one[..., 1]
    equal: npt.NDArray[np.bool_] = (low == other[..., 0]) & (high == other[..., 1])
    equal &= (low | high) != 0
    return equal


_KIND = f"{PROTOCOL} tags"
_COPIES = 4  # of a block's tags that exist at one moment: as they came, stacked, turned, compared


class Matching:
    """The tags of one epoch: who agreed with whom.

    Tags wait on disk until their counterpart comes, and are dropped then; what stays is eight bytes
    for each pair that agreed. In memory is one block of uploads at a time.

    Args:
        collection: The announced parameters.
        directory: The whole directory.
        private: The server's X25519 private key, 32 bytes.
        folder: Where tags wait, in a folder of their own that is made when the first have to;
            among the system's temporary files if absent.
        memory: About how many bytes to use for a block.

    Raises:
        InputError: The directory is not the collection's, or not signed by its authority.
    """

    def __init__(
        self,
        collection: Collection,
        directory: Directory,
        private: bytes,
        folder: str | os.PathLike[str] | None = None,
        memory: int = 1 << 27,
    ) -> None:
        self.collection = collection
        self._private = X25519PrivateKey.from_private_bytes(private)
        if public_bytes(self._private) != collection.server:
            raise InputError("the private key is not that of the announced server key")
        self._memory, self._files, self._folder = memory, 0, folder
        self._waiting: list[Waiting] = []
        self._matches = [np.empty((0, 2), np.int32)]
        self._stop = np.zeros(0, np.int64)
        self._gone = np.zeros(0, np.bool_)
        self.directory = directory
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self.update(directory)

    def __repr__(self) -> str:
        return f"Matching(epoch {self.collection.epoch}, {len(self._stop):,} slots)"

    def __enter__(self) -> Matching:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Forget the tags that wait."""
        self._waiting = []
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None

    def update(self, directory: Directory) -> None:
        """Take a newer directory of the same epoch: slots for who joined, nothing of who left.

        Raises:
            InputError: It is not a newer one of this epoch, or not signed by the authority.
        """
        directory.verify(self.collection.authority)
        wanted = (self.collection.epoch, self.collection.hash_digest, self.collection.bits)
        if (directory.epoch, directory.hash_digest, directory.bits) != wanted:
            raise InputError("the directory is of another period or hash than the collection")
        if directory.version < self.directory.version or directory.slots < len(self._stop):
            raise InputError("the directory is older than the one in use")
        self.directory = directory
        self._stop = np.append(self._stop, np.zeros(directory.slots - len(self._stop), np.int64))
        self._gone = np.zeros(directory.slots, np.bool_)
        self._gone[directory.gone] = True
        # Slots of people who left take part in no comparison from here on, and no pair of theirs
        # stays.
        self._stop[self._gone] = 0
        self._matches = [part[~self._gone[part].any(axis=1)] for part in self._matches]
        self._prune()

    def next_slot(self, slot: int) -> int:
        """The slot at which the next tags of a member have to start."""
        return int(self._stop[slot])

    def check(self, upload: TagUpload) -> None:
        """Whether an upload may be taken.

        Raises:
            InputError: It is of another epoch, of an empty slot, does not go on where
                the sender's tags end, or was not made with the key of its slot.
        """
        upload.check_epoch(self.collection)
        if upload.slot >= len(self._stop) or self._gone[upload.slot]:
            raise InputError(f"{_KIND}: the sender's slot is empty")
        due = self.next_slot(upload.slot)
        if upload.first != due or not upload.slot < upload.stop <= len(self._stop):
            raise InputError(
                f"{_KIND}: from slot {due:,} to at most {len(self._stop):,} were expected, the "
                "sender's own slot among those that then have one"
            )
        # The directory says whose the slot is. Without this anybody could fill a slot with tags
        # that agree with no one, or repeat those of a stranger.
        if not hmac.compare_digest(upload.mac_under(self._key(upload)), upload.mac):
            raise InputError(f"{_KIND}: not sent by the owner of the slot")

    def check_report(self, report: Report) -> None:
        """Whether a report may be taken: its tags, and that their sender sent its ratings too.

        Raises:
            InputError: As `check`; or the seal is missing, or not of all that is sent.
        """
        self.check(report.tags)
        if not report.seal:
            raise InputError("closed-clusters report: it has no 'seal'; use a newer client")
        right = report.seal_under(self._key(report.tags))
        if not hmac.compare_digest(right, report.seal):
            raise InputError("closed-clusters report: not sent as it is by the owner of the slot")

    def _key(self, upload: TagUpload) -> bytes:
        """The key that the owner of an upload's slot and the server share."""
        owner = self.directory.keys[upload.slot].tobytes()
        info = key_info(
            "mac", owner, self.collection.server, self.collection.hash_digest, upload.epoch
        )
        return agree(self._private, owner, info)

    def add(self, uploads: Iterable[TagUpload]) -> None:
        """Take uploads, in any order, and compare them with what is there.

        Raises:
            InputError: `check` refuses one; those before it are taken.
        """
        block: dict[int, TagUpload] = {}
        size = 0
        try:
            for upload in uploads:
                if upload.slot in block or size + len(upload.tags) > self._memory // _COPIES:
                    self._take(list(block.values()))
                    block, size = {}, 0
                self.check(upload)
                block[upload.slot] = upload
                size += len(upload.tags)
        finally:
            self._take(list(block.values()))

    def clusters(self) -> Clusters:
        """Who is together, as far as the tags that came say it."""
        return group(np.concatenate(self._matches), self._stop)

    @property
    def waiting_bytes(self) -> int:
        """How much of the tags is kept, on disk."""
        return sum(part.size for part in self._waiting)

    def _take(self, block: list[TagUpload]) -> None:
        if not block:
            return
        senders = np.array([upload.slot for upload in block], np.int64)
        stops = np.array([upload.stop for upload in block], np.int64)
        first = min(upload.first for upload in block)
        # Zeros for slots that a sender has no tag for: `same` takes them for nothing.
        tags = np.zeros((len(block), int(stops.max()) - first, 2), np.uint64)
        for row, upload in zip(tags, block, strict=True):
            row[upload.first - first : upload.stop - first] = upload.words()
        block.clear()
        found = [part.compare(senders, first, tags) for part in self._waiting]
        found.append(_within(senders, first, tags))
        pairs = np.concatenate(found)
        pairs = pairs[~self._gone[pairs].any(axis=1)]
        self._matches.append(np.sort(pairs, axis=1).astype(np.int32))
        self._stop[senders] = stops
        self._keep(senders, first, tags)
        self._prune()

    def _keep(self, senders: Slots, first: int, tags: Words) -> None:
        slots = np.arange(first, first + tags.shape[1])
        slots = slots[(self._stop[slots] <= senders.max()) & ~self._gone[slots]]
        if len(slots):
            if self._temporary is None:
                self._temporary = tempfile.TemporaryDirectory(prefix="tags-", dir=self._folder)
            path = Path(self._temporary.name) / f"{self._files}.tags"
            self._files += 1
            self._waiting.append(Waiting(path, senders, slots, tags[:, slots - first]))

    def _prune(self) -> None:
        self._waiting = [part for part in self._waiting if part.prune(self._stop, self._gone)]


def _within(senders: Slots, first: int, tags: Words) -> Slots:
    """The pairs inside one block that agree."""
    inside = np.flatnonzero((senders >= first) & (senders < first + tags.shape[1]))
    slots = senders[inside]
    square = tags[inside[:, None], slots - first]
    one, other = np.nonzero(np.triu(same(square, square.transpose(1, 0, 2)), 1))
    return np.column_stack((slots[one], slots[other]))
