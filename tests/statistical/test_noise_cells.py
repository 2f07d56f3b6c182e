"""What only very many draws can show: the slope of the density inside a cell, and the far tails.

Above a scale of 512 a draw falls into a cell of 2^-9 to 2^-8 scales and then on a place inside it,
which is accepted by the density. Were it accepted always, every cell would have its mass and every
bit would be fair: only the place's correlation with the cell would be missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import norm

from discreet.privacy import SystemRandomness
from discreet.privacy.noise import GaussianLaw, GeometricLaw, Law, draw_noise
from statistical._laws import Floats, Geometric, Ints, Reference, Rounded, alarms, count_fit, judge

DRAWS = 60_000_000
SLICE = 2_000_000
SCALE = 2.0**40
WIDTH = 2**32  # 256 cells in a scale, the widest there are
DEPTHS = {Rounded: (4, 5, 6), Geometric: (9, 14, 17)}


@dataclass
class Totals:
    slope: float
    beyond: list[int]


def _slices(law: Law) -> Iterator[Ints]:
    randomness = SystemRandomness()
    for _ in range(DRAWS // SLICE):
        yield np.abs(draw_noise(law, SLICE, randomness))


def _leverage(cell: Floats | Ints, place: Floats, reference: Reference) -> Floats:
    """The slope of the log density in a cell times the place: uniform places have mean 0."""
    slope = cell / 256 if isinstance(reference, Rounded) else 1.0
    return np.asarray(slope * (place - 0.5))


def _totals(law: Law, reference: Reference) -> Totals:
    totals = Totals(0.0, [0, 0, 0])
    for sizes in _slices(law):
        leverage = _leverage(sizes // WIDTH, (sizes % WIDTH) / WIDTH, reference)
        totals.slope += float(leverage.sum())
        for i, depth in enumerate(DEPTHS[type(reference)]):
            totals.beyond[i] += int(np.count_nonzero(sizes > depth * SCALE))
    return totals


def _moments(density: Callable[[Floats], Floats], reference: Reference) -> tuple[float, float]:
    """Mean and standard deviation of the leverage, by Gauss-Legendre quadrature in every cell.

    Rounding to integers moves a place by 2^-33 of its cell: nothing at this precision.
    """
    nodes, weights = np.polynomial.legendre.leggauss(6)
    cell, place = np.arange(40.0 * 256)[:, None], (nodes + 1) / 2
    mass = density((cell + place) / 256) * weights / 2 / 256
    assert math.isclose(mass.sum(), 1.0, rel_tol=1e-12)
    leverage = _leverage(cell, place, reference)
    mean = float((mass * leverage).sum())
    return mean, math.sqrt(float((mass * leverage**2).sum()) - mean**2)


@pytest.mark.parametrize(
    ("law", "reference", "density"),
    [
        (GaussianLaw(SCALE), Rounded(SCALE), lambda x: 2 * norm.pdf(x)),
        (GeometricLaw(SCALE), Geometric(SCALE), lambda x: np.exp(-x)),
    ],
    ids=["gaussian", "geometric"],
)
def test_slope_inside_cells_and_far_tails(
    law: Law, reference: Reference, density: Callable[[Floats], Floats]
) -> None:
    totals = _totals(law, reference)
    mean, spread = _moments(density, reference)
    error = spread / math.sqrt(DRAWS)
    judge(2 * norm.sf(abs(totals.slope / DRAWS - mean) / error), "slope inside cells")
    for depth, count in zip(DEPTHS[type(reference)], totals.beyond, strict=True):
        probability = reference.beyond(math.floor(depth * SCALE))
        judge(count_fit(count, DRAWS, probability), f"beyond {depth} scales")
    # Places that are never rejected have slope 0, and the true slope is 8.7 errors away from that:
    # the alarm would be certain but for one run in 2,000. Seeing 2 errors takes all but 1e-11.
    assert alarms(2 * norm.sf(abs(mean) / error))
    assert totals.slope / DRAWS < -2 * error
