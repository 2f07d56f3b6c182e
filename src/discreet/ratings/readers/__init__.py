"""Readers: ratings from files and tables, checked row by row."""

from discreet.ratings.readers._batch import Progress
from discreet.ratings.readers._catalog_file import CatalogColumns, read_catalog
from discreet.ratings.readers._collect import BadRows
from discreet.ratings.readers._columns import Columns, find_columns
from discreet.ratings.readers._layouts import Layout
from discreet.ratings.readers._netflix import Probe, read_probe
from discreet.ratings.readers._read import GivenScale, RatingSource, read_ratings
from discreet.ratings.readers._text import Quoting
from discreet.ratings.readers.features import FeatureSource, ItemFeatures, read_features

__all__ = [
    "BadRows",
    "CatalogColumns",
    "Columns",
    "FeatureSource",
    "GivenScale",
    "ItemFeatures",
    "Layout",
    "Probe",
    "Progress",
    "Quoting",
    "RatingSource",
    "find_columns",
    "read_catalog",
    "read_features",
    "read_probe",
    "read_ratings",
]
