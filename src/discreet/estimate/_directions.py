"""Directions of taste: those that cost nothing, and those of a noisy covariance.

Popularity and item effects were released anyway, and features are public; so people's tastes along
them can be used without measuring anything more. Everything here is computed from released numbers.

Of a covariance the largest eigenvalues come first, since it may have hundreds of millions of
entries, then what is believed of them. The functions that clean it return a row for each item and a
column for each factor, so that the taste part of a rating of item i is F_i z with z ~ N(0, I), and
F F^T is the covariance of tastes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, Noisy, Scale
from discreet.estimate._effects import Effects, clipped_moments

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
# (docs/explanation/refined.md).
_COLUMN_CLIP = 2.5
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
    return np.asarray(np.clip(columns, -_COLUMN_CLIP, _COLUMN_CLIP) * lengths)


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


# How strongly tastes differ along one free direction, on a scale of width 4. Tuned on another
# split of MovieLens 1M (docs/explanation/refined.md), like the others here that name it.
FREE_SIZE = 0.17
# How strong all features together are, compared with one free direction. Chosen by hand.
_FEATURES_TOGETHER = 3.0
# Where standardised columns are cut off, in standard deviations: no item dominates a direction.
_CLIP = 3.0
# Where rows are cut off before a refinement, in rms lengths. Tuned on MovieLens 1M.
LONGEST = 1.3
# How much longer factors are made that only point the way to a refinement, which shortens those
# that are noise: rather one direction too many. Tuned on MovieLens 1M.
_STRONGER = 1.25
# Standard errors by which agreement along features must stand out of chance.
_SURE = 2.0


def free_directions(effects: Effects, width: float) -> Floats:
    """A row for each item, as item factors: log popularity and effect, which were released before.

    Args:
        effects: What was released of the items.
        width: The scale's range.
    """
    known = effects.known_counts
    columns = [np.log(known + 2 * effects.count_spread), effects.effects]
    found = standardised(np.column_stack(columns), known) * FREE_SIZE
    found *= np.sqrt([_counts_known(effects), _effects_known(effects)])
    return np.asarray(found[:, found.any(axis=0)] * (width / 4))


def feature_directions(effects: Effects, features: Floats, width: float) -> Floats:
    """Public features as item factors, without those that are the same for all items.

    Args:
        effects: What was released of the items.
        features: A row for each item.
        width: The scale's range.
    """
    found = standardised(features, effects.known_counts)
    found = found[:, found.any(axis=0)]
    size = FREE_SIZE * _FEATURES_TOGETHER / math.sqrt(max(found.shape[1], 1))
    return np.asarray(found * (size * width / 4))


def belief_in_features(agreement: Noisy, chance: float) -> float:
    """From 0, no features at all, to 1: how far tastes go along them.

    Args:
        agreement: The sum over people of how far their ratings agree along the features.
        chance: The standard deviation of that sum by who happened to rate.
    """
    doubt = _SURE * math.hypot(agreement.spread, chance)
    if agreement.value <= doubt:
        return 0.0
    return math.sqrt(1 - (doubt / agreement.value) ** 2)


def _counts_known(effects: Effects) -> float:
    """Which part of the counts' squares is not noise."""
    squares = float(effects.counts @ effects.counts)
    noise = len(effects.counts) * effects.count_spread**2
    return max(1 - noise / squares, 0.0) if squares > 0 else 0.0


def _effects_known(effects: Effects) -> float:
    """Which part of the effects' variance, over ratings, is known."""
    shares = effects.known_counts / effects.known_counts.sum()
    found = float(shares @ (effects.effects - shares @ effects.effects) ** 2)
    unknown = float(shares @ effects.variances)
    return found / (found + unknown) if found > 0 else 0.0


def standardised(columns: Floats, counts: Floats) -> Floats:
    """Mean 0 and variance 1 over ratings, clipped; a column that is constant becomes 0."""
    shares = counts / counts.sum()
    centred = columns - shares @ columns
    spreads = np.sqrt(shares @ centred**2)
    varies = spreads > 1e-9 * np.maximum(np.abs(columns).max(axis=0), 1e-9)
    scaled = centred / np.where(varies, spreads, np.inf)
    return np.asarray(np.clip(scaled, -_CLIP, _CLIP))


def short_rows(factors: Floats, counts: Floats, most: float = LONGEST) -> Floats:
    """Rows cut off at `most` times their rms length over ratings, and scaled to at most 1."""
    lengths = np.sqrt(np.einsum("ij,ij->i", factors, factors))
    shares = np.maximum(counts, 0.0) + 1.0
    longest = most * np.sqrt((shares @ lengths**2) / shares.sum())
    cut = np.minimum(1.0, longest / np.maximum(lengths, 1e-12)) / max(longest, 1e-12)
    # A little shorter, so that rounding leaves no row above 1.
    return np.asarray(factors * (cut * (1 - 2.0**-40))[:, None])


def most_popular(counts: Floats, size: int) -> npt.NDArray[np.int32]:
    """At most `size` items with the largest released counts, in rising order."""
    return np.sort(np.argsort(-counts, kind="stable")[:size]).astype(np.int32)


@dataclass(frozen=True, eq=False)
class TasteDirections:
    """Which directions tastes have, as the covariance of the popular items shows.

    Attributes:
        head: The most popular items.
        matrix: The sums over pairs of them, symmetric; the diagonal means nothing.
        counts: Of all items.
        noise: The standard deviation of an entry's noise.
        sampling: How much an entry varies by who happened to rate.
    """

    head: npt.NDArray[np.int32]
    matrix: npt.NDArray[np.floating]
    counts: Floats
    noise: float
    sampling: float

    @property
    def parameters(self) -> dict[str, Any]:
        """What a release records of them."""
        return {"head_items": len(self.head), "covariance_noise": self.noise}

    def factors(self, rank: int, width: float = 4.0) -> Floats:
        """What stands out of the larger of noise and sampling; 0 for all other items."""
        counts, spread = self.counts[self.head], max(self.noise, self.sampling)
        within = clean_auto(self.matrix.astype(np.float32), counts, spread, rank, width)
        factors = np.zeros((len(self.counts), within.shape[1]))
        factors[self.head] = _STRONGER * within
        return factors


# How much an entry of a covariance varies by who happened to rate. A user's block has squared norm
# w^2 c^2 v^2, v the second moment of y: about v^2 for each rating with w = c^-1/2, and 1 for each
# user where blocks are scaled to 1. Spread over the m^2 entries, and more on those of popular
# items, which is where such noise reaches furthest.


def sampling_per_rating(scale: Scale, clamp: float, counts: Floats) -> float:
    """Where ratings are protected; `counts` are those of the m items."""
    _, moment = clipped_moments(clamp, scale)
    return moment * math.sqrt(float(counts.sum())) * _unevenness(counts) / len(counts)


def sampling_per_unit(units: float, counts: Floats) -> float:
    """Where each unit's block has length 1."""
    return math.sqrt(max(units, 1.0)) * _unevenness(counts) / len(counts)


def _unevenness(counts: Floats) -> float:
    """How much further than even noise it reaches if its variance goes with both items' counts.

    The edge of such a matrix is that of its largest row: n_max against the mean.
    """
    return math.sqrt(float(counts.max()) / float(counts.mean()))
