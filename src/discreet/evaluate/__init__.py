"""How good a release is: metrics, baselines, experiments.

Everything here looks at private ratings without paying: its figures are for the curator's eyes
only, and may not be published.
"""

from discreet.evaluate._baselines import Baseline, global_mean, item_mean, popularity, user_mean
from discreet.evaluate._experiments import MODELS, Row, evaluate
from discreet.evaluate._judge import Judge, Quality, people_of
from discreet.evaluate._metrics import Places, Scorer, mae, ndcg_at, places, recall_at, rmse

__all__ = [
    "MODELS",
    "Baseline",
    "Judge",
    "Places",
    "Quality",
    "Row",
    "Scorer",
    "evaluate",
    "global_mean",
    "item_mean",
    "mae",
    "ndcg_at",
    "people_of",
    "places",
    "popularity",
    "recall_at",
    "rmse",
    "user_mean",
]
