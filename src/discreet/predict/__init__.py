"""At home: a release and a person's own ratings become scores and recommendations.

Predictors load on first use, so that recommending with one does not wait for what the others need
(numba for nearest neighbours, scipy for clusters).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.domain import Recommendation, Recommendations, SimilarItem, SimilarItems
from discreet.domain.callable_room import make_callable
from discreet.domain.errors import MissingPart
from discreet.predict._functions import predict, recommend, similar
from discreet.predict._people import People, drop_own
from discreet.predict._predictor import Order, Predictor
from discreet.release import Release, load, register_predictors

if TYPE_CHECKING:
    from discreet.predict._buckets import BucketPredictor as BucketPredictor
    from discreet.predict._clusters import ClusterPredictor as ClusterPredictor
    from discreet.predict._cosine import CosinePredictor as CosinePredictor
    from discreet.predict._knn import KnnPredictor as KnnPredictor
    from discreet.predict._predictor import ListsPredictor as ListsPredictor
    from discreet.predict._slope_one import SlopeOnePredictor as SlopeOnePredictor
    from discreet.predict._svd import PosteriorPredictor as PosteriorPredictor
    from discreet.predict._svd import SvdPredictor as SvdPredictor
    from discreet.predict._vectors import Vectors as Vectors
    from discreet.predict._vectors import vectors as vectors

# Each predictor's name, class, module, and the methods whose releases it reads. The first predictor
# listed for a method is its default: `svd` and `posterior` are one formula under two names.
_PREDICTORS: tuple[tuple[str, str, Callable[[], Any], tuple[str, ...]], ...] = (
    ("posterior", "PosteriorPredictor", lambda: import_module("discreet.predict._svd"),
     ("refined",)),
    ("svd", "SvdPredictor", lambda: import_module("discreet.predict._svd"), ("covariance",)),
    ("knn", "KnnPredictor", lambda: import_module("discreet.predict._knn"),
     ("refined", "covariance")),
    ("svd", "SvdPredictor", lambda: import_module("discreet.predict._svd"), ("refined",)),
    ("posterior", "PosteriorPredictor", lambda: import_module("discreet.predict._svd"),
     ("covariance",)),
    ("lists", "ListsPredictor", lambda: import_module("discreet.predict._predictor"), ("lists",)),
    ("slope-one", "SlopeOnePredictor", lambda: import_module("discreet.predict._slope_one"),
     ("slope-one",)),
    ("cosine", "CosinePredictor", lambda: import_module("discreet.predict._cosine"), ("cosine",)),
    ("buckets", "BucketPredictor", lambda: import_module("discreet.predict._buckets"),
     ("open-clusters",)),
    ("clusters", "ClusterPredictor", lambda: import_module("discreet.predict._clusters"),
     ("open-clusters", "closed-clusters")),
)  # fmt: skip
_HOMES = {class_: module for _, class_, module, _ in _PREDICTORS} | dict.fromkeys(
    ("Vectors", "vectors"), lambda: import_module("discreet.predict._vectors")
)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.predict' has no attribute '{name}'")
    try:
        return getattr(_HOMES[name](), name)
    except ModuleNotFoundError as error:
        if (error.name or "discreet").startswith("discreet"):
            raise
        # discreet-predict comes without what only some predictors need.
        raise MissingPart(
            f"this predictor needs {error.name}, which is not installed: pip install {error.name}"
        ) from None


for _name, _class, _, _methods in _PREDICTORS:
    for _method in _methods:
        register_predictors(_method, {_name: partial(__getattr__, _class)})

__all__ = [
    "BucketPredictor",
    "ClusterPredictor",
    "CosinePredictor",
    "KnnPredictor",
    "ListsPredictor",
    "Order",
    "People",
    "PosteriorPredictor",
    "Predictor",
    "Recommendation",
    "Recommendations",
    "Release",
    "SimilarItem",
    "SimilarItems",
    "SlopeOnePredictor",
    "SvdPredictor",
    "Vectors",
    "drop_own",
    "load",
    "predict",
    "recommend",
    "similar",
    "vectors",
]

make_callable(__name__)
