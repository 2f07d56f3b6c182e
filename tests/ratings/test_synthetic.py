"""What `make_ratings` promises, whatever the shape."""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain import InputError, Scale
from discreet.ratings import Ratings
from discreet.ratings.synthetic import SHAPES, Shape, _generator, make_ratings

SMALL = Shape(users=300, items=200, ratings=6_000)


def assert_sound(ratings: Ratings, shape: Shape) -> None:
    assert len(ratings) == shape.ratings
    assert ratings.user_count == shape.users
    assert len(ratings.catalog) == shape.items
    counts = np.diff(ratings.starts)
    assert counts.min() >= shape.least
    assert counts.max() <= shape.items
    assert ratings.items.min() >= 0
    assert ratings.items.max() < shape.items
    rising = np.diff(ratings.items) > 0
    rising[ratings.starts[1:-1] - 1] = True  # from one user to the next anything goes
    assert rising.all()
    assert ratings.scale == shape.scale
    assert shape.scale.contains(ratings.values()).all()


def same(one: Ratings, other: Ratings) -> bool:
    columns = ("starts", "items", "codes", "times")
    return one.catalog == other.catalog and all(
        np.array_equal(getattr(one, c), getattr(other, c)) for c in columns
    )


@pytest.mark.parametrize("name", SHAPES)
def test_every_preset_is_sound_at_ten_thousand(name: str) -> None:
    shape = SHAPES[name].scaled(ratings=10_000)
    assert_sound(make_ratings(shape), shape)


@pytest.mark.parametrize(
    ("users", "items", "ratings"),
    [
        (1, 1, 1),
        (1, 70, 70),
        (2, 64, 128),
        (2, 65, 129),
        (40, 50, 2_000),
        (3_000, 2, 4_000),
        (500, 1, 500),
        (100, 20_000, 100),
        (2, 20_000, 25_000),
    ],
)
def test_extremes_are_sound(users: int, items: int, ratings: int) -> None:
    shape = Shape(users=users, items=items, ratings=ratings)
    assert_sound(make_ratings(shape), shape)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_shape_is_sound(data: st.DataObject) -> None:
    users = data.draw(st.integers(1, 60))
    items = data.draw(st.integers(1, 150))
    ratings = data.draw(st.integers(users, users * items))
    shape = Shape(
        users=users,
        items=items,
        ratings=ratings,
        least=data.draw(st.integers(1, ratings // users)),
        top_user=data.draw(st.none() | st.floats(0, 3)),
        top_item=data.draw(st.floats(0, 1)),
        user_bend=data.draw(st.floats(-1, 4)),
        item_bend=data.draw(st.floats(-1, 4)),
        choice=data.draw(st.floats(0, 10)),
        rank=data.draw(st.integers(1, 5)),
        scale=data.draw(st.sampled_from([Scale(1, 5), Scale(0, 1), Scale(-10, 10, None)])),
        span=data.draw(st.sampled_from([None, (date(1970, 1, 1), date(1970, 1, 2))])),
    )
    assert_sound(make_ratings(shape, seed=data.draw(st.integers(0, 2**64 - 1))), shape)


def test_the_same_seed_gives_the_same_ratings_and_another_gives_others() -> None:
    first, again, other = (make_ratings(SMALL, seed=s) for s in (5, 5, 6))
    assert same(first, again)
    assert not np.array_equal(first.items, other.items)
    assert not np.array_equal(first.codes, other.codes)
    assert first.catalog != other.catalog


def test_a_name_stands_for_its_shape() -> None:
    assert same(make_ratings("ml-100k", seed=3), make_ratings(SHAPES["ml-100k"], seed=3))


def test_the_number_of_threads_does_not_matter() -> None:
    most = numba.config.NUMBA_NUM_THREADS
    if most < 2:
        pytest.skip("this machine runs one thread only")
    before = numba.get_num_threads()
    try:
        made = []
        for threads in (1, 2):
            numba.set_num_threads(threads)
            made.append(make_ratings(SHAPES["ml-100k"], seed=1))
    finally:
        numba.set_num_threads(before)
    assert same(*made)


def test_the_size_of_blocks_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = make_ratings(SMALL)
    monkeypatch.setattr(_generator, "_SMALLEST_BLOCK", 1)
    monkeypatch.setattr(_generator, "_LARGEST_BLOCK", 100)
    assert same(whole, make_ratings(SMALL))


def test_progress_rises_to_the_total() -> None:
    told: list[tuple[int, int]] = []
    make_ratings("ml-100k", progress=lambda done, total: told.append((done, total)))
    done = [d for d, _ in told]
    assert len(done) > 1
    assert all(a < b for a, b in itertools.pairwise(done))
    assert {total for _, total in told} == {100_000}
    assert done[-1] == 100_000


def test_an_interrupt_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_generator, "_SMALLEST_BLOCK", 1)
    monkeypatch.setattr(_generator, "_LARGEST_BLOCK", 100)
    made: list[int] = []
    told = threading.Event()
    real = _generator._make_block

    def make_block(*args: Any) -> Any:
        made.append(1)
        if len(made) > 100:  # whoever is to hear of it has the time
            told.wait(60)
            time.sleep(0.01)
        return real(*args)

    monkeypatch.setattr(_generator, "_make_block", make_block)
    before = threading.active_count()

    def interrupt(done: int, total: int) -> None:
        told.set()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_ratings(Shape(users=20_000, items=200, ratings=400_000), progress=interrupt)
    assert len(made) < 1_000  # of four thousand
    assert threading.active_count() == before


def test_times_lie_in_the_span_and_come_in_sittings() -> None:
    span = (date(2010, 3, 1), date(2011, 3, 1))
    shape = replace(SMALL, span=span, session=10, returning=1.0, top_user=0.6)
    ratings = make_ratings(shape)
    assert ratings.times is not None
    begin, end = (datetime(d.year, d.month, d.day, tzinfo=UTC).timestamp() for d in span)
    assert ratings.times.min() >= begin
    assert ratings.times.max() < end
    users = ratings.user_of_rating()
    order = np.lexsort((ratings.times, users))
    gaps = np.diff(ratings.times[order].astype(np.int64))
    mine = np.diff(users[order]) == 0
    counts = np.diff(ratings.starts)
    # A sitting lasts at most 15 seconds a rating, so longer gaps lie between sittings.
    longest = 15 * shape.session
    pauses = np.bincount(users[order][1:][mine & (gaps > longest)], minlength=shape.users)
    assert (pauses <= counts // shape.session).all()
    assert pauses.sum() > 0.3 * (counts // shape.session).sum()


def test_users_who_do_not_return_rate_in_one_sitting() -> None:
    ratings = make_ratings(replace(SMALL, returning=0.0))
    assert ratings.times is not None
    first = np.minimum.reduceat(ratings.times, ratings.starts[:-1])
    last = np.maximum.reduceat(ratings.times, ratings.starts[:-1])
    assert (last - first <= 15 * np.diff(ratings.starts)).all()


def test_arrivals_follow_growth() -> None:
    shape = Shape(users=4_000, items=50, ratings=8_000, growth=3.0, returning=0.0)
    ratings = make_ratings(shape)
    assert ratings.times is not None and shape.span is not None
    arrivals = np.minimum.reduceat(ratings.times, ratings.starts[:-1]).astype(np.float64)
    begin = datetime(2001, 1, 1, tzinfo=UTC).timestamp()
    seconds = (shape.span[1] - shape.span[0]).days * 86_400
    # The median of t**3 is at t = 0.5**(1/3); its standard error here is below 0.01.
    assert np.median((arrivals - begin) / seconds) == pytest.approx(0.5 ** (1 / 3), abs=0.03)


def test_no_span_means_no_times() -> None:
    assert make_ratings(replace(SMALL, span=None)).times is None


def test_titles_are_different_and_older_than_the_ratings() -> None:
    titles = make_ratings("ml-100k").catalog.titles
    assert len(set(titles)) == 1_682
    assert all(title.endswith(")") and int(title[-5:-1]) < 1997 for title in titles)
    assert len({title[:-7] for title in titles}) == 1_682


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_bad_seeds_are_refused(seed: int) -> None:
    with pytest.raises(InputError, match="seed must be a whole number"):
        make_ratings(SMALL, seed=seed)


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="no shape 'netflx'; there are netflix, ml-100k"):
        make_ratings("netflx")
