"""The largest eigenvalues of a symmetric matrix that may have hundreds of millions of entries."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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
