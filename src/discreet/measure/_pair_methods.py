"""Releases of item pairs: Slope One's mean differences, and cosines. After Park and Acharya."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.measure._budget import Spender
from discreet.measure._effects import Effects
from discreet.measure._everybody import Everybody
from discreet.measure._settings import CosineSettings, PairSettings, SlopeOneSettings
from discreet.measure._taste import Progress, diagonal_of, head_of
from discreet.measure.pairs import CosinePairs, DifferencePairs
from discreet.release import packed_side

_Singles = npt.NDArray[np.float32]
Pairs = tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]
"""Arrays and parameters; none at all where the budget is too small for pairs."""


def learn_slope_one(
    ratings: Everybody,
    spender: Spender,
    settings: SlopeOneSettings,
    effects: Effects,
    strength: float,
    share: float,
    progress: Progress | None = None,
) -> Pairs:
    """D and N over the popular items."""
    if share == 0:
        return {}, {"head_items": 0}
    head = _head(settings, effects, strength)
    told = (settings.protect, settings.noise, head, ratings.scale, settings.spread)
    statistic = DifferencePairs(*told)
    exact = statistic.measure(ratings, _telling(progress))
    part = share * settings.weight_share
    D, noise = _publish(
        spender, exact.differences, statistic.sensitivity, statistic.grid, share - part,
        "pair differences",
    )  # fmt: skip
    N, other = _publish(
        spender, exact.weights, statistic.weight_sensitivity, statistic.weight_grid, part,
        "pair weights",
    )  # fmt: skip
    sizes = {"head_items": len(head), "difference_noise": noise, "pair_noise": other}
    return {"head": head, "differences": D, "pair_weights": N}, sizes


def learn_cosine(
    ratings: Everybody,
    spender: Spender,
    settings: CosineSettings,
    effects: Effects,
    strength: float,
    share: float,
    progress: Progress | None = None,
) -> Pairs:
    """P over pairs and Q of the popular items."""
    if share == 0:
        return {}, {"head_items": 0}
    head = _head(settings, effects, strength)
    statistic = CosinePairs(settings.protect, settings.noise, head, ratings.scale)
    exact = statistic.measure(ratings, _telling(progress))
    part = share * settings.weight_share
    P, noise = _publish(
        spender, exact.products, statistic.sensitivity, statistic.grid, share - part,
        "pair products",
    )  # fmt: skip
    Q, other = spender.release_floats(
        exact.squares, statistic.square_sensitivity, statistic.grid, part, "item squares"
    )
    sizes = {"head_items": len(head), "product_noise": noise, "square_noise": other}
    return {"head": head, "products": P, "squares": Q.astype(np.float32)}, sizes


def _head(settings: PairSettings, effects: Effects, strength: float) -> npt.NDArray[np.int32]:
    return head_of(effects, settings.head_size(strength, len(effects.counts)))


def _telling(progress: Progress | None) -> Any:
    return None if progress is None else lambda done, total: progress("item pairs", done, total)


def _publish(
    spender: Spender,
    exact: npt.NDArray[np.int64],
    sensitivity: float,
    grid: float,
    share: float,
    label: str,
) -> tuple[_Singles, float]:
    """A strict triangle with noise; its diagonal, which says nothing, is 0 again."""
    noisy, spread = spender.release(exact, sensitivity, share, label)
    released = noisy.astype(np.float32)
    released /= np.float32(grid)
    released[diagonal_of(packed_side(len(released)) or 0)] = 0.0
    return released, spread / grid
