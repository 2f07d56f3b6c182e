"""Sums over uploads by bucket and item, in whole numbers: any order of uploads gives the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.protocols.obfuscation.messages import RATINGS, Obfuscation, SentRatings

Ints = npt.NDArray[np.int64]

GRID = 4_096
"""Standardised ratings are rounded to this part of the distance between two codes."""

_BLOCK = 1 << 21
"""Ratings that are held beside the sums."""
_MANY = 1 << 16


class Placed(NamedTuple):
    """What one person sent, and the bucket they are in."""

    bucket: int
    sent: SentRatings


@dataclass(eq=False, repr=False)
class Totals:
    """What uploads add up to.

    Attributes:
        terms: Their public terms.
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

    terms: Obfuscation
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
    def of(cls, terms: Obfuscation, buckets: int, people: Iterable[Placed]) -> Totals:
        """Add up what people sent as it comes, in blocks."""
        none = np.empty(0, np.int64)
        sizes, raters, means, sent, mids = np.zeros((5, buckets), np.int64)
        kinds = np.zeros(len(RATINGS), np.int64)
        totals = cls(terms, none, none, none, sizes, raters, means, sent, mids, kinds)
        for block in _blocks(people):
            totals.add(block)
        return totals

    def add(self, people: Sequence[Placed]) -> None:
        """Add one block."""
        hashes = np.array([person.bucket for person in people], np.int64)
        kinds = np.array([RATINGS.index(person.sent.kind) for person in people])
        lengths = np.array([len(person.sent.items) for person in people])
        items = np.concatenate([person.sent.items for person in people]).astype(np.int64)
        codes = np.concatenate([person.sent.codes for person in people]).astype(np.int64)
        owner = np.repeat(np.arange(len(people)), lengths)
        code_sums = np.bincount(owner, codes, len(people)).astype(np.int64)
        rated = lengths > 0
        means = np.zeros(len(people), np.int64)
        means[rated] = np.rint(code_sums[rated] * GRID / lengths[rated])
        values = np.rint((lengths[owner] * codes - code_sums[owner]) * (GRID / lengths[owner]))
        self._merge(hashes[owner] * len(self.terms.catalog) + items, values.astype(np.int64))
        hidden = kinds == RATINGS.index("obfuscated")
        middle = self.terms.parts * GRID // 2
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


def _blocks(people: Iterable[Placed]) -> Iterator[list[Placed]]:
    block: list[Placed] = []
    held = 0
    for person in people:
        block.append(person)
        held += len(person.sent.items)
        if held >= _BLOCK or len(block) >= _MANY:
            yield block
            block, held = [], 0
    if block:
        yield block
