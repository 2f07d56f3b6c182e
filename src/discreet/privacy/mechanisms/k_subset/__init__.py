"""The exponential mechanism over all sets of k items, sampled exactly. See PROOF.md."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.privacy._randomness import Randomness
from discreet.privacy.mechanisms._selection import Moves, Selection
from discreet.privacy.mechanisms.k_subset import _exact, _kernels


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
        stuck = _kernels.choose(scores, words, self.epsilon / self.divisor, chosen)
        for row in np.flatnonzero(stuck[:, 0] >= 0):
            item, wanted = (int(x) for x in stuck[row])
            chosen[row, :wanted] = _exact.choose(
                scores[row], words[row], self.epsilon, self.divisor, item, wanted, randomness
            )
