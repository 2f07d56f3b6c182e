"""Choosing k items one after the other by the exponential mechanism, in one pass. See PROOF.md."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.privacy._randomness import Randomness
from discreet.privacy.mechanisms._selection import Moves, Selection
from discreet.privacy.mechanisms.gumbel_top_k import _exact, _kernels


class GumbelTopK(Selection):
    """Peeling: the first item with probability proportional to its weight, then the next one.

    The result is in the order of choosing. A score's weight is exp(score epsilon / divisor).
    """

    name = "Gumbel top-k"

    @property
    def divisor(self) -> int:
        """With `moves="one"` k s, with `moves="all"` 2 k s (PROOF.md)."""
        return (1 if self.moves is Moves.ONE else 2) * self.k * self.sensitivity

    def _choose(
        self,
        scores: npt.NDArray[np.int64],
        words: npt.NDArray[np.uint64],
        chosen: npt.NDArray[np.int64],
        randomness: Randomness,
    ) -> None:
        sure = _kernels.top_k(scores, words, self.epsilon / self.divisor, chosen)
        for row in np.flatnonzero(~sure):
            chosen[row] = _exact.top_k(
                scores[row], words[row], self.epsilon, self.divisor, self.k, randomness
            )
