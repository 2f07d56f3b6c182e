"""Ratings in blocks on disk: the records, the integers and the releases of ratings in memory."""

from __future__ import annotations

import errno
import gc
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet
from discreet.domain import Catalog, InputError
from discreet.measure.engines.disk import DiskRatings, read_on_disk
from discreet.ratings import Ratings, make_ratings, read_ratings, write_catalog, write_ratings
from discreet.ratings.readers import _blocks

# Rows of a block: tiny, so that everybody's rows pass through several files.
TINY = 40


def open_files() -> int:
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


def records(ratings: Ratings | DiskRatings) -> list[tuple[Any, ...]]:
    """Everybody's records, in an order that does not depend on the blocks."""
    blocks = [ratings] if isinstance(ratings, Ratings) else ratings._blocks
    return sorted(
        tuple(
            (int(item), float(code), int(time))
            for item, code, time in zip(
                block.items[begin:end],
                block.codes[begin:end],
                np.zeros(end - begin) if block.times is None else block.times[begin:end],
                strict=True,
            )
        )
        for block in blocks
        for begin, end in zip(block.starts[:-1], block.starts[1:], strict=True)
    )


def same(table: Any, **options: Any) -> Ratings:
    """What both ways read, compared."""
    whole = read_ratings(table, **options)
    with read_on_disk(table, block=TINY, **options) as ratings:
        assert records(ratings) == records(whole)
        assert (len(ratings), ratings.user_count) == (len(whole), whole.user_count)
        assert (ratings.duplicates, ratings.skipped) == (whole.duplicates, whole.skipped)
        assert ratings.intake == whole.intake
        assert ratings.has_times == whole.has_times
        assert ratings.catalog.digest() == whole.catalog.digest()
    return whole


FILMS = Catalog([str(n) for n in range(1, 9)])


def rows(seed: int, names: list[Any], count: int = 400) -> dict[str, list[Any]]:
    """Rows in any order, most of which have another of the same user and item."""
    rng = np.random.default_rng(seed)
    return {
        "user": [names[n] for n in rng.integers(0, len(names), count)],
        "item": [str(n) for n in rng.integers(1, 9, count)],
        "rating": rng.integers(1, 6, count).tolist(),
        "time": rng.integers(0, 2**32, count).tolist(),
    }


@pytest.mark.parametrize("most", [None, 3])
@pytest.mark.parametrize("names", [list(range(-5, 60)), [f"u{n}" for n in range(60)]])
def test_duplicates_bounds_and_presence_are_as_in_memory(
    names: list[Any], most: int | None
) -> None:
    table = pl.DataFrame(rows(1, names))
    options = {"catalog": FILMS, "most_ratings": most}
    assert same(table, scale=(1, 5), **options).duplicates > 50
    same(table, implicit=True, **options)
    same(table.drop("time"), scale=(1, 5), **options)
    same(table.with_columns(rating=pl.col("rating") / 7), scale=(0, 1, None), **options)
    same(table.clear(), scale=(1, 5), **options)


def test_names_that_are_text_in_some_batches_and_integers_in_others(tmp_path: Path) -> None:
    """7 and "7" are one person wherever they stand, 007 is another, and the last row wins."""
    file = tmp_path / "ratings.csv"
    first = rows(2, [str(n) for n in range(30)], 7000)
    second = rows(3, [*(str(n) for n in range(30)), "007", "ann", "2.0", "9" * 30], 7000)
    table = pl.concat([pl.DataFrame(first), pl.DataFrame(second), pl.DataFrame(first)])
    # A wide column, so that few rows are more than one piece.
    table.with_columns(note=pl.lit("x" * 220)).write_csv(file)
    assert file.stat().st_size > 2 * 2**21, "several pieces are read"
    same(file, scale=(1, 5), catalog=FILMS, most_ratings=5)


def test_bad_rows_and_items_from_the_data(tmp_path: Path) -> None:
    table = rows(4, list(range(50)))
    table["rating"][3::7] = [9] * len(table["rating"][3::7])
    frame = pl.DataFrame(table)
    assert same(frame, scale=(1, 5), catalog=FILMS, on_bad_rows="skip").skipped > 50
    same(frame, scale=(1, 5), catalog="from-data", on_bad_rows="skip")
    same(frame.with_columns(item=pl.col("item").cast(pl.Int64)), implicit=True, catalog="from-data")
    few = Catalog(["1", "2"])
    for options in (
        {"scale": (1, 5), "catalog": FILMS},
        {"implicit": True, "catalog": few},
        {"scale": (1, 5), "catalog": "from-data"},
        {"scale": (1, 5), "catalog": "from-data", "most_ratings": 0},
    ):
        with pytest.raises(InputError) as memory:
            read_ratings(frame, **options)
        with pytest.raises(InputError) as disk, read_on_disk(frame, block=TINY, **options):
            pass
        assert str(disk.value) == str(memory.value)


@pytest.fixture(scope="module")
def shuffled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made-up ratings in several Parquet files, in any order."""
    folder = tmp_path_factory.mktemp("disk")
    ratings = make_ratings("ml-100k", ratings=6000, seed=3)
    write_ratings(ratings, folder / "all.parquet")
    write_catalog(ratings.catalog, folder / "items.csv")
    frame = pl.read_parquet(folder / "all.parquet").sample(fraction=1.0, shuffle=True, seed=1)
    parts = folder / "parts"
    parts.mkdir()
    for number in range(3):
        frame[number::3].write_parquet(parts / f"{number}.parquet")
    return parts


@pytest.mark.parametrize("protect", ["rating", "user"])
@pytest.mark.parametrize("method", ["refined", "lists", "covariance"])
def test_the_release_is_the_same_to_the_last_bit(shuffled: Path, method: str, protect: str) -> None:
    options: dict[str, Any] = {"method": method, "protect": protect, "epsilon": 8.0}
    reading: dict[str, Any] = {"scale": (1, 5), "catalog": shuffled.parent / "items.csv"}
    whole = read_ratings(shuffled, most_ratings=80, **reading)
    right = discreet.fit(whole, randomness=discreet.SeededRandomness(5), **options)
    heard: list[tuple[str, int, int]] = []
    with read_on_disk(
        shuffled, block=TINY * 10, most_ratings=80,
        progress=lambda *each: heard.append(each), **reading,
    ) as ratings:  # fmt: skip
        release = discreet.fit(ratings, randomness=discreet.SeededRandomness(5), **options)
    assert release.digest() == right.digest()
    assert {stage: done == total for stage, done, total in heard} == dict.fromkeys(
        (stage for stage, _, _ in heard), True
    )
    assert next(stage for stage, _, _ in heard) == "reading"


def test_one_person_more_changes_nobody_else(shuffled: Path) -> None:
    """Who shares a block with whom depends on names, and nobody's records on their neighbours."""
    reading: dict[str, Any] = {"scale": (1, 5), "catalog": shuffled.parent / "items.csv"}
    frame = pl.read_parquet(shuffled / "*.parquet")
    stranger = frame[:50].with_columns(user=pl.lit(10**15, pl.Int64))
    with read_on_disk(frame, block=TINY, **reading) as before:
        old = records(before)
    with read_on_disk(pl.concat([stranger, frame]), block=TINY, **reading) as after:
        new = records(after)
    for one in old:
        new.remove(one)
    assert len(new) == 1


def test_nothing_is_left_on_disk_or_open(tmp_path: Path, shuffled: Path) -> None:
    reading: dict[str, Any] = {"scale": (1, 5), "catalog": shuffled.parent / "items.csv"}
    reading |= {"scratch": tmp_path, "block": TINY}
    before = open_files()
    with read_on_disk(shuffled, **reading) as ratings:
        assert "private" in repr(ratings) and "private" in repr(ratings._blocks)
        assert list(tmp_path.iterdir()) == [], "files have no names"
        assert open_files() > before

    for wanted in ("reading", "sorting"):

        def stop(stage: str, done: int, total: int, wanted: str = wanted) -> None:
            if stage == wanted:
                raise KeyboardInterrupt

        with (
            pytest.raises(KeyboardInterrupt),
            read_on_disk(shuffled, progress=stop, **reading),
        ):
            pass
        assert list(tmp_path.iterdir()) == []
    assert open_files() <= before


def full_disk(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Writing fails as on a full disk, after some times."""
    write, count = _blocks._write, iter(range(10**9))

    def fails(*args: Any) -> None:
        if next(count) >= after:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(*args)

    monkeypatch.setattr(_blocks, "_write", fails)


@pytest.mark.parametrize("after", [0, 5, 500])
def test_a_full_disk_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shuffled: Path, after: int
) -> None:
    full_disk(monkeypatch, after)
    reading: dict[str, Any] = {"scale": (1, 5), "catalog": shuffled.parent / "items.csv"}
    before = open_files()
    with (
        pytest.raises(InputError, match="the disk is full") as caught,
        read_on_disk(shuffled, scratch=tmp_path, block=TINY, **reading),
    ):
        pass
    assert "\n" not in str(caught.value) and str(tmp_path) in str(caught.value)
    assert open_files() <= before


def test_too_little_room_is_refused_before_rows_are_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shuffled: Path
) -> None:
    reading: dict[str, Any] = {"scale": (1, 5), "catalog": shuffled.parent / "items.csv"}
    usage = type("Usage", (), {"free": 9})()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with (
        pytest.raises(InputError, match=r"0\.0 GB free, and these ratings need"),
        read_on_disk(shuffled, scratch=tmp_path, **reading),
    ):
        pass


def test_a_folder_that_is_none(tmp_path: Path, shuffled: Path) -> None:
    reading: dict[str, Any] = {"scale": (1, 5), "catalog": shuffled.parent / "items.csv"}
    with (
        pytest.raises(InputError, match="cannot be used"),
        read_on_disk(shuffled, scratch=tmp_path / "none", **reading),
    ):
        pass
