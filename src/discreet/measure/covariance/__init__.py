"""How tastes for items go together: Cov = sum of w y y^T, Wgt = sum of w e e^T. See PROOF.md."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass, field

import numba as nb
import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.measure._source import (
    HeadEntries,
    PairStatistic,
    Part,
    Progress,
    count_inside,
    head_entries,
)
from discreet.measure.centring import GRID, Centring, ItemLevels
from discreet.measure.engines.local import co_moments
from discreet.measure.user_votes import UserVotes
from discreet.privacy import Noise
from discreet.ratings import Ratings

_Floats = npt.NDArray[np.float64]

ROUNDING = 1 + 2.0**-20
"""Two roundings to the nearest differ by at most one step; the excess is for float products."""


@dataclass(frozen=True)
class Weights:
    """w(c) = (c + offset)^-1/2 for Gaussian noise, 1/(c + offset) for Laplace noise.

    c is how many items of the matrix a person rated.
    """

    noise: Noise
    offset: float

    def roots(self, c: npt.ArrayLike) -> _Floats:
        """sqrt(w(c)); 0 for nobody."""
        power = -0.25 if self.noise.kind.order == 2 else -0.5
        counts = np.asarray(c, dtype=np.float64)
        with np.errstate(divide="ignore"):
            return np.where(counts > 0, (counts + self.offset) ** power, 0.0)


def movement_bound(
    weights: Weights, centring: Centring, grid: float, size: int
) -> tuple[float, float]:
    """Bounds on the movement of (strict upper triangle, diagonal) of Cov, in grid units squared.

    The norm is that of the noise. c counts the old ratings among the `size` items; the new one is
    either one more of them or another item, which pushes the old ones but adds no row.
    """
    c = np.arange(size, dtype=np.float64)
    old_root, new_root = weights.roots(c), weights.roots(c + 1)
    inside = _moved(weights.noise, centring, grid, c, old_root, new_root, adds=True)
    all_c = np.arange(size + 1, dtype=np.float64)
    root = weights.roots(all_c)
    outside = _moved(weights.noise, centring, grid, all_c, root, root, adds=False)
    most = [max(float(a.max()), float(b.max())) for a, b in zip(inside, outside, strict=True)]
    return _up(most[0] * grid * grid), _up(most[1] * grid * grid)


def _moved(
    noise: Noise,
    centring: Centring,
    grid: float,
    c: _Floats,
    old_root: _Floats,
    new_root: _Floats,
    *,
    adds: bool,
) -> tuple[_Floats, _Floats]:
    """Movement of the strict triangle and of the diagonal, in units of the scale squared."""
    clamp, step = centring.clamp, ROUNDING / grid
    old_most, new_most = (root * clamp + step / 2 for root in (old_root, new_root))
    shrink = (old_root - new_root) * clamp
    corner = new_most**2 if adds else np.zeros_like(c)
    if noise.kind.order == 1:
        pushed = new_root * (centring.total_movement(c) + c * centring.step)
        moved = pushed + c * (shrink + step)
        triangle = moved * c * (old_most + new_most) / 2 + corner * c
        return triangle, corner + moved * (old_most + new_most)
    pushed = new_root * (centring.movement(c) + np.sqrt(c) * centring.step)
    moved = pushed + np.sqrt(c) * (shrink + step)
    block = moved * np.sqrt(c) * (old_most + new_most) / math.sqrt(2)
    triangle = np.hypot(block, corner * np.sqrt(c))
    return triangle, np.hypot(corner, moved * (old_most + new_most))


def vote_bound(votes: npt.NDArray[np.int64], noise: Noise) -> tuple[float, float]:
    """Exact movement of (strict upper triangle, diagonal) of Wgt when c becomes c + 1.

    Args:
        votes: The integer z(c) for c = 0..size; a pair of one person counts z(c)^2.
        noise: Which norm.
    """
    squares = votes.astype(np.float64) ** 2
    c = np.arange(len(votes) - 1, dtype=np.float64)
    drop, new = np.abs(squares[:-1] - squares[1:]), squares[1:]
    pairs = c * (c - 1) / 2
    if noise.kind.order == 1:
        triangle, diagonal = drop * pairs + new * c, drop * c + new
    else:
        triangle = np.sqrt(drop**2 * pairs + new**2 * c)
        diagonal = np.sqrt(drop**2 * c + new**2)
    return _up(float(triangle.max())), _up(float(diagonal.max()))


def _up(value: float) -> float:
    return value * (1 + 2.0**-40)


# The largest 16-bit integer: entries are stored in 16 bits.
_LARGEST = 32767
# Vectors are made this much shorter than that: more than rounding can lengthen them (PROOF.md).
_SAFE = 1 - 2.0**-30

_Ints = npt.NDArray[np.int64]
_Block = tuple[npt.NDArray[np.int16], npt.NDArray[np.int16]]


@dataclass(frozen=True, eq=False)
class Covariance(PairStatistic):
    """The co-moments of the items of `head`, in exact integers.

    Args:
        noise: Which norm the sensitivities are in.
        head: Catalogue indices of the items in the matrix, chosen from released numbers.
        with_weights: Whether Wgt is wanted as well as Cov.
    """

    noise: Noise
    head: npt.NDArray[np.int32]
    with_weights: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        if len(self.head) and (self.head[0] < 0 or np.any(np.diff(self.head) <= 0)):
            raise InputError("the items of a covariance are listed in rising order, each once")

    @property
    @abc.abstractmethod
    def grid(self) -> float:
        """Grid units in one unit of a weighted centred rating; Cov is in grid^2."""

    @property
    @abc.abstractmethod
    def vote_grid(self) -> float:
        """Grid units in one unit of a root weight; Wgt is in vote_grid^2."""

    @property
    @abc.abstractmethod
    def sensitivities(self) -> tuple[float, float]:
        """Of Cov: strict upper triangle, diagonal."""

    @property
    @abc.abstractmethod
    def vote_sensitivities(self) -> tuple[float, float]:
        """Of Wgt: strict upper triangle, diagonal."""

    @property
    def parts(self) -> tuple[Part, ...]:
        cov = Part("item covariance", self.sensitivities[0], self.grid**2, is_triangle=True)
        if not self.with_weights:
            return (cov,)
        reach, grid = self.vote_sensitivities[0], self.vote_grid**2
        return cov, Part("co-rating weights", reach, grid, is_triangle=True)

    @abc.abstractmethod
    def _quantised(self, block: Ratings, inside: npt.NDArray[np.int32]) -> _Block:
        """Integers for one block of users; private."""

    def entries(self, ratings: Ratings) -> HeadEntries:
        """Integers of all people; private."""
        return head_entries(ratings, self.head, self._quantised, np.int16)

    def sum_pairs(
        self, entries: HeadEntries, progress: Progress | None = None
    ) -> tuple[_Ints, ...]:
        """Cov, and Wgt where it is wanted, over the items of the entries; private."""
        votes = entries.weights if self.with_weights else None
        moments = co_moments(
            entries.starts, entries.items, entries.values, votes, entries.size, progress=progress
        )
        return (moments.cov,) if moments.wgt is None else (moments.cov, moments.wgt)


@dataclass(frozen=True, eq=False)
class RatingCovariance(Covariance):
    """Where one rating is protected: y is centred, w(c) damps people who rate much.

    Args:
        noise: Which norm.
        head: The items.
        centring: How ratings are centred and clamped.
        levels: What was released of the items.
        offset: Added to c in w(c); 0 is the paper's weight.
    """

    centring: Centring
    levels: ItemLevels
    offset: float = 5.0

    @property
    def weights(self) -> Weights:
        return Weights(self.noise, self.offset)

    @property
    def grid(self) -> float:
        return _LARGEST / (self.centring.clamp * self._top_root) * _SAFE

    @property
    def vote_grid(self) -> float:
        return _LARGEST / self._top_root * _SAFE

    @property
    def _top_root(self) -> float:
        return float(self.weights.roots([1])[0])

    @property
    def sensitivities(self) -> tuple[float, float]:
        return movement_bound(self.weights, self.centring, self.grid, len(self.head))

    @property
    def vote_sensitivities(self) -> tuple[float, float]:
        return vote_bound(self._votes(len(self.head)), self.noise)

    def _votes(self, most: int) -> _Ints:
        return np.rint(self.weights.roots(np.arange(most + 1)) * self.vote_grid).astype(np.int64)

    def _quantised(self, block: Ratings, inside: npt.NDArray[np.int32]) -> _Block:
        y = self.centring.centred(block, self.levels)
        counts = count_inside(block.starts, inside)
        # Looked up in one table: a power computed in vectors may depend on its place in them, and
        # so on other people.
        roots = self.weights.roots(np.arange(len(self.head) + 1))[counts] * (self.grid / GRID)
        values = np.empty(len(y), dtype=np.int16)
        _scale(block.starts, y, roots, values)
        return values, self._votes(len(self.head))[counts].astype(np.int16)


@dataclass(frozen=True, eq=False)
class UserCovariance(Covariance):
    """Where one user is protected: everybody's vector of residuals has length 1.

    Args:
        noise: Which norm.
        head: The items.
        residuals: What is left of a rating; any function of a user's own ratings may be used.
    """

    residuals: UserVotes

    @property
    def grid(self) -> float:
        return float(_LARGEST)

    @property
    def vote_grid(self) -> float:
        return float(_LARGEST)

    @property
    def sensitivities(self) -> tuple[float, float]:
        return _unit_bounds(self.noise)

    @property
    def vote_sensitivities(self) -> tuple[float, float]:
        return _unit_bounds(self.noise)

    def _quantised(self, block: Ratings, inside: npt.NDArray[np.int32]) -> _Block:
        x = self.residuals.residuals(block)
        values = np.empty(len(x), dtype=np.int16)
        votes = np.empty(block.user_count, dtype=np.int16)
        _normalise(block.starts, inside, x, self.noise.kind.order == 1, values, votes)
        return values, votes


def _unit_bounds(noise: Noise) -> tuple[float, float]:
    """Of the outer product of a vector of length at most 32767, strict triangle and diagonal."""
    square = float(_LARGEST) ** 2
    return square / noise.kind.root(2), square


@nb.njit(cache=True, nogil=True)
def _scale(starts, y, roots, values) -> None:  # type: ignore[no-untyped-def]
    """Values = round(y * root of its user)."""
    for user in range(len(roots)):
        for place in range(starts[user], starts[user + 1]):
            values[place] = np.int16(np.rint(y[place] * roots[user]))


@nb.njit(cache=True, nogil=True)
def _normalise(starts, inside, x, l1, values, votes) -> None:  # type: ignore[no-untyped-def]
    """Every user's residuals and presence inside the matrix, scaled to length 32767 at most."""
    for user in range(len(votes)):
        length, size = 0.0, 0.0
        for place in range(starts[user], starts[user + 1]):
            if inside[place] >= 0:
                length += abs(x[place]) if l1 else x[place] * x[place]
                size += 1.0
        if not l1:
            length, size = np.sqrt(length), np.sqrt(size)
        # Shorter vectors than that are nothing: their squares would leave the floats' range.
        scale = _SAFE * _LARGEST / length if length > 1e-100 else 0.0
        votes[user] = np.int16(_SAFE * _LARGEST / size) if size > 0 else np.int16(0)
        for place in range(starts[user], starts[user + 1]):
            values[place] = np.int16(x[place] * scale) if inside[place] >= 0 else np.int16(0)
