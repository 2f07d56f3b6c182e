"""The exponential mechanism over all sets of k items, sampled exactly. See PROOF.md.

With weights w_j = e^(z_j) and p_j = w_j/(1 + w_j), the set of heads among independent coins, given
that there are k, has probability proportional to the product of its weights (conditional Poisson
sampling). Any common factor on the weights leaves that law unchanged, so it is chosen to make k
heads likely: then nothing that matters is too small for a float. heads[j, t] = P(t heads among the
first j coins) needs additions and multiplications of positive numbers only, so its relative error
is bounded.
"""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numba as nb
import numpy as np
import numpy.typing as npt

from discreet.privacy._receipt import Randomness
from discreet.privacy.mechanisms._selection import Moves, Selection
from discreet.privacy.noise import below_exactly, precision

# Where a decision is closer than this to its probability, relatively or absolutely, it is settled
# exactly: the bounds on the kernel's error in PROOF.md.
RELATIVE, ABSOLUTE = 2.0**-28, 2.0**-50
# Probabilities below the first become 0, as subnormal numbers are slow; decisions are taken only
# where the probability of the condition is above the second. PROOF.md.
SMALLEST, TRUSTED = 1e-290, 1e-200


class KSubset(Selection):
    """A set of k items with probability proportional to the product of their weights.

    The result is in rising order. A score's weight is exp(score epsilon / divisor).
    """

    name = "k-subset"

    @property
    def divisor(self) -> int:
        """The sensitivity s for `moves="one"`, 2 k s for `moves="all"` (PROOF.md)."""
        return self.sensitivity * (1 if self.moves is Moves.ONE else 2 * self.k)

    def _choose(
        self,
        scores: npt.NDArray[np.int64],
        words: npt.NDArray[np.uint64],
        chosen: npt.NDArray[np.int64],
        randomness: Randomness,
    ) -> None:
        stuck = choose_rows(scores, words, self.epsilon / self.divisor, chosen)
        for row in np.flatnonzero(stuck[:, 0] >= 0):
            item, wanted = (int(x) for x in stuck[row])
            chosen[row, :wanted] = choose_exactly(
                scores[row], words[row], self.epsilon, self.divisor, item, wanted, randomness
            )


@nb.njit(cache=True, nogil=True)
def tilt(exponents, k):  # type: ignore[no-untyped-def]
    """A centre c with sum over j of 1/(1 + e^(c - exponent_j)) within a quarter of k.

    The k-th largest exponent is 0. At c = 60 fewer than k coins are likely, so bisection between
    -700 and 60 finds such a c, or goes to -700, where the k largest are certain beyond any float.
    """
    low, high = -700.0, 60.0
    middle = 0.5 * (low + high)
    for _ in range(100):
        heads = 0.0
        for exponent in exponents:
            if exponent > middle - 50.0:
                heads += 1.0 / (1.0 + math.exp(middle - exponent))
        if abs(heads - k) < 0.25:
            break
        if heads > k:
            low = middle
        else:
            high = middle
        middle = 0.5 * (low + high)
    return middle


@nb.njit(cache=True, nogil=True)
def head_counts(exponents, k):  # type: ignore[no-untyped-def]
    """P(t heads among the first j coins) for t <= k, and each coin's chance of heads.

    Entries below 1e-290 become 0 (slow subnormal numbers otherwise): see PROOF.md.
    """
    items = len(exponents)
    centre = tilt(exponents, k)
    chance = np.empty(items)
    heads = np.zeros((items + 1, k + 1))
    heads[0, 0] = 1.0
    for j in range(items):
        z = exponents[j] - centre
        small = math.exp(-min(abs(z), 700.0))
        likely, unlikely = 1.0 / (1.0 + small), small / (1.0 + small)
        p, q = (likely, unlikely) if z > 0 else (unlikely, likely)
        chance[j] = p
        heads[j + 1, 0] = q * heads[j, 0]
        for t in range(1, min(k, j + 1) + 1):
            value = q * heads[j, t] + p * heads[j, t - 1]
            heads[j + 1, t] = value if value > SMALLEST else 0.0
    return heads, chance


@nb.njit(cache=True, nogil=True)
def _choose_row(exponents, words, chosen):  # type: ignore[no-untyped-def]
    """Decide items from the last to the first; (-1, 0), or the first undecidable (item, wanted)."""
    wanted = len(chosen)
    heads, chance = head_counts(exponents, wanted)
    for item in range(len(exponents) - 1, -1, -1):
        if wanted == 0:
            break
        if wanted < item + 1:
            share = chance[item] * heads[item, wanted - 1] / heads[item + 1, wanted]
            u = np.float64(words[item]) * 2.0**-64
            doubt = abs(u - share) <= RELATIVE * share + ABSOLUTE
            if doubt or not heads[item + 1, wanted] > TRUSTED:
                return item, wanted
            if u >= share:
                continue
        wanted -= 1
        chosen[wanted] = item
    return -1, 0


def choose_rows(
    scores: npt.NDArray[np.int64],
    words: npt.NDArray[np.uint64],
    rate: float,
    chosen: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Fill `chosen` row by row; where a row got stuck: (item, items still wanted), else (-1, 0)."""
    # Relative to the k-th largest score; numpy's partition takes numba seconds to compile.
    place = scores.shape[1] - chosen.shape[1]
    references = np.ascontiguousarray(np.partition(scores, place)[:, place])
    return np.asarray(_choose_rows(scores, references, words, rate, chosen))


@nb.njit(cache=True, nogil=True, parallel=True)
def _choose_rows(scores, references, words, rate, chosen):  # type: ignore[no-untyped-def]
    stuck = np.empty((len(chosen), 2), np.int64)
    for row in nb.prange(len(chosen)):
        exponents = (scores[row] - references[row]) * rate
        item, wanted = _choose_row(exponents, words[row], chosen[row])
        stuck[row, 0], stuck[row, 1] = item, wanted
    return stuck


def choose_exactly(
    scores: npt.NDArray[np.int64],
    words: npt.NDArray[np.uint64],
    epsilon: float,
    divisor: int,
    item: int,
    wanted: int,
    randomness: Randomness,
) -> list[int]:
    """Choose `wanted` of the items 0..item, deciding from `item` downwards; in rising order.

    An item is in with probability w_item e_(wanted-1)(before) / e_wanted(up to it), e_t the
    elementary symmetric polynomials of the weights.
    """
    tables: dict[int, list[list[Any]]] = {}
    chosen: list[int] = []
    while wanted:
        if wanted == item + 1:
            return [*range(wanted), *reversed(chosen)]

        def share(item: int = item, wanted: int = wanted) -> Any:
            precision = mpmath.mp.prec
            if precision not in tables:
                tables[precision] = _symmetric(scores[: item + 1], epsilon, divisor, wanted)
            table = tables[precision]
            return 1 - table[item][wanted] / table[item + 1][wanted]

        if below_exactly(int(words[item]), 64, share, randomness):
            chosen.append(item)
            wanted -= 1
        item -= 1
    return chosen[::-1]


def _symmetric(
    scores: npt.NDArray[np.int64], epsilon: float, divisor: int, degree: int
) -> list[list[Any]]:
    """e_t of the first j weights, for all j and t <= degree, with 64 bits to spare."""
    best = int(scores.max())
    with precision(mpmath.mp.prec + 64):
        rate = mpmath.mpf(epsilon) / divisor
        rows = [[mpmath.mpf(1)] + [mpmath.mpf(0)] * degree]
        for score in scores:
            weight, last = mpmath.exp((int(score) - best) * rate), rows[-1]
            rows.append([last[0], *(last[t] + weight * last[t - 1] for t in range(1, degree + 1))])
    return rows
