"""Proof of work: what an enrolment may cost a computer, so that many of them cost much."""

from __future__ import annotations

import hashlib
import itertools

MOST_BITS = 32
"""The hardest that a client solves: about an hour. Chosen for safety: a server may ask for more."""


def has_worked(challenge: str, nonce: str, bits: int) -> bool:
    """Whether SHA-256 of "challenge:nonce" begins with this many bits of 0."""
    return _begins_with_zeros(hashlib.sha256(f"{challenge}:{nonce}".encode()).digest(), bits)


def work(challenge: str, bits: int) -> str:
    """A nonce for which `has_worked` holds, after 2^bits tries on average."""
    begun = hashlib.sha256(f"{challenge}:".encode())
    for number in itertools.count():
        tried = begun.copy()
        tried.update(b"%d" % number)
        if _begins_with_zeros(tried.digest(), bits):
            return str(number)
    raise AssertionError("unreachable")


def _begins_with_zeros(digest: bytes, bits: int) -> bool:
    return int.from_bytes(digest, "big") >> (8 * len(digest) - bits) == 0
