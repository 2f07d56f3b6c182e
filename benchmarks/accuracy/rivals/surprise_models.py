"""Surprise's SVD and SVD++ with that library's own defaults. Not private: nothing is added.

Needs `pip install scikit-surprise`. SVD++ takes many minutes on a million ratings.
"""

from __future__ import annotations

import importlib.util

import numpy as np
from benchmarks.accuracy.rivals._home import Floats

from discreet.domain.errors import MissingPart
from discreet.privacy import Unit
from discreet.ratings import Split


def check_installed() -> None:
    """Find out early whether the library is there.

    Raises:
        MissingPart: It is not.
    """
    for name in ("surprise", "pandas"):
        if importlib.util.find_spec(name) is None:
            raise MissingPart("Surprise is not installed: pip install scikit-surprise pandas")


def predict(
    split: Split,
    unit: Unit | str | None = None,
    epsilon: float = np.inf,
    delta: float = 0.0,
    seed: int = 0,
    *,
    implicit_too: bool = False,
) -> Floats:
    """Predictions of the test ratings by SVD or, with which items were rated, by SVD++.

    Unit, epsilon and delta are there to look like the other rivals, and do nothing.
    """
    del unit, epsilon, delta
    check_installed()
    import pandas as pd
    from surprise import SVD, Dataset, Reader, SVDpp

    train, test = split.train, split.test
    columns = {"user": train.user_of_rating(), "item": train.items, "rating": train.values()}
    reader = Reader(rating_scale=(train.scale.lo, train.scale.hi))
    data = Dataset.load_from_df(pd.DataFrame(columns), reader).build_full_trainset()
    model = (SVDpp if implicit_too else SVD)(random_state=seed)
    model.fit(data)
    # Surprise predicts pair by pair.
    pairs = zip(test.user_of_rating().tolist(), test.items.tolist(), strict=True)
    return np.array([model.predict(user, item).est for user, item in pairs])
