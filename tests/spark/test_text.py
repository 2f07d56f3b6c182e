"""Text on a cluster is what it is on one machine, cell by cell, or it is refused."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import spark as cluster
from discreet.domain import InputError
from discreet.measure._source import total, totals
from discreet.measure.engines.spark._table import chosen_columns
from discreet.ratings import Ratings, read_ratings
from spark._cluster import COUNTS, FILMS, SOCKETS, people, refused, sum_of_ratings

pytestmark = SOCKETS

NAMES = b"user,item,rating\n"
CROWD = b"".join(b"%d,%d,%d\n" % (user, 7 + user % 3, 1 + user % 5) for user in range(900, 1200))


@contextmanager
def small_blocks(session: Any, size: int) -> Iterator[None]:
    """Spark cuts files into blocks of so many bytes, wherever that is in a line."""
    name = "spark.sql.files.maxPartitionBytes"
    before = session.conf.get(name)
    session.conf.set(name, str(size))
    try:
        yield
    finally:
        session.conf.set(name, before)


def facts(ratings: Ratings) -> tuple[int, ...]:
    """What a survey says of ratings on one machine."""
    return ratings.user_count, len(ratings), ratings.duplicates, ratings.skipped


def assert_same(session: Any, path: Path, partitions: int = 3, **told: Any) -> Ratings:
    """Both engines find the same people, the same duplicates and bad rows, and the same ratings."""
    told = FILMS | {"on_bad_rows": "skip"} | told
    right = read_ratings(path, **told)
    described = {name: told.pop(name, None) for name in ("separator", "quoting")}
    table = cluster.open_table(session, path, columns=told.get("columns"), **described)
    with cluster.read(table, partitions=partitions, **told) as found:
        survey = found.survey()
        assert facts(right) == (survey.users, survey.ratings, survey.duplicates, survey.skipped)
        assert found.intake == right.intake
        measures = (COUNTS.measure, sum_of_ratings, people)
        for one, other in zip(totals(found, *measures), totals(right, *measures), strict=True):
            np.testing.assert_array_equal(one, other)
    return right


ODD = [
    b"7,7,2\n 7,8,1\n\t7,9,1\n7 ,7,3\n\xef\xbb\xbf7,8,2\n7\xef\xbb\xbf \t,9,4\n",  # one person
    b"007,7,5\n7.0,7,4\n+7,7,3\n7e0,7,2\n-0,7,1\n0,7,2\n7,8,5\n",  # seven people
    b'"7",7,5\n " 7 ",8,4\n"a""b",7,3\na b,7,2\n"a,b",7,1\n"",7,3\n',
    b"J\xe9,7,5\nJ\xc3\xa9,7,4\n\xbb7,8,3\n\xed\xa0\x80,7,1\n7,8,5\n",  # three are not UTF-8
    b"1,7\n2,7,5,x\n3\n,,\n\n\r\n4,7,5\r\n5,7, 05 \n6,7,5.0\n7,7,5e0\n8,7,0x5\n9,7,nan\n",
    b"a;b;c,7,5\n9223372036854775807,7,4\n9223372036854775808,7,3\n1e5,7,2\n100000,7,1\n",
    b"1,7,5\nuser,item,rating\n2,8,4\n2,07,3\n2, 7 ,3\n2,4242,1\n3,9,6\n",
    b"a\0,7,5\na,8,4\n\xe2\x80\x8b7,7,1\n\xc2\xa07,7,2\n7\r,7,3\n7\x0b,7,3\n",
]
"""Rows that readers that look at more than one cell at a time read otherwise."""


def test_odd_rows_are_the_same_as_on_one_machine(session: Any, tmp_path: Path) -> None:
    """Nobody rates an item lower later, so that the last of several ratings is the highest."""
    path = tmp_path / "ratings.csv"
    header = b"\xef\xbb\xbf\r\n\n" + NAMES.replace(b"\n", b"\r\n")
    path.write_bytes(header + CROWD + b"".join(ODD))
    right = assert_same(session, path)
    assert right.user_count > 320
    assert right.skipped == 14


def test_one_more_line_changes_nobody_else(session: Any, tmp_path: Path) -> None:
    """What the crowd counts for is the same whatever somebody else writes, wherever it stands."""
    path = tmp_path / "ratings.csv"
    path.write_bytes(NAMES + CROWD)
    alone = sum_of_ratings(read_ratings(path, **FILMS))
    for row in (b"\teve,7,1\n", b"0950,7,1\n"):
        path.write_bytes(NAMES + row + CROWD)
        with cluster.read(cluster.open_table(session, path), partitions=2, **FILMS) as found:
            assert (total(found, sum_of_ratings) - alone).tolist() == [1, 0, 0]


def test_wherever_spark_cuts_a_file(session: Any, tmp_path: Path) -> None:
    path, size = tmp_path / "ratings.csv", 61
    path.write_bytes(b"\n" + NAMES + b"".join(ODD[:2]) + CROWD[:303])
    with small_blocks(session, size):
        assert_same(session, path)
        path.write_bytes(b"\n" * 2 * size + NAMES + CROWD[:400])
        assert "its header is not in the first block" in refused(session, path).reason


def test_a_folder_of_files_packed_or_not(session: Any, tmp_path: Path) -> None:
    folder = tmp_path / "ratings.csv"
    folder.mkdir()
    lines = CROWD.splitlines(keepends=True)
    (folder / "a.csv").write_bytes(NAMES + b"".join(lines[:90]))
    (folder / "b.csv.gz").write_bytes(
        gzip.compress(b"\xef\xbb\xbf" + NAMES + b"".join(lines[90:150]))
    )
    (folder / "c.csv.bz2").write_bytes(bz2.compress(b"\r\n" + NAMES + b"".join(lines[150:])))
    (folder / "d.csv").touch()
    whole = tmp_path / "whole.csv"
    whole.write_bytes(NAMES + CROWD)
    right = read_ratings(whole, **FILMS)
    with cluster.read(cluster.open_table(session, folder), partitions=2, **FILMS) as found:
        assert found.survey().users == right.user_count
        np.testing.assert_array_equal(total(found, sum_of_ratings), sum_of_ratings(right))
    (folder / "e.csv").write_bytes(b"item,user,rating\n7,9,5\n")
    said = refused(session, folder, on_bad_rows="skip")
    assert said.path == str(folder / "e.csv")
    assert said.reason.startswith(f"its first line is not that of {folder / 'a.csv'}")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("r.tsv", b"user\titem\trating\n 7\t7\t5\n7\t8\t4\n", {}),
        ("r.txt", b"user;item;rating\na,b;7;5\n", {}),
        ("r.txt", b"user^item^rating\na;b^7^5\n", {"separator": "^"}),
        ("r.dat", b'1::7::5::8\n1::7::4::9\n"2::8::1::7\n', {"columns": (0, 1, 2, 3)}),
        ("r.csv", b"7,1,5,x\n\xef\xbb\xbf,7,8,5\n8,1,4,x\n", {"columns": (1, 0, 2), "fields": 4}),
        ("r.csv", b"", {"columns": (0, 1, 2)}),
        ("r.csv", b"user,item,rating,time\n1,7,5,2024-01-01T23:59Z\n1,7,4,2024-01-02\n", {}),
        ("r.csv", b'user,item,rating\n1"",7,5\n"2,7,4\n', {"quoting": "none"}),
        ("r.csv", b'user,"item",rating,"a ""b"""\n1,7,5,\n2,7,4,"x, y"\n', {}),
        ("r.csv", NAMES, {}),
        ("r.csv", NAMES[:-1], {}),
    ],
)
def test_dialects(session: Any, tmp_path: Path, name: str, text: bytes, told: Any) -> None:
    path = tmp_path / name
    path.write_bytes(text)
    told = dict(told)
    if places := told.pop("columns", None):
        roles = dict(zip(("user", "item", "rating", "time"), places, strict=False))
        more = {"fields": told.pop("fields")} if "fields" in told else {}
        told["columns"] = roles | more
    assert_same(session, path, partitions=2, **told)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'1,7,5,"great\n2,8,5,x\n1,9,5,bye"\n', 'read it on one machine with quoting="multiline"'),
        (b'2,7,5,"b\n3,7,5,c\n', "a quote is not closed on its line"),
        (b'1,7,5,"a"b\n3,7,5,c\n', "or stands inside a field"),
        (b'1,7,5,a"b\n3,7,5,c\n', "or stands inside a field"),
        (b'1,7,5,"\\" \n1000,8,5,\\""\n', "or stands inside a field"),
    ],
)
def test_quotes_that_may_be_read_in_several_ways_are_not_even_skipped(
    session: Any, tmp_path: Path, text: bytes, reason: str
) -> None:
    folder = tmp_path / "odd.csv"
    folder.mkdir()
    (folder / "a.csv").write_bytes(b"user,item,rating,x\n1,7,5,a\n")
    (folder / "b.csv").write_bytes(b"user,item,rating,x\n1,7,5,a\n" + text)
    said = refused(session, folder, on_bad_rows="skip")
    assert said.path == str(folder / "b.csv")
    assert reason in said.reason
    with pytest.raises(InputError):
        read_ratings(folder / "b.csv", on_bad_rows="skip", **FILMS)


def test_what_cannot_be_opened(session: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.touch()
    assert refused(session, path).reason.startswith("is empty: not even a header")
    path.write_bytes(b"\xff\xfeu\0s\0e\0r\0,\0")
    assert "UTF-16" in refused(session, path).reason
    path.write_bytes(b"us\xe9r,item,rating\n")
    assert refused(session, path).reason.startswith("is not UTF-8")
    path.write_bytes(NAMES)
    assert refused(session, path, catalog="from-data").reason.startswith("no ratings, so no cat")
    for told, reason in (
        ({"quoting": "multiline"}, 'with quoting="multiline", or convert it to Parquet'),
        ({"quoting": "odd"}, "quoting must be"),
        ({"separator": "ab"}, "separator must be"),
        ({"columns": {"user": 0, "item": 1}}, "columns lacks the position of the rating"),
    ):
        with pytest.raises(InputError, match=reason):
            cluster.open_table(session, path, **told)
    with pytest.raises(InputError, match="separator and quoting are for text"):
        cluster.open_table(session, "table:r", separator=",")


def test_tables_that_spark_cuts_into_fields_are_refused(session: Any, tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_bytes(NAMES + b"1,7,5\n")
    table = session.read.csv(str(path), header=True)
    table.createOrReplaceTempView("reviews")
    chosen = session.sql("select user, item, rating from reviews where rating > 1")
    whole = session.read.csv(str(path), header=True, multiLine=True, escape='"')
    for wrong in (table, chosen, chosen.cache(), whole):
        with pytest.raises(InputError, match=r"open it with discreet\.spark\.open_table"):
            cluster.read(wrong, **FILMS)
    chosen.unpersist()


def test_lines_with_too_few_or_too_many_fields(session: Any, tmp_path: Path) -> None:
    """The last column is not read, and is where they are short."""
    path = tmp_path / "ragged.csv"
    path.write_text(
        "user,item,rating,junk\n41,7,5,a\n42,7\n43,8,4,b,1\n\n"
        '"44","8", 3,c\n 44 ,9,2,d\n45\n46,9,2\n'
    )
    for catalog in (FILMS["catalog"], "from-data"):
        said = refused(session, path, catalog=catalog)
        assert said.path == str(path)
        assert "does not have the fields that every line must have" in said.reason
    right = read_ratings(path, on_bad_rows="skip", **FILMS)
    whole = cluster.open_table(session, path)
    chosen = whole.select("user", "item", "rating")
    with pytest.raises(InputError, match="in one partition of the table, the user is empty"):
        cluster.read(chosen, **FILMS).survey()
    added = whole.selectExpr("*", "junk as device", "user as account", "item as film").drop("user")
    for table, columns in ((chosen, None), (added, {"user": "account", "item": "film"})):
        told: dict[str, Any] = {"columns": columns, "on_bad_rows": "skip", "partitions": 2} | FILMS
        with cluster.read(table, **told) as found:
            survey = found.survey()
            assert (survey.skipped, survey.users) == (right.skipped, right.user_count) == (4, 2)
            np.testing.assert_array_equal(total(found, COUNTS.measure), COUNTS.measure(right))


def test_folders_named_after_something_are_a_column(session: Any, tmp_path: Path) -> None:
    folder = tmp_path / "by-day.csv"
    for day, rating in (("2024-01-02", 5), ("2024-01-01", 4)):
        (folder / f"time={day}").mkdir(parents=True)
        lines = f"user,item,rating\n1,7,{rating}\n2,8\n"
        (folder / f"time={day}" / "p.csv").write_text(lines)
    table = cluster.open_table(session, folder)
    assert table.columns[:-1] == ["user", "item", "rating", "time"]
    with cluster.read(table, on_bad_rows="skip", partitions=1, **FILMS) as found:
        survey = found.survey()
        assert (survey.users, survey.duplicates, survey.skipped) == (1, 1, 2)
        assert total(found, lambda ratings: int(ratings.values().sum())) == 5
    twice = tmp_path / "twice.csv"
    (twice / "user=3").mkdir(parents=True)
    (twice / "user=3" / "p.csv").write_text("user,item,rating\n1,7,5\n")
    assert refused(session, twice).reason == "a folder and the files in it name the same column"


def test_files_that_spark_would_leave_out_are_not_left_out(session: Any, tmp_path: Path) -> None:
    folder = tmp_path / "ratings.csv"
    (folder / "2024").mkdir(parents=True)
    for file in (folder / "a.csv", folder / "2024" / "b.csv"):
        file.write_text("user,item,rating\n1,7,5\n")
    with pytest.raises(InputError, match="its files lie in several folders"):
        cluster.open_table(session, folder)


def test_a_first_line_that_is_somebodys_is_not_shown(session: Any, tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("196,secretjohn,3\n197,another,4\n")
    with pytest.raises(InputError) as caught:
        chosen_columns(cluster.open_table(session, path), None, implicit=False)
    assert "secretjohn" not in str(caught.value)
