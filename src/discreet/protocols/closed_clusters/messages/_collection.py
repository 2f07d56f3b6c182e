"""What the server announces: the public parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.domain import Catalog, InputError
from discreet.protocols.common import Fields, bytes_text
from discreet.protocols.obfuscation.messages import TERMS_FIELDS, Obfuscation, read_terms

PROTOCOL = "closed-clusters"
VERSION = 1
LONGEST_HASH = 16
LAST_EPOCH = 2**53 - 1  # the largest that every JSON reader has exactly

_FIELDS = ("protocol", "version", "authority", "server", "hash", "bits", "epoch", "ratings")


@dataclass(frozen=True)
class Collection:
    """One epoch of one server's closed clusters.

    Args:
        authority: The directory authority's Ed25519 public key. A client compares it with the one
            that it was given elsewhere, and never takes it from here.
        server: The server's X25519 public key, with which uploads are authenticated.
        hash_digest: 32 bytes that stand for the public parameters of the hash.
        bits: The length of the hash value, 1 to 16.
        epoch: Within it everybody's hash value is frozen; from 1.
        ratings: What is hashed, and how ratings hide that are sent beside the tags; None for tags
            by themselves, of which no release comes.
    """

    authority: bytes
    server: bytes
    hash_digest: bytes
    bits: int
    epoch: int
    ratings: Obfuscation | None = None

    def __post_init__(self) -> None:
        for name in ("authority", "server", "hash_digest"):
            if len(getattr(self, name)) != 32:
                raise InputError(f"{PROTOCOL} collection: '{name}' should have 32 bytes")
        if not 1 <= self.bits <= LONGEST_HASH:
            raise InputError(f"{PROTOCOL} collection: a hash has 1 to {LONGEST_HASH} bits")
        if not 1 <= self.epoch <= LAST_EPOCH:
            raise InputError(f"{PROTOCOL} collection: an epoch is a whole number from 1")
        told = self.ratings
        if told is not None and (told.hash_digest, told.bits) != (self.hash_digest, self.bits):
            raise InputError(
                f"{PROTOCOL} collection: the authority signed another hash than that of these "
                "items, scale, bits and beacon"
            )

    def as_json(self) -> dict[str, Any]:
        """The announcement."""
        return {
            "protocol": PROTOCOL,
            "version": VERSION,
            "authority": bytes_text(self.authority),
            "server": bytes_text(self.server),
            "hash": bytes_text(self.hash_digest),
            "bits": self.bits,
            "epoch": self.epoch,
            "ratings": None if self.ratings is None else self.ratings.terms_json(),
        }

    @classmethod
    def from_json(cls, content: Any, catalog: Catalog | None = None) -> Collection:
        """Read one.

        Args:
            content: The announcement.
            catalog: The items, where it speaks of ratings.

        Raises:
            InputError: A field is missing, unknown or wrong, or of another catalogue.
        """
        fields = Fields(content, f"{PROTOCOL} collection", _FIELDS)
        fields.choice("protocol", (PROTOCOL,))
        fields.whole("version", VERSION, VERSION)
        return cls(
            fields.content("authority", 32, 32),
            fields.content("server", 32, 32),
            fields.content("hash", 32, 32),
            fields.whole("bits", 1, LONGEST_HASH),
            fields.whole("epoch", 1, LAST_EPOCH),
            _read_ratings(fields, catalog),
        )


def _read_ratings(fields: Fields, catalog: Catalog | None) -> Obfuscation | None:
    if not fields.has("ratings"):
        return None
    if catalog is None:
        raise InputError(f"{PROTOCOL} collection: it speaks of items, and there is no catalogue")
    terms = fields.nested("ratings", f"{PROTOCOL} ratings", TERMS_FIELDS)
    return Obfuscation(**read_terms(terms, catalog))
