"""Directions of taste that cost nothing: how popular an item is, and how good."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.measure._effects import Effects

_Floats = npt.NDArray[np.float64]

SIZE = 0.17
"""How strongly tastes differ along a direction, on a scale of width 4."""
_CLIP = 3.0
LONGEST = 1.3
"""Where rows are cut off before a refinement, in rms lengths."""


def free_directions(effects: Effects, width: float) -> _Floats:
    """A row for each item, as item factors: log popularity and effect, which were released before.

    Args:
        effects: What was released of the items.
        width: The scale's range.
    """
    known = effects.known_counts
    columns = [np.log(known + 2 * effects.count_spread), effects.effects]
    found = standardised(np.column_stack(columns), known) * SIZE
    found *= np.sqrt([_counts_known(effects), _effects_known(effects)])
    return np.asarray(found[:, found.any(axis=0)] * (width / 4))


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


def standardised(columns: _Floats, counts: _Floats) -> _Floats:
    """Mean 0 and variance 1 over ratings, clipped; a column that is constant becomes 0."""
    shares = counts / counts.sum()
    centred = columns - shares @ columns
    spreads = np.sqrt(shares @ centred**2)
    varies = spreads > 1e-9 * np.maximum(np.abs(columns).max(axis=0), 1e-9)
    scaled = centred / np.where(varies, spreads, np.inf)
    return np.asarray(np.clip(scaled, -_CLIP, _CLIP))


def short_rows(factors: _Floats, counts: _Floats, most: float) -> _Floats:
    """Rows cut off at `most` times their rms length over ratings, and scaled to at most 1."""
    lengths = np.sqrt(np.einsum("ij,ij->i", factors, factors))
    shares = np.maximum(counts, 0.0) + 1.0
    longest = most * np.sqrt((shares @ lengths**2) / shares.sum())
    cut = np.minimum(1.0, longest / np.maximum(lengths, 1e-12)) / max(longest, 1e-12)
    return np.asarray(factors * (cut * (1 - 2.0**-40))[:, None])
