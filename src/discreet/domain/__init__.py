"""The public nouns that every room shares: none of them contains other people's ratings."""

from discreet.domain._catalog import Catalog, CatalogOrigin
from discreet.domain._noisy import Noisy
from discreet.domain._personal import (
    Listing,
    OwnRatings,
    Recommendation,
    Recommendations,
    SimilarItem,
    SimilarItems,
)
from discreet.domain._scale import PRESENCE, Scale
from discreet.domain.errors import DiscreetError, Hint, InputError

__all__ = [
    "PRESENCE",
    "Catalog",
    "CatalogOrigin",
    "DiscreetError",
    "Hint",
    "InputError",
    "Listing",
    "Noisy",
    "OwnRatings",
    "Recommendation",
    "Recommendations",
    "Scale",
    "SimilarItem",
    "SimilarItems",
]
