"""The public file: types and codec. Nothing here has ever seen a rating."""

from discreet.domain.triangles import pack, packed_bases, packed_side, packed_size, unpack
from discreet.release._codec import FORMAT, StoredCatalog, encode_catalog, load
from discreet.release._layouts import (
    METHODS,
    ArrayLayout,
    MethodLayout,
)
from discreet.release._release import (
    LearntSummary,
    Names,
    Own,
    Recommender,
    Release,
    Where,
    register_predictors,
)
from discreet.release._signature import Signature, sign, signature_path, verify

__all__ = [
    "FORMAT",
    "METHODS",
    "ArrayLayout",
    "LearntSummary",
    "MethodLayout",
    "Names",
    "Own",
    "Recommender",
    "Release",
    "Signature",
    "StoredCatalog",
    "Where",
    "encode_catalog",
    "load",
    "pack",
    "packed_bases",
    "packed_side",
    "packed_size",
    "register_predictors",
    "sign",
    "signature_path",
    "unpack",
    "verify",
]
