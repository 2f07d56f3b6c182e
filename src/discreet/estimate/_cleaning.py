"""From a released covariance to item factors: everything here is computed from what is public.

First the largest eigenvalues of a symmetric matrix that may have hundreds of millions of entries,
then what is believed of them.

Each function returns a row for each item and a column for each factor, so that the taste part of a
rating of item i is F_i z with z ~ N(0, I), and F F^T is the covariance of tastes.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]

# Up to this side a full decomposition in double precision is faster. Measured.
_SMALL = 600
# Random vectors that a Krylov space starts from: enough for what may share an eigenvalue.
_BLOCK = 16
# Multiplications at most, and dimensions at most: bounds on time and memory.
_MOST_STEPS, _MOST_DIMENSIONS = 28, 480
# Steps between two looks at how precise the pairs are.
_CHECKED = 4
# Steps after which a matrix that shows nothing above the level is believed to have nothing.
_PATIENCE = 16


def largest_eigenpairs(
    matrix: npt.NDArray[np.floating],
    diagonal: Floats,
    count: int,
    *,
    above: float = 0.0,
    start: Floats | None = None,
    precision: float = 3e-3,
) -> tuple[Floats, Floats]:
    """The largest eigenvalues above a level and their vectors, the largest first.

    Large matrices are worked on in single precision, as a block Krylov space grown from random
    (but always the same) vectors until the wanted pairs are precise: what lies at or below the
    level is not waited for, which is what makes noisy matrices affordable.

    Args:
        matrix: Symmetric; large ones are fastest as float32. Its diagonal is not looked at.
        diagonal: What stands in its place.
        count: The most pairs.
        above: Pairs with eigenvalues up to this level are left out.
        start: Vectors near the wanted ones, if some are known.
        precision: How large A v - lambda v may be, beside lambda.

    Returns:
        Eigenvalues, and a column for each.
    """
    count = min(count, len(matrix))
    if len(matrix) <= max(_SMALL, 6 * count):
        dense = matrix.astype(np.float64)
        np.fill_diagonal(dense, diagonal)
        values, vectors = np.linalg.eigh(dense)
    else:
        operator = _Operator(matrix, diagonal)
        values, vectors = _krylov(operator, count, above, start, precision)
    order = np.argsort(-values, kind="stable")[:count]
    order = order[values[order] > above]
    return values[order], vectors[:, order]


def as_worked_on(matrix: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """The matrix in the precision that `largest_eigenpairs` uses, for several calls on it."""
    return matrix if len(matrix) <= _SMALL else matrix.astype(np.float32, copy=False)


class _Operator:
    """A large matrix whose diagonal is replaced, in single precision."""

    def __init__(self, matrix: npt.NDArray[np.floating], diagonal: Floats) -> None:
        self._matrix = matrix.astype(np.float32, copy=False)
        self._correction = (diagonal - np.diagonal(matrix)).astype(np.float32)[:, None]

    def __len__(self) -> int:
        return len(self._matrix)

    def times(self, block: Singles) -> Singles:
        product: Singles = self._matrix @ block
        product += self._correction * block
        return product


def _krylov(
    operator: _Operator, count: int, above: float, start: Floats | None, precision: float
) -> tuple[Floats, Floats]:
    """Ritz pairs from the space of start, A start, A^2 start, ... with all blocks orthogonal."""
    block = _first_block(len(operator), count if above <= 0 else 0, start)
    steps = min(_MOST_STEPS, max(_MOST_DIMENSIONS // block.shape[1], 5))
    space = _Space(operator, block, steps)
    for step in range(1, steps):
        block = space.add(block)
        if step % _CHECKED == 0:
            values, weights = space.ritz()
            wanted = np.argsort(-values)[:count]
            if above > 0:
                wanted = wanted[values[wanted] > above]
            if len(wanted) == 0 and step >= _PATIENCE:
                break
            if len(wanted) and space.settled(values[wanted], weights[:, wanted], precision):
                break
    values, weights = space.ritz()
    return values, space.basis.astype(np.float64) @ weights


def _first_block(size: int, count: int, start: Floats | None) -> Singles:
    """The start's vectors, filled up with random ones."""
    known = np.empty((size, 0)) if start is None else start
    extra = max(_BLOCK, count + 4 - known.shape[1])
    random = np.random.default_rng(size).standard_normal((size, extra))
    block, _ = np.linalg.qr(np.hstack([known, random]))
    return block.astype(np.float32)


class _Space:
    """An orthonormal basis, its image under a matrix, and the matrix as seen from within."""

    def __init__(self, operator: _Operator, block: Singles, steps: int) -> None:
        most = min(block.shape[1] * (steps + 1), len(operator))
        self._operator = operator
        self._basis = np.empty((len(operator), most), np.float32)
        self._images = np.empty_like(self._basis)
        self._inner = np.zeros((most, most))
        self._size = 0
        self._append(block)

    @property
    def basis(self) -> Singles:
        return self._basis[:, : self._size]

    def add(self, block: Singles) -> Singles:
        """Grow by what the image of the newest block adds, and return that.

        The old directions are taken off twice, since once leaves rounding.
        """
        width = min(block.shape[1], self._basis.shape[1] - self._size)
        block = self._images[:, self._size - block.shape[1] : self._size][:, :width]
        for _ in range(2 if width else 0):
            block = block - self.basis @ (self.basis.T @ block)
            block, _ = np.linalg.qr(block)
        self._append(block)
        return block

    def _append(self, block: Singles) -> None:
        old, new = self._size, self._size + block.shape[1]
        self._basis[:, old:new] = block
        self._images[:, old:new] = self._operator.times(block)
        self._size = new
        seen = self.basis.T @ self._images[:, old:new]
        self._inner[:new, old:new] = seen
        self._inner[old:new, :new] = seen.T

    def ritz(self) -> tuple[Floats, Floats]:
        """Eigenvalues and eigenvectors of the matrix as seen from within."""
        values, weights = np.linalg.eigh(self._inner[: self._size, : self._size])
        return values, weights

    def settled(self, values: Floats, weights: Floats, precision: float) -> bool:
        """Whether |A v - lambda v| is small beside lambda for every pair."""
        narrow = weights.astype(np.float32)
        off = self._images[:, : self._size] @ narrow
        off -= (self.basis @ narrow) * values.astype(np.float32)
        return bool(np.all(np.linalg.norm(off, axis=0) <= precision * np.abs(values)))


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
