"""What happens at a person's home in every rival: own ratings and released item numbers, no noise.

Ratings are told in quarters of the scale's range from its middle, so that one set of constants
serves every scale; five stars are -2 to 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from discreet.ratings import Ratings, Split

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

HALF_RANGE = 2.0
RATING_VARIANCE = 0.8
SHIFT_VARIANCE = 0.2


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Everybody's training ratings as kernels want them. Private."""

    starts: Indices
    items: Indices
    users: Indices
    values: Floats
    """In quarters of the range from the middle of the scale."""
    size: int
    """How many items the public catalogue has."""

    @classmethod
    def of(cls, ratings: Ratings) -> Table:
        """The same ratings, other units."""
        return cls(
            ratings.starts,
            ratings.items.astype(np.int64),
            ratings.user_of_rating().astype(np.int64),
            (ratings.values() - ratings.scale.mid) * (2 * HALF_RANGE / ratings.scale.range),
            len(ratings.catalog),
        )

    @property
    def user_count(self) -> int:
        """How many users there are, with ratings or without."""
        return len(self.starts) - 1

    def per_user(self, values: Floats) -> Floats:
        """Sums over each user's ratings."""
        sums: Floats = np.bincount(self.users, values, self.user_count).astype(np.float64)
        return sums


@dataclass(frozen=True, eq=False)
class Model:
    """What a rival releases: a rating is level + effect + the person's shift + factors . taste."""

    level: float
    effects: Floats
    factors: Floats

    def residuals(self, table: Table) -> Floats:
        """Ratings without level and item effect."""
        return table.values - self.level - self.effects[table.items]

    def moved(self, by: Floats, factors: Floats) -> Model:
        """With effects moved, at most to where ratings can be, and other factors."""
        effects = np.clip(self.effects + by, -HALF_RANGE - self.level, HALF_RANGE - self.level)
        return Model(self.level, effects, factors)

    def people(self, table: Table, variance: float = RATING_VARIANCE) -> tuple[Floats, Floats]:
        """Everybody's shift and taste by ridge regression on their own ratings."""
        features = beside_one(self.factors)
        prior = np.concatenate(([1 / SHIFT_VARIANCE], np.ones(self.factors.shape[1])))
        solved = ridge(table.starts, table.items, self.residuals(table), features, variance * prior)
        return solved[:, 0], solved[:, 1:]

    def predict(self, split: Split) -> Floats:
        """Predictions of the test ratings, on their scale."""
        shifts, tastes = self.people(Table.of(split.train))
        users, items, scale = split.test.user_of_rating(), split.test.items, split.test.scale
        taste = np.einsum("ij,ij->i", tastes[users], self.factors[items])
        quarters = self.level + self.effects[items] + shifts[users] + taste
        predicted: Floats = scale.mid + quarters * scale.range / (2 * HALF_RANGE)
        return predicted


def shorten(rows: Floats, most: float) -> Floats:
    """The same rows, longer ones cut to this length."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    short: Floats = rows * np.minimum(1.0, most / np.maximum(lengths, 1e-12))
    return short


def beside_one(rows: Floats) -> Floats:
    """Rows with a 1 in front, which goes with the item effect."""
    return np.column_stack([np.ones(len(rows)), rows])


def ridge(
    starts: Indices, items: Indices, values: Floats, features: Floats, ridges: Floats
) -> Floats:
    """Each user's argmin of sum (x - f.z)^2 + sum ridges z^2; 0 for users without ratings."""
    grams, linear = _normal_equations(starts, items, values, features)
    solved: Floats = np.linalg.solve(grams + np.diag(ridges), linear[:, :, None])
    return solved[:, :, 0]


def _normal_equations(
    starts: Indices, items: Indices, values: Floats, features: Floats
) -> tuple[Floats, Floats]:
    """Each user's sums of f f^T and of x f."""
    (size, rank), users = features.shape, len(starts) - 1
    squares = np.einsum("ip,iq->ipq", features, features).reshape(size, -1)
    grams = csr_array((np.ones(len(items)), items, starts), (users, size)) @ squares
    linear: Floats = csr_array((values, items, starts), (users, size)) @ features
    return grams.reshape(users, rank, rank), linear


def ridge_in_ball(
    starts: Indices,
    items: Indices,
    values: Floats,
    features: Floats,
    ridges: Floats,
    radius: float,
) -> Floats:
    """Each user's argmin of sum (x - f.z)^2 + ridges[user] |z|^2 over |z| <= radius.

    In the eigenvectors of the Gram matrix z_p = l_p/(g_p + ridge + t), with t = 0 or, if that is
    too long, the t >= 0 at which |z| is the radius: found from above, so that |z| <= radius holds.
    """
    grams, linear = _normal_equations(starts, items, values, features)
    eigenvalues, vectors = np.linalg.eigh(grams)
    turned = np.einsum("upq,up->uq", vectors, linear)
    floor = np.maximum(eigenvalues, 0.0) + ridges[:, None]

    def too_long(more: Floats) -> npt.NDArray[np.bool_]:
        squares: Floats = np.sum((turned / (floor + more[:, None])) ** 2, axis=1)
        return squares > radius**2

    low = np.zeros(len(linear))
    high = np.where(too_long(low), np.linalg.norm(turned, axis=1) / radius, 0.0)
    for _ in range(60):
        middle = (low + high) / 2
        is_long = too_long(middle)
        low, high = np.where(is_long, middle, low), np.where(is_long, high, middle)
    solved: Floats = np.einsum("upq,uq->up", vectors, turned / (floor + high[:, None]))
    return solved


@numba.njit(cache=True)
def huber_centre(starts: Indices, values: Floats, clamp: float, fictitious: float) -> Floats:
    """Values minus each user's b, cut to +-clamp, where b solves sum cut(x - b) = fictitious b."""
    centred = np.empty_like(values)
    for user in range(starts.size - 1):
        own = values[starts[user] : starts[user + 1]]
        reach = clamp * max(own.size, 1) / fictitious
        low, high = -reach, reach
        for _ in range(60):
            middle = (low + high) / 2
            slack = -fictitious * middle
            for value in own:
                slack += min(max(value - middle, -clamp), clamp)
            if slack > 0:
                low = middle
            else:
                high = middle
        for rating in range(starts[user], starts[user + 1]):
            centred[rating] = min(max(values[rating] - high, -clamp), clamp)
    return centred
