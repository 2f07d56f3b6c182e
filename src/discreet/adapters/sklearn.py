"""An estimator that keeps scikit-learn's rules. Needs the optional part `sklearn`.

X has a row for each person and a column for each item, with ratings in it and NaN (nothing, in
sparse matrices) where there is none. The estimator learns from some people's rows and predicts the
missing ratings of any others from their own rows: nobody's row is kept.

**Searching costs.** Every `fit` draws noise and charges its ledger: `GridSearchCV` with four
candidates and five folds fits 21 times, and `cost_of_search` says what that adds up to. The choice
among them is made by exact scores on private rows, which no charge covers. So search on public or
made-up ratings, which costs nothing, and fit once on the private ones with what was found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv
from sklearn.utils.validation import check_is_fitted, validate_data

from discreet.adapters._packed import pack, unpack
from discreet.domain import Catalog, InputError, Scale
from discreet.methods import fit
from discreet.predict import People
from discreet.privacy import SeededRandomness
from discreet.ratings import read_ratings
from discreet.release import Recommender, Release

# The share of each person's ratings that `score` hides, and with which generator: public, so that
# two candidates of a search are compared on the same ratings. Chosen by hand.
_HIDDEN_SHARE, _HIDDEN_SEED = 0.2, 0


class DiscreetRecommender(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Expected ratings and lists from a private release; like an imputer, it fills gaps.

    Args:
        scale: The scale of ratings: `(1, 5)`, `(0.5, 5, 0.5)`, or text like `1..5`.
        epsilon: The budget of one `fit`.
        delta: See `discreet.fit`, like the next two.
        protect: `user` or `rating`.
        method: `refined` or `covariance`.
        ledger: The ledger's file, which every `fit` charges; "unbooked" for none. There is no
            default: a fit without a ledger is refused, unless it is seeded.
        random_state: For experiments: noise that can be repeated, in a release that says
            "not private".

    Attributes:
        release_: What was learnt, with its guarantee.
        n_features_in_: How many items there are.
    """

    def __init__(
        self,
        scale: tuple[float, float] | tuple[float, float, float | None] | str = (1, 5),
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        protect: str = "user",
        method: str = "refined",
        ledger: str | None = None,
        random_state: int | None = None,
    ) -> None:
        self.scale = scale
        self.epsilon = epsilon
        self.delta = delta
        self.protect = protect
        self.method = method
        self.ledger = ledger
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> DiscreetRecommender:  # noqa: ARG002
        """Learn from people's rows; charges the ledger.

        Raises:
            ValueError: X does not fit the scale, or there is no ledger.
            BudgetExceeded: The ledger has no room; nothing was measured.
        """
        known = self._validated(X, reset=True)
        names = getattr(self, "feature_names_in_", np.arange(known.shape[1]))
        try:
            catalog = Catalog([str(name) for name in names])
            table = pl.DataFrame({"user": known.row, "item": known.col, "rating": known.data})
            # Columns are public: an item's id in the table is its place.
            places = Catalog([str(place) for place in range(known.shape[1])])
            scale = _scale(self.scale)
            _check_scale(scale, known.data)
            ratings = read_ratings(table, scale=scale, catalog=places)
            release = fit(
                ratings,
                method=self.method,
                protect=self.protect,
                epsilon=self.epsilon,
                delta=self.delta,
                ledger=self.ledger,
                randomness=None
                if self.random_state is None
                else SeededRandomness(self.random_state),
            )
        except InputError as error:
            # scikit-learn's tools expect this kind of error.
            raise ValueError(str(error)) from None
        self._use(
            Release(
                release.method, release.scale, catalog, release.guarantee, release.parameters,
                release.arrays,
            )
        )  # fmt: skip
        return self

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """X with an expected rating wherever it has none, each row from itself alone."""
        check_is_fitted(self)
        known = self._validated(X, reset=False)
        people, (count, items) = self._people(known), known.shape
        rows = np.repeat(np.arange(count), items)
        found = self._model.predict_pairs(people, rows, np.tile(np.arange(items), count))
        filled = found.reshape(count, items)
        filled[known.row, known.col] = known.data
        return filled

    def recommend(self, X: Any, n: int = 10) -> npt.NDArray[np.int64]:
        """The columns of the n items that suit each person best, -1 where there are fewer."""
        check_is_fitted(self)
        people = self._people(self._validated(X, reset=False))
        scores = self._model.scores(people, 0, len(people)).astype(np.float64)
        person = np.repeat(np.arange(len(people)), np.diff(people.starts))
        scores[person, people.items] = -np.inf
        best = np.argsort(-scores, axis=1, kind="stable")[:, :n]
        return np.where(np.isinf(np.take_along_axis(scores, best, axis=1)), -1, best)

    def score(self, X: Any, y: None = None) -> float:  # noqa: ARG002
        """Minus the RMSE on a fifth of each person's ratings, predicted from the others.

        Which ratings are hidden depends on their places alone. The score is an exact figure of
        private rows: for the curator's eyes only.
        """
        check_is_fitted(self)
        known = self._validated(X, reset=False)
        generator = np.random.default_rng(_HIDDEN_SEED)
        hidden = generator.random(known.nnz) < _HIDDEN_SHARE
        shown = sparse.coo_array(
            (known.data[~hidden], (known.row[~hidden], known.col[~hidden])), known.shape
        )
        rows, items = known.row[hidden].astype(np.int64), known.col[hidden]
        if not len(rows):
            return math.nan
        expected = self._model.predict_pairs(self._people(shown), rows, items)
        return -float(np.sqrt(np.mean((expected - known.data[hidden]) ** 2)))

    def _validated(self, X: Any, *, reset: bool) -> Any:
        """X as a sparse matrix whose entries are the ratings, in order of rows and columns."""
        checked = None
        try:
            checked = validate_data(
                self, X, reset=reset, accept_sparse="csr", dtype=np.float64,
                ensure_all_finite="allow-nan", ensure_min_features=2 if reset else 1,
            )  # fmt: skip
        except ValueError as error:
            # This one quotes the cell.
            if not str(error).startswith("could not convert string to float"):
                raise
        if checked is None:
            raise ValueError("X has a cell that is not a number")
        if sparse.issparse(checked):
            found = sparse.coo_array(checked)
            kept = ~np.isnan(found.data)
            rows, columns, values = found.row[kept], found.col[kept], found.data[kept]
        else:
            rows, columns = np.nonzero(~np.isnan(checked))
            values = checked[rows, columns]
        order = np.lexsort((columns, rows))
        return sparse.coo_array((values[order], (rows[order], columns[order])), checked.shape)

    def _people(self, known: Any) -> People:
        _check_scale(self.release_.scale, known.data)
        starts = np.searchsorted(known.row, np.arange(known.shape[0] + 1)).astype(np.int64)
        return People(starts, known.col.astype(np.int32), known.data)

    def _use(self, release: Release) -> None:
        self.release_ = release
        self._model: Recommender = release.predictor()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = False
        tags.non_deterministic = self.random_state is None
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        release = state.pop("release_", None)
        state.pop("_model", None)
        return state if release is None else state | {"_packed": pack(release)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        packed = state.pop("_packed", None)
        super().__setstate__(state)
        if packed is not None:
            self._use(unpack(packed))


class SearchCost(NamedTuple):
    """What a search costs at most, whichever people are in which fold."""

    fits: int
    epsilon: float
    delta: float

    def __str__(self) -> str:
        return (
            f"{self.fits} fits: together epsilon {self.epsilon:g}, delta {self.delta:g}; the "
            "choice among them is made by exact scores, which no epsilon covers"
        )


def cost_of_search(search: GridSearchCV, X: Any) -> SearchCost:
    """What `search.fit(X)` will charge, by adding up; it fits nothing.

    Args:
        search: Over parameters of a `DiscreetRecommender`, which may be a pipeline's last step.
        X: What it is to be fitted on.
    """
    folds = check_cv(search.cv).get_n_splits(X)
    grid = list(ParameterGrid(search.param_grid))
    spent = [_budget(search.estimator, parameters) for parameters in grid]
    # The last fit has one candidate's parameters; the dearest may win.
    refits = int(bool(search.refit))
    epsilon, delta = (
        folds * sum(each[at] for each in spent) + refits * max(each[at] for each in spent)
        for at in (0, 1)
    )
    return SearchCost(folds * len(grid) + refits, epsilon, delta)


def _budget(estimator: Any, parameters: Mapping[str, Any]) -> tuple[float, float]:
    chosen = clone(estimator).set_params(**parameters)
    last = chosen.steps[-1][1] if hasattr(chosen, "steps") else chosen
    return float(last.epsilon), 1e-6 if last.delta is None else float(last.delta)


def _check_scale(scale: Scale, ratings: npt.NDArray[np.float64]) -> None:
    if not scale.contains(ratings).all():
        raise ValueError(f"a rating is not on the scale {scale}")


def _scale(given: Any) -> Scale:
    if isinstance(given, Scale):
        return given
    return Scale.parse(given) if isinstance(given, str) else Scale(*given)
