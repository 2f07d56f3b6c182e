"""Public data sets: what there is, and how to get it."""

from discreet.ratings.download._data_sets import DataSet, data_sets, find_data_set
from discreet.ratings.download._fetch import Fetched, fetch

__all__ = ["DataSet", "Fetched", "data_sets", "fetch", "find_data_set"]
