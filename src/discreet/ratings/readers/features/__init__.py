"""Public features of items: what anybody may know of an item without a single rating."""

from discreet.ratings.readers._public_tables import TableSource as FeatureSource
from discreet.ratings.readers.features._item_features import ItemFeatures
from discreet.ratings.readers.features._read import read_features

__all__ = ["FeatureSource", "ItemFeatures", "read_features"]
