"""What goes with what: from noisy counts of pairs to item-item weights of low rank.

x is a person's row of 0 and 1. Its covariance is modelled as S = D + L L^T: what every item does
by itself, and a few directions that the noisy pairs show beyond popularity. If x were normal, the
expectation of x_j given the rest would be p_j + sum over l of (x_l - p_l) B_lj, B_lj = -P_lj/P_jj,
P = S^-1: the weights of EASE (Steck 2019), here from a covariance freed of its noise. By Woodbury's
identity B_lj = s_j u_l . u_j for l != j, with short rows u. Computed from released numbers alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import Noisy
from discreet.estimate._directions import largest_eigenpairs, standardised
from discreet.estimate._recency import popular_now
from discreet.release import unpack

_Floats = npt.NDArray[np.float64]
_Head = npt.NDArray[np.int32]

# Each direction above the noise's edge makes more of them likely just below it: the cut falls from
# the edge by _LOWER of it for each, down to _LOWEST of it. Tuned on validation parts of four data
# sets of film ratings; flat around these values.
_LOWER, _LOWEST = 0.05, 0.7
# Chance alone makes directions too. The cut holds back this part of what chance can make, less so
# for each direction that stands out of noise and chance together, and not at all where the rest is
# unlike chance. Chosen on validation parts of MovieLens 1M, 100k, latest-small, MovieTweetings and
# Netflix, and on made-up ratings with few directions.
_HELD_BACK, _EACH = 0.7, 0.035
# How many directions must stand out of noise and chance together for those below to be believed,
# besides the first, which independent items show too: people who have much have rarer items.
# Chosen by hand.
_CONVINCING = 3
# The part of the remaining pairs' variance that chance does not explain: up to the first number
# nothing below the edge is believed, from the second on everything, even if no direction stands
# out. Chosen between what made-up independent items and a validation part of MovieTweetings show.
_BELIEVABLE, _BELIEVED = 0.2, 0.35
# A direction is popularity's own if counts alone explain this part of its square. Chosen between
# what made-up independent items show without noise, about 1, and the data sets above, at most 0.55.
_POPULARITYS = 0.7
# For directions of taste: the least eigenvalue, as a part of the noise's edge; the strongest
# direction's rms length over ratings, on a scale of width 4; where columns are cut off, in rms
# lengths. Tuned on a validation part of MovieLens 1M.
_CLEAR, _SIZE, _CLIP = 0.95, 0.15, 2.5
# What D's diagonal is raised by: the larger of these parts of the usual diagonal and of the noise's
# edge. Tuned on validation parts of four data sets of film ratings.
_RIDGE, _EDGE_RIDGE = 0.5, 0.4
# The mass must be known to this many standard deviations: if it is not, every probability is off by
# a factor. Chosen by hand.
_KNOWN = 3.0
# The largest probability of having an item. Chosen for safety: a variance p(1 - p) stays above 0.
_SURE = 0.99
# Pairs by popularity alone are kappa c c^T, and kappa is 1/W times the square of mass over counts
# if all people have equally many items. The more these vary the larger it is: usually by the first
# factor, and at least by the second. Chosen on validation parts of four data sets of film ratings.
_USUAL_ACTIVITY, _LEAST_ACTIVITY = 2.0, 1.2
# What somebody has next is less like what they have than a random part of it is: by time, their
# items count (_NEXT/m)^_NEXT_POWER, m being how many people usually have, and at most wholly.
# Chosen on validation parts by time of MovieLens 1M, 100k, latest-small and MovieTweetings.
_NEXT, _NEXT_POWER = 3.0, 0.5
# The largest value of an 8-bit integer.
_LARGEST = 127


@dataclass(frozen=True, eq=False)
class PairSums:
    """What was released of the pairs of a head of popular items.

    Attributes:
        head: Their catalogue indices, rising.
        pairs: The packed triangle of the sums of w(m) over people who have both items.
        mass: The sum of w(m) m, m being how many items of the head a person has.
        weight: The sum of w(m).
        chance: How much the pairs vary by who happened to have what: the sum of w(m)^2 over all
            pairs of all people, about.
    """

    head: _Head
    pairs: Noisy
    mass: Noisy
    weight: Noisy
    chance: float

    def within(self, items: _Head, counts: Noisy) -> PairSums:
        """The sums of some of the head's items alone.

        The mass is taken to be proportional to the items' counts, and `chance` to its square.
        People keep the weights that they have in the whole head.

        Args:
            items: Rising; those that are not in the head are left out.
            counts: Of all items.
        """
        inner = np.intersect1d(items, self.head, assume_unique=True)
        at, side = np.searchsorted(self.head, inner), len(self.head)
        rows, columns = (at[each] for each in np.triu_indices(len(inner)))
        packed = self.pairs.value[rows * side - rows * (rows - 1) // 2 + (columns - rows)]
        positive = np.maximum(counts.value, 0.0)
        part = float(positive[inner].sum()) / max(float(positive[self.head].sum()), 1e-9)
        return PairSums(
            inner,
            Noisy(packed, self.pairs.spread),
            Noisy(part * self.mass.value, part * self.mass.spread),
            self.weight,
            max(part**2 * self.chance, 1.0),
        )


@dataclass(frozen=True, eq=False)
class ListModel:
    """What lists are ordered by; the arrays of a release's lists section.

    Attributes:
        popularity: p of every item.
        start: b of every item: p less what the average person's items add.
        gain: s of every item.
        head: Items with a row of their own, rising.
        rows: u of the head's items, as 8-bit integers.
        scales: What a column of them is multiplied by.
        tail: t of every item: outside the head, u is t times the axis.
        axis: One direction.
        directions: How many directions of taste were found: not those that popularity explains.
    """

    popularity: _Floats
    start: _Floats
    gain: _Floats
    head: _Head
    rows: npt.NDArray[np.int8]
    scales: _Floats
    tail: _Floats
    axis: _Floats
    directions: int

    @property
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """As a release holds them."""
        single = ("popularity", "start", "gain", "scales", "tail", "axis")
        arrays = {f"list_{name}": getattr(self, name).astype(np.float32) for name in single}
        return {**arrays, "list_head": self.head, "list_rows": self.rows}

    @property
    def parameters(self) -> dict[str, Any]:
        """What a release records of them."""
        return {"list_directions": self.directions}


def popularity_alone(counts: Noisy, recent: Noisy | None = None) -> ListModel:
    """Where nothing is known of pairs: everybody's list is what is popular."""
    p = np.maximum(counts.value, 0.0)
    p = p / max(float(p.max(initial=0.0)), 1e-9)
    p *= popular_now(p, recent)
    nothing = np.zeros(len(p))
    none = np.zeros(0, np.int32)
    return ListModel(
        p, p, nothing, none, np.zeros((0, 0), np.int8), np.zeros(0), nothing, np.zeros(0), 0
    )


def count_strength(counts: Noisy, mu: float) -> float:
    """Mu sum n^2/sum n, the counts' noise taken off: how well pairs of items can be learnt.

    Where the sum drowns in its own noise, it is taken to be one standard deviation of that: by
    chance it can be near 0, and items would look strong of which nothing is known.
    """
    n = counts.value
    squares = max(float(n @ n) - len(n) * counts.spread**2, 0.0)
    total = max(float(n.sum()), math.sqrt(len(n)) * counts.spread, 1.0)
    return min(mu, 1e9) * squares / total


@dataclass(frozen=True, eq=False)
class PairSpectrum:
    """What the pairs of popular items show beyond popularity.

    Attributes:
        sums: What was released of the pairs.
        counts: Of the head's items, above 0.
        kappa: Pairs are about kappa c c^T by popularity alone.
        values: The largest eigenvalues of what is left, freed of noise, falling.
        vectors: Their eigenvectors, a row for each item of the head.
        clear: Which of them stand out of the noise.
        tastes: How many of them are more than popularity's own: people who have much have rarer
            items, which makes a direction even where items are independent.
    """

    sums: PairSums
    counts: _Floats
    kappa: float
    values: _Floats
    vectors: _Floats
    clear: npt.NDArray[np.bool_]
    tastes: int

    @classmethod
    def of(
        cls, counts: Noisy, sums: PairSums, most: int, features: _Floats | None = None
    ) -> PairSpectrum:
        """The spectrum, freed of noise.

        Args:
            counts: Of all items.
            sums: What was released of the pairs.
            most: Directions, at most.
            features: Public: a row for each item of the catalogue.
        """
        c = np.maximum(counts.value[sums.head], max(counts.spread, 1e-3))
        matrix = unpack(sums.pairs.value, np.float64)
        popular = np.outer(c, c)
        np.fill_diagonal(popular, 0.0)
        kappa = max(float((matrix * popular).sum()) / float((popular**2).sum()), 0.0)
        matrix -= kappa * popular
        values, vectors, clear, tastes = _directions(matrix, c, sums, most)
        if features is not None:
            matrix -= (vectors * values) @ vectors.T
            more, along = _along(matrix, c, standardised(features[sums.head], c), sums)
            more, along = more[: most - len(values)], along[:, : most - len(values)]
            values, vectors = np.append(values, more), np.hstack([vectors, along])
            clear = np.append(clear, np.ones(len(more), dtype=bool))
            tastes += len(more)
        return cls(sums, c, kappa, values, vectors, clear, tastes)

    def factors(self, counts: Noisy, most: int, width: float) -> _Floats:
        """Directions of taste for ratings, as item factors: who has what shows what they like.

        An eigenvector is about count times taste, so it is divided by the count, held back by the
        median count.

        Args:
            counts: Of all items.
            most: Columns, at most.
            width: The scale's range.
        """
        chosen = np.flatnonzero(self.clear)[:most]
        found = np.zeros((len(counts.value), len(chosen)))
        if not len(chosen):
            return found
        columns = self.vectors[:, chosen] / (self.counts + np.median(self.counts))[:, None]
        found[self.sums.head] = columns
        shares = np.maximum(counts.value, 1e-3)
        found /= np.sqrt((shares / shares.sum()) @ found**2)
        strengths = np.sqrt(self.values[chosen] / self.values[0])
        return np.asarray(np.clip(found, -_CLIP, _CLIP) * (_SIZE * width / 4 * strengths))


def learn_lists(counts: Noisy, spectrum: PairSpectrum, recent: Noisy | None = None) -> ListModel:
    """Rows, gains and starts from noisy counts and pairs; popularity alone if the mass is noise.

    Args:
        counts: Of every item, in records or in votes.
        spectrum: What the pairs show.
        recent: Counts in which older records count less.
    """
    sums, c, kappa = spectrum.sums, spectrum.counts, spectrum.kappa
    if sums.mass.value < _KNOWN * sums.mass.spread:
        return popularity_alone(counts, recent)
    positive = np.maximum(counts.value, 1e-3)
    known = positive.astype(np.float64)
    known[sums.head] = c
    per_count = max(sums.mass.value, 1.0) / float(c.sum())
    # No item's probability exceeds 1. Were they cut off there, the most popular would be alike.
    surely = per_count * float(positive.max()) / _SURE
    weight = max(_weight(sums, per_count, kappa), surely)
    p = per_count * positive / weight
    # L: how much people have, and the directions.
    activity = math.sqrt(max(kappa - per_count**2 / weight, 0.0)) * known
    L = np.hstack([activity[sums.head, None], spectrum.vectors * np.sqrt(spectrum.values)])
    diagonal = per_count * known * (1 - p)
    squares = activity**2
    squares[sums.head] = np.einsum("ij,ij->i", L, L)
    edge = _edge(sums.pairs.spread, len(c))
    ridge = max(_RIDGE * per_count * float(c @ c) / float(c.sum()), _EDGE_RIDGE * edge)
    D = np.maximum(diagonal - squares, 0.0) + ridge
    own = 1.0
    if recent is not None:
        usual = max(sums.mass.value, 1.0) / weight
        own = min(1.0, (_NEXT / usual) ** _NEXT_POWER)
    return _model(p, activity, L, D, sums.head, popular_now(p, recent), own, spectrum.tastes)


def _model(
    p: _Floats,
    activity: _Floats,
    L: _Floats,
    D: _Floats,
    head: _Head,
    now: _Floats,
    own: float,
    tastes: int,
) -> ListModel:
    """The weights of the covariance D + L L^T, by Woodbury's identity.

    P = D^-1 - U U^T with U = D^-1 L M^(1/2), M = (I + L^T D^-1 L)^-1.

    Args:
        p: The probability of having each item.
        activity: The first column of L, for every item; outside the head all other columns are 0.
        L: A row for each item of the head.
        D: For every item.
        head: Rising.
        now: How much more popular each item is now than always, as a factor.
        own: How far a person's own items count, from 0 (popularity alone) to 1.
        tastes: Directions beyond popularity.
    """
    inside = np.zeros(len(p), dtype=bool)
    inside[head] = True
    tail = np.where(inside, 0.0, activity / D)
    scaled = L / D[head, None]
    gram = L.T @ scaled
    gram[0, 0] += float(tail @ (tail * D))
    values, vectors = np.linalg.eigh(np.eye(len(gram)) + gram)
    root = vectors / np.sqrt(np.maximum(values, 1.0))
    rows = scaled @ root
    scales = np.maximum(np.abs(rows).max(axis=0, initial=0.0), 1e-30) / _LARGEST
    whole = np.rint(rows / scales).astype(np.int8)
    rows, axis = whole * scales, root[0]
    squares = tail**2 * float(axis @ axis)
    squares[head] = np.einsum("ij,ij->i", rows, rows)
    gain = 1 / np.maximum(1 / D - squares, 1e-3 / D)
    usual = p[head] @ rows + float(p @ tail) * axis
    products = tail * float(axis @ usual)
    products[head] = rows @ usual
    gain *= own
    start = p - gain * (products - p * squares)
    return ListModel(now * p, now * start, now * gain, head, whole, scales, tail, axis, tastes)


def _along(
    matrix: _Floats, c: _Floats, columns: _Floats, sums: PairSums
) -> tuple[_Floats, _Floats]:
    """Eigenvalues, freed of noise, and eigenvectors within the space of public columns.

    Noise is small in a space that was chosen without looking at the pairs: its edge grows with the
    root of the number of columns and not of items. So the pairs themselves show how far people's
    items agree along the columns.
    """
    basis, sizes, _ = np.linalg.svd(c[:, None] * columns, full_matrices=False)
    basis = basis[:, sizes > 1e-9 * max(float(sizes.max(initial=0.0)), 1e-300)]
    inner = basis.T @ matrix @ basis
    values, vectors = np.linalg.eigh(inner)
    values, vectors = values[::-1], vectors[:, ::-1]
    # The variance of pairs by chance, on average over the entries of the popular items.
    by_chance = _chance_of_pairs(sums, c) * (float(c**2 @ c) / float(c @ c)) ** 2
    edge = 2 * math.sqrt((sums.pairs.spread**2 + by_chance) * max(len(inner), 1))
    kept = values > edge
    return np.sqrt(values[kept] ** 2 - edge**2), basis @ vectors[:, kept]


def _directions(
    matrix: _Floats, c: _Floats, sums: PairSums, most: int
) -> tuple[_Floats, _Floats, npt.NDArray[np.bool_], int]:
    """Eigenvalues, freed of noise, eigenvectors, which stand out of the noise, and of tastes."""
    size, spread = len(c), sums.pairs.spread
    edge = _edge(spread, size)
    nothing = np.zeros(size)
    values, vectors = largest_eigenpairs(matrix, nothing, max(most, 1), above=_LOWEST * edge)
    lowest = max(_LOWEST, 1 - _LOWER * np.count_nonzero(values > edge)) * edge
    # The edge of a matrix whose entries vary by chance is that of its heaviest row.
    chance = _chance_of_pairs(sums, c)
    by_chance = 4 * chance * float(c.max()) * float(c.sum())
    reach = math.sqrt(edge**2 + by_chance)
    clear = np.count_nonzero(values > reach)
    in_rest = _belief_in_rest(matrix, c, spread, chance, reach, values, vectors)
    belief = max((clear - 1) / _CONVINCING, in_rest)
    held_back = max(_HELD_BACK - _EACH * clear, 0.0) * (1 - min(max(in_rest, 0.0), 1.0))
    lowest = math.sqrt(lowest**2 + held_back**2 * by_chance)
    cut = max(lowest, (1 - min(max(belief, 0.0), 1.0)) * reach)
    kept = (values > max(cut, 1e-9)) & (np.arange(len(values)) < most)
    found = values[kept]
    freed = np.sqrt(np.maximum(found**2 - lowest**2, 0.0))
    tastes = _beyond_popularity(found, vectors[:, kept], c, min(cut, edge))
    return freed, vectors[:, kept], found > _CLEAR * edge, tastes


def _beyond_popularity(values: _Floats, vectors: _Floats, c: _Floats, edge: float) -> int:
    """How many directions still stand out of the noise without what counts alone explain of them.

    What an item's share of the people depends on by its count alone is a smooth function of the
    count: here c times a polynomial of log c of degree 2.
    """
    logs = np.log(c)
    basis, _ = np.linalg.qr(np.column_stack([c, c * logs, c * logs**2]))
    explained = np.square(basis.T @ vectors).sum(axis=0)
    return int(np.count_nonzero((values * (1 - explained) > edge) & (explained < _POPULARITYS)))


def _belief_in_rest(
    matrix: _Floats,
    c: _Floats,
    spread: float,
    chance: float,
    reach: float,
    values: _Floats,
    vectors: _Floats,
) -> float:
    """How far to believe in directions below the edge, from how unlike chance the rest is.

    1 or more: wholly; 0 or less: not at all. The rest is what directions that stand out leave of
    the popular items' pairs.
    """
    low, below = largest_eigenpairs(-matrix, np.zeros(len(c)), 8, above=reach)
    out = values > reach
    rest = matrix - (vectors[:, out] * values[out]) @ vectors[:, out].T + (below * low) @ below.T
    np.fill_diagonal(rest, 0.0)
    rest *= rest
    found = float(c @ rest @ c)
    squares = float(c @ c)
    expected = spread**2 * (float(c.sum()) ** 2 - squares)
    expected += chance * (squares**2 - float((c**2) @ (c**2)))
    real = 1 - expected / found if found > 0 else 0.0
    return (real - _BELIEVABLE) / (_BELIEVED - _BELIEVABLE)


def _chance_of_pairs(sums: PairSums, c: _Floats) -> float:
    """The variance by chance of the pairs of items j and l, as a part of c_j c_l."""
    return 2 * sums.chance / max(float(c.sum()) ** 2 - float(c @ c), 1e-9)


def _edge(spread: float, size: int) -> float:
    """The largest eigenvalue of a symmetric matrix of noise."""
    return 2 * spread * math.sqrt(size)


def _weight(sums: PairSums, per_count: float, kappa: float) -> float:
    """The sum of w, drawn towards what kappa makes likely as far as its noise asks for."""
    least = per_count**2 / max(kappa, 1e-12)
    usual = _USUAL_ACTIVITY * least
    belief = least**2 / (least**2 + sums.weight.spread**2) if least > 0 else 1.0
    drawn = belief * sums.weight.value + (1 - belief) * usual
    return float(max(drawn, _LEAST_ACTIVITY * least, 1e-9))
