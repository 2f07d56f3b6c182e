"""The same integers on a cluster as on one machine, whatever the table is made of."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cli._calling import call
from discreet import spark as cluster
from discreet.domain import Catalog, InputError
from discreet.measure._source import total
from discreet.methods import fit
from discreet.privacy import SeededRandomness, Unit
from discreet.ratings import (
    Intake,
    Ratings,
    bound_contributions,
    read_ratings,
    write_catalog,
    write_ratings,
)
from discreet.release import load
from spark._cluster import (
    COUNTS,
    SOCKETS,
    assert_same_integers,
    assert_same_release,
    frame_of,
    sum_of_ratings,
)

pytestmark = SOCKETS


@pytest.mark.parametrize(
    "told",
    [
        {"method": "refined", "protect": "user"},
        {"method": "refined", "protect": "rating", "level_share": 0.1, "head": 100},
        {"method": "covariance", "protect": "rating", "dense": True, "noise": "laplace"},
        {"method": "slope-one", "protect": "user"},
        {"method": "cosine", "protect": "user"},
    ],
    ids=lambda told: "-".join(map(str, told.values())),
)
def test_every_integer_is_the_local_one(
    stars: Ratings, on_stars: cluster.SparkRatings, told: dict[str, Any]
) -> None:
    labels = assert_same_integers(stars, on_stars, **told)
    assert ("recent item counts" in labels) == (told["method"] == "refined")


@pytest.mark.parametrize(
    "told",
    [
        {"method": "lists", "protect": "user"},
        {"method": "lists", "protect": "rating", "noise": "laplace"},
        {"method": "cosine"},
    ],
    ids=lambda told: "-".join(map(str, told.values())),
)
def test_so_is_every_one_of_presence(
    clicks: Ratings, on_clicks: cluster.SparkRatings, told: dict[str, Any]
) -> None:
    labels = assert_same_integers(clicks, on_clicks, **told)
    lists = told["method"] == "lists"
    assert ("recent item counts" in labels) == ("presence pairs" in labels) == lists


def test_without_times_nothing_is_recent(session: Any, stars: Ratings) -> None:
    told: dict[str, Any] = {"scale": stars.scale, "catalog": stars.catalog, "partitions": 2}
    with cluster.read(frame_of(session, stars), columns={"time": None}, **told) as found:
        assert not found.has_times
        timeless = replace(stars, times=None)
        labels = assert_same_integers(timeless, found, method="refined", noise="laplace")
        assert "presence pairs" in labels
        with pytest.raises(InputError, match="recency needs ratings with times"):
            fit(found, recency=True, epsilon=1.0, randomness=SeededRandomness(1))


def test_features_are_believed_as_much(stars: Ratings, on_stars: cluster.SparkRatings) -> None:
    features = np.random.default_rng(5).normal(size=(len(stars.catalog), 3))
    told: dict[str, Any] = {
        "features": features,
        "epsilon": 8.0,
        "rank": 0,
        "list_rank": 0,
        "recency": False,
    }
    one, other = (fit(e, randomness=SeededRandomness(2), **told) for e in (stars, on_stars))
    assert "features_believed" in one.parameters
    assert_same_release(one, other)


@pytest.mark.parametrize(
    ("user", "item"),
    [("string", "decimal(20,0)"), ("double", "string"), ("decimal(38,10)", "decimal(38,10)")],
)
def test_ids_may_be_of_any_type(session: Any, stars: Ratings, user: str, item: str) -> None:
    table = frame_of(session, stars)
    table = table.select(
        table.user.cast(user).alias("customer id"),
        table.item.cast(item).alias("movieId"),
        table.rating.cast("decimal(3,1)").alias("stars"),
    )
    with cluster.read(table, scale=stars.scale, catalog=stars.catalog, partitions=2) as found:
        np.testing.assert_array_equal(total(found, COUNTS.measure), COUNTS.measure(stars))
        assert found.survey().users == stars.user_count


@pytest.mark.parametrize(
    ("kind", "ids", "users", "skipped"),
    [
        (
            "string",
            ["7", " 7", "7\t", "\ufeff7 ", "7.0", "07", "\xa07", " a b", "a b\ufeff\t"],
            5,
            0,
        ),
        (
            "binary",
            [b"7", b" 7", b"\xef\xbb\xbf7", b"\xbb7", b"7\xe9", b"J\xc3\xa9", b" ", None],
            2,
            4,
        ),
        ("double", [7.0, 7.5, 0.0, -0.0, 2.0**53, 2.0**54, float("nan"), None], 3, 4),
        ("float", [7.0, 7.5, 0.0, -0.0, None], 2, 2),
        ("bigint", [7, 2**53, 2**53 + 1, -7, None], 4, 1),
        ("decimal(20,2)", [Decimal(7), Decimal("7.00"), Decimal("7.50"), Decimal("7.25")], 3, 0),
        ("date", [date(2024, 1, 2), date(2024, 1, 3), date(2024, 1, 2), None], 2, 1),
    ],
)
def test_one_person_is_in_one_partition_however_the_id_is_written(
    session: Any, kind: str, ids: list[Any], users: int, skipped: int
) -> None:
    """Were somebody in two partitions, they would be two people with an item each."""
    items = [str(number) for number in range(40)]
    rows = [(user, item, 4.0) for user in ids for item in items]
    table = session.createDataFrame(rows, f"user {kind}, item string, rating double")
    told: dict[str, Any] = {"scale": (1, 5), "catalog": Catalog(items), "on_bad_rows": "skip"}
    with cluster.read(table.repartition(5), partitions=7, **told) as found:
        survey = found.survey()
        assert (survey.users, survey.skipped) == (users, 40 * skipped)
        assert survey.ratings == 40 * users
        assert survey.duplicates == 40 * (len(ids) - users - skipped)
    if kind not in ("decimal(20,2)", "date"):
        columns = zip(("user", "item", "rating"), zip(*rows, strict=True), strict=True)
        right = read_ratings(pa.table({name: list(cells) for name, cells in columns}), **told)
        assert (right.user_count, right.skipped) == (users, 40 * skipped)


@pytest.mark.parametrize("kind", ["csv", "parquet", "table"])
def test_whatever_spark_reads(session: Any, stars: Ratings, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"ratings.{'parquet' if kind == 'table' else kind}"
    write_ratings(stars, path)
    source: str | Path = path
    if kind == "table":
        session.read.parquet(str(path)).createOrReplaceTempView("everybody")
        source = "table:everybody"
    table = cluster.open_table(session, source)
    with cluster.read(table, scale=stars.scale, catalog="from-data", partitions=2) as found:
        local = read_ratings(path, scale=stars.scale, catalog="from-data")
        assert found.catalog == local.catalog
        np.testing.assert_array_equal(total(found, COUNTS.measure), COUNTS.measure(local))


def test_of_several_ratings_the_latest_counts_which_is_the_last_where_rows_are_in_order(
    session: Any,
) -> None:
    """A table on a cluster has no order: so where rows are not in that of times, the two differ."""
    rng = np.random.default_rng(3)
    columns = {"user": rng.integers(0, 20, 600), "item": rng.integers(0, 15, 600)}
    ordered = pa.table(columns | {"rating": rng.integers(1, 6, 600), "time": np.arange(600)})
    mixed = ordered.take(rng.permutation(600))
    told: dict[str, Any] = {"scale": (1, 5), "catalog": "from-data"}
    right = read_ratings(ordered, **told)
    assert right.duplicates > 300
    assert sum_of_ratings(read_ratings(mixed, **told)).tolist() != sum_of_ratings(right).tolist()
    with cluster.read(session.createDataFrame(mixed), partitions=2, **told) as found:
        assert found.survey().duplicates == right.duplicates
        np.testing.assert_array_equal(total(found, sum_of_ratings), sum_of_ratings(right))
    highest = {"item": [7, 7, 7], "rating": [2, 5, 4], "time": [9, 9, 9]}
    zeros = pa.table(highest | {"user": [0.0, -0.0, 0.0]})  # one person, of two zeros
    table = session.createDataFrame(zeros)
    table = table.withColumn("time", table.time.cast("decimal(38,10)"))
    with cluster.read(table, partitions=5, **told) as found:
        assert total(found, sum_of_ratings).tolist() == [5]


def test_the_command_line_measures_on_spark(session: Any, stars: Ratings, tmp_path: Path) -> None:
    assert session is not None
    write_ratings(stars, tmp_path / "ratings.parquet")
    write_catalog(stars.catalog, tmp_path / "items.csv")
    told = ["fit", tmp_path / "ratings.parquet", "--scale", "1..5", "--catalog"]
    told += [tmp_path / "items.csv", "--epsilon", "inf", "--method", "slope-one", "-o"]
    assert call(*told, tmp_path / "local").code == 0
    done = call(*told, tmp_path / "spark", "--engine", "spark")
    assert done.code == 0, done.err
    assert_same_release(*(load(tmp_path / name) for name in ("local", "spark")))
    assert session.range(3).count() == 3  # it was running before, so it still is


@pytest.mark.parametrize("method", ["refined", "cosine"])
def test_the_same_ratings_are_kept_where_users_are_bounded(
    session: Any, stars: Ratings, method: str
) -> None:
    named = replace(stars, users=np.arange(stars.user_count))
    local = bound_contributions(named, 7)
    told: dict[str, Any] = {
        "scale": stars.scale,
        "catalog": stars.catalog,
        "partitions": 3,
        "most_ratings": 7,
    }
    with cluster.read(frame_of(session, stars), **told) as bounded:
        assert bounded.survey().ratings == len(local) < len(stars)
        assert bounded.intake.most_ratings == 7
        assert_same_integers(local, bounded, method=method, protect="rating")
        release = fit(bounded, method=method, protect="rating", epsilon=0.5, ledger="unbooked")
    assert {event.ratings_per_user for event in release.guarantee.events} == {7}
    assert release.guarantee.per(Unit.USER) is not None


def test_a_table_of_nothing_is_fitted_like_any_other(session: Any, stars: Ratings) -> None:
    nothing = frame_of(session, stars).limit(0)
    told: dict[str, Any] = {"scale": stars.scale, "catalog": stars.catalog, "partitions": 2}
    nobody = replace(stars.select_users(0, 0), intake=Intake())
    for method in ("refined", "lists", "covariance", "slope-one", "cosine"):
        with cluster.read(nothing, **told) as empty:
            found = empty.survey()
            assert (found.users, found.ratings, found.duplicates, found.skipped) == (0, 0, 0, 0)
            releases = [
                fit(each, method=method, randomness=SeededRandomness(3)) for each in (nobody, empty)
            ]
        assert_same_release(*releases)
