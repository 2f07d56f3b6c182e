"""Private data comes in here: readers, splits, synthetic data."""

from discreet.ratings._figures import Figures, figures
from discreet.ratings._keyed import bound_contributions, cap_periods
from discreet.ratings._ratings import Intake, Ratings, Stability, build_ratings
from discreet.ratings._splits import (
    Split,
    split_at_time,
    split_by_time,
    split_folds,
    split_leave_latest,
    split_leave_out,
    split_netflix,
    split_pairs,
    split_random,
)
from discreet.ratings._write import check_target, write_catalog, write_ratings
from discreet.ratings.readers import (
    ItemFeatures,
    read_catalog,
    read_features,
    read_probe,
    read_ratings,
)
from discreet.ratings.synthetic import SHAPES, Shape, find_shape, make_ratings

__all__ = [
    "SHAPES",
    "Figures",
    "Intake",
    "ItemFeatures",
    "Ratings",
    "Shape",
    "Split",
    "Stability",
    "bound_contributions",
    "build_ratings",
    "cap_periods",
    "check_target",
    "figures",
    "find_shape",
    "make_ratings",
    "read_catalog",
    "read_features",
    "read_probe",
    "read_ratings",
    "split_at_time",
    "split_by_time",
    "split_folds",
    "split_leave_latest",
    "split_leave_out",
    "split_netflix",
    "split_pairs",
    "split_random",
    "write_catalog",
    "write_ratings",
]
