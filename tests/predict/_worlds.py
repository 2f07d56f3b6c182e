"""Releases whose right recommendation can be told by hand."""

from __future__ import annotations

import numpy as np

from discreet.domain import Catalog
from discreet.predict import People
from discreet.release import Release, pack
from release._making import make_release

TITLES = ["comedy A", "comedy B", "comedy C", "horror A", "horror B", "horror C"]


def two_tastes() -> Release:
    """Three comedies, three horrors: who likes the one kind dislikes the other as much."""
    factors = np.array([[0.8]] * 3 + [[-0.8]] * 3)
    catalog = Catalog([f"id{i}" for i in range(6)], TITLES)
    return make_release(factors, effects=[0.3, 0.2, 0.1, 0.3, 0.2, 0.1], catalog=catalog)


def two_tastes_by_matrix() -> Release:
    """The same world as a covariance matrix over all items, without factors."""
    sign = np.array([1, 1, 1, -1, -1, -1])
    covariance = np.outer(sign, sign) * 0.64 + np.eye(6) * 0.72
    catalog = Catalog([f"id{i}" for i in range(6)], TITLES)
    return make_release(
        np.zeros((6, 0)),
        effects=[0.3, 0.2, 0.1, 0.3, 0.2, 0.1],
        catalog=catalog,
        more_arrays={
            "head": np.arange(6, dtype=np.int32),
            "covariance": pack(covariance * 50),
            "weights": pack(np.full((6, 6), 50.0)),
        },
        covariance_noise=0.0,
        weights_noise=0.0,
    )


def crowd(d: int, people: int, most: int, seed: int = 0) -> People:
    """People with 0 to `most` random ratings each, items in rising order."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, most + 1, people)
    counts[0] = 0
    items = [np.sort(rng.choice(d, n, replace=False)).astype(np.int32) for n in counts]
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    values = rng.integers(1, 6, starts[-1]).astype(np.float64)
    return People(starts, np.concatenate(items).astype(np.int32), values)


def person(people: People, row: int) -> tuple[np.ndarray, np.ndarray]:
    part = slice(people.starts[row], people.starts[row + 1])
    return people.items[part], people.values[part]
