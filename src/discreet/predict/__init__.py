"""At home: a release and a person's own ratings become scores and recommendations."""

from discreet.predict._knn import KnnPredictor
from discreet.predict._people import People
from discreet.predict._predictor import Predictor
from discreet.predict._recommendation import Recommendation, Recommendations
from discreet.predict._svd import PosteriorPredictor, SvdPredictor
from discreet.release import Release, load, register_predictors

register_predictors("refined", {p.name: p for p in (PosteriorPredictor, KnnPredictor)})
register_predictors("covariance", {p.name: p for p in (SvdPredictor, KnnPredictor)})

__all__ = [
    "KnnPredictor",
    "People",
    "PosteriorPredictor",
    "Predictor",
    "Recommendation",
    "Recommendations",
    "Release",
    "SvdPredictor",
    "load",
]
