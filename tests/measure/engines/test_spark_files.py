"""Which Parquet files tasks read themselves, without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.domain import Catalog, Scale
from discreet.measure.engines.spark import _files
from discreet.measure.engines.spark._errors import CHANGED
from discreet.measure.engines.spark._parts import Dealt, Maker, Shape
from discreet.ratings import read_ratings
from discreet.ratings.readers.text import TableDescription
from measure.engines._dealing import Sent

WANTED = {"user": pa.int64(), "item": pa.string(), "rating": pa.int64()}


def written(path: Path, **more: Any) -> Path:
    rng = np.random.default_rng(2)
    columns = {"user": rng.integers(0, 50, 900), "item": rng.integers(0, 9, 900).astype(str)}
    table = pa.table(columns | {"rating": rng.integers(1, 6, 900)} | more)
    pq.write_table(table, path, row_group_size=100)
    return path


def test_every_row_group_is_in_one_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(written(tmp_path / "r.parquet"))
    assert _files._groups(path, WANTED) == [tuple(range(9))]
    monkeypatch.setattr(_files, "_PIECE", 2000)
    pieces = _files._groups(path, WANTED)
    assert pieces is not None and len(pieces) > 2
    assert [group for piece in pieces for group in piece] == list(range(9))


def test_pieces_hold_what_the_file_holds(tmp_path: Path) -> None:
    path, catalog = written(tmp_path / "r.parquet"), Catalog([str(item) for item in range(9)])
    maker = Maker(Shape(Scale(1, 5), Sent(catalog)), "refuse", 3)
    described = TableDescription({"time": None} | {name: name for name in WANTED})
    hands: list[list[Any]] = [[], [], []]
    for groups in ((0, 1, 2, 3), (4,), (5, 6, 7, 8)):
        for number, dealt in _files.deal_pieces(maker, described, iter([(str(path), groups)])):
            hands[number].append(dealt)
    found = [maker.records(iter(hand)) for hand in hands]
    whole = read_ratings(path, scale=(1, 5), catalog=catalog)
    assert sum(each.user_count for each in found) == whole.user_count
    assert sum(len(each) for each in found) == len(whole)
    assert sum(each.duplicates for each in found) == whole.duplicates > 0
    counts = sum(np.bincount(each.items, minlength=9) for each in found)
    np.testing.assert_array_equal(counts, np.bincount(whole.items, minlength=9))


def test_a_file_that_is_not_what_it_was_is_refused(tmp_path: Path) -> None:
    path, catalog = written(tmp_path / "r.parquet"), Catalog([str(item) for item in range(9)])
    maker = Maker(Shape(Scale(1, 5), Sent(catalog)), "refuse", 3)
    described = TableDescription({"time": None} | {name: name for name in WANTED})

    def last(*groups: int) -> Dealt:
        return list(_files.deal_pieces(maker, described, iter([(str(path), groups)])))[-1][1]

    assert last(8).error is None
    assert last(8, 9).error == CHANGED
    path.write_bytes(path.read_bytes()[:500])
    assert last(8).error == CHANGED
    path.unlink()
    assert last(8).error == CHANGED


def test_spark_reads_whatever_is_not_plain(tmp_path: Path) -> None:
    plain = written(tmp_path / "r.parquet")
    assert _files.plain_schema(str(plain)) == "`user` bigint, `item` string, `rating` bigint"
    assert _files.plain_schema(str(tmp_path)) is None
    odd = written(tmp_path / "odd.parquet", time=pa.array([None] * 900, pa.timestamp("us")))
    assert _files.plain_schema(str(odd)) is None
    assert _files._groups(str(plain), WANTED | {"rating": pa.float64()}) is None
    assert _files._groups(str(plain), WANTED | {"time": pa.int64()}) is None
    (tmp_path / "cut.parquet").write_bytes(plain.read_bytes()[:500])
    assert _files._groups(str(tmp_path / "cut.parquet"), WANTED) is None
    assert _files.plain_schema(str(tmp_path / "cut.parquet")) is None
