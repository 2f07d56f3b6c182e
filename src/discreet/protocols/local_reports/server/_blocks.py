"""Reports by the block, kept in a temporary file between passes so that memory stays bounded."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from types import TracebackType

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.protocols.local_reports.messages import Collection, Report

_CELLS = 1 << 22
"""Answers, given or not, that are worked on at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class Block:
    """Several people's answers.

    Attributes:
        shown: A row a person, a column an item: whether there is an answer.
        values: The centred grid values of all answers, row after row.
    """

    shown: npt.NDArray[np.bool_]
    values: npt.NDArray[np.int32]

    def table(self) -> npt.NDArray[np.int32]:
        """A row a person, a column an item: the answer, or 0."""
        whole = np.zeros(self.shown.shape, np.int32)
        whole[self.shown] = self.values
        return whole


@dataclass(frozen=True, eq=False, repr=False)
class Totals:
    """What all reports add up to, item by item, in integers.

    Attributes:
        reports: How many there are.
        shown: How many have an answer for the item.
        sums: Of the answers.
    """

    reports: int
    shown: npt.NDArray[np.int64]
    sums: npt.NDArray[np.int64]


class Spool:
    """All reports on a collection, in a file without a name that ends with this object."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._size = len(collection.catalog)
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the spool)
        self._blocks = 0

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def fill(self, uploads: Iterable[Report]) -> Totals:
        """Take all reports in and add them up."""
        reports, shown = 0, np.zeros(self._size, np.int64)
        sums = np.zeros(self._size, np.int64)
        coming = iter(uploads)
        rows = max(1, _CELLS // self._size)
        while batch := list(islice(coming, rows)):
            block = self._unpack(*self._store(batch))
            places = np.flatnonzero(block.shown) % self._size
            reports += len(batch)
            shown += np.bincount(places, minlength=self._size)
            sums += np.bincount(places, block.values, self._size).astype(np.int64)
        return Totals(reports, shown, sums)

    def blocks(self) -> Iterator[Block]:
        """All of them again."""
        self._file.seek(0)
        for _ in range(self._blocks):
            bits, values = (np.load(self._file, allow_pickle=False) for _ in range(2))
            yield self._unpack(bits, values)

    def _store(self, batch: list[Report]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.integer]]:
        told = (self._collection.digest, self._collection.epoch)
        if any((report.collection, report.epoch) != told for report in batch):
            raise InputError("a report answers another collection or epoch than this one")
        joined = b"".join(report.reported for report in batch)
        bits = np.frombuffer(joined, np.uint8).reshape(len(batch), -1)
        values = np.concatenate([report.values for report in batch])
        np.save(self._file, bits, allow_pickle=False)
        np.save(self._file, values, allow_pickle=False)
        self._blocks += 1
        return bits, values

    def _unpack(self, bits: npt.NDArray[np.uint8], values: npt.NDArray[np.integer]) -> Block:
        marks = np.unpackbits(bits, axis=1, count=self._size, bitorder="little")
        return Block(marks.view(np.bool_), self._collection.centred(values))
