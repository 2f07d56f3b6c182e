"""How good a release is: metrics, baselines, experiments.

Everything here looks at private ratings without paying: its figures are for the curator's eyes
only, and may not be published.
"""

from discreet.domain.callable_room import make_callable
from discreet.evaluate._baselines import (
    Baseline,
    global_mean,
    item_mean,
    popularity,
    recent_popularity,
    user_mean,
)
from discreet.evaluate._experiments import (
    MODELS,
    MOST_PEOPLE,
    ModelMaker,
    PersonRows,
    Results,
    Row,
    evaluate,
)
from discreet.evaluate._judge import FEW_RATINGS, Judge, PersonQuality, Quality, people_of
from discreet.evaluate._metrics import (
    Places,
    Scorer,
    Shown,
    hit_rate_at,
    mae,
    mean_reciprocal_rank,
    ndcg_at,
    places,
    recall_at,
    rmse,
)

__all__ = [
    "FEW_RATINGS",
    "MODELS",
    "MOST_PEOPLE",
    "Baseline",
    "Judge",
    "ModelMaker",
    "PersonQuality",
    "PersonRows",
    "Places",
    "Quality",
    "Results",
    "Row",
    "Scorer",
    "Shown",
    "evaluate",
    "global_mean",
    "hit_rate_at",
    "item_mean",
    "mae",
    "mean_reciprocal_rank",
    "ndcg_at",
    "people_of",
    "places",
    "popularity",
    "recall_at",
    "recent_popularity",
    "rmse",
    "user_mean",
]

make_callable(__name__)
