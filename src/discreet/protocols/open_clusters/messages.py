"""What the server announces, and what a person sends."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import Catalog, InputError, Scale
from discreet.domain.cluster_hash import KINDS, MOST_BITS, ClusterHash, grid_parts
from discreet.privacy import PureEvent, Unit
from discreet.protocols.common import Fields, numbers_text

PROTOCOL = "open-clusters"
VERSION = 1

FAKES = ("around-mean", "uniform", "popular", "same-hash")
"""How made-up ratings are drawn: see `discreet.protocols.open_clusters.client`."""
HASH_ON = ("true", "obfuscated")
RATINGS = ("obfuscated", "revealed", "none")

LEAST = 80
"""With so many items that look rated, nobody can try all subsets for one that has the hash."""

_MOST_PERCENT = 1_000
_MOST_SUPPRESSED = 90
_MOST_THOUSANDTHS = 700_000
_MOST_EPOCH = 2**31 - 1
_BEACON = 200

_COLLECTION_FIELDS = (
    "protocol",
    "version",
    "items",
    "catalog",
    "scale",
    "bits",
    "hash",
    "beacon",
    "hash_on",
    "bit_epsilon_thousandths",
    "fakes",
    "fake_percent",
    "suppress_percent",
    "least",
    "epoch",
)
_UPLOAD_FIELDS = ("protocol", "version", "collection", "hash", "ratings", "items", "codes")


@dataclass(frozen=True)
class Collection:
    """The public terms of a collection.

    Attributes:
        catalog: The items.
        scale: What ratings live on; presence alone has nothing to standardise and is refused.
        bits: Of the hash, 1 to 16: there are 2^bits buckets.
        hash: `orthogonal`, or `lsh` for comparison.
        beacon: The hash's public text; see `ClusterHash`.
        hash_on: Whether people hash their `true` ratings, or the `obfuscated` ones they send.
        bit_epsilon_thousandths: Randomized response on each hash bit with this epsilon; 0 for none.
            It covers the hash and nothing else: bits times epsilon for one rating and for a whole
            person alike, because one rating can flip every bit. Obfuscated ratings that are sent
            beside it have no epsilon, and tell of the same bits.
        fakes: How made-up ratings are drawn, one of `FAKES`.
        fake_percent: How many there are for every hundred true ratings that are sent, at least.
        suppress_percent: How many of a hundred true ratings are not sent.
        least: Every obfuscated upload has at least so many items.
        epoch: Counts collections with the same terms; a new one asks everybody afresh.
    """

    catalog: Catalog
    scale: Scale
    bits: int = 8
    hash: str = "orthogonal"
    beacon: str = ""
    hash_on: str = "true"
    bit_epsilon_thousandths: int = 0
    fakes: str = "around-mean"
    fake_percent: int = 100
    suppress_percent: int = 0
    least: int = LEAST
    epoch: int = 0

    def __post_init__(self) -> None:
        if self.scale.presence:
            raise InputError("open clusters need ratings: presence alone has nothing to hash")
        if self.least > len(self.catalog):
            raise InputError(
                f"uploads have at least {self.least} items; the catalogue has {len(self.catalog)}"
            )
        if self.bit_epsilon_thousandths and self.hash_on == "obfuscated":
            raise InputError(
                "a hash of the ratings that are sent needs no noise: anybody can compute it"
            )
        if not 1 <= self.bits <= min(MOST_BITS, len(self.catalog)):
            raise InputError(f"a hash has 1 to {MOST_BITS} bits, and no more than there are items")
        # Whatever could not be read back is refused here too.
        _read_terms(Fields(self.as_json(), "collection", _COLLECTION_FIELDS))

    @property
    def bit_epsilon(self) -> float:
        """The epsilon of each reported bit; 0 if bits are reported as they are."""
        return self.bit_epsilon_thousandths / 1_000

    @property
    def hash_event(self) -> PureEvent | None:
        """What reporting the hash costs: as much for one rating as for the whole person.

        None if bits are reported as they are, which nothing bounds.
        """
        if not self.bit_epsilon_thousandths:
            return None
        return PureEvent(
            unit=Unit.RATING,
            label="hash bits",
            ratings_per_user=1,  # however much a person rates, it is in one report
            covers_change=True,
            epsilon=self.bits * self.bit_epsilon,
            mechanism="randomized response",
        )

    @cached_property
    def parts(self) -> int:
        """The largest code of a rating."""
        return grid_parts(self.scale)

    @cached_property
    def cluster_hash(self) -> ClusterHash:
        """The hash function."""
        return ClusterHash(self.catalog, self.bits, kind=self.hash, beacon=self.beacon)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the message as JSON: sorted names, no spaces, UTF-8; every upload names it."""
        text = json.dumps(self.as_json(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(b"discreet collection 1\n" + text.encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """The announcement; the catalogue itself is fetched apart and known by its digest."""
        return {
            "protocol": PROTOCOL,
            "version": VERSION,
            "items": len(self.catalog),
            "catalog": self._catalog_digest,
            "scale": self.scale.spelling,
            "bits": self.bits,
            "hash": self.hash,
            "beacon": self.beacon,
            "hash_on": self.hash_on,
            "bit_epsilon_thousandths": self.bit_epsilon_thousandths,
            "fakes": self.fakes,
            "fake_percent": self.fake_percent,
            "suppress_percent": self.suppress_percent,
            "least": self.least,
            "epoch": self.epoch,
        }

    @classmethod
    def from_json(cls, content: Any, catalog: Catalog) -> Collection:
        """Read an announcement beside the catalogue it speaks of.

        Raises:
            InputError: Something is missing, wrong, or of another catalogue or version.
        """
        fields = Fields(content, "collection", _COLLECTION_FIELDS)
        _check_version(fields)
        told = fields.text("catalog", 64)
        if fields.whole("items", 1, 2**31 - 1) != len(catalog) or told != catalog.digest():
            raise InputError("collection: 'catalog' is not this catalogue's digest")
        return cls(catalog, Scale.parse(fields.text("scale")), **_read_terms(fields))

    @cached_property
    def _catalog_digest(self) -> str:
        return self.catalog.digest()


def _read_terms(fields: Fields) -> dict[str, Any]:
    return {
        "bits": fields.whole("bits", 1, MOST_BITS),
        "hash": fields.choice("hash", KINDS),
        "beacon": fields.text("beacon", _BEACON),
        "hash_on": fields.choice("hash_on", HASH_ON),
        "bit_epsilon_thousandths": fields.whole("bit_epsilon_thousandths", 0, _MOST_THOUSANDTHS),
        "fakes": fields.choice("fakes", FAKES),
        "fake_percent": fields.whole("fake_percent", 0, _MOST_PERCENT),
        "suppress_percent": fields.whole("suppress_percent", 0, _MOST_SUPPRESSED),
        "least": fields.whole("least", 0, 2**31 - 1),
        "epoch": fields.whole("epoch", 0, _MOST_EPOCH),
    }


def _check_version(fields: Fields) -> None:
    fields.choice("protocol", (PROTOCOL,))
    fields.whole("version", VERSION, VERSION)


@dataclass(frozen=True, eq=False, repr=False)
class Upload:
    """Everything that one person has sent; a later one takes its place.

    Attributes:
        collection: The digest of the terms it was made for.
        hash: The person's hash value, or what randomized response made of it.
        ratings: `obfuscated`; `revealed` if all of them are true and the person wants it known;
            `none` if only the hash was sent.
        items: Catalogue indices, rising.
        codes: The ratings beside them on the scale's grid.
    """

    collection: str
    hash: int
    ratings: str
    items: npt.NDArray[np.int32]
    codes: npt.NDArray[np.uint8]

    def __repr__(self) -> str:
        return f"Upload({self.ratings} ratings)"

    def as_json(self) -> dict[str, Any]:
        """The message; without ratings it has neither items nor codes."""
        message = {
            "protocol": PROTOCOL,
            "version": VERSION,
            "collection": self.collection,
            "hash": self.hash,
            "ratings": self.ratings,
        }
        if self.ratings == "none":
            return message
        return message | {
            "items": numbers_text(self.items, "int32"),
            "codes": numbers_text(self.codes, "uint8"),
        }

    @classmethod
    def from_json(cls, content: Any, collection: Collection) -> Upload:
        """Read and check an upload for a collection.

        Raises:
            InputError: Says in one line what does not fit; no rating is repeated.
        """
        fields = Fields(content, "upload", _UPLOAD_FIELDS)
        _check_version(fields)
        if fields.text("collection", 64) != collection.digest:
            raise InputError("upload: 'collection' is not the digest of this collection's terms")
        value = fields.whole("hash", 0, 2**collection.bits - 1)
        ratings = fields.choice("ratings", RATINGS)
        if ratings == "none":
            if fields.has("items") or fields.has("codes"):
                raise InputError("upload: without ratings there are no 'items' and no 'codes'")
            empty = np.empty(0, np.int32), np.empty(0, np.uint8)
            return cls(collection.digest, value, ratings, *empty)
        size = len(collection.catalog)
        items = fields.numbers("items", "int32", size)
        codes = fields.numbers("codes", "uint8", size)
        upload = cls(collection.digest, value, ratings, items, codes)
        upload.check(collection)
        return upload

    def check(self, collection: Collection) -> None:
        """Refuse ratings that are not the collection's."""
        items, codes = self.items, self.codes
        if len(items) != len(codes):
            raise InputError("upload: 'items' and 'codes' should have one entry a rating")
        least = collection.least if self.ratings == "obfuscated" else 1
        if len(items) < max(least, 1):
            raise InputError(f"upload: 'items' should be {max(least, 1)} or more")
        if items[0] < 0 or items[-1] >= len(collection.catalog) or (items[1:] <= items[:-1]).any():
            raise InputError("upload: 'items' should be indices of the catalogue in rising order")
        if codes.max() > collection.parts:
            raise InputError(f"upload: 'codes' should be from 0 to {collection.parts}")
        plain = not collection.bit_epsilon_thousandths
        follows = self.ratings == "revealed" or collection.hash_on == "obfuscated"
        if plain and follows and collection.cluster_hash.value(items, codes) != self.hash:
            raise InputError("upload: 'hash' is not the hash of the ratings beside it")
