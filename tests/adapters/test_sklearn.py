"""scikit-learn's own checks, and that a search costs what is said."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import estimator_checks_generator

import discreet
from discreet.adapters.sklearn import DiscreetRecommender, cost_of_search
from discreet.privacy.ledger import Ledger, Limit
from discreet.ratings import Ratings

# The checks' data are numbers of any sign and size, and their fits must repeat each other.
CHECKED = DiscreetRecommender((-500, 500, None), epsilon=math.inf, random_state=0)


def test_the_checks_that_apply_pass() -> None:
    names = []
    for estimator, check in estimator_checks_generator(CHECKED):
        name = check.func.__name__
        if name != "check_array_api_input":  # skipped unless a variable asks for it
            check(estimator)
            names.append(name)
    assert len(names) > 40
    assert {"check_estimators_pickle", "check_estimator_sparse_array", "check_dict_unchanged"} <= {
        *names
    }


@pytest.fixture(scope="module", name="X")
def ratings_table(films: Ratings) -> Any:
    """Two hundred people and their first sixty items; NaN where there is no rating."""
    table = np.full((films.user_count, len(films.catalog)), np.nan)
    table[films.user_of_rating(), films.items] = films.values()
    return table[:200, np.argsort(-np.isfinite(table).sum(axis=0))[:60]]


def test_it_fills_gaps_as_predict_does(X: Any) -> None:
    model = DiscreetRecommender(epsilon=8.0, random_state=1).fit(X)
    filled = model.transform(X)
    known = ~np.isnan(X)
    assert np.array_equal(filled[known], X[known]) and np.isfinite(filled).all()
    own = {str(item): X[0, item] for item in np.flatnonzero(known[0])}
    expected = discreet.predict(model.release_, own)
    assert np.array_equal(filled[0, ~known[0]], expected[~known[0]])
    listed = [film.item for film in discreet.recommend(model.release_, own, 5)]
    assert model.recommend(X, 5)[0].tolist() == listed
    assert not model.release_.guarantee.is_private  # seeded
    as_sparse = sparse.coo_array((X[known], np.nonzero(known)), X.shape).tocsr()
    assert np.array_equal(model.transform(as_sparse), filled)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.transform(X), filled)
    assert again.release_.digest() == model.release_.digest()


def test_real_noise_needs_a_ledger_and_every_fit_is_charged(X: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="ledger"):
        DiscreetRecommender().fit(X)
    path = str(tmp_path / "people.ledger")
    limit = Limit(discreet.Unit.USER, epsilon=8.0, delta=1e-4)
    Ledger.create(path, "people of the test", [limit])
    model = make_pipeline(FunctionTransformer(), DiscreetRecommender(ledger=path))
    grid = {"discreetrecommender__epsilon": [0.25, 0.5]}
    search = GridSearchCV(model, grid, cv=2)
    cost = cost_of_search(search, X)
    assert (cost.fits, cost.epsilon) == (5, 2 * 0.75 + 0.5)
    assert "5 fits: together epsilon 2, delta 5e-06" in str(cost)
    search.fit(X)
    assert len(list(Ledger.open(path).history())) == cost.fits
    assert search.best_score_ < 0
    assert search.best_estimator_[-1].release_.guarantee.is_private
    # A clone is not fitted, and charges anew.
    clone(search.best_estimator_[-1]).fit(X)
    assert len(list(Ledger.open(path).history())) == cost.fits + 1


def test_a_bad_rating_is_refused_in_scikit_learns_way(X: Any) -> None:
    with pytest.raises(ValueError, match="scale"):
        DiscreetRecommender((1, 4), random_state=1).fit(X)
    model = DiscreetRecommender(random_state=1).fit(X)
    with pytest.raises(ValueError, match="not on the scale"):
        model.transform(X + 1)


@pytest.mark.parametrize(("cell", "reason"), [("a secret", "not a number"), (77.25, "not on the")])
def test_a_wrong_cell_is_refused_without_quoting_it(X: Any, cell: Any, reason: str) -> None:
    table = X.astype(object)
    table[3, 3] = cell
    with pytest.raises(ValueError, match=reason) as caught:
        DiscreetRecommender(random_state=1).fit(table)
    told = repr((caught.value, caught.value.__context__, caught.value.__cause__))
    assert "secret" not in told and "77" not in told
    # Entries of X have no numbers that a reader would know.
    assert "row " not in told
