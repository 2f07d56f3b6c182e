"""Directions of taste that cost nothing: how popular and how good an item is, and what it is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.measure._effects import Effects

_Floats = npt.NDArray[np.float64]

SIZE = 0.17
"""How strongly tastes differ along a direction, on a scale of width 4."""
_CLIP = 3.0


def free_directions(
    effects: Effects, features: _Floats | None, width: float, *, own: bool = True
) -> _Floats:
    """A row for each item: log popularity, effect, and public features, as item factors.

    All of it was released before, or public; standardised over ratings.

    Args:
        effects: What was released of the items.
        features: Public, a row for each item; may be absent.
        width: The scale's range.
        own: Whether popularity and effects are among them.
    """
    known = effects.known_counts
    columns = [np.log(known + 2 * effects.count_spread), effects.effects]
    found = standardised(np.column_stack(columns), known) * SIZE
    found *= np.sqrt([_counts_known(effects), _effects_known(effects)])
    found = found[:, found.any(axis=0)] if own else np.empty((len(known), 0))
    if features is not None and features.shape[1]:
        public = standardised(features.astype(np.float64), known)
        found = np.hstack([found, public * (SIZE * FEATURES / np.sqrt(features.shape[1]))])
    return found * (width / 4)


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


FEATURES = 3.0
"""How strong all public features together are, compared with one direction."""


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
