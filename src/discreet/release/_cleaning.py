"""From released co-moments to factors: everything here is computed from what is public."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import eigsh

_Floats = npt.NDArray[np.float64]

_SIZE = 0.2
_CLIP = 2.5


def clean_auto(cov: _Floats, counts: _Floats, sigma: float, rank: int, width: float) -> _Floats:
    """Factors from a noisy covariance without diagonal, given how large the noise is.

    Noise alone has eigenvalues up to its edge e = 2 sigma sqrt(m); those above are shrunk to
    sqrt(lambda^2 - e^2) and the rest dropped. The diagonal, which was never measured, is filled in
    from the shrunk matrix, three times over. An eigenvector is about count times taste, so it is
    divided by the count, held back by the median count.

    Args:
        cov: Symmetric; its diagonal is overwritten.
        counts: Of the same items, above 0.
        sigma: The noise's standard deviation; 0 keeps `rank` factors.
        rank: At most so many.
        width: The scale's range.

    Returns:
        One row for each item, one column for each factor that stands out of the noise.
    """
    edge = 2 * sigma * math.sqrt(len(cov))
    most = min(rank, len(cov) - 1)
    for _ in range(3):
        values, vectors = _largest(cov, most)
        shrunk = np.sqrt(np.maximum(values**2 - edge**2, 0.0)) * (values > edge)
        np.fill_diagonal(cov, (vectors**2) @ shrunk)
    kept = shrunk > edge / 4
    if not kept.any():
        return np.zeros((len(cov), 0))
    columns = vectors[:, kept] / (counts + np.median(counts))[:, None]
    columns /= np.sqrt((counts / counts.sum()) @ columns**2)
    lengths = np.sqrt(shrunk[kept] / shrunk.max())
    return np.asarray(np.clip(columns, -_CLIP, _CLIP) * lengths * (_SIZE * width / 4))


def clean_paper(
    cov: _Floats,
    wgt: _Floats,
    counts: _Floats,
    rank: int,
    *,
    shrink_diagonal: float = 1.0,
    shrink_rest: float = 10.0,
) -> _Floats:
    """Section 4.6 of McSherry and Mironov: shrink to the average, scale by counts, rank k."""
    average = _shrunk(cov, wgt, shrink_diagonal, shrink_rest)
    roots = np.sqrt(np.maximum(counts, 1e-6))
    values, vectors = _largest(average * roots[:, None] * roots, min(rank, len(cov) - 1))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)) / roots[:, None])


def clean_none(cov: _Floats, wgt: _Floats, counts: _Floats, rank: int) -> _Floats:  # noqa: ARG001
    """The largest eigenvectors of Cov/Wgt as it is; entries without weight count as 0."""
    average = np.divide(cov, wgt, out=np.zeros_like(cov), where=wgt > 1e-9)
    values, vectors = _largest(average, min(rank, len(cov) - 1))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _shrunk(cov: _Floats, wgt: _Floats, diagonal: float, rest: float) -> _Floats:
    """(Cov + beta avg Cov)/(Wgt + beta avg Wgt), with separate constants and averages."""
    on = np.eye(len(cov), dtype=bool)
    average = np.empty_like(cov)
    for part, beta in ((on, diagonal), (~on, rest)):
        mean_cov, mean_wgt = float(cov[part].mean()), max(float(wgt[part].mean()), 1e-9)
        weight = np.maximum(wgt[part], 0.0) + beta * mean_wgt
        average[part] = (cov[part] + beta * mean_cov) / weight
    return average


def _largest(matrix: _Floats, count: int) -> tuple[_Floats, _Floats]:
    """The largest eigenvalues and their vectors, largest first."""
    if count < 1:
        return np.zeros(0), np.zeros((len(matrix), 0))
    start = np.ones(len(matrix))  # a fixed start makes the result repeatable
    values, vectors = eigsh(matrix, k=count, which="LA", v0=start)
    order = np.argsort(-values)
    return values[order], vectors[:, order]
