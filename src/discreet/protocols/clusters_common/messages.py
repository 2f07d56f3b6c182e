"""The public terms of obfuscated ratings, and the ratings themselves as they are sent."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import Catalog, InputError, Scale
from discreet.domain.cluster_hash import KINDS, MOST_BITS, ClusterHash, grid_parts
from discreet.protocols.common import Fields, numbers_text

FAKES = ("around-mean", "uniform", "popular", "same-hash")
"""How made-up ratings are drawn: see `discreet.protocols.clusters_common.client`."""
RATINGS = ("obfuscated", "revealed", "none")

LEAST = 80
"""Items that look rated, at least: too many to try all subsets for one that has the hash."""

TERMS_FIELDS = (
    "items",
    "catalog",
    "scale",
    "bits",
    "hash",
    "beacon",
    "fakes",
    "fake_percent",
    "suppress_percent",
    "least",
)
"""What the terms are called in a message."""
RATINGS_FIELDS = ("ratings", "items", "codes")
"""What ratings are called in a message."""

# Ten fakes for each true rating: more would mostly cost bandwidth. Chosen for safety.
_MOST_PERCENT = 1_000
# Percent; above it hardly a true rating would be sent. Chosen for safety.
_MOST_SUPPRESSED = 90
# Characters; chosen for safety.
_BEACON = 200

Items = npt.NDArray[np.int32]
Codes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Obfuscation:
    """What is rated, how people are hashed, and how true ratings hide.

    Attributes:
        catalog: The items.
        scale: What ratings live on; presence alone has nothing to standardise and is refused.
        bits: Of the hash, 1 to 16: there are 2^bits buckets.
        hash: `orthogonal`, or `lsh` for comparison.
        beacon: The hash's public text; see `ClusterHash`.
        fakes: How made-up ratings are drawn, one of `FAKES`.
        fake_percent: How many there are for every hundred true ratings that are sent, at least.
        suppress_percent: How many of a hundred true ratings are not sent.
        least: The fewest items of an obfuscated upload.
    """

    catalog: Catalog
    scale: Scale
    bits: int = 8
    hash: str = "orthogonal"
    beacon: str = ""
    fakes: str = "around-mean"
    fake_percent: int = 100
    suppress_percent: int = 0
    least: int = LEAST

    def __post_init__(self) -> None:
        if self.scale.presence:
            raise InputError("clusters need ratings: presence alone has nothing to hash")
        if self.least > len(self.catalog):
            raise InputError(
                f"uploads have at least {self.least} items; the catalogue has {len(self.catalog)}"
            )
        if not 1 <= self.bits <= min(MOST_BITS, len(self.catalog)):
            raise InputError(f"a hash has 1 to {MOST_BITS} bits, and no more than there are items")
        # Whatever could not be read back is refused here too.
        _read_terms(Fields(self.terms_json(), "terms", TERMS_FIELDS))

    @cached_property
    def parts(self) -> int:
        """The largest code of a rating."""
        return grid_parts(self.scale)

    @cached_property
    def cluster_hash(self) -> ClusterHash:
        """The hash function."""
        return ClusterHash(self.catalog, self.bits, kind=self.hash, beacon=self.beacon)

    @cached_property
    def hash_digest(self) -> bytes:
        """SHA-256 of all that a hash value depends on besides the ratings, a line each."""
        lines = ("discreet hash of ratings 1", self.catalog_digest, self.scale.spelling)
        text = "\n".join((*lines, str(self.bits), self.hash, self.beacon))
        return hashlib.sha256(text.encode()).digest()

    @cached_property
    def catalog_digest(self) -> str:
        """The catalogue's own, which is the work of reading all of it."""
        return self.catalog.digest()

    def terms_json(self) -> dict[str, Any]:
        """The terms; the catalogue itself is fetched apart and known by its digest."""
        return {
            "items": len(self.catalog),
            "catalog": self.catalog_digest,
            "scale": self.scale.spelling,
            "bits": self.bits,
            "hash": self.hash,
            "beacon": self.beacon,
            "fakes": self.fakes,
            "fake_percent": self.fake_percent,
            "suppress_percent": self.suppress_percent,
            "least": self.least,
        }


def read_terms(fields: Fields, catalog: Catalog) -> dict[str, Any]:
    """The arguments of `Obfuscation` from a message, beside the catalogue that it speaks of.

    Raises:
        InputError: Something is missing, wrong, or of another catalogue.
    """
    digest = fields.text("catalog", 64)
    if fields.whole("items", 1, 2**31 - 1) != len(catalog) or digest != catalog.digest():
        raise InputError(f"{fields.kind}: 'catalog' is not this catalogue's digest")
    scale = Scale.parse(fields.text("scale"))
    return {"catalog": catalog, "scale": scale, **_read_terms(fields)}


def _read_terms(fields: Fields) -> dict[str, Any]:
    return {
        "bits": fields.whole("bits", 1, MOST_BITS),
        "hash": fields.choice("hash", KINDS),
        "beacon": fields.text("beacon", _BEACON),
        "fakes": fields.choice("fakes", FAKES),
        "fake_percent": fields.whole("fake_percent", 0, _MOST_PERCENT),
        "suppress_percent": fields.whole("suppress_percent", 0, _MOST_SUPPRESSED),
        "least": fields.whole("least", 0, 2**31 - 1),
    }


@dataclass(frozen=True, eq=False, repr=False)
class SentRatings:
    """Ratings as they leave a person's device.

    Attributes:
        kind: `obfuscated`; `revealed` if all of them are true and the person wants it known;
            `none` if there are none.
        items: Catalogue indices, rising.
        codes: The ratings beside them on the scale's grid.
    """

    kind: str
    items: Items
    codes: Codes

    def __repr__(self) -> str:
        return f"SentRatings({self.kind})"

    @classmethod
    def none(cls) -> SentRatings:
        """No ratings."""
        return cls("none", np.empty(0, np.int32), np.empty(0, np.uint8))

    def as_json(self) -> dict[str, Any]:
        """What they add to a message; without ratings there are neither items nor codes."""
        if self.kind == "none":
            return {"ratings": self.kind}
        return {
            "ratings": self.kind,
            "items": numbers_text(self.items, "int32"),
            "codes": numbers_text(self.codes, "uint8"),
        }

    @classmethod
    def read(cls, fields: Fields, terms: Obfuscation) -> SentRatings:
        """Read and check what they added.

        Raises:
            InputError: Says in one line what does not fit; no rating is repeated.
        """
        kind = fields.choice("ratings", RATINGS)
        if kind == "none":
            if fields.has("items") or fields.has("codes"):
                raise InputError(
                    f"{fields.kind}: without ratings there are no 'items' and no 'codes'"
                )
            return cls.none()
        size = len(terms.catalog)
        sent = cls(
            kind, fields.numbers("items", "int32", size), fields.numbers("codes", "uint8", size)
        )
        sent.check(terms, fields.kind)
        return sent

    def check(self, terms: Obfuscation, message: str = "upload") -> None:
        """Refuse ratings that are not under these terms.

        Raises:
            InputError: They are not; no rating is repeated.
        """
        items, codes = self.items, self.codes
        if len(items) != len(codes):
            raise InputError(f"{message}: 'items' and 'codes' should have one entry a rating")
        least = max(terms.least, 1) if self.kind == "obfuscated" else 1
        if len(items) < least:
            raise InputError(f"{message}: 'items' should be {least} or more")
        if items[0] < 0 or items[-1] >= len(terms.catalog) or (items[1:] <= items[:-1]).any():
            raise InputError(
                f"{message}: 'items' should be indices of the catalogue in rising order"
            )
        if codes.max() > terms.parts:
            raise InputError(f"{message}: 'codes' should be from 0 to {terms.parts}")
