"""The same choice to any precision, taken up where the floats were in doubt."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt

from discreet.privacy._randomness import Randomness
from discreet.privacy.noise import below_exactly, precision


def choose(
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
