"""From a released covariance to item factors: everything here is computed from what is public.

Each function returns a row for each item and a column for each factor, so that the taste part of a
rating of item i is F_i z with z ~ N(0, I), and F F^T is the covariance of tastes.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.estimate._eigenpairs import as_worked_on, largest_eigenpairs

Floats = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.floating]

# How precise the eigenvectors are, round by round: a rough one will do for the diagonal.
_ROUNDS = (0.03, 0.03, 0.003)
# A pair is kept if its shrunk eigenvalue is above this part of the noise's edge: MovieLens 1M.
_KEPT = 0.25
# The rms length of the strongest factor over ratings, on a scale of width 4. MovieLens 1M.
_SIZE = 0.2
# Where a factor's column is cut off, in rms lengths. Tuned on another split of MovieLens 1M
# (docs/method.md).
_CLIP = 2.5
# Weights below this part of the average are noise, not numbers to divide by. Chosen by hand.
_TINY = 0.01


def clean_auto(
    cov: Matrix, counts: Floats, sigma: float, rank: int = 20, width: float = 4.0
) -> Floats:
    """Factors from a noisy covariance without diagonal, given how large the noise is.

    Noise alone has eigenvalues up to its edge e = 2 sigma sqrt(m). Those above are shrunk to
    sqrt(lambda^2 - e^2), which takes off what noise adds on average. The diagonal, which was never
    measured, is filled in from the shrunk matrix, three times over. An eigenvector is about count
    times taste, so it is divided by the count, held back by the median count.

    Args:
        cov: Symmetric sums, m by m; the diagonal is not looked at. Float32 is enough.
        counts: The released counts of the same items.
        sigma: The standard deviation of an entry's noise; 0 keeps `rank` factors.
        rank: The most factors.
        width: The scale's range.

    Returns:
        No column at all if nothing stands out of the noise.
    """
    _check(cov, counts)
    edge = 2 * sigma * math.sqrt(len(cov))
    # A pair is kept if its shrunk value is above a quarter of the edge.
    level = edge * math.sqrt(1 + _KEPT**2)
    diagonal, vectors = np.zeros(len(cov)), None
    matrix = as_worked_on(cov)
    for precision in _ROUNDS:
        values, vectors = largest_eigenpairs(
            matrix, diagonal, rank, above=level, start=vectors, precision=precision
        )
        if len(values) == 0:
            return vectors
        shrunk = np.sqrt(values**2 - edge**2)
        diagonal = vectors**2 @ shrunk
    assert vectors is not None
    return _tastes(vectors, shrunk, np.maximum(counts, 0.0)) * (width / 4)


def _tastes(vectors: Floats, strengths: Floats, counts: Floats) -> Floats:
    """Columns of rms 1 over the ratings, clipped, as long as their strength says."""
    columns = vectors / (counts + max(float(np.median(counts)), 1e-9))[:, None]
    shares = counts / max(counts.sum(), 1e-9) if counts.any() else np.full(len(counts), 1.0)
    columns /= np.sqrt(np.maximum(shares @ columns**2, 1e-300))
    lengths = _SIZE * np.sqrt(strengths / strengths.max())
    return np.asarray(np.clip(columns, -_CLIP, _CLIP) * lengths)


def clean_paper(
    cov: Floats,
    wgt: Floats,
    counts: Floats,
    rank: int = 20,
    *,
    shrink_diagonal: float = 1.0,
    shrink_rest: float = 10.0,
) -> Floats:
    """Section 4.6 of McSherry and Mironov (2009).

    Shrink to the average, (Cov + beta avg Cov)/(Wgt + beta avg Wgt), with constants and averages
    of their own for the diagonal and the rest; scale entry ij by sqrt(n_i n_j), which makes the
    noise even; take the closest positive matrix of the rank; scale back. Items without a positive
    count get no factors.
    """
    _check(cov, counts)
    average = _shrunk(cov, wgt, shrink_diagonal, shrink_rest)
    roots = np.sqrt(np.maximum(counts, 0.0))
    factors = _root(average * roots[:, None] * roots, rank)
    return np.divide(factors, roots[:, None], out=factors, where=roots[:, None] > 0)


def clean_none(cov: Floats, wgt: Floats, counts: Floats, rank: int = 20) -> Floats:
    """The closest positive matrix of the rank to Cov/Wgt as it is.

    Entries whose weight is negative or below a hundredth of the average weight would be nothing
    but noise, many times magnified: they count as 0, as do items without a positive count.
    """
    _check(cov, counts)
    enough = wgt > _TINY * max(float(wgt.mean()), 1e-300)
    known = counts > 0
    enough &= known[:, None] & known
    return _root(np.divide(cov, wgt, out=np.zeros_like(cov), where=enough), rank)


def _root(matrix: Floats, rank: int) -> Floats:
    """F with F F^T the positive matrix of the rank that is closest to a symmetric one."""
    values, vectors = largest_eigenpairs(matrix, np.diagonal(matrix), rank)
    return np.asarray(vectors * np.sqrt(values))


def _shrunk(cov: Floats, wgt: Floats, diagonal: float, rest: float) -> Floats:
    """(Cov + beta avg Cov)/(Wgt + beta avg Wgt), with separate constants and averages."""
    on = np.eye(len(cov), dtype=bool)
    average = np.empty_like(cov)
    for part, beta in ((on, diagonal), (~on, rest)):
        mean_cov, mean_wgt = float(cov[part].mean()), max(float(wgt[part].mean()), 1e-9)
        weight = np.maximum(wgt[part], 0.0) + beta * mean_wgt
        average[part] = (cov[part] + beta * mean_cov) / weight
    return average


def _check(cov: Matrix, counts: Floats) -> None:
    if cov.ndim != 2 or not cov.shape[0] == cov.shape[1] == len(counts):
        raise InputError(f"{len(counts):,} counts beside a matrix of shape {cov.shape}")
