"""Ratings on a Spark cluster of two workers: the same integers, whatever happens to the workers."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

from cli._calling import call
from discreet.domain import PRESENCE, Catalog, InputError
from discreet.domain.errors import BudgetExceeded
from discreet.measure import ItemCounts, Noise, fit, record_fit
from discreet.measure._everybody import Inside, total, triangles
from discreet.measure.engines.spark import _in_parts, _ratings
from discreet.measure.pairs import CosinePairs
from discreet.privacy import SeededRandomness, Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.ratings import (
    Ratings,
    find_shape,
    make_ratings,
    read_ratings,
    write_catalog,
    write_ratings,
)
from discreet.release import load

if importlib.util.find_spec("pyspark") is None:
    pytest.skip("pyspark is absent: pip install 'discreet[spark]'", allow_module_level=True)
if shutil.which("java") is None:
    pytest.skip("java is absent: 'make system-deps' installs it", allow_module_level=True)

from discreet import spark as cluster

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java that runs for a minute is better not compiled at length."""
SETTINGS = {
    "spark.speculation": "true",
    "spark.sql.codegen.wholeStage": "false",
    "spark.driver.extraJavaOptions": LIGHT,
    "spark.executor.extraJavaOptions": LIGHT,
    "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
}
COUNTS = ItemCounts(Unit.USER, Noise.GAUSSIAN)


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    with mock.patch.dict(os.environ):  # what the session sets there is taken back in the end
        found = cluster.start_session("local-cluster[2,1,1024]", SETTINGS)
        from pyspark import cloudpickle

        cloudpickle.register_pickle_by_value(sys.modules[__name__])
        yield found
        found.stop()
        gc.collect()  # what is left of its sockets


@pytest.fixture(scope="module")
def stars() -> Ratings:
    return make_ratings(find_shape("ml-100k").scaled(ratings=12_000), seed=4)


@pytest.fixture(scope="module")
def clicks(stars: Ratings) -> Ratings:
    codes = PRESENCE.encode(np.ones(len(stars)))
    return Ratings(PRESENCE, stars.catalog, stars.starts, stars.items, codes)


def frame_of(session: Any, ratings: Ratings) -> Any:
    """One row a rating, users mixed."""
    rows = np.random.default_rng(8).permutation(len(ratings))
    items = np.array(ratings.catalog.ids).astype(np.int64)[ratings.items]
    columns = {"user": ratings.user_of_rating().astype(np.int64)[rows], "item": items[rows]}
    if not ratings.scale.presence:
        columns["rating"] = ratings.values()[rows]
    return session.createDataFrame(pa.table(columns))


@pytest.fixture(scope="module")
def on_stars(session: Any, stars: Ratings) -> Iterator[cluster.SparkRatings]:
    told = {"scale": stars.scale, "catalog": stars.catalog, "partitions": 3}
    with cluster.read(frame_of(session, stars), **told) as found:
        yield found


@pytest.fixture(scope="module")
def on_clicks(session: Any, clicks: Ratings) -> Iterator[cluster.SparkRatings]:
    told = {"implicit": True, "catalog": clicks.catalog, "partitions": 2}
    with cluster.read(frame_of(session, clicks), **told) as found:
        yield found


def assert_same_integers(local: Any, elsewhere: Any, **told: Any) -> None:
    """All that two fits measure, before noise; and all that they publish."""
    whole, summed = (
        record_fit(each, randomness=SeededRandomness(1), taste_share=0.5, epsilon=4.0, **told)
        for each in (local, elsewhere)
    )
    assert [s.label for s in whole.spoken] == [s.label for s in summed.spoken]
    for one, other in zip(whole.spoken, summed.spoken, strict=True):
        assert one.exact.any()
        np.testing.assert_array_equal(one.exact, other.exact, one.label)
    assert_same_release(whole.release, summed.release)


def assert_same_release(one: Any, other: Any) -> None:
    assert one.parameters == other.parameters
    assert one.arrays.keys() == other.arrays.keys()
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array, other.arrays[name], name)


@pytest.mark.parametrize(
    "told",
    [
        {"method": "refined", "protect": "user"},
        {"method": "refined", "protect": "rating", "level_share": 0.1},
        {"method": "covariance", "protect": "rating", "dense": True, "noise": "laplace"},
        {"method": "slope-one", "protect": "user"},
        {"method": "cosine", "protect": "user"},
    ],
    ids=lambda told: "-".join(map(str, told.values())),
)
def test_every_integer_is_the_local_one(
    stars: Ratings, on_stars: cluster.SparkRatings, told: dict[str, Any]
) -> None:
    assert_same_integers(stars, on_stars, **told)


@pytest.mark.parametrize("told", [{"method": "refined", "protect": "user"}, {"method": "cosine"}])
def test_so_is_every_one_of_presence(
    clicks: Ratings, on_clicks: cluster.SparkRatings, told: dict[str, Any]
) -> None:
    assert_same_integers(clicks, on_clicks, **told)


def test_features_are_believed_as_much(stars: Ratings, on_stars: cluster.SparkRatings) -> None:
    features = np.random.default_rng(5).normal(size=(len(stars.catalog), 3))
    told = {"features": features, "epsilon": 8.0, "rank": 0}
    one, other = (fit(e, randomness=SeededRandomness(2), **told) for e in (stars, on_stars))
    assert "features_believed" in one.parameters
    assert_same_release(one, other)


def reduce_on_the_cluster(patch: pytest.MonkeyPatch) -> None:
    """By tiles and by crowds, and back a partition at a time: as sums of a large catalogue are."""
    patch.setattr(_ratings, "_AT_ONCE", 1 << 20)
    patch.setattr(_in_parts, "_FAN_IN", 2)


@dataclass(frozen=True)
class Dying:
    """A statistic whose first task takes its whole executor with it."""

    statistic: CosinePairs
    mark: str

    @property
    def head(self) -> Any:
        return self.statistic.head

    triangle_count = 1

    def inside(self, ratings: Ratings) -> Inside:
        if first_to(self.mark):
            # This is a worker, whose parent is Python's daemon, whose parent is the executor.
            stat = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
            os.kill(int(stat[1]), signal.SIGKILL)
            time.sleep(60)
        return self.statistic.inside(ratings)

    def sum_pairs(self, inside: Inside, progress: Any = None) -> Any:
        return self.statistic.sum_pairs(inside, progress)


def first_to(mark: str) -> bool:
    try:
        Path(mark).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def test_an_executor_that_is_killed_in_the_middle_changes_nothing(
    stars: Ratings,
    on_stars: cluster.SparkRatings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its tasks are tried again, and what it kept of the ratings is read again."""
    reduce_on_the_cluster(monkeypatch)
    monkeypatch.setattr(on_stars, "_band", 250)
    head = np.arange(len(stars.catalog), dtype=np.int32)
    statistic = CosinePairs(Unit.USER, Noise.GAUSSIAN, head, stars.scale)
    mark = tmp_path / "died"
    (found,) = triangles(on_stars, Dying(statistic, str(mark)))
    assert mark.exists()
    (right,) = triangles(stars, statistic)
    np.testing.assert_array_equal(found, right)
    np.testing.assert_array_equal(total(on_stars, COUNTS.measure), COUNTS.measure(stars))


@pytest.mark.parametrize(
    ("user", "item"),
    [("string", "decimal(20,0)"), ("double", "string"), ("decimal(12,0)", "int")],
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


def test_files_that_order_their_columns_differently_make_no_more_people(
    session: Any, tmp_path: Path
) -> None:
    """By the first file's header alone, an item of the second would be taken for a person."""
    folder = tmp_path / "parts.csv"
    folder.mkdir()
    (folder / "p1.csv").write_text("user,item,rating\n1,7,3\n9,7,4\n")
    (folder / "p2.csv").write_text("item,user,rating\n7,9,5\n8,9,2\n")
    catalog = Catalog(["7", "8", "9"])
    told = {"scale": (1, 5), "catalog": catalog}
    with pytest.raises(InputError), cluster.read(cluster.open_table(session, folder), **told) as on:
        on.survey()


def test_the_ledger_is_charged_before_a_task_reads_the_table(
    session: Any, stars: Ratings, tmp_path: Path
) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", "readers", [Limit(Unit.USER, 1.0, 1e-6)])
    charged: list[int] = []
    stages: set[str] = set()
    told = {"scale": stars.scale, "catalog": stars.catalog, "ledger": ledger, "partitions": 2}
    table = frame_of(session, stars)

    def progress(name: str, done: int, of: int) -> None:
        assert 0 <= done <= of
        stages.add(name)
        charged.append(len(ledger.history()))

    told |= {"progress": progress, "rank": 0, "epsilon": 0.9}
    release = cluster.fit(table, **told)
    assert release.guarantee.is_private
    assert set(charged) == {1}
    assert stages == {"reading", "item sums"}
    before = len(charged)
    with pytest.raises(BudgetExceeded):
        cluster.fit(table, **told)
    assert len(charged) == before


def test_bad_rows_are_refused_in_one_line_or_skipped(session: Any, stars: Ratings) -> None:
    table = frame_of(session, stars)
    bad = session.createDataFrame([(1, 424_242, 1.0), (2, 1, 77.0)], table.schema)
    told = {"scale": stars.scale, "catalog": stars.catalog, "partitions": 2}
    with (
        cluster.read(table.union(bad), **told) as found,
        pytest.raises(InputError, match=r"not (on|in) the") as said,
    ):
        found.survey()
    assert "\n" not in str(said.value)
    assert "77" not in str(said.value)
    assert "424" not in str(said.value)
    with cluster.read(table.union(bad), on_bad_rows="skip", **told) as found:
        assert found.survey().skipped == 2
        np.testing.assert_array_equal(total(found, COUNTS.measure), COUNTS.measure(stars))


def test_who_waits_may_stop_waiting(session: Any, stars: Ratings) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    told = {"scale": stars.scale, "catalog": stars.catalog, "partitions": 2}
    with cluster.read(frame_of(session, stars), progress=interrupt, **told) as found:
        with pytest.raises(KeyboardInterrupt):
            found.survey()
        assert session.sparkContext.statusTracker().getActiveJobsIds() == []
        found.progress = None
        assert found.survey().ratings == len(stars)


def test_failures_of_spark_show_no_cells(
    session: Any, stars: Ratings, capfd: pytest.CaptureFixture[str]
) -> None:
    table = frame_of(session, stars).selectExpr("user", "item", "raise_error('secret') rating")
    table = table.selectExpr("user", "item", "cast(rating as double) rating")
    with pytest.raises(InputError, match="Spark failed") as said:
        cluster.read(table, scale=stars.scale, catalog=stars.catalog).survey()
    assert "secret" not in str(said.value)
    table = frame_of(session, stars).selectExpr("user", "item", "concat('secret', rating) rating")
    table = table.selectExpr("user", "item", "cast(rating as double) rating")
    with pytest.raises(InputError, match="Spark failed"):
        cluster.read(table, scale=stars.scale, catalog=stars.catalog).survey()
    assert "secret" not in "".join(capfd.readouterr())


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


def test_what_is_no_table_is_refused(session: Any, tmp_path: Path) -> None:
    catalog = Catalog(["1", "2"])
    table = session.createDataFrame([(1, 2, "x")], "user int, item int, colour string")
    for wrong, told, reason in (
        (table, {"scale": (1, 5)}, "no column for the rating"),
        (table, {}, "say the scale"),
        (pa.table({"user": [1]}), {"scale": (1, 5)}, "not pyarrow's Table"),
        (table, {"implicit": True, "partitions": 0}, "partitions are 1 or more"),
        (table, {"implicit": True, "columns": {"user": "who"}}, "no column named 'who'"),
    ):
        with pytest.raises(InputError, match=reason):
            cluster.read(wrong, catalog=catalog, **told)
    with pytest.raises(InputError, match="Spark cannot read"):
        cluster.open_table(session, tmp_path / "absent.parquet")
    with pytest.raises(InputError, match="give the list of items"):
        cluster.read(table, implicit=True)
