"""Every reader, each through the battery of its kind."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.domain import Catalog, InputError
from discreet.ratings.readers import read_ratings
from discreet.ratings.readers._frames import columns_of
from ratings.readers.battery import CATALOG, DAY, ReaderBattery, Record


def date(day: int) -> str:
    return f"{datetime.fromtimestamp(day * DAY, UTC):%Y-%m-%d}"


def lines(records: list[Record], separator: str) -> str:
    rows = (
        (str(user), str(item), f"{value:g}", str(day * DAY)) for user, item, value, day in records
    )
    return "".join(separator.join(row) + "\n" for row in rows)


def columns(records: list[Record]) -> dict[str, Any]:
    """As text where a table has a name that is not a 64-bit integer."""
    users = [record.user for record in records]
    if any(not isinstance(user, int) or user >= 2**63 for user in users):
        users = [str(user) for user in users]
    return {
        "user": users,
        "item": [record.item for record in records],
        "rating": [float(record.value) for record in records],
        "time": [record.day * DAY for record in records],
    }


SCHEMA = pa.schema(
    [("user", pa.int64()), ("item", pa.int64()), ("rating", pa.float64()), ("time", pa.int64())]
)


def arrow(records: list[Record]) -> pa.Table:
    found = columns(records)
    if found["user"] and isinstance(found["user"][0], str):
        return pa.table(found)
    return pa.table(found, schema=SCHEMA)


class TestCsv(ReaderBattery):
    def write(self, folder: Path, records: list[Record]) -> Path:
        path = folder / "ratings.csv"
        path.write_text("user,item,rating,time\n" + lines(records, ","))
        return path


class TestQuotedText(ReaderBattery):
    """Tabs, quotes, dates, blanks, Windows' line breaks, a byte order mark, gzip."""

    def write(self, folder: Path, records: list[Record]) -> Path:
        path = folder / "ratings.tsv.gz"
        rows = "".join(
            f'"{user}"\t {item}\t{value:g}\t{date(day)}\r\n' for user, item, value, day in records
        )
        text = "\ufeffuser\titem\trating\tdate\r\n" + rows
        path.write_bytes(gzip.compress(text.encode(), 1))
        return path


class TestCountedColumns(ReaderBattery):
    options: ClassVar[dict[str, Any]] = ReaderBattery.options | {
        "columns": {"user": 0, "item": 1, "rating": 2, "time": 3},
        "separator": "|",
    }

    def write(self, folder: Path, records: list[Record]) -> Path:
        path = folder / "ratings.txt"
        path.write_text(lines(records, "|"))
        return path


class TestParquet(ReaderBattery):
    names_lines = False

    def write(self, folder: Path, records: list[Record]) -> Path:
        path = folder / "ratings.parquet"
        pq.write_table(arrow(records), path, row_group_size=8)
        return path


class TestArrow(ReaderBattery):
    names_lines = False

    def write(self, folder: Path, records: list[Record]) -> pa.Table:
        return arrow(records)


class TestPolars(ReaderBattery):
    names_lines = False

    def write(self, folder: Path, records: list[Record]) -> pl.DataFrame:
        return pl.DataFrame(arrow(records))


class TestLazyPolars(ReaderBattery):
    names_lines = False

    def write(self, folder: Path, records: list[Record]) -> pl.LazyFrame:
        return pl.DataFrame(arrow(records)).lazy()


class Stream:
    """Speaks Arrow's protocol and nothing else, as relations of databases do."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class TestArrowStream(ReaderBattery):
    names_lines = False

    def write(self, folder: Path, records: list[Record]) -> Stream:
        return Stream(arrow(records).append_column("more", pa.array([b"x"] * len(records))))

    def test_numbers_are_not_copied(self) -> None:
        table = arrow([Record(1, 1, 5, 3), Record(2, 1, 4, 3)])
        frame = columns_of(Stream(table), lambda names: {"rating": names.index("rating")}, "x")
        here, there = (
            column.buffers()[1].address
            for column in (table["rating"].chunk(0), frame["rating"].to_arrow())
        )
        assert here == there


class TestListOfDicts(ReaderBattery):
    names_lines = False
    options: ClassVar[dict[str, Any]] = {
        "scale": (1, 5), "catalog": CATALOG, "columns": {"user": "who", "time": "when"},
    }  # fmt: skip

    def write(self, folder: Path, records: list[Record]) -> list[dict[str, Any]]:
        return [
            {"who": user, "item": item, "rating": value, "when": day * DAY, "stars": 1}
            for user, item, value, day in records
        ]

    def test_keys_of_one_row_change_nothing_for_others(self) -> None:
        rows: list[dict[str, Any]] = [{"user": "a", "item": 1, "rating": 5, "time": 9}]
        odd = {"userid": "b", "item": 1, "score": 2}
        options: dict[str, Any] = {"scale": (1, 5), "catalog": CATALOG, "on_bad_rows": "skip"}
        for several in (rows, [odd, *rows], [*rows, odd]):
            ratings = read_ratings(several, **options)
            assert len(ratings) == 1 and ratings.times is None
        with pytest.raises(InputError, match=r"columns of a list of dicts are keys"):
            read_ratings(rows, scale=(1, 5), catalog=CATALOG, columns={"user": 0})


class TestPandas(ReaderBattery):
    names_lines = False

    def write(self, folder: Path, records: list[Record]) -> pd.DataFrame:
        return arrow(records).to_pandas()


class TestObjects(ReaderBattery):
    """A pandas column without a type, whose cells are text and numbers in turn."""

    names_lines = False

    def write(self, folder: Path, records: list[Record]) -> pd.DataFrame:
        frame = arrow(records).to_pandas()
        users = [record.user for record in records]
        frame["user"] = pd.Series(users, index=frame.index, dtype=object)
        return frame


class TestMovieLensTabs(ReaderBattery):
    options: ClassVar[dict[str, Any]] = {}

    def write(self, folder: Path, records: list[Record]) -> Path:
        titles = "".join(f"{item}|Film {item}|x\n" for item in CATALOG.ids)
        (folder / "u.item").write_text(titles)
        (folder / "u.data").write_text(lines(records, "\t"))
        return folder


class TestMovieLensColons(ReaderBattery):
    options: ClassVar[dict[str, Any]] = {"scale": (1, 5)}

    def write(self, folder: Path, records: list[Record]) -> Path:
        titles = "".join(f"{item}::Film {item}::Drama\n" for item in CATALOG.ids)
        (folder / "movies.dat").write_text(titles)
        (folder / "ratings.dat").write_text(lines(records, "::"))
        return folder


class TestMovieLensCsv(ReaderBattery):
    options: ClassVar[dict[str, Any]] = {}

    def write(self, folder: Path, records: list[Record]) -> Path:
        titles = "".join(f"{item},Film {item},Drama\n" for item in CATALOG.ids)
        (folder / "movies.csv").write_text("movieId,title,genres\n" + titles)
        rows = "userId,movieId,rating,timestamp\n" + lines(records, ",")
        (folder / "ratings.csv").write_text(rows)
        return folder


class TestNetflix(ReaderBattery):
    options: ClassVar[dict[str, Any]] = {"catalog": CATALOG}

    def write(self, folder: Path, records: list[Record]) -> Path:
        for number in CATALOG.ids:
            rows = [
                f"{user},{value:g},{date(day)}\n"
                for user, item, value, day in records
                if str(item) == number
            ]
            (folder / f"mv_{int(number):07d}.txt").write_text(f"{number}:\n" + "".join(rows))
        return folder


class TestJester(ReaderBattery):
    """A line for each person: people have no names, and a wrong line is one bad row."""

    options: ClassVar[dict[str, Any]] = {}
    has_times = has_names = False
    odd_users: ClassVar[list[Any]] = []

    def write(self, folder: Path, records: list[Record]) -> Path:
        path = folder / "jester-data-1.csv"
        jokes = Catalog([str(joke) for joke in range(1, 101)]).ids
        rows = []
        for person in sorted({record.user for record in records}):
            own = {str(r.item): r.value for r in records if r.user == person}
            rows.append(",".join([str(len(own)), *(f"{own.get(joke, 99):g}" for joke in jokes)]))
        path.write_text("".join(f"{row}\n" for row in rows))
        return path


def test_rows_of_other_times_are_left_out_before_they_are_folded(tmp_path: Path) -> None:
    """Of the rows of one user and item, one of this time counts, wherever later ones are."""
    source = tmp_path / "ratings.csv"
    source.write_text("user,item,rating,time\nann,7,1,10\nann,7,2,20\nann,7,3,30\nbob,8,4,35\n")
    films = Catalog(["7", "8"])

    def read(between: tuple[int, int] | None) -> list[tuple[float, int]]:
        found = read_ratings(source, scale=(1, 5), catalog=films, between=between)
        assert found.times is not None and found.intake.between == between
        return list(
            zip(found.scale.decode(found.codes).tolist(), found.times.tolist(), strict=True)
        )

    assert read(None) == [(3, 30), (4, 35)]
    assert read((10, 30)) == [(2, 20)]
    assert read((30, 36)) == [(3, 30), (4, 35)]
    assert read((40, 50)) == []
    for odd in ((30, 10), (10, 10), (10.5, 20.5), ("10", "20"), (10,), 10):
        with pytest.raises(InputError, match="two whole seconds since 1970"):
            read_ratings(source, scale=(1, 5), catalog=films, between=odd)  # type: ignore[arg-type]


@pytest.mark.parametrize("most_ratings", [None, 1])
def test_a_persons_rows_of_one_time_have_no_say_in_other_times(most_ratings: int | None) -> None:
    rng, films = np.random.default_rng(3), Catalog(["0", "1"])
    spans, edges = ((0, 100), (100, 200), (200, 300)), (99, 99.5, 100, 150, 199.9, 200, 200.5)

    def read(rows: list[dict[str, Any]], between: tuple[int, int]) -> set[tuple[Any, ...]]:
        found = read_ratings(
            pl.DataFrame(rows, schema={"user": int, "item": str, "rating": int, "time": float}),
            scale=(1, 5), catalog=films, between=between, most_ratings=most_ratings,
        )  # fmt: skip
        assert found.users is not None and found.times is not None
        people = np.repeat(found.users, np.diff(found.starts)).tolist()
        columns = found.items.tolist(), found.codes.tolist(), found.times.tolist()
        return set(zip(people, *columns, strict=True))

    for _ in range(40):
        drawn = zip(*rng.integers((0, 0, 1, 0), (2, 2, 6, len(edges)), (7, 4)).T, strict=True)
        rows: list[dict[str, Any]] = [
            {"user": int(u), "item": str(i), "rating": int(r), "time": float(edges[t])}
            for u, i, r, t in drawn
        ]
        gone = [row for row in rows if row["user"] or not 100 <= row["time"] < 200]
        for span in spans:
            before = read(rows, span)
            assert all(span[0] <= time < span[1] for *_, time in before)
            assert read(gone, span) == {
                record for record in before if record[0] or not 100 <= record[3] < 200
            }
