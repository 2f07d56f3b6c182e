"""Each kernel of the local engine against a slow twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from discreet.measure.engines.local import _head, _layout, _rows, _triangle, _vector
from discreet.measure.engines.local._dense import PANEL, add_stripe, aligned_zeros
from measure.engines._slow import MOST, Table, random_table, tables


@njit
def call_add_run(acc, entries, begin, end, factor, vote):
    _vector.add_run(acc, entries, begin, end, factor, vote)


@njit
def call_prefetch(entries, row):
    _vector.prefetch(entries, row)


@njit
def call_lowest_bit(word):
    return _vector.lowest_bit(word)


def runs_of(table: Table, narrow: bool = True) -> _layout.Runs:
    return _layout.make_runs(*table, threads=1, narrow=narrow)


def runs_by_hand(table: Table) -> list[list[tuple[int, int]]]:
    """Headers and entries of all runs, by Python's sort."""
    kept = table.items[: table.starts[-1]]
    popularity = np.bincount(kept[kept >= 0], minlength=table.size).tolist()
    order = sorted(range(table.size), key=lambda item: (-popularity[item], item))
    rank = {item: place for place, item in enumerate(order)}
    runs = []
    for u, vote in enumerate(table.votes.tolist()):
        own = range(table.starts[u], table.starts[u + 1])
        entries = [
            (rank[int(table.items[n])], int(table.values[n])) for n in own if table.items[n] >= 0
        ]
        if entries:
            runs.append([(0, vote), *sorted(entries)])
    return sorted(runs, key=lambda run: -len(run))


@pytest.mark.parametrize("kind", [np.int16, np.int32])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 40])
def test_add_run(kind: type, count: int) -> None:
    rng = np.random.default_rng(count)
    entries = np.stack([rng.permutation(50), rng.integers(-MOST, MOST + 1, 50)], axis=1).astype(
        kind
    )
    old = rng.integers(-(2**60), 2**60, (50, 2))
    begin, end, factor, vote = 3, 3 + count, -MOST, MOST**2
    want = old.copy()
    for place, value in entries[begin:end].tolist():
        want[place, 0] += factor * value
        want[place, 1] += vote
    both, one = old.copy(), old[:, 0].copy()
    call_add_run(both, entries, begin, end, factor, vote)
    call_add_run(one, entries, begin, end, factor, vote)
    np.testing.assert_array_equal(both, want)
    np.testing.assert_array_equal(one, want[:, 0])


def test_prefetch_may_leave_the_array_and_changes_nothing() -> None:
    entries = np.arange(8, dtype=np.int16).reshape(4, 2)
    for row in (-1, 0, 3, 10**9):
        call_prefetch(entries, row)
    assert entries.ravel().tolist() == list(range(8))


@pytest.mark.parametrize("place", [0, 1, 31, 32, 63])
def test_lowest_bit(place: int) -> None:
    for above in range(place, 64):
        assert call_lowest_bit(np.uint64((1 << place) | (1 << above))) == place


@given(tables(), st.booleans())
def test_runs(table: Table, narrow: bool) -> None:
    runs = runs_of(table, narrow)
    want = runs_by_hand(table)
    assert runs.entries.dtype == (np.int16 if narrow else np.int32)
    assert runs.entries.tolist() == [list(entry) for run in want for entry in run]
    assert runs.starts.tolist() == [0, *np.cumsum([len(run) for run in want]).tolist()]
    assert runs.order[runs.rank].tolist() == list(range(table.size))


@given(tables(), st.data())
def test_visits(table: Table, data: st.DataObject) -> None:
    runs = runs_of(table)
    users = len(runs.counts)
    heads = data.draw(st.lists(st.integers(0, table.size), min_size=users, max_size=users))
    visits = _layout.make_visits(runs, np.array(heads, np.int64), threads=2)
    want: list[list[tuple[int, int]]] = [[] for _ in range(table.size)]
    for u, head in enumerate(heads):
        first = int(runs.starts[u]) + 1
        for n in range(first, int(runs.starts[u + 1])):
            if runs.entries[n, 0] >= head:
                want[runs.order[runs.entries[n, 0]]].append((n, n - first))
    for item in range(table.size):
        own = slice(visits.starts[item], visits.starts[item + 1])
        got = zip(visits.last[own].tolist(), visits.depth[own].tolist(), strict=True)
        assert list(got) == want[item]


@given(tables(), st.lists(st.integers(1, 25), min_size=1, max_size=4, unique=True))
def test_head_pairs(table: Table, widths: list[int]) -> None:
    runs, widths = runs_of(table), sorted(widths)
    got = _head.head_pairs(runs.starts, runs.entries, np.array(widths), 3)
    want = np.zeros_like(got)
    for u, run in enumerate(runs_by_hand(table)):
        for w, width in enumerate(widths):
            count = sum(place < width for place, _ in run[1:])
            want[u // 3, w] += count * (count + 1) // 2
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("voting", [False, True])
def test_spread(voting: bool) -> None:
    table = random_table(9, 50, seed=5)
    runs = runs_of(table)
    width = 37
    column = np.random.default_rng(0).permutation(width)
    block = np.full((3, 9, PANEL), 99.0)
    _head.spread(runs.starts, runs.entries, column, voting, block)
    flat = block.transpose(1, 0, 2).reshape(9, 3 * PANEL)
    want = np.zeros_like(flat)
    for u, ((_, vote), *entries) in enumerate(runs_by_hand(table)):
        for place, value in entries:
            if place < width:
                want[u, column[place]] = vote if voting else value
    np.testing.assert_array_equal(flat, want)


@pytest.mark.parametrize(("panels", "users"), [(1, 1), (2, 7), (3, 130)])
def test_add_stripe(panels: int, users: int) -> None:
    rng = np.random.default_rng(users)
    block = aligned_zeros(panels, users, PANEL)
    block[:] = rng.integers(-MOST, MOST + 1, block.shape)
    out = aligned_zeros(panels * PANEL, panels * PANEL)
    out[:] = old = rng.integers(0, 1000, out.shape)
    rows = block.transpose(1, 0, 2).reshape(users, -1).astype(np.int64)
    for panel in range(panels):
        add_stripe(block, panel, out)
    upper = np.triu_indices(len(out))
    np.testing.assert_array_equal(out[upper], (rows.T @ rows + old)[upper])
    assert out.ctypes.data % 64 == block.ctypes.data % 64 == 0


def test_triangle() -> None:
    size = 6
    packed = np.arange(_triangle.entries_in(size))
    full = np.zeros((size, size), np.int64)
    full[np.triu_indices(size)] = packed
    full = np.maximum(full, full.T)
    np.testing.assert_array_equal(_triangle.square(packed, np.arange(size), size, np.int64), full)
    items = np.array([1, 2, 5])
    block = np.array([[10.0, 20, 30], [np.nan, 40, 50], [np.nan, np.nan, 60]])
    want = full.copy()
    want[np.ix_(items, items)] += [[10, 20, 30], [0, 40, 50], [0, 0, 60]]
    _triangle.add_block(block, items, size, packed)
    np.testing.assert_array_equal(packed, want[np.triu_indices(size)])


@given(tables())
def test_sum_row(table: Table) -> None:
    runs = runs_of(table)
    visits = _layout.make_visits(runs, np.zeros(len(runs.counts), np.int64), threads=1)
    for item in range(table.size):
        acc, pairs = np.zeros((table.size, 2), np.int64), 0
        want = acc.copy()
        for (_, vote), *entries in runs_by_hand(table):
            own = dict(entries).get(int(runs.rank[item]))
            for place, value in entries:
                if own is not None and place <= runs.rank[item]:
                    want[place] += own * value, vote * vote
                    pairs += 1
        begin, end = visits.starts[item], visits.starts[item + 1]
        assert _rows.sum_row(visits, begin, end, runs.entries, acc) == pairs
        np.testing.assert_array_equal(acc, want)


@pytest.mark.parametrize("first", [0, 3, 8])
@pytest.mark.parametrize("lanes", [1, 2])
def test_add_band(first: int, lanes: int) -> None:
    size, height = 11, 4
    rng = np.random.default_rng(first)
    order = rng.permutation(size)
    rank = np.argsort(order)
    acc = rng.integers(-(2**40), 2**40, (height, size, lanes))
    outs = tuple(rng.integers(0, 9, _triangle.entries_in(size)) for _ in range(lanes))
    want = [_triangle.square(out, np.arange(size), size, np.int64) for out in outs]
    for item in range(first, min(first + height, size)):
        for other in order[: rank[item] + 1].tolist():
            for n in range(lanes):
                low, high = min(item, other), max(item, other)
                want[n][low, high] += acc[item - first, rank[other], n]
    _rows.add_band(first, rank, order, acc, outs[0], outs[-1])
    for out, full in zip(outs, want, strict=True):
        np.testing.assert_array_equal(out, full[np.triu_indices(size)])


def test_widths_fall_and_cover_whole_blocks() -> None:
    runs = runs_of(random_table(2000, 400, seed=6))
    zones = _head.plan_heads(runs, 2)
    assert zones[0].begin == 0
    assert [zone.begin for zone in zones[1:]] == [zone.end for zone in zones[:-1]]
    widths = [zone.width for zone in zones]
    assert widths == sorted(set(widths), reverse=True)
    heads = _head.heads_of(zones, len(runs.counts))
    assert heads.tolist() == sorted(heads.tolist(), reverse=True)
    assert max(widths) <= 400
