"""Sums of parts are the sums of the whole, bit for bit; what tasks do, without Spark."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numba
import numpy as np
import pyarrow as pa
import pytest

from discreet.domain import PRESENCE, Catalog, InputError, Scale
from discreet.measure._source import HeadEntries, total, totals
from discreet.measure.centring import ItemLevels
from discreet.measure.engines._leaves import leaves_of, with_leaves
from discreet.measure.engines.spark import _parts
from discreet.measure.engines.spark._jobs import Work
from discreet.measure.engines.spark._parts import Maker, Shape, joined
from discreet.measure.engines.spark._sums import (
    TILE,
    Block,
    RatingsInParts,
    add_tile,
    add_tiles,
    blocks_in,
    cut_blocks,
    paste,
    sittings,
    size_in_bytes,
    tile_from,
    tiles_of,
)
from discreet.measure.history_pairs import HistoryNumbers, HistoryPairs
from discreet.measure.pairs import CosinePairs
from discreet.measure.presence_pairs import PresencePairs
from discreet.measure.refinement import Moments, UserSketch
from discreet.measure.user_votes import UserVotes
from discreet.methods import fit, record_fit
from discreet.privacy import FIT_UNITS, Noise, SeededRandomness, Unit
from discreet.ratings import Ratings, find_shape, make_ratings
from measure.engines._dealing import Sent, dealt_to, parts_of, read_rows

STARS = Scale(1, 5)


def count_users(ratings: Ratings) -> int:
    return int(np.count_nonzero(np.diff(ratings.starts)))


def table_of(ratings: Ratings) -> pa.Table:
    """One row a rating, in an order that means nothing."""
    rows = np.random.default_rng(3).permutation(len(ratings))
    ids = np.array(ratings.catalog.ids)[ratings.items]
    columns = {"user": ratings.user_of_rating()[rows], "item": ids[rows]}
    if not ratings.scale.presence:
        columns["rating"] = ratings.values()[rows]
    if ratings.times is not None:
        columns["time"] = ratings.times[rows]
    return pa.table(columns)


class Together(RatingsInParts):
    """Partitions in this process; every function and every batch goes through pickle and Arrow."""

    def __init__(self, ratings: Ratings, partitions: int, band: int) -> None:
        shape = Shape(ratings.scale, Sent(ratings.catalog), has_times=ratings.has_times)
        super().__init__(ratings.scale, ratings.catalog, shape, partitions, band)
        maker = Maker(shape, "refuse", partitions)
        self.parts = [list(maker.parts(iter(h))) for h in dealt_to(maker, table_of(ratings))]
        self.volumes: list[tuple[int, int]] = []
        self.counted = ratings.user_count, len(ratings)

    def _counted(self) -> tuple[int, int]:
        return self.counted

    def _sums(self, name: str, work: Work, volume: int) -> Iterator[Any]:
        sent = [b for part in self.parts for b in pickle.loads(pickle.dumps(work))(iter(part))]
        added = list(add_tiles(iter(sent)))
        self.volumes.append((sum(len(b["packed"][0].as_py()) for b in added), volume))
        yield from (row for batch in added for row in batch.to_pylist())


def ratings_of(presence: bool = False, times: bool = True) -> Ratings:
    made = make_ratings(find_shape("ml-100k").scaled(ratings=20_000), seed=4)
    if not times:
        made = replace(made, times=None)
    if not presence:
        return made
    return replace(made, scale=PRESENCE, codes=PRESENCE.encode(np.ones(len(made))))


# A budget with which so few people's ratings show all that a method can measure.
AMPLE: dict[str, Any] = {"epsilon": 400.0}
WITH_TASTES: dict[str, Any] = {"taste_share": 0.5} | AMPLE
CASES = [
    ({"protect": protect, "noise": noise, "method": method} | more, {"presence": presence} | kind)
    for protect in ("user", "rating")
    for noise in ("gaussian", "laplace")
    for method, more, presence, kind in (
        ("refined", WITH_TASTES | {"level_share": 0.1}, False, {}),
        ("refined", WITH_TASTES | {"head": 150}, False, {"times": False}),
        ("lists", AMPLE | {"head": 150}, True, {}),
        ("lists", AMPLE, True, {"times": False}),
        ("covariance", WITH_TASTES | {"dense": True, "head": 150}, False, {}),
        ("slope-one", WITH_TASTES | {"head": 150}, False, {}),
        ("cosine", WITH_TASTES | {"head": 150}, False, {}),
        ("cosine", WITH_TASTES | {"head": 150}, True, {}),
    )
]


@pytest.mark.parametrize(
    ("told", "kind"), CASES, ids=["-".join(map(str, (*a.values(), *b.values()))) for a, b in CASES]
)
def test_all_that_a_fit_measures_is_the_same_in_parts(
    told: dict[str, Any], kind: dict[str, bool]
) -> None:
    ratings = ratings_of(**kind)
    parts = Together(ratings, 5, band=64)
    whole, summed = (
        record_fit(cast(Any, each), randomness=SeededRandomness(1), **told)
        for each in (ratings, parts)
    )
    labels = [s.label for s in whole.spoken]
    assert labels == [s.label for s in summed.spoken]
    with_lists = told["method"] in ("refined", "lists")
    assert ("presence pairs" in labels) == with_lists
    assert ("recent item counts" in labels) == (with_lists and ratings.has_times)
    for one, other in zip(whole.spoken, summed.spoken, strict=True):
        assert one.exact.any()
        np.testing.assert_array_equal(one.exact, other.exact, one.label)
        assert one.exact.dtype == other.exact.dtype
    assert all(used <= promised for used, promised in parts.volumes)
    assert whole.release.parameters == summed.release.parameters
    for name, array in whole.release.arrays.items():
        np.testing.assert_array_equal(array, summed.release.arrays[name], name)


@pytest.mark.parametrize("protect", FIT_UNITS)
def test_features_are_believed_as_much_in_parts(protect: Unit) -> None:
    ratings = ratings_of()
    features = np.random.default_rng(2).normal(size=(len(ratings.catalog), 4))
    one, other = (
        fit(each, protect=protect, features=features, randomness=SeededRandomness(1))
        for each in (ratings, Together(ratings, 4, band=64))
    )
    assert "features_believed" in one.parameters
    assert one.parameters == other.parameters
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array, other.arrays[name], name)


@pytest.mark.parametrize("method", ["refined", "slope-one", "cosine"])
def test_a_continuous_scale_is_summed_in_parts(method: str) -> None:
    stars = ratings_of()
    codes = np.random.default_rng(1).uniform(-10, 10, len(stars)).astype(np.float32)
    scale = Scale(-10, 10, None)
    ratings = Ratings(scale, stars.catalog, stars.starts, stars.items, codes)
    told: dict[str, Any] = {"method": method, "head": 100} | WITH_TASTES
    whole, summed = (
        record_fit(cast(Any, each), randomness=SeededRandomness(1), **told)
        for each in (ratings, Together(ratings, 3, 64))
    )
    for one, other in zip(whole.spoken, summed.spoken, strict=True):
        np.testing.assert_array_equal(one.exact, other.exact, one.label)


@pytest.mark.parametrize(("partitions", "band"), [(1, 2048), (3, 2048), (3, 40), (2, 16)])
@pytest.mark.parametrize("protect", FIT_UNITS)
def test_presence_pairs_are_the_same_in_every_layout(
    protect: Unit, partitions: int, band: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The head at once, in two bands or in five, from one part or several in a partition."""
    monkeypatch.setattr(_parts, "_BLOCK", 3000)
    ratings = ratings_of(presence=True)
    head = np.arange(3, 4 * 70, 4, dtype=np.int32)
    pairs = PresencePairs(protect, Noise.GAUSSIAN, head)
    (right,), (found,) = (
        pairs.measure(ratings),
        Together(ratings, partitions, band).triangles(pairs),
    )
    assert right.dtype == found.dtype == np.int64
    assert right.max() > 2**24  # weights are far from 16 bits
    np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize(("partitions", "band"), [(1, 2048), (3, 40), (2, 16)])
def test_pairs_with_older_records_are_the_same_in_every_layout(
    partitions: int, band: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times reach the tasks, and bands of a head keep who is new and how much they have."""
    monkeypatch.setattr(_parts, "_BLOCK", 3000)
    ratings = ratings_of(presence=True)
    assert ratings.times is not None
    since, until = (int(each) for each in np.quantile(ratings.times, (0.6, 0.8)))
    head = np.arange(3, 4 * 70, 4, dtype=np.int32)
    pairs, numbers = HistoryPairs(head, since, until), HistoryNumbers(head, since, until)
    parts = Together(ratings, partitions, band)
    (right,), (found,) = pairs.measure(ratings), parts.triangles(pairs)
    assert right.dtype == found.dtype == np.int64 and right.any()
    np.testing.assert_array_equal(found, right)
    exact = numbers.measure(ratings)
    assert total(parts, numbers.measure) == exact and min(exact) > 0


def test_a_sketch_of_tastes_is_the_same_in_parts() -> None:
    """Fits of so few people see too few directions to combine any."""
    ratings = ratings_of()
    items = len(ratings.catalog)
    votes = UserVotes(ItemLevels(3.5, np.zeros(items)), np.ones(items), 5.0, Noise.GAUSSIAN)
    sketch = UserSketch(votes, np.random.default_rng(6).normal(size=(items, 9)))
    right = sketch.measure(ratings)
    assert right.any()
    np.testing.assert_array_equal(total(Together(ratings, 5, band=64), sketch.measure), right)


def test_one_look_serves_several_sums() -> None:
    ratings = ratings_of()
    parts = Together(ratings, 3, band=64)
    assert totals(parts, count_users, len) == totals(ratings, count_users, len)
    assert len(parts.volumes) == 1


def overflows(ratings: Ratings) -> np.ndarray:
    return np.full(3, 2**62 // max(ratings.user_count, 1) * ratings.user_count, np.int64)


def huge(ratings: Ratings) -> int:
    return 2**80 * ratings.user_count


def test_arrays_wrap_as_they_do_locally_and_integers_never_do() -> None:
    ratings = ratings_of()
    parts = Together(ratings, 5, band=64)
    assert total(parts, huge) == 2**80 * ratings.user_count
    users = [b["users"][0].as_py() for part in parts.parts for b in part]
    right = sum(2**62 // n * n for n in users) % 2**64
    assert total(parts, overflows).view(np.uint64).tolist() == [right] * 3


@pytest.mark.parametrize("size", [1, 7, 8, 16, 17, 30, 41])
def test_every_pair_is_in_one_tile(size: int) -> None:
    counted = np.zeros(size * (size + 1) // 2, np.int64)
    numbers = np.arange(1, len(counted) + 1)
    place = {
        (int(i), int(j)): n for n, (i, j) in enumerate(zip(*np.triu_indices(size), strict=True))
    }
    for sitting in sittings(size, band=8):
        items = [item for band in sitting.bands for item in band]
        assert len(items) <= 16
        rows, columns = np.triu_indices(len(items))
        own = [numbers[place[items[a], items[b]]] for a, b in zip(rows, columns, strict=True)]
        for tile, cells in zip(sitting.blocks, cut_blocks(sitting, np.array(own)), strict=True):
            flat = cells.reshape(-1)
            for begin in range(0, len(flat), 5):
                paste(tile, begin, flat[begin : begin + 5], size, counted)
    np.testing.assert_array_equal(counted, numbers)
    assert len(blocks_in(size, 8)) == len(set(blocks_in(size, 8)))


def test_a_head_of_two_bands_is_summed_at_once() -> None:
    (one,) = sittings(16, band=8)
    assert one.blocks == (
        Block(range(8), range(8, 16)),
        Block(range(8), range(8)),
        Block(range(8, 16), range(8, 16)),
    )


def test_items_outside_the_bands_are_left_out() -> None:
    items = np.array([0, 3, 5, -1, 2, 4], np.int32)
    one = HeadEntries(np.array([0, 3, 6]), items, np.arange(6, dtype=np.int16), np.ones(2), 6)
    found = one.within(range(1, 3), range(4, 6))
    assert found.size == 4
    assert found.items.tolist() == [-1, -1, 3, -1, 1, 2]
    assert found.values is one.values


def test_leaves_come_back_in_their_places() -> None:
    sums = (7, Moments(np.ones((2, 3), np.int64), np.arange(3), 5), np.int64(4))
    leaves = leaves_of(sums)
    assert [x if isinstance(x, int) else x.tolist() for x in leaves] == [
        7,
        [[1, 1, 1], [1, 1, 1]],
        [0, 1, 2],
        5,
        4,
    ]
    back = with_leaves(sums, iter(leaves))
    assert isinstance(back[1], Moments)
    assert (back[0], back[1].weight, back[2]) == (7, 5, 4)
    assert back[1].rows.tolist() == sums[1].rows.tolist()


def test_tiles_of_zeros_are_not_sent() -> None:
    leaf = np.zeros(3 * TILE + 5, np.int64)
    leaf[TILE + 1], leaf[-1] = -3, 9
    sent = list(tiles_of(leaf))
    assert [number for number, _ in sent] == [1, 3]
    assert sum(len(packed) for _, packed in sent) <= size_in_bytes([leaf])
    out: list[Any] = [np.zeros_like(leaf), 5]
    for number, packed in sent:
        add_tile(out, 0, number, packed)
    add_tile(out, 1, -1, next(iter(tiles_of(-(2**70))))[1])
    np.testing.assert_array_equal(out[0], leaf)
    assert out[1] == 5 - 2**70
    assert isinstance(tile_from(-1, next(iter(tiles_of(3)))[1]), int)


def rows_of(*rows: tuple[int, str, float, int]) -> pa.Table:
    names = ("user", "item", "rating", "time")
    return pa.table(dict(zip(names, zip(*rows, strict=True), strict=True)))


def test_of_several_ratings_the_latest_counts_in_whatever_order_they_come() -> None:
    catalog = Catalog(["a", "b"])
    table = rows_of((1, "a", 5, 30), (1, "a", 2, 70), (1, "b", 1, 70), (1, "a", 3, 70))
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 3, 0, 1]):
        (found,) = read_rows(table.take(order), STARS, catalog, "refuse")
        assert found.values().tolist() == [3, 1]
        assert found.times is not None
        assert found.times.tolist() == [70, 70]
        assert found.duplicates == 2
        (clicks,) = read_rows(table.take(order), PRESENCE, catalog, "refuse")
        assert clicks.times is not None
        assert clicks.times.tolist() == [30, 70]  # the earliest, as on one machine
    timeless = table.drop_columns("time")
    assert read_rows(timeless, STARS, catalog, "refuse")[0].values().tolist() == [5, 1]
    text = table.set_column(3, "time", pa.array(["9", "10", "8", "8"]))
    assert read_rows(text, STARS, catalog, "refuse")[0].values().tolist() == [2, 1]


def test_bad_rows_are_skipped_and_counted_beside_duplicates() -> None:
    table = rows_of((1, "a", 5, 1), (1, "a", 9, 2), (1, "a", 4, 3), (2, "c", 4, 3))
    (found,) = read_rows(table, STARS, Catalog(["a", "b"]), "skip")
    assert (found.values().tolist(), found.duplicates, found.skipped) == ([4], 1, 2)


def test_a_partition_says_what_is_wrong_without_showing_it() -> None:
    maker = Maker(Shape(STARS, Sent(Catalog(["a"]))), "refuse")
    (batch,) = parts_of(maker, rows_of((1, "a", 77, 1)))
    (row,) = batch.to_pylist()
    assert "not on the scale" in row["error"]
    assert "77" not in row["error"]
    assert row["users"] == 0
    with pytest.raises(InputError, match="the table changed while it was measured") as refused:
        list(maker.shape.unpacked(iter([batch])))
    assert "77" not in str(refused.value)


def test_a_partition_without_good_rows_is_no_failure_where_bad_ones_are_skipped() -> None:
    maker = Maker(Shape(STARS, Sent(Catalog(["a"]))), "skip")
    (batch,) = parts_of(maker, rows_of((1, "a", 77, 1), (2, "x", 1, 1)))
    assert (batch.to_pylist()[0]["error"], batch.to_pylist()[0]["skipped"]) == (None, 2)
    assert list(maker.parts(iter([]))) == []
    with pytest.raises(InputError):
        read_rows(rows_of((1, "x", 1, 1)), STARS, Catalog(["a"]), "refuse")


def test_items_are_listed_some_rows_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_parts, "_ROWS", 2)
    rows = rows_of((1, "a", 5, 1), (2, "b", 4, 2), (3, "c", 77, 3), (4, "c", 66, 3), (1, "a", 1, 3))
    batches = rows.to_batches(max_chunksize=1)
    listed = list(Maker(Shape(STARS, None), "skip").items(iter(batches)))
    assert [batch["item"].to_pylist() for batch in listed] == [["a", "b"], ["a"]]
    refused = list(Maker(Shape(STARS, None), "refuse").items(iter(batches)))
    assert refused[-1].to_pylist()[0]["error"].startswith("the rating is not on the scale")
    assert list(Maker(Shape(STARS, None), "refuse").items(iter([]))) == []


def test_sums_over_others_than_were_read_are_refused() -> None:
    parts = Together(ratings_of(), 3, band=64)
    lost = parts.parts.pop()
    head = np.arange(20, dtype=np.int32)
    pairs = CosinePairs(Unit.USER, Noise.GAUSSIAN, head, STARS)
    for measured in (lambda: total(parts, count_users), lambda: parts.triangles(pairs)):
        with pytest.raises(InputError, match="the table changed while it was measured"):
            measured()
    parts.parts.append(lost)
    assert total(parts, count_users) == parts.counted[0]


def test_kernels_take_the_task_s_cores_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 64)
    _parts.use_own_cores_only()
    assert numba.config.NUMBA_NUM_THREADS == 64  # this is no task of Spark's
    monkeypatch.setattr(_parts, "task_context", lambda: SimpleNamespace(cpus=lambda: 3))
    maker = Maker(Shape(STARS, Sent(Catalog(["a"]))), "refuse")
    with monkeypatch.context() as patched:
        patched.setattr(gc, "freeze", lambda: None)  # this process is no worker
        assert list(parts_of(maker, rows_of((1, "a", 5, 1))))
    assert numba.config.NUMBA_NUM_THREADS == 3


def test_a_worker_of_another_version_counts_nothing() -> None:
    shape = Shape(STARS, Sent(Catalog(["a"])), version="0.0.1")
    maker, rows = Maker(shape, "refuse"), rows_of((1, "a", 5, 1)).to_batches()
    for work in (lambda: maker.deal_rows(iter(rows)), lambda: maker.parts(iter([]))):
        with pytest.raises(InputError, match="another version of discreet"):
            list(work())
    with pytest.raises(InputError, match="another version of discreet"):
        list(shape.unpacked(iter([])))


@pytest.mark.parametrize("times", [False, True])
def test_parts_are_whole_users_and_join_again(times: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_parts, "_BLOCK", 1000)
    ratings = ratings_of(times=times)
    shape = Shape(ratings.scale, Sent(ratings.catalog), has_times=times)
    batches = list(parts_of(Maker(shape, "refuse"), table_of(ratings)))
    assert len(batches) > 10
    found = joined(shape, list(shape.unpacked(iter(batches))))
    np.testing.assert_array_equal(found.starts, ratings.starts)
    np.testing.assert_array_equal(found.items, ratings.items)
    np.testing.assert_array_equal(found.codes, ratings.codes)
    assert found.users is None
    assert found.has_times == times
    if times:
        np.testing.assert_array_equal(found.times, ratings.times)
    assert (batches[0]["times"].null_count == 0) == times
