"""A split, and the RMSE of whatever predicts its held-out ratings."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.evaluate._judge import people_of
from discreet.evaluate._metrics import rmse
from discreet.ratings import Split


class Trial:
    """Judges predictors by the held-out ratings of a split. Private.

    Args:
        split: Its train part holds people's own ratings.
    """

    def __init__(self, split: Split) -> None:
        self.split = split
        self.people = people_of(split.train)
        self.rows = split.test.user_of_rating().astype(np.int64)
        self.wanted = split.test.values()

    def __repr__(self) -> str:
        return "Trial(private)"

    def error(self, predictor: Any) -> float:
        """The RMSE of held-out ratings."""
        items = self.split.test.items
        return rmse(predictor.predict_pairs(self.people, self.rows, items), self.wanted)
