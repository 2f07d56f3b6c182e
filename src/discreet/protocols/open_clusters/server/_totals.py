"""Sums over uploads by bucket and item, in whole numbers: any order of uploads gives the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.protocols.open_clusters.messages import RATINGS, Collection, Upload

Ints = npt.NDArray[np.int64]

GRID = 4_096
"""Standardised ratings are rounded to this part of the distance between two codes."""

_BLOCK = 1 << 21
"""Ratings that are held beside the sums."""
_MANY = 1 << 16


@dataclass(eq=False, repr=False)
class Totals:
    """What uploads add up to.

    Attributes:
        collection: Their public terms.
        keys: bucket * items + item, rising, of every pair that some upload had.
        sums: The standardised ratings of each pair, in parts of a code.
        counts: How many they are.
        sizes: Uploads of each bucket, those without ratings too.
        raters: Those with ratings.
        mean_sums: The means of the uploads' ratings, summed over each bucket, in parts of a code.
        sent: Obfuscated ratings of each bucket.
        mid_sums: For each obfuscated rating the middle of the scale less its upload's mean, summed
            over each bucket: what a rating drawn evenly from the scale is expected to add.
        kinds: How many uploads were obfuscated, revealed, and without ratings.
    """

    collection: Collection
    keys: Ints
    sums: Ints
    counts: Ints
    sizes: Ints
    raters: Ints
    mean_sums: Ints
    sent: Ints
    mid_sums: Ints
    kinds: Ints

    @classmethod
    def of(cls, collection: Collection, uploads: Iterable[Upload]) -> Totals:
        """Add up uploads as they come, in blocks."""
        none = np.empty(0, np.int64)
        sizes, raters, means, sent, mids = np.zeros((5, 1 << collection.bits), np.int64)
        kinds = np.zeros(len(RATINGS), np.int64)
        totals = cls(collection, none, none, none, sizes, raters, means, sent, mids, kinds)
        for block in _blocks(uploads):
            totals.add(block)
        return totals

    def add(self, uploads: Sequence[Upload]) -> None:
        """Add one block of uploads.

        Raises:
            InputError: One of them was made for other terms.
        """
        if any(upload.collection != self.collection.digest for upload in uploads):
            raise InputError("an upload was made for other terms than this collection's")
        hashes = np.array([upload.hash for upload in uploads], np.int64)
        kinds = np.array([RATINGS.index(upload.ratings) for upload in uploads])
        lengths = np.array([len(upload.items) for upload in uploads])
        items = np.concatenate([upload.items for upload in uploads]).astype(np.int64)
        codes = np.concatenate([upload.codes for upload in uploads]).astype(np.int64)
        owner = np.repeat(np.arange(len(uploads)), lengths)
        code_sums = np.bincount(owner, codes, len(uploads)).astype(np.int64)
        rated = lengths > 0
        means = np.zeros(len(uploads), np.int64)
        means[rated] = np.rint(code_sums[rated] * GRID / lengths[rated])
        values = np.rint((lengths[owner] * codes - code_sums[owner]) * (GRID / lengths[owner]))
        self._merge(hashes[owner] * len(self.collection.catalog) + items, values.astype(np.int64))
        hidden = kinds == RATINGS.index("obfuscated")
        middle = self.collection.parts * GRID // 2
        np.add.at(self.sizes, hashes, 1)
        np.add.at(self.raters, hashes[rated], 1)
        np.add.at(self.mean_sums, hashes, means)
        np.add.at(self.sent, hashes[hidden], lengths[hidden])
        np.add.at(self.mid_sums, hashes[hidden], lengths[hidden] * (middle - means[hidden]))
        self.kinds += np.bincount(kinds, minlength=len(RATINGS))

    def _merge(self, keys: Ints, values: Ints) -> None:
        keys = np.concatenate((self.keys, keys))
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        begins = np.flatnonzero(np.diff(keys, prepend=-1))
        self.keys = keys[begins]
        if len(begins):
            sums = np.concatenate((self.sums, values))[order]
            counts = np.concatenate((self.counts, np.ones(len(values), np.int64)))[order]
            self.sums = np.add.reduceat(sums, begins)
            self.counts = np.add.reduceat(counts, begins)


def _blocks(uploads: Iterable[Upload]) -> Iterator[list[Upload]]:
    block: list[Upload] = []
    held = 0
    for upload in uploads:
        block.append(upload)
        held += len(upload.items)
        if held >= _BLOCK or len(block) >= _MANY:
            yield block
            block, held = [], 0
    if block:
        yield block
