"""Tastes: the covariance of the popular items by products over two different items, cleaned."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.estimate import clean_auto
from discreet.protocols.local_reports.messages import Collection
from discreet.protocols.local_reports.server._blocks import Spool
from discreet.protocols.local_reports.server._effects import Effects, stretch
from discreet.protocols.local_reports.server._law import Law

_Floats = npt.NDArray[np.float64]

USER_VARIANCE, RATING_VARIANCE = 0.2, 0.72
_USER_DOUBT = 0.1
_STRENGTH = 0.05
"""What tastes add to the covariance of two ratings, roughly, on a scale of width 4."""
_MOST_HEAD = 2000
_FEWEST_RATINGS = 60
_RANK = 20


@dataclass(frozen=True, eq=False)
class Tastes:
    """What was learnt beyond item effects.

    Attributes:
        factors: A row for each item of the catalogue; 0 outside the head.
        head_items: How many items the covariance was taken of.
        noise: The standard deviation of one of its entries, typically.
        user_variance: How far people's own levels lie apart.
    """

    factors: npt.NDArray[np.float32]
    head_items: int
    noise: float
    user_variance: float


def learn_tastes(
    collection: Collection, law: Law, effects: Effects, spool: Spool, rank: int = _RANK
) -> Tastes:
    """Cov and Wgt over the popular items, what people's own levels add taken off, and factors."""
    width, items = stretch(collection.scale), len(collection.catalog)
    head = head_of(effects, width)
    cov, wgt = _products(law, effects, spool, head)
    moments, counts = effects.moments[head], effects.known[head]
    user_variance = _user_variance(cov, wgt, effects.people, moments, width)
    cov -= user_variance * wgt
    within = _factors(cov, counts, moments, effects.people, rank, collection.scale.range)
    factors = np.zeros((items, within.shape[1]), np.float32)
    factors[head] = within
    noise = math.sqrt(effects.people) * float(moments.mean())
    return Tastes(factors, len(head), noise, user_variance)


def _factors(
    cov: _Floats, counts: _Floats, moments: _Floats, people: int, rank: int, width: float
) -> _Floats:
    """What stands out of noise.

    Entry ij has noise of variance people v_i v_j: even, once rows and columns are divided by the
    root of v. Such a matrix of m items is people times a sample covariance without its diagonal,
    whose eigenvalues reach 2 sqrt(people m) + m (Marchenko and Pastur), which is 2 sigma sqrt(m)
    for the sigma below.
    """
    roots = np.sqrt(moments)
    sigma = math.sqrt(people) + math.sqrt(len(cov)) / 2
    return clean_auto(cov / roots[:, None] / roots, counts / roots, sigma, rank, width)


def head_of(effects: Effects, width: float, most: int = _MOST_HEAD) -> npt.NDArray[np.int32]:
    """The popular items among which tastes can be told, in rising order.

    Of the h most popular, tastes have an eigenvalue of about strength x sum n^2 / people, and noise
    reaches 2 sqrt(people h) v. As many items as leave tastes at three times the noise; where none
    do, those that bring them closest. An item that few people rated tells more of them than of it.
    """
    rated = max(int(np.count_nonzero(effects.known >= _FEWEST_RATINGS)), 2)
    order = np.argsort(-effects.counts, kind="stable")[: min(rated, most)]
    counts, moments = effects.known[order], effects.moments[order]
    size = np.arange(1, len(order) + 1)
    tastes = _STRENGTH * width * np.cumsum(counts**2) / effects.people
    noise = 2 * np.sqrt(effects.people * size) * np.cumsum(moments) / size
    clear = np.flatnonzero(tastes >= 3 * noise)
    best = int(clear[-1]) if len(clear) else int(np.argmax(tastes / noise))
    return np.sort(order[: max(best + 1, min(2, len(order)))]).astype(np.int32)


def _products(
    law: Law, effects: Effects, spool: Spool, head: npt.NDArray[np.int32]
) -> tuple[_Floats, _Floats]:
    """Sums over people of y_i y_j and of e_i e_j; the diagonals mean nothing and are 0."""
    cov, wgt = (np.zeros((len(head), len(head))) for _ in range(2))
    levels = effects.levels[head].astype(np.float32)
    for block in spool.blocks():
        present = block.shown[:, head].astype(np.float32)
        present -= np.float32(law.fake)
        present /= np.float32(law.gap)
        centred = block.table()[:, head].astype(np.float32)
        centred *= np.float32(law.slope)
        centred -= levels * present
        cov += centred.T @ centred
        wgt += present.T @ present
    np.fill_diagonal(cov, 0.0)
    np.fill_diagonal(wgt, 0.0)
    return cov, wgt


def _user_variance(
    cov: _Floats, wgt: _Floats, people: int, moments: _Floats, width: float
) -> float:
    """How far people's own levels lie apart: what pairs of ratings of one person share."""
    guess, doubt = USER_VARIANCE * width, _USER_DOUBT * width
    pairs = float(wgt.sum())
    noise = 2 * people * float(moments.sum()) ** 2
    if pairs <= 0 or pairs**2 * doubt**2 < noise * 1e-6:
        return guess
    told = noise / pairs**2
    found = guess + doubt**2 / (doubt**2 + told) * (float(cov.sum()) / pairs - guess)
    return min(max(found, guess / 4), 2 * guess)
