"""Public features of items: what anybody may know of an item without a single rating."""

from discreet.ratings.readers.features._item_features import ItemFeatures
from discreet.ratings.readers.features._read import read_features
from discreet.ratings.readers.features._table import FeatureSource

__all__ = ["FeatureSource", "ItemFeatures", "read_features"]
