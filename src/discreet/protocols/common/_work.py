"""Proof of work: what an enrolment may cost a computer, so that many of them cost much."""

from __future__ import annotations

import hashlib
import itertools

MOST_BITS = 32
"""The hardest that a client solves: about an hour."""


def has_worked(challenge: str, nonce: str, bits: int) -> bool:
    """Whether SHA-256 of "challenge:nonce" begins with so many bits of 0."""
    digest = hashlib.sha256(f"{challenge}:{nonce}".encode()).digest()
    return int.from_bytes(digest, "big") >> (256 - bits) == 0


def work(challenge: str, bits: int) -> str:
    """A nonce that is good enough: 2^bits tries, on average."""
    begun = hashlib.sha256(f"{challenge}:".encode())
    for number in itertools.count():
        tried = begun.copy()
        tried.update(b"%d" % number)
        if int.from_bytes(tried.digest(), "big") >> (256 - bits) == 0:
            return str(number)
    raise AssertionError("unreachable")
