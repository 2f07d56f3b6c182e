"""A scorer for lenskit's pipelines that is trained under a guarantee.

Needs the optional part `lenskit` (which brings PyTorch). What it keeps of the training data is the
release; the ratings of the person who asks come with each query, as lenskit's history lookup puts
them there.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from lenskit.data import Dataset, ItemList, QueryInput, RecQuery, Vocabulary
from lenskit.pipeline import Component
from lenskit.training import Trainable, TrainingOptions
from pydantic import BaseModel, ConfigDict

from discreet.adapters._packed import pack, unpack
from discreet.domain import Catalog, CatalogOrigin, InputError, OwnRatings, Scale
from discreet.methods import fit
from discreet.predict import People
from discreet.privacy import SeededRandomness
from discreet.ratings import read_ratings
from discreet.release import Recommender, Release


class DiscreetConfig(BaseModel):
    """How to train, and what scores mean; the first five are those of `discreet.fit`."""

    model_config = ConfigDict(extra="forbid")

    protect: str = "user"
    epsilon: float = 1.0
    delta: float | None = None
    method: str | None = None
    ledger: str | None = None
    """The ledger's file, which every training charges; "unbooked" for none. There is no default:
    a training without a ledger is refused, unless it is seeded."""
    scale: str = "1..5"
    """The scale of ratings, like `0.5..5/0.5`, or `presence` to leave ratings out."""
    catalog_is_public: bool = False
    """Whether the data set's list of items is public. If not, the release says that an item's
    presence in it shows that somebody rated it."""
    scores: Literal["expected", "list"] = "expected"
    """What scores are: expected ratings, or what `recommend` orders lists by."""
    seed: int | None = None
    """For experiments: noise that can be repeated, in a release that says "not private"."""


class DiscreetScorer(Component[ItemList], Trainable):
    """Scores from a private release and the ratings that come with the query.

    Each training draws noise anew and charges the ledger again; evaluating on five folds is five
    charges. Items that were not in the training data have no score.
    """

    config: DiscreetConfig
    release_: Release
    items_: Vocabulary
    _model: Recommender
    _packed: bytes

    def train(self, data: Dataset, options: TrainingOptions | None = None) -> None:
        """Fit a release on a data set.

        Raises:
            BudgetExceeded: The ledger has no room; nothing was measured.
            InputError: The ratings do not fit the scale, or there is no ledger.
        """
        if hasattr(self, "release_") and options is not None and not options.retrain:
            return
        config = self.config
        scale = Scale.parse(config.scale)
        origin = CatalogOrigin.GIVEN if config.catalog_is_public else CatalogOrigin.FROM_DATA
        wanted = [] if scale.presence else ["rating"]
        table = data.interactions().arrow(attributes=wanted, ids=True)
        ratings = read_ratings(
            table.select(["user_id", "item_id", *wanted]),
            scale=scale,
            catalog=Catalog(map(str, data.items.ids()), origin=origin),
        )
        release = fit(
            ratings,
            method=config.method,
            protect=config.protect,
            epsilon=config.epsilon,
            delta=config.delta,
            ledger=config.ledger,
            randomness=None if config.seed is None else SeededRandomness(config.seed),
        )
        self.items_ = data.items
        # Once, since the order of a file's header changes from file to file.
        self._packed = pack(release)
        self._use(release)

    def __call__(self, query: QueryInput, items: ItemList) -> ItemList:
        """Score items for the person who asks, from their history in the query alone."""
        known = RecQuery.create(query).history_items
        people = People.one(self._own(known))
        places = items.numbers(vocabulary=self.items_, missing="negative")
        found = np.full(len(items), np.nan, np.float32)
        inside = np.flatnonzero(places >= 0)
        if self.config.scores == "list":
            found[inside] = self._model.scores(people, 0, 1)[0][places[inside]]
        else:
            nobody_else = np.zeros(len(inside), np.int64)
            found[inside] = self._model.predict_pairs(people, nobody_else, places[inside])
        return ItemList(items, scores=found)

    def _own(self, history: ItemList | None) -> OwnRatings:
        """A history as own ratings; those that are not on the scale are moved to the nearest."""
        scale = self.release_.scale
        if history is None or len(history) == 0:
            return OwnRatings(np.empty(0, np.int32), np.empty(0))
        places = history.numbers(vocabulary=self.items_, missing="negative")
        values = np.ones(len(places))
        if not scale.presence:
            rated = history.field("rating")
            if rated is None:
                raise InputError(
                    "the query's history has no ratings, and the scale is not presence"
                )
            values = scale.nearest(np.asarray(rated, np.float64))
        # An item twice in a history counts once, with its last rating.
        items, last = np.unique(places[::-1], return_index=True)
        kept = items >= 0
        return OwnRatings(items[kept].astype(np.int32), values[::-1][last][kept])

    def _use(self, release: Release) -> None:
        if self.config.scores == "expected" and release.method == "lists":
            raise InputError("a release of method 'lists' has no expected ratings: scores='list'")
        self.release_ = release
        self._model = release.predictor()

    def __getstate__(self) -> dict[str, Any]:
        return {n: v for n, v in self.__dict__.items() if n not in ("release_", "_model")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_packed" in state:
            self._use(unpack(state["_packed"]))
