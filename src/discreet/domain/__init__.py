"""The public nouns that every room shares. Nothing here has ever seen a private rating."""

from discreet.domain._catalog import Catalog, CatalogOrigin
from discreet.domain._noisy import Noisy
from discreet.domain._own_ratings import OwnRatings
from discreet.domain._scale import PRESENCE, Scale
from discreet.domain.errors import DiscreetError, InputError

__all__ = [
    "PRESENCE",
    "Catalog",
    "CatalogOrigin",
    "DiscreetError",
    "InputError",
    "Noisy",
    "OwnRatings",
    "Scale",
]
