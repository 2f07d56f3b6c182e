"""Readers: ratings from files and tables, checked row by row."""

from discreet.ratings.readers._batch import ROW_HINTS, Batch, Ids, Progress
from discreet.ratings.readers._blocks import (
    BLOCK,
    Blocks,
    RowDealer,
    StageProgress,
    code_kind,
    deal,
    read_blocks,
)
from discreet.ratings.readers._collect import BadRows, IdColumn
from discreet.ratings.readers._columns import Columns, find_columns
from discreet.ratings.readers._features import ItemFeatures, read_features
from discreet.ratings.readers._frames import ParquetTable, open_frame
from discreet.ratings.readers._layouts import Layout
from discreet.ratings.readers._netflix import Probe, read_probe
from discreet.ratings.readers._public import CatalogColumns, catalog_columns, read_catalog
from discreet.ratings.readers._public import TableSource as FeatureSource
from discreet.ratings.readers._read import (
    FROM_DATA,
    GivenScale,
    RatingSource,
    Reading,
    parse_scale,
    read_ratings,
)
from discreet.ratings.readers.text import Quoting

__all__ = [
    "BLOCK",
    "FROM_DATA",
    "ROW_HINTS",
    "BadRows",
    "Batch",
    "Blocks",
    "CatalogColumns",
    "Columns",
    "FeatureSource",
    "GivenScale",
    "IdColumn",
    "Ids",
    "ItemFeatures",
    "Layout",
    "ParquetTable",
    "Probe",
    "Progress",
    "Quoting",
    "RatingSource",
    "Reading",
    "RowDealer",
    "StageProgress",
    "catalog_columns",
    "code_kind",
    "deal",
    "find_columns",
    "open_frame",
    "parse_scale",
    "read_blocks",
    "read_catalog",
    "read_features",
    "read_probe",
    "read_ratings",
]
