"""Search where it costs nothing, then fit once under a guarantee. Needs scikit-learn."""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV

import discreet
from discreet.adapters.sklearn import DiscreetRecommender, cost_of_search


def table(seed: int) -> np.ndarray:
    """Made-up ratings: a row for each person, NaN where there is none."""
    ratings = discreet.make_ratings("ml-100k", ratings=10_000, seed=seed)
    found = np.full((ratings.user_count, len(ratings.catalog)), np.nan)
    found[ratings.user_of_rating(), ratings.items] = ratings.values()
    return found[:, :200]


public, private = table(seed=1), table(seed=2)
search = GridSearchCV(
    DiscreetRecommender(epsilon=4.0, random_state=1), {"method": ["refined", "covariance"]}, cv=2
)
print("on private rows this would be", cost_of_search(search, private))
search.fit(public)  # made up, and seeded: nobody pays for it

with tempfile.TemporaryDirectory() as folder:
    ledger = str(Path(folder) / "people.ledger")
    limit = discreet.Limit(discreet.Unit.USER, epsilon=4.0, delta=1e-6)
    discreet.Ledger.create(ledger, "people of the example", [limit])
    model = DiscreetRecommender(epsilon=4.0, ledger=ledger, **search.best_params_).fit(private)
print(model.release_.guarantee)
print(model.recommend(private[:2], 5))
