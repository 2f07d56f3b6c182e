"""Per-item sums that a curator releases: counts, Gram matrices, linear terms; and their noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt
from benchmarks.accuracy.rivals._home import Floats, Indices, Table

Generator = np.random.Generator


@dataclass(frozen=True, eq=False)
class Moments:
    """For every item, sums over its raters of w u u^T and w y u, u a row the rater has."""

    grams: Floats
    """Items x rank x rank, symmetric."""
    linear: Floats
    """Items x rank."""

    @property
    def counts(self) -> Floats:
        """The weighted numbers of raters, where u begins with a 1; at least 0."""
        return np.maximum(self.grams[:, 0, 0], 0.0)

    def solve(self, ridges: Floats) -> Floats:
        """Each item's (G + diag(ridges))^-1 b, G's negative eigenvalues taken as 0."""
        eigenvalues, vectors = np.linalg.eigh(self.grams)
        positive = (vectors * np.maximum(eigenvalues, 0)[:, None, :]) @ vectors.transpose(0, 2, 1)
        solved: Floats = np.linalg.solve(positive + np.diag(ridges), self.linear[:, :, None])
        return solved[:, :, 0]


def item_moments(table: Table, values: Floats, rows: Floats, weights: Floats) -> Moments:
    """Exact sums. `values` and `weights` go with ratings, `rows` with users."""
    grams, linear = _sum(table.users, table.items, values, rows, weights, table.size)
    return Moments(grams, linear)


@numba.njit(cache=True)
def _sum(
    users: Indices, items: Indices, values: Floats, rows: Floats, weights: Floats, size: int
) -> tuple[Floats, Floats]:
    rank = rows.shape[1]
    grams, linear = np.zeros((size, rank, rank)), np.zeros((size, rank))
    for rating in range(users.size):
        row, item, weight = rows[users[rating]], items[rating], weights[rating]
        for p in range(rank):
            linear[item, p] += weight * values[rating] * row[p]
            for q in range(p + 1):
                grams[item, p, q] += weight * row[p] * row[q]
    for p in range(rank):
        for q in range(p):
            grams[:, q, p] = grams[:, p, q]
    return grams, linear


def add_noise(rng: Generator, exact: Moments, sigma: float, gram_scale: float) -> Moments:
    """Gaussian noise for linear terms and Gram matrices released as one vector.

    The vector is (b, a G), where G's entries above the diagonal count with factor sqrt 2 and those
    below not at all: its norm is then the Frobenius norm of the full matrices, and the noise of an
    entry off the diagonal is sigma/(a sqrt 2).
    """
    rank = exact.linear.shape[1]
    upper = np.triu(np.full((rank, rank), math.sqrt(0.5)), 1)
    half = rng.normal(size=exact.grams.shape) * (upper + np.eye(rank)) * (sigma / gram_scale)
    noise = half + np.triu(half, 1).transpose(0, 2, 1)
    return Moments(exact.grams + noise, exact.linear + rng.normal(size=exact.linear.shape) * sigma)


def unit_weights(
    table: Table, values: Floats, rows: Floats, omega: Floats, gram_scale: float
) -> Floats:
    """A weight for each rating so that each user's part of (b, a G) has norm at most 1.

    A user's part has squared norm sum_j w_j^2 (y_j^2 |u|^2 + a^2 |u|^4), all of it the user's own.
    w_j is omega of the item divided by the root of that sum; y_j^2 counts as 0.05 at least, so that
    somebody whose ratings are all as expected does not speak louder than others.
    """
    lengths = np.sum(rows**2, axis=1)[table.users]
    chosen = omega[table.items]
    squares = chosen**2 * lengths * (np.maximum(values**2, 0.05) + gram_scale**2 * lengths)
    norms = np.sqrt(table.per_user(squares))[table.users]
    return np.divide(chosen, norms, out=np.zeros_like(chosen), where=norms > 0)


def split_squares(mu: float, shares: npt.ArrayLike) -> Floats:
    """The mu of each part, where parts have these shares of mu^2; they add up to 1 at most."""
    parts = np.asarray(shares, dtype=np.float64)
    assert parts.min() >= 0 and parts.sum() <= 1 + 1e-12
    split: Floats = mu * np.sqrt(parts)
    return split
