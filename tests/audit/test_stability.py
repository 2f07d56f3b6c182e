"""The search finds planted reader bugs, and nothing in the real readers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cli._calling import call
from discreet.audit.stability import PLANTED_READERS, READERS, Reading, search
from discreet.audit.stability._planted import PlantedReader, by_commas, stripped
from discreet.audit.stability._readers import CATALOG, TextReader, records_of
from discreet.audit.stability._search import POPULATIONS, BadRows, identifier, victims
from discreet.domain import Scale
from discreet.domain.files import Piece
from discreet.ratings.readers import Quoting
from discreet.ratings.readers._batch import Lines, batch_of_cells
from discreet.ratings.readers._collect import Collector
from discreet.ratings.readers.text import Dialect, cells_of


@pytest.mark.parametrize("name", READERS)
def test_no_row_changes_how_others_are_read(name: str) -> None:
    assert READERS[name].about
    reader = READERS[name].make()
    found = search(name, reader, files=24, seed=1)
    assert not found.is_violated, found.examples
    assert found.files == 24 and found.pairs > 2000


@pytest.mark.parametrize("name", PLANTED_READERS)
def test_planted_bugs_are_found(name: str) -> None:
    assert PLANTED_READERS[name].about
    reader = PLANTED_READERS[name].make()
    found = search(name, reader, files=200, seed=1)
    assert found.is_violated and found.examples


@pytest.mark.parametrize("header", [True, False])
def test_without_the_bug_nothing_is_found(header: bool) -> None:
    right = PlantedReader(by_commas, stripped, header=header)
    found = search("right", right, files=200, seed=1)
    assert not found.is_violated, found.examples


def test_a_search_is_repeatable() -> None:
    name, entry = next(iter(PLANTED_READERS.items()))
    one, again, other = (search(name, entry.make(), files=30, seed=seed) for seed in (1, 1, 2))
    assert one == again != other


@pytest.mark.parametrize("name", ["reader/csv", "reader/movielens/dat", "reader/pandas/object"])
def test_victims_are_all_read(name: str) -> None:
    """Otherwise a reader that reads nothing would be stable."""
    reader = READERS[name].make()
    rows = victims(POPULATIONS["a space behind"], random.Random(1))
    read = reader.read(reader.source(rows), "refuse")
    assert read.records.keys() == {(identifier(row[0]), row[1]) for row in rows}
    assert len({user for user, _ in read.records}) > 100


@dataclass(frozen=True)
class InPieces(TextReader):
    """The same bytes to the same kernels, a few at a time, so that rows fall into many batches."""

    size: int = 64

    def read(self, source: Any, on_bad_rows: BadRows) -> Reading:
        dialect = Dialect(self.separator, 4, self.quoting)
        collector = Collector(Scale(1, 5), CATALOG, on_bad_rows, keep_user_ids=True)
        slots = {"user": 0, "item": 1, "rating": 2, "time": 3}
        for cells in cells_of(self._pieces(source), dialect, range(4), Path("r.csv")):
            collector.add(batch_of_cells(cells, slots, Lines(Path("r.csv"))))
        return records_of(collector.finish())

    def _pieces(self, source: bytes) -> Iterator[Piece]:
        for begin in range(0, max(1, len(source)), self.size):
            yield Piece(source[begin : begin + self.size], begin + self.size >= len(source), begin)


@pytest.mark.parametrize(("size", "quoting"), [(100, "lines"), (1000, "lines"), (500, "multiline")])
def test_where_a_batch_ends_changes_nothing(size: int, quoting: Quoting) -> None:
    make = partial(InPieces, "r.csv", header=False, quoting=quoting, size=size)
    found = search("pieces", make(), files=6 if size < 500 else 20, seed=1)
    assert not found.is_violated, found.examples


def test_a_crash_is_a_violation() -> None:
    class Crashing(PlantedReader):
        def read(self, source: bytes, on_bad_rows: BadRows) -> Reading:
            if b"abc" in source:
                raise ZeroDivisionError
            return super().read(source, on_bad_rows)

    found = search("crash", Crashing(by_commas, stripped), files=200, seed=1)
    assert found.is_violated and "ZeroDivisionError" in found.examples[0]


def test_the_command_shows_readers_in_a_table_of_their_own() -> None:
    said = call("audit", "reader/polars/int64", "--seed", 1)
    assert said.code == 0, said.err
    lines = [line.split() for line in said.out.splitlines() if line]
    assert lines[0] == ["reader", "files", "pairs", "violations", "verdict"]
    assert lines[1][0] == "reader/polars/int64" and lines[1][-3:] == ["0", "none", "found"]
    assert "ratings/PROOF.md" in said.out and "claimed" not in said.out
    found = call("audit", "reader/polars/int64", "--runs", 3, "--seed", 1, "--json").json()
    assert found["findings"] == [] and found["violated"] == 0
    assert found["readers"][0]["files"] == 3 and found["readers"][0]["violations"] == 0


def test_planted_readers_are_caught_on_the_command_line() -> None:
    said = call("audit", "--planted", "reader-bug/split-in-order", "--runs", 20, "--seed", 1)
    assert said.code == 0 and "caught" in said.out
    missed = call("audit", "--planted", "reader-bug/quotes", "--runs", 1, "--seed", 1)
    assert missed.code == 1 and "MISSED" in missed.out
    assert "leave --planted out" in call("audit", "--planted", "reader/csv").complaint()
    assert "add --planted" in call("audit", "reader-bug").complaint()
    assert "1 pair of files or more" in call("audit", "reader/csv", "--runs", 0).complaint()
    assert "none of these subjects is one" in call("audit", "reader", "--search", 5).complaint()


def test_a_reader_that_is_violated_is_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {"reader/mine": PLANTED_READERS["reader-bug/split-in-order"]}
    monkeypatch.setattr("discreet.audit._auditing.READERS", broken)
    said = call("audit", "reader", "--seed", 1)
    assert said.code == 1
    assert "VIOLATED" in said.out and "records that are not the attacker's changed" in said.out
