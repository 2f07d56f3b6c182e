"""At home: a release and a person's own ratings become scores and recommendations."""

from discreet.predict._buckets import BucketPredictor
from discreet.predict._clusters import ClusterPredictor
from discreet.predict._cosine import CosinePredictor
from discreet.predict._knn import KnnPredictor
from discreet.predict._people import People
from discreet.predict._predictor import Predictor
from discreet.predict._private_sets import drop_own
from discreet.predict._recommendation import Recommendation, Recommendations
from discreet.predict._slope_one import SlopeOnePredictor
from discreet.predict._svd import PosteriorPredictor, SvdPredictor
from discreet.release import Release, load, register_predictors

# The first is the method's own. `svd` and `posterior` are one formula by two names.
for _method, _own, _other in (
    ("refined", PosteriorPredictor, SvdPredictor),
    ("covariance", SvdPredictor, PosteriorPredictor),
):
    register_predictors(_method, {p.name: p for p in (_own, KnnPredictor, _other)})
for _pairs in (SlopeOnePredictor, CosinePredictor):
    register_predictors(_pairs.name, {_pairs.name: _pairs})
register_predictors("open-clusters", {p.name: p for p in (BucketPredictor, ClusterPredictor)})
register_predictors("closed-clusters", {ClusterPredictor.name: ClusterPredictor})

__all__ = [
    "BucketPredictor",
    "ClusterPredictor",
    "CosinePredictor",
    "KnnPredictor",
    "People",
    "PosteriorPredictor",
    "Predictor",
    "Recommendation",
    "Recommendations",
    "Release",
    "SlopeOnePredictor",
    "SvdPredictor",
    "drop_own",
    "load",
]
