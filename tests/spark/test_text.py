"""Text on a cluster is what it is on one machine, or it is refused: no line makes a person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import spark as cluster
from discreet.domain import InputError
from discreet.measure._everybody import total
from discreet.measure.engines.spark._table import chosen_columns
from discreet.ratings import read_ratings
from spark._cluster import COUNTS, FILMS, SOCKETS, refused

pytestmark = SOCKETS

FORGED = "".join(f"{user},8,5,x\n" for user in range(1000, 1100))
IN_A_REVIEW = f'user,item,rating,review\n9,7,5,ok\n1,7,5,"great\n{FORGED}1,9,5,bye"\n'
BEHIND_A_BLANK = f'2, 8, 4, "great\n{FORGED}2, 8, 5, bye"\r\n"3",7,"2","so ""so"", he said"\r\n'
AT_THE_END = 'rating,item,user\n5,7,"eve\n5,8,eve2"\n5,7,"bob\r5,8,bob2"\n4,8,ann\r\n3,9,"ann"\n'


@pytest.mark.parametrize(
    ("text", "users", "on_bad_rows"),
    [
        (IN_A_REVIEW + BEHIND_A_BLANK, 4, "refuse"),
        (IN_A_REVIEW + BEHIND_A_BLANK, 4, "skip"),
        (AT_THE_END, 3, "skip"),
    ],
    ids=["refuse", "skip", "at the end"],
)
def test_a_line_break_in_quotes_makes_no_person(
    session: Any, tmp_path: Path, on_bad_rows: Any, text: str, users: int
) -> None:
    path = tmp_path / "ratings.csv"
    path.write_bytes(text.encode())
    right = read_ratings(path, on_bad_rows=on_bad_rows, **FILMS)
    table = cluster.open_table(session, path)
    with cluster.read(table, on_bad_rows=on_bad_rows, partitions=2, **FILMS) as found:
        survey = found.survey()
        assert (survey.users, survey.skipped) == (right.user_count, right.skipped) == (users, 0)
        np.testing.assert_array_equal(total(found, COUNTS.measure), COUNTS.measure(right))


def test_tables_of_which_spark_cuts_lines_in_quotes_are_refused(
    session: Any, tmp_path: Path
) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(IN_A_REVIEW)
    table = session.read.csv(str(path), header=True)
    table.createOrReplaceTempView("reviews")
    for wrong in (table, session.sql("select user, item, rating from reviews where rating > 1")):
        with pytest.raises(
            InputError, match=r"a line break in quotes .* discreet\.spark\.open_table"
        ):
            cluster.read(wrong, **FILMS)
    told = session.read.option("MULTILINE", "True")
    with pytest.raises(InputError, match="a quote or a line break"):  # a backslash escapes in it
        chosen_columns(told.csv(str(path), header=True), None, implicit=False)
    whole = told.csv(str(path), header=True, escape='"')
    assert chosen_columns(whole, None, implicit=False).count() == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"user,item,rating\nJ\xe9,7,5\nJ\xe8,8,4\n", "is not UTF-8"),
        (b"user,item,rating\na\0,7,5\na,8,4\n", "is not a text file"),
        (b'user,item,rating,x\n1,7,5,a\n2,7,5,"b\n3,7,5,c\n', "is opened and never closed"),
        (b'user,item,rating,x\n1,7,5,"a"b\n3,7,5,c\n', r"inside a field (that )?is not doubled"),
        (b'user,item,rating,x\n1,7,5,"\\" \n1000,8,5,\\""\n', "a backslash before a quote"),
    ],
)
def test_text_that_may_be_read_in_several_ways_is_not_even_skipped(
    session: Any, tmp_path: Path, text: bytes, reason: str
) -> None:
    path = tmp_path / "odd.csv"
    path.write_bytes(text)
    said = refused(session, path, on_bad_rows="skip")
    assert said.path == str(path)
    with pytest.raises(InputError, match=reason):
        raise said


def test_lines_with_too_few_or_too_many_fields(session: Any, tmp_path: Path) -> None:
    """The last column is not read, and is where they are short."""
    path = tmp_path / "ragged.csv"
    path.write_text(
        "user,item,rating,junk\n41,7,5,a\n42,7\n43,8,4,b,1\n\n"
        '"44","8", 3,c\n 44 ,9,2,d\n45\n46,9,2\n'
    )
    said = refused(session, path)
    assert (said.path, said.reason) == (
        str(path),
        "the user is empty, or the line does not have as many fields as the first line",
    )
    with pytest.raises(InputError, match="does not have the 4 fields") as local:
        read_ratings(path, **FILMS)
    assert local.value.path == said.path
    assert "as many fields" in str(refused(session, path, catalog="from-data"))
    right = read_ratings(path, on_bad_rows="skip", **FILMS)
    whole = cluster.open_table(session, path)
    chosen = whole.select("user", "item", "rating")
    added = whole.selectExpr("*", "junk as device", "user as account", "item as film").drop("user")
    for table, columns in ((chosen, None), (added, {"user": "account", "item": "film"})):
        told = {"columns": columns, "on_bad_rows": "skip", "partitions": 2} | FILMS
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
    assert table.columns == ["user", "item", "rating", "time"]
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


def test_decimal_ids_are_not_rounded(session: Any) -> None:
    table = session.sql(
        "select cast(u as decimal(12,1)) user, 7 item, 5 rating "
        "from values (1.5), (1.7), (2.0) t(u)"
    )
    ids = [row["user"] for row in chosen_columns(table, None, implicit=False).collect()]
    assert sorted(ids) == ["1.5", "1.7", "2"]
