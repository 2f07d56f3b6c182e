"""Slow, obvious twins of the engines, and tables to try them on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

MOST = 32767


class Table(NamedTuple):
    """Arguments of `co_moments`."""

    starts: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    values: npt.NDArray[np.int16]
    votes: npt.NDArray[np.int16]
    size: int


def table_of(rows: list[dict[int, int]], votes: list[int], size: int) -> Table:
    """A table from one mapping of items to values a user; keys below 0 stand for skipped items."""
    items = [item for row in rows for item in sorted(row)]
    values = [row[item] for row in rows for item in sorted(row)]
    return Table(
        np.cumsum([0] + [len(row) for row in rows], dtype=np.int64),
        np.maximum(np.array(items, np.int32), -1),
        np.array(values, np.int16),
        np.array(votes, np.int16),
        size,
    )


def random_table(users: int, size: int, seed: int, skipped: float = 0.1) -> Table:
    """Users who have anything from no item to every item, popular ones more often."""
    rng = np.random.default_rng(seed)
    counts = np.r_[0, size, rng.integers(0, size + 1, max(users - 2, 0))][:users]
    liked = rng.permutation(1.0 / np.arange(1, size + 1))
    chosen = [
        np.sort(rng.choice(size, count, replace=False, p=liked / liked.sum())) for count in counts
    ]
    items = np.concatenate([np.empty(0, np.int64), *chosen]).astype(np.int32)
    items[rng.random(len(items)) < skipped] = -1
    values = rng.integers(-MOST, MOST + 1, len(items)).astype(np.int16)
    votes = rng.integers(0, MOST + 1, users).astype(np.int16)
    starts = np.r_[0, np.cumsum(counts)].astype(np.int64)
    return Table(starts, items, values, votes, size)


@st.composite
def tables(draw: st.DrawFn, most_items: int = 20, most_users: int = 12) -> Table:
    """Small tables, keen on extreme values, empty users and full ones."""
    size = draw(st.integers(1, most_items))
    value = st.one_of(st.sampled_from([-MOST, MOST, 0, 1]), st.integers(-MOST, MOST))
    row = st.one_of(
        st.dictionaries(st.integers(-2, size - 1), value, max_size=size),
        st.fixed_dictionaries(dict.fromkeys(range(size), value)),
    )
    rows = draw(st.lists(row, max_size=most_users))
    vote = st.one_of(st.sampled_from([0, MOST]), st.integers(0, MOST))
    votes = draw(st.lists(vote, min_size=len(rows), max_size=len(rows)))
    return table_of(rows, votes, size)


def slow_triangles(table: Table) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Both sums in Python's own integers, entry by entry of the packed triangle."""
    cov = [0] * (table.size * (table.size + 1) // 2)
    wgt = list(cov)
    for u, vote in enumerate(table.votes.tolist()):
        own = slice(table.starts[u], table.starts[u + 1])
        rated = [
            (item, value)
            for item, value in zip(
                table.items[own].tolist(), table.values[own].tolist(), strict=True
            )
            if item >= 0
        ]
        for n, (i, left) in enumerate(rated):
            for j, right in rated[n:]:
                at = i * table.size - i * (i - 1) // 2 + (j - i)
                cov[at] += left * right
                wgt[at] += vote * vote
    return np.array(cov, np.int64), np.array(wgt, np.int64)


def dense_triangles(table: Table) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The same by whole matrices of floats, exact here: all sums are far below 2^53."""
    user = np.repeat(np.arange(len(table.votes)), np.diff(table.starts))
    kept = table.items >= 0
    at = user[kept], table.items[kept]
    values = np.zeros((len(table.votes), table.size))
    values[at] = table.values[kept]
    votes = np.zeros_like(values)
    votes[at] = table.votes[at[0]]
    upper = np.triu_indices(table.size)
    cov, wgt = ((dense.T @ dense)[upper].astype(np.int64) for dense in (values, votes))
    return cov, wgt
