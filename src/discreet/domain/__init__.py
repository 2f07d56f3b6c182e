"""The public nouns that every room shares. Nothing here has ever seen a private rating."""

from discreet.domain._catalog import Catalog, CatalogOrigin
from discreet.domain._own_ratings import OwnRatings
from discreet.domain._scale import Scale
from discreet.domain.errors import DiscreetError, InputError

__all__ = ["Catalog", "CatalogOrigin", "DiscreetError", "InputError", "OwnRatings", "Scale"]
