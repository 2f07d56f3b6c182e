"""Tags whose counterpart has not come yet, in one file for each block of uploads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

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
        rows = np.searchsorted(self.recipients, slots)
        rows[rows == len(self.recipients)] = 0
        here = np.flatnonzero(self.recipients[rows] == slots) if len(self.recipients) else rows[:0]
        if not len(columns) or not len(here):
            return np.empty((0, 2), np.int64)
        theirs = self._read()[rows[here]]
        senders = self.senders[columns]
        ours = tags[here[:, None], senders - first]
        if len(columns) < len(self.senders):
            theirs = theirs[:, columns]
        who, whom = np.nonzero(same(theirs, ours))
        return np.column_stack((slots[here[who]], senders[whom]))

    def prune(self, stop: Slots, gone: npt.NDArray[np.bool_]) -> bool:
        """Forget what nobody will ask for; False if that is everything, and the file is gone.

        Args:
            stop: For each slot, the first one that its owner has sent no tag for.
            gone: For each slot, whether its owner left.
        """
        last = self.senders.max(initial=-1)
        rows = (stop[self.recipients] <= last) & ~gone[self.recipients]
        columns = ~gone[self.senders]
        if not rows.any() or not columns.any():
            self.path.unlink()
            return False
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
        tags.tofile(self.path)


def same(one: Words, other: Words) -> npt.NDArray[np.bool_]:
    """Where two arrays of tags are equal and there is a tag."""
    low, high = one[..., 0], one[..., 1]
    equal: npt.NDArray[np.bool_] = (low == other[..., 0]) & (high == other[..., 1])
    equal &= (low | high) != 0
    return equal
