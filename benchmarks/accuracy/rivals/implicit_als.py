"""The `implicit` library's alternating least squares, for ranked lists. Not private.

It learns from which items somebody liked, not from how many stars they got, so it has lists and no
predicted ratings: NDCG and recall, no RMSE. Needs `pip install implicit`.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from benchmarks.accuracy.rivals._home import Floats
from scipy import sparse

from discreet.domain import Scale
from discreet.domain.errors import MissingPart
from discreet.evaluate import people_of
from discreet.predict import People
from discreet.ratings import Split

RANK = 64


def check_installed() -> None:
    """Find out early whether the library is there.

    Raises:
        MissingPart: It is not.
    """
    if importlib.util.find_spec("implicit") is None:
        raise MissingPart("implicit is not installed: pip install implicit")


def fit(split: Split, seed: int) -> Lists:
    """Learn from the training ratings, with the library's defaults but for the rank."""
    check_installed()
    from implicit.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(factors=RANK, random_state=seed)
    lists = Lists(model, split.train.scale, len(split.train.catalog))
    model.fit(lists.liked(people_of(split.train)), show_progress=False)
    return lists


@dataclass(frozen=True, eq=False, repr=False)
class Lists:
    """A scorer that `discreet.evaluate.Judge` can ask for lists, and not for ratings."""

    model: Any
    scale: Scale
    items: int
    predicts_ratings = False

    def liked(self, people: People) -> sparse.csr_matrix:
        """1 where somebody gave at least the middle of the scale."""
        likes = (people.values >= self.scale.mid).astype(np.float32)
        told = (likes, people.items.copy(), people.starts.copy())  # eliminate_zeros moves them
        table = sparse.csr_matrix(told, (len(people), self.items))
        table.eliminate_zeros()
        return table

    def predict_pairs(
        self, people: People, rows: npt.NDArray[np.integer], items: npt.NDArray[np.integer]
    ) -> Floats:
        """Never asked for: there are no predicted ratings."""
        raise NotImplementedError("implicit's ALS predicts no ratings")

    def scores(self, people: People, first: int, last: int) -> npt.NDArray[np.float32]:
        """Of all items, for people folded in by their own likes."""
        own = people.part(first, last)
        folded = np.asarray(self.model.recalculate_user(np.arange(len(own)), self.liked(own)))
        scored: npt.NDArray[np.float32] = folded @ np.asarray(self.model.item_factors).T
        return scored
