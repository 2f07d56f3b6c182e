"""What a cluster reads is checked as files are on one machine: one line, the file, no cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import spark as cluster
from discreet.domain import Catalog, InputError
from discreet.measure._source import total
from discreet.ratings import Ratings
from spark._cluster import COUNTS, FILMS, SOCKETS, frame_of, refused

pytestmark = SOCKETS


def of_type(table: Any, **kinds: str) -> Any:
    """The table with a column more or less, nothing in it, of some type."""
    casts = [f"cast(null as {kind}) as {name}" for name, kind in kinds.items()]
    return table.drop(*kinds).selectExpr("*", *casts)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_bad_row_is_said_with_its_file(session: Any, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / f"parts.{kind}"
    folder.mkdir()
    for name, item, rating in (("p1", 7, 5), ("p2", 4242, 3), ("p3", 7, 66)):
        table = pa.table({"user": [31], "item": [item], "rating": [rating]})
        if kind == "csv":
            (folder / f"{name}.csv").write_text(f"user,item,rating\n31,{item},{rating}\n")
        else:
            pq.write_table(table, folder / f"{name}.parquet")
    said = refused(session, folder)
    assert said.path == str(folder / f"p2.{kind}")
    assert said.reason.startswith("the item is not in the catalogue of 3 items; give")
    (folder / f"p2.{kind}").unlink()
    said = refused(session, folder)
    assert said.path == str(folder / f"p3.{kind}")
    assert said.reason == "the rating is not on the scale 1..5 in steps of 1"
    assert "31" not in said.reason and "66" not in said.reason


def test_files_that_are_damaged_or_absent(session: Any, tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.parquet"
    garbage.write_bytes(b"not Parquet at all" * 50)
    assert refused(session, garbage).path == str(garbage)
    whole = tmp_path / "whole.parquet"
    users = np.arange(50_000)
    pq.write_table(pa.table({"user": users, "item": users % 3 + 7, "rating": users % 5 + 1}), whole)
    data = bytearray(whole.read_bytes())
    (tmp_path / "cut.parquet").write_bytes(data[: len(data) // 2])
    assert "cannot be read: damaged" in refused(session, tmp_path / "cut.parquet").reason
    data[1000:3000] = b"\xff" * 2000
    whole.write_bytes(data)
    said = refused(session, whole)  # its end is whole, so it can be opened
    assert said.path == str(whole)
    assert "cannot be read: damaged" in said.reason
    assert refused(session, tmp_path / "absent.parquet").reason == "no such file"
    with pytest.raises(InputError, match="TABLE_OR_VIEW_NOT_FOUND"):
        cluster.open_table(session, "table:absent")


def test_bad_rows_are_refused_in_one_line_or_skipped(session: Any, stars: Ratings) -> None:
    table = frame_of(session, stars)
    bad = session.createDataFrame([(1, 424_242, 1.0, 0), (2, 1, 77.0, 0)], table.schema)
    told: dict[str, Any] = {"scale": stars.scale, "catalog": stars.catalog, "partitions": 2}
    with (
        cluster.read(table.union(bad), **told) as found,
        pytest.raises(InputError, match=r"in one partition of the table, .* not (on|in) the") as at,
    ):
        found.survey()
    assert "\n" not in str(at.value)
    assert "77" not in str(at.value)
    assert "424" not in str(at.value)
    with cluster.read(table.union(bad), on_bad_rows="skip", **told) as found:
        assert found.survey().skipped == 2
        np.testing.assert_array_equal(total(found, COUNTS.measure), COUNTS.measure(stars))


def test_failures_of_spark_show_no_cells(
    session: Any, stars: Ratings, capfd: pytest.CaptureFixture[str]
) -> None:
    for cell in ("raise_error('secret')", "concat('secret', rating)"):
        table = frame_of(session, stars).selectExpr("user", "item", f"{cell} rating")
        table = table.selectExpr("user", "item", "cast(rating as double) rating")
        with pytest.raises(InputError, match="Spark failed") as said:
            cluster.read(table, scale=stars.scale, catalog=stars.catalog).survey()
        assert "secret" not in str(said.value)
    assert "secret" not in "".join(capfd.readouterr())


def test_folders_named_after_ids_keep_them_apart_and_to_themselves(
    session: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "by-user.parquet"
    for user, rating in (("007", 4), ("7", 5)):
        (folder / f"user={user}").mkdir(parents=True)
        table = pa.table({"item": [7], "rating": [rating]})
        pq.write_table(table, folder / f"user={user}" / "p.parquet")
    with cluster.read(cluster.open_table(session, folder), partitions=2, **FILMS) as found:
        assert found.survey().users == 2
    pq.write_table(pa.table({"item": [7], "rating": [66]}), folder / "user=7" / "q.parquet")
    assert refused(session, folder).path == str(folder / "user=..." / "q.parquet")


def test_text_in_parquet_that_is_not_utf8_is_refused(
    session: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    names = pa.array([b"J\xe9", b"J\xe8"], pa.binary())
    users = pa.StringArray.from_buffers(2, *names.buffers()[1:])
    path = tmp_path / "latin.parquet"
    pq.write_table(pa.table({"user": users, "item": ["7", "8"], "rating": [5, 4]}), path)
    assert refused(session, path).reason.startswith("is not UTF-8")
    with cluster.read(cluster.open_table(session, path), on_bad_rows="skip", **FILMS) as found:
        assert (found.survey().skipped, found.survey().ratings) == (2, 0)
    assert "".join(capfd.readouterr()) == ""


def test_what_is_no_table_is_refused(session: Any) -> None:
    catalog = Catalog(["1", "2"])
    table = session.createDataFrame([(1, 2, "x")], "user int, item int, colour string")
    told = {"implicit": True}
    for wrong, said, reason in (
        (table, {"scale": (1, 5)}, "no column for the rating"),
        (table, {}, "give the scale"),
        (pa.table({"user": [1]}), {"scale": (1, 5)}, "not pyarrow's Table"),
        (table, {"implicit": True, "partitions": 0}, "partitions are a whole number, 1"),
        (table, {"implicit": True, "partitions": "4"}, "1 or more, not '4'"),
        (table, {"implicit": True, "columns": {"user": "who"}}, "no column named 'who'"),
        (of_type(table, user="string collate UTF8_LCASE"), told, "plain text, not string collate"),
        (of_type(table, item="timestamp"), told, "plain text, not timestamp"),
        (of_type(table, time="boolean"), told, "time column must hold seconds .* it is boolean"),
    ):
        with pytest.raises(InputError, match=reason):
            cluster.read(wrong, catalog=catalog, **said)
    with pytest.raises(InputError, match="give the list of items"):
        cluster.read(table, implicit=True)
