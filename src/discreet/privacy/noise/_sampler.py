"""Integer noise whose law is exact: a fast table, and exact arithmetic where the table is not sure.

See PROOF.md beside this file.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from discreet.privacy._randomness import Randomness
from discreet.privacy.noise import _kernels as kernels
from discreet.privacy.noise._exact import exact_accept, exact_cell
from discreet.privacy.noise._laws import GaussianLaw, GeometricLaw, Law

_CHUNK = 1 << 15  # 20 bytes a draw: the random bits of a chunk stay in the cache
_MARGIN_LOG2 = 63 - 44  # the table's error is below 2^-48 (PROOF.md): a factor of 16 to spare

_KIND = {GaussianLaw: kernels.GAUSSIAN, GeometricLaw: kernels.GEOMETRIC}


@dataclass(frozen=True, eq=False)
class _Table:
    kind: int
    shift: int
    step: float
    thresholds: npt.NDArray[np.uint64]
    guide: npt.NDArray[np.int32]


@lru_cache(maxsize=32)
def _table(law: Law) -> _Table:
    edges = np.maximum.accumulate(np.clip(law.edges(), 0.0, 1.0))
    thresholds = (edges * 2.0**63).astype(np.uint64)
    step = 2.0**law.shift / law.scale
    return _Table(_KIND[type(law)], law.shift, step, thresholds, kernels.guide_of(thresholds))


def draw_noise(
    law: Law, count: int, randomness: Randomness, *, margin_log2: int = _MARGIN_LOG2
) -> npt.NDArray[np.int64]:
    """Independent draws from the law.

    Args:
        law: Gaussian or geometric, with its scale.
        count: How many.
        randomness: Where the bits come from.
        margin_log2: How close to a cell's edge (in units of 2^-63) a draw is settled exactly; for
            tests, which widen it so that the rare path is taken often.
    """
    table = _table(law)
    out = np.empty(count, dtype=np.int64)
    for start in range(0, count, _CHUNK):
        _fill(law, table, out[start : start + _CHUNK], randomness, np.uint64(1 << margin_log2))
    return out


def add_noise(law: Law, values: npt.NDArray[np.int64], randomness: Randomness) -> None:
    """Add independent draws to a flat array in place, a chunk at a time."""
    for start in range(0, len(values), _CHUNK):
        chunk = values[start : start + _CHUNK]
        chunk += draw_noise(law, len(chunk), randomness)


def _fill(
    law: Law,
    table: _Table,
    out: npt.NDArray[np.int64],
    randomness: Randomness,
    margin: np.uint64,
) -> None:
    n = len(out)
    words = randomness.words(n)
    coarse = n if table.shift else 0
    places, coins = randomness.words(coarse), randomness.half_words(coarse)
    which, cells, state = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int8)
    unfinished = kernels.draw(
        table.kind, table.shift, table.step, table.thresholds, table.guide, margin,
        words, places, coins, out, which, cells, state,
    )  # fmt: skip
    if not unfinished:
        return
    which, cells, state = which[:unfinished], cells[:unfinished], state[:unfinished]
    words, magnitudes = words[which], np.abs(out[which])
    for i in np.flatnonzero(state == kernels.UNSURE_CELL):
        cells[i] = magnitudes[i] = exact_cell(law, int(words[i]) >> 1, 63, randomness)
        state[i] = kernels.REJECTED if table.shift else kernels.DONE
    if table.shift:
        _place(law, table, cells, state, places[which], coins[which], magnitudes, randomness)
    out[which] = np.where(words & np.uint64(1), -magnitudes, magnitudes)


def _place(
    law: Law,
    table: _Table,
    cells: npt.NDArray[np.int64],
    state: npt.NDArray[np.int8],
    places: npt.NDArray[np.uint64],
    coins: npt.NDArray[np.uint32],
    magnitudes: npt.NDArray[np.int64],
    randomness: Randomness,
) -> None:
    """Settle the unsure and redraw the rejected places until every draw has one."""
    while True:
        for i in np.flatnonzero(state == kernels.UNSURE_PLACE):
            place, coin = (int(places[i]), 64), (int(coins[i]), 32)
            accepted = exact_accept(law, int(cells[i]), place, coin, randomness)
            state[i] = kernels.DONE if accepted else kernels.REJECTED
        again = np.flatnonzero(state == kernels.REJECTED)
        if not len(again):
            return
        fresh = randomness.words(len(again)), randomness.half_words(len(again))
        places[again], coins[again] = fresh
        magnitudes[again], state[again] = kernels.place_again(
            table.kind, table.shift, table.step, len(table.thresholds), cells[again], *fresh
        )
