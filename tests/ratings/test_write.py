"""Ratings written to files: what is in them, and that reading gives the same ratings back."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from discreet.domain import Catalog, InputError, Scale
from discreet.ratings import Ratings, _write
from discreet.ratings._write import write_catalog, write_ratings
from discreet.ratings.readers import read_ratings
from discreet.ratings.synthetic import SHAPES, make_ratings

TITLES = ["Alien", 'He said "Heat"', "Ran, again", "Zoë\tand\nI"]


def build(
    scale: Scale | None = None,
    users: list[str] | list[int] | None = None,
    times: bool = True,
    ids: tuple[str, ...] = ("a", "b", "c", "d"),
) -> Ratings:
    """Three users: items 0 and 3, none, items 1, 2 and 3."""
    scale = scale or Scale(1, 5)
    values = np.array([scale.lo, scale.hi, scale.hi, scale.lo, scale.lo])
    return Ratings(
        scale=scale,
        catalog=Catalog(ids, TITLES),
        starts=np.array([0, 2, 2, 5]),
        items=np.array([0, 3, 1, 2, 3], dtype=np.int32),
        codes=scale.encode(values),
        times=np.array([9, 8, 7, 6, 2**32 - 1], dtype=np.uint32) if times else None,
        users=None if users is None else np.array(users),
    )


def check_same(one: Ratings, other: Ratings) -> None:
    """The same ratings, but for users without any."""
    assert one.scale == other.scale and one.catalog.ids == other.catalog.ids
    assert np.array_equal(np.unique(one.starts), np.unique(other.starts))
    for name in ("items", "codes", "times"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


def rows_of(path: Path) -> list[list[str]]:
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.reader(file))
    table = pq.read_table(path).to_pydict()
    return [
        list(table),
        *([str(cell) for cell in row] for row in zip(*table.values(), strict=True)),
    ]


both = pytest.mark.parametrize("suffix", [".csv", ".parquet", ".CSV"])


@both
def test_the_file_holds_what_the_columns_say(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"r{suffix}"
    write_ratings(build(users=["ann", 'bo"b', "c,d"], ids=("a", "b,c", "c", "d")), path)
    assert rows_of(path.rename(path.with_suffix(suffix.lower()))) == [
        ["user", "item", "rating", "time"],
        ["ann", "a", "1", "9"],
        ["ann", "d", "5", "8"],
        ["c,d", "b,c", "5", "7"],
        ["c,d", "c", "1", "6"],
        ["c,d", "d", "1", "4294967295"],
    ]


@both
def test_users_without_names_go_by_number(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"r{suffix.lower()}"
    write_ratings(build(times=False), path)
    assert [row[:2] for row in rows_of(path)] == [
        ["user", "item"],
        ["0", "a"],
        ["0", "d"],
        ["2", "b"],
        ["2", "c"],
        ["2", "d"],
    ]
    assert len(rows_of(path)[0]) == 3


def test_numbers_do_not_restart_with_each_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_write, "_BLOCK", 2)
    told: list[tuple[int, int]] = []
    path = tmp_path / "r.csv"
    write_ratings(build(), path, progress=lambda done, total: told.append((done, total)))
    assert [row[0] for row in rows_of(path)[1:]] == ["0", "0", "2", "2", "2"]
    assert told[-1] == (5, 5) and len(told) > 1


@pytest.mark.parametrize(
    ("scale", "lo", "hi"),
    [
        (Scale(0.5, 5, 0.5), "0.5", "5.0"),
        (Scale(0, 0.7, 0.1), "0.0", "0.7"),
        (Scale(-1, 1, None), "-1.0", "1.0"),
        (Scale(0, 100, 25), "0", "100"),
    ],
)
def test_ratings_look_tidy(tmp_path: Path, scale: Scale, lo: str, hi: str) -> None:
    write_ratings(build(scale), tmp_path / "r.csv")
    assert {row[2] for row in rows_of(tmp_path / "r.csv")[1:]} == {lo, hi}


SCALES = [Scale(1, 5), Scale(0.5, 5, 0.5), Scale(0, 1, 0.1), Scale(-10, 10, None)]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("users", [["x", "y", "z"], [3, 5, 7], None])
def test_reading_gives_the_ratings_back(
    tmp_path: Path, suffix: str, scale: Scale, users: list[str] | list[int] | None
) -> None:
    ratings = build(scale, users)
    write_ratings(ratings, tmp_path / f"r{suffix}")
    write_catalog(ratings.catalog, tmp_path / "items.csv")
    back = read_ratings(tmp_path / f"r{suffix}", scale=scale, catalog=tmp_path / "items.csv")
    check_same(back, ratings)
    assert back.catalog.titles == ratings.catalog.titles
    assert back.users is not None
    assert back.users.tolist() == [(users or [0, 1, 2])[0], (users or [0, 1, 2])[2]]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("shape", ["ml-100k", "ml-latest-small", "jester"])
def test_made_up_ratings_survive_a_file(
    tmp_path: Path, suffix: str, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_write, "_BLOCK", 5000)
    ratings = make_ratings(SHAPES[shape].scaled(ratings=20_000))
    write_ratings(ratings, tmp_path / f"r{suffix}")
    write_catalog(ratings.catalog, tmp_path / "items.csv")
    back = read_ratings(
        tmp_path / f"r{suffix}", scale=ratings.scale, catalog=tmp_path / "items.csv"
    )
    check_same(back, ratings)


@pytest.mark.parametrize("name", ["r.xlsx", "r", "r.parquet.gz"])
def test_other_endings_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"as \.parquet or \.csv"):
        write_ratings(build(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_said_plainly(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone/r\.csv: cannot be written: its folder"):
        write_ratings(build(), tmp_path / "gone" / "r.csv")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_failure_leaves_the_old_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"r{suffix}"
    path.write_text("old")

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_ratings(build(), path, progress=stop)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "old"


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_nobody_is_a_file_with_no_rows(tmp_path: Path, suffix: str) -> None:
    write_ratings(build().select_users(0, 0), tmp_path / f"r{suffix}")
    assert rows_of(tmp_path / f"r{suffix}") == [["user", "item", "rating", "time"]]
