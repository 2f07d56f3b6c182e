"""What the server announces, and what a person sends."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from discreet.domain import Catalog, InputError
from discreet.privacy import PureEvent, Unit
from discreet.protocols.clusters_common.messages import (
    RATINGS_FIELDS,
    TERMS_FIELDS,
    Codes,
    Items,
    Obfuscation,
    SentRatings,
    read_terms,
)
from discreet.protocols.common import Fields

PROTOCOL = "open-clusters"
# Of the messages: a change of their form is a new number.
VERSION = 1

HASH_ON = ("true", "obfuscated")

# Of an epsilon: e^700 is near the largest double.
_MOST_THOUSANDTHS = 700_000
# The largest 32-bit integer.
_MOST_EPOCH = 2**31 - 1

_OWN_FIELDS = ("hash_on", "bit_epsilon_thousandths", "epoch")
_COLLECTION_FIELDS = ("protocol", "version", *TERMS_FIELDS, *_OWN_FIELDS)
_UPLOAD_FIELDS = ("protocol", "version", "collection", "hash", *RATINGS_FIELDS)


@dataclass(frozen=True)
class Collection(Obfuscation):
    """The public terms of a collection: those of `Obfuscation`, and these.

    Attributes:
        hash_on: Whether people hash their `true` ratings, or the `obfuscated` ones they send.
        bit_epsilon_thousandths: Randomized response on each hash bit with this epsilon; 0 for none.
            It covers the hash and nothing else: bits times epsilon for one rating and for a whole
            person alike, because one rating can flip every bit. Obfuscated ratings that are sent
            beside it have no epsilon, and tell of the same bits.
        epoch: The number of the period, from 0 on, among collections with the same terms; a new
            one asks everybody for the hash afresh.
    """

    hash_on: str = "true"
    bit_epsilon_thousandths: int = 0
    epoch: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bit_epsilon_thousandths and self.hash_on == "obfuscated":
            raise InputError(
                "a hash of the ratings that are sent needs no noise: anybody can compute it"
            )
        # Whatever could not be read back is refused here too.
        _read_own(Fields(self.as_json(), "collection", _COLLECTION_FIELDS))

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
    def digest(self) -> str:
        """SHA-256 of the message as JSON: sorted names, no spaces, UTF-8; every upload names it."""
        text = json.dumps(self.as_json(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(b"discreet collection 1\n" + text.encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """The announcement."""
        return {
            "protocol": PROTOCOL,
            "version": VERSION,
            **self.terms_json(),
            "hash_on": self.hash_on,
            "bit_epsilon_thousandths": self.bit_epsilon_thousandths,
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
        return cls(**read_terms(fields, catalog), **_read_own(fields))


def _read_own(fields: Fields) -> dict[str, Any]:
    return {
        "hash_on": fields.choice("hash_on", HASH_ON),
        "bit_epsilon_thousandths": fields.whole("bit_epsilon_thousandths", 0, _MOST_THOUSANDTHS),
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
        sent: The ratings beside it.
    """

    collection: str
    hash: int
    sent: SentRatings

    def __repr__(self) -> str:
        return f"Upload({self.sent.kind} ratings)"

    @property
    def ratings(self) -> str:
        """What kind of ratings there are."""
        return self.sent.kind

    @property
    def items(self) -> Items:
        """The items that look rated."""
        return self.sent.items

    @property
    def codes(self) -> Codes:
        """What they are rated."""
        return self.sent.codes

    def as_json(self) -> dict[str, Any]:
        """The message; without ratings it has neither items nor codes."""
        return {
            "protocol": PROTOCOL,
            "version": VERSION,
            "collection": self.collection,
            "hash": self.hash,
            **self.sent.as_json(),
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
        upload = cls(collection.digest, value, SentRatings.read(fields, collection))
        upload._check_hash(collection)
        return upload

    def check(self, collection: Collection) -> None:
        """Refuse ratings that are not the collection's."""
        self.sent.check(collection)
        self._check_hash(collection)

    def _check_hash(self, collection: Collection) -> None:
        plain = not collection.bit_epsilon_thousandths
        follows = self.ratings == "revealed" or collection.hash_on == "obfuscated"
        if not plain or not follows or self.ratings == "none":
            return
        if collection.cluster_hash.value(self.items, self.codes) != self.hash:
            raise InputError("upload: 'hash' is not the hash of the ratings beside it")
