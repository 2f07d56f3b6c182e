"""How far one more rating moves the co-moments: the numbers of PROOF.md, for every c at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.measure.centring import Centring
from discreet.privacy import Noise

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
