"""Capabilities: whoever has one may replace, read back or delete what was sent with it."""

from __future__ import annotations

import hashlib
import re
import secrets

from discreet.domain import InputError

_SHAPE = re.compile(r"[A-Za-z0-9_-]{43}")


def make_capability() -> str:
    """A fresh one: 32 random bytes as text, which nobody can guess."""
    return secrets.token_urlsafe(32)


def capability_digest(capability: str) -> bytes:
    """What a server keeps of it: 32 bytes that give nobody the capability.

    Raises:
        InputError: It is none; what was given is not repeated.
    """
    if not _SHAPE.fullmatch(capability):
        raise InputError("a capability is 43 letters, digits, - or _")
    return hashlib.blake2b(capability.encode(), digest_size=32, person=b"discreet cap").digest()
