"""One person's lines change nobody else's on Spark either: its tasks, searched without a cluster.

`tests/spark` shows that a real cluster runs these tasks and gives what one machine gives.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from discreet.audit.stability._readers import CATALOG, SCALE, TextReader, records_of
from discreet.audit.stability._search import BadRows, Reading, search
from discreet.domain import InputError, Scale
from discreet.measure.engines.spark._lines import LookThrough, ReadLines
from discreet.ratings.readers.text import Dialect
from measure.engines._dealing import read_rows

_ROLES = ["user", "item", "rating", "time"]
_PARTITIONS = 3
_AT_ONCE = 40
"""Lines in a batch, so that batches end anywhere among people."""


class Tasks(TextReader):
    """Lines through the tasks of the Spark engine: looked through, read, dealt out by user."""

    def read(self, source: bytes, on_bad_rows: BadRows) -> Reading:
        dialect = Dialect(self.separator, len(_ROLES) + self.more, self.quoting)
        found = list(LookThrough(dialect, self.header)(self._batches(source)))
        if any(batch["wrong"][0].as_py() for batch in found):
            raise InputError("a quote is not closed on its line, or stands inside a field")
        parts = list(ReadLines(dialect, self.header)(self._batches(source)))
        table = pa.Table.from_batches(parts).select(range(len(_ROLES))).rename_columns(_ROLES)
        records: dict[Any, Any] = {}
        skipped = 0
        for partition in read_rows(table, Scale(*SCALE), CATALOG, on_bad_rows, _PARTITIONS):
            read = records_of(partition)
            assert not records.keys() & read.records.keys()
            records |= read.records
            skipped += read.skipped
        return Reading(records, skipped)

    def _batches(self, source: bytes) -> Iterator[pa.RecordBatch]:
        lines = source.removesuffix(b"\n").split(b"\n")
        for begin in range(0, len(lines), _AT_ONCE):
            some = pa.array(lines[begin : begin + _AT_ONCE], pa.binary())
            columns = [some, pa.array(["f"] * len(some)), pa.array([0] * len(some))]
            yield pa.RecordBatch.from_arrays(columns, ["line", "file", "start"])


@pytest.mark.parametrize(
    "tasks",
    [
        Tasks("r.csv"),
        Tasks("r.csv", header=False, more=1),
        Tasks("r.tsv", "\t", newline="\r\n", bom=True),
        Tasks("r.dat", "::", "none", header=False),
    ],
    ids=["CSV", "CSV without a header", "tabs, Windows lines", "two colons, no quotes"],
)
def test_tasks_are_stable(tasks: Tasks) -> None:
    finding = search(tasks.file, tasks, files=24, seed=3)
    assert finding.violations == 0, finding.examples
    assert finding.pairs > 2000


def test_tasks_that_read_a_line_by_another_are_found() -> None:
    class Sloppy(Tasks):
        def read(self, source: bytes, on_bad_rows: BadRows) -> Reading:
            # One text that is not digits makes blanks count: what a column's type once decided.
            plain = source.replace(b"\t", b"") if b"x" not in source.partition(b"\n")[2] else source
            return super().read(plain, on_bad_rows)

    assert search("sloppy", Sloppy("r.csv"), files=60, seed=3).violations
