"""Releases whose right recommendation is clear by hand, releases of item pairs, and people."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from discreet.domain import Catalog, Scale
from discreet.predict import People
from discreet.release import Release, pack
from release._making import make_release

Floats = npt.NDArray[np.float64]
STARS = Scale(1, 5)
# Items of a release of pairs, and those of its head.
D, HEAD = 12, np.array([0, 1, 3, 4, 7, 8, 9, 11], np.int32)
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


def pair_release(method: str, *, noise: float, scale: Scale = STARS, **arrays: Floats) -> Release:
    """A release of item pairs with random effects; triangles are given as whole matrices."""
    rng = np.random.default_rng(1)
    plain = make_release(np.zeros((D, 0)), effects=rng.normal(0, 0.4, D))
    kept = {k: plain.arrays[k] for k in ("item_effects", "item_effect_variances", "item_counts")}
    names = {"slope-one": ("difference", "pair"), "cosine": ("product", "square")}[method]
    told = {f"{name}_noise": noise for name in names}
    packed = {k: pack(v) if v.ndim == 2 else v.astype(np.float32) for k, v in arrays.items()}
    return dataclasses.replace(
        plain,
        method=method,
        scale=scale,
        parameters=dict(plain.parameters) | told,
        arrays=kept | ({"head": HEAD} | packed if packed else {}),
    )


def bias_of(release: Release, items: npt.NDArray[np.int32], values: Floats) -> float:
    parameters, arrays = release.parameters, release.arrays
    noise = parameters["rating_variance"] + arrays["item_effect_variances"][items]
    x = values - parameters["global_mean"] - arrays["item_effects"][items]
    return float((x / noise).sum() / (1 / parameters["user_variance"] + (1 / noise).sum()))
