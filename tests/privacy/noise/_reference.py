"""The two laws' edges and rejections, written anew from their definitions with mpmath."""

from __future__ import annotations

from typing import Any

import mpmath

from discreet.privacy.noise import GaussianLaw, Law


def width_of(law: Law) -> int:
    """Integers in a cell: the smallest power of two above scale/512, and 1 below 512."""
    width = 1
    while law.scale / width >= 512:
        width *= 2
    return width


def edge(law: Law, cell: int) -> Any:
    """P(|k| in cells 0..cell).

    Gaussian: 1 - 2 Phi(-x/scale), x the upper end of the cell, cells of one integer ending half a
    step further. Geometric: the sum of the series up to the last integer of the cell.
    """
    scale, width = mpmath.mpf(law.scale), width_of(law)
    if isinstance(law, GaussianLaw):
        end = mpmath.mpf((cell + 1) * width) if width > 1 else cell + mpmath.mpf("0.5")
        return 1 - mpmath.erfc(end / scale / mpmath.sqrt(2))
    q = mpmath.exp(-1 / scale)
    last = (cell + 1) * width - 1
    return (1 - q) / (1 + q) * (1 + 2 * q * (1 - q**last) / (1 - q))


def reject(law: Law, cell: int, place: Any) -> Any:
    """One minus the density at the place over the largest density in the cell."""
    scale, width = mpmath.mpf(law.scale), width_of(law)
    start, here = cell * width, (cell + place) * width
    if isinstance(law, GaussianLaw):
        return 1 - mpmath.exp((start**2 - here**2) / (2 * scale**2))
    integer = int(mpmath.floor(here))
    if integer == 0:
        return mpmath.mpf("0.5")
    return 1 - mpmath.exp((start - integer) / scale)
