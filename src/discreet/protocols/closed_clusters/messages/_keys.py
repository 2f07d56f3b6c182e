"""X25519 keys: which ones a directory may list, and what two of them agree on."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from discreet.domain import InputError

KEY_BYTES = 32

_PRIME = 2**255 - 19
# The points of order 1, 2, 4 and 8 on the curve and its twist, each below the prime: whatever the
# private key, the secret is zero.
_LOW_ORDER = (
    0,
    1,
    _PRIME - 1,
    325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823,
)
_LABELS = {
    "tag": b"discreet closed-clusters 1 tag",
    "mac": b"discreet closed-clusters 1 mac",
}


def public_bytes(private: X25519PrivateKey) -> bytes:
    """The public key that belongs to a private one."""
    return private.public_key().public_bytes_raw()


def key_info(
    use: Literal["tag", "mac"], one: bytes, other: bytes, hash_digest: bytes, epoch: int
) -> bytes:
    """What a key is bound to: its use, both public keys (smaller first), the hash, the epoch."""
    pair = one + other if one < other else other + one
    return _LABELS[use] + pair + hash_digest + epoch.to_bytes(8, "little")


def agree(private: X25519PrivateKey, other: bytes, info: bytes) -> bytes:
    """The 32-byte key that the owners of two X25519 keys share, for one purpose.

    HKDF-SHA256 of the X25519 secret, without salt.

    Raises:
        InputError: The secret is all zeros, so everybody would know the key.
    """
    try:
        secret = private.exchange(X25519PublicKey.from_public_bytes(other))
    except ValueError:
        secret = bytes(KEY_BYTES)
    if not any(secret):
        raise InputError("a public key of low order: the secret would be zero, known to everybody")
    return HKDF(SHA256(), KEY_BYTES, salt=None, info=info).derive(secret)


def check_keys(keys: npt.NDArray[np.uint8], first: int = 0) -> None:
    """Refuse a list with a key that is not in its one canonical form, of low order, or twice.

    Args:
        keys: One key a row.
        first: The slot of the first, for the message.

    Raises:
        InputError: Names the first slot at fault.
    """
    too_large = (keys[:, 0] >= 0xED) & np.all(keys[:, 1:31] == 0xFF, axis=1)
    _refuse((keys[:, 31] > 0x7F) | ((keys[:, 31] == 0x7F) & too_large), "not canonical", first)
    for point in _LOW_ORDER:
        encoded = np.frombuffer(point.to_bytes(KEY_BYTES, "little"), np.uint8)
        _refuse(np.all(keys == encoded, axis=1), "of low order", first)
    whole = np.ascontiguousarray(keys).view(f"S{KEY_BYTES}").ravel()
    again = np.ones(len(keys), np.bool_)
    firsts, group = np.unique(whole, return_index=True, return_inverse=True)[1:]
    again[firsts] = False
    there = first + int(firsts[group[np.argmax(again)]]) if len(keys) else 0
    _refuse(again, f"listed already, in slot {there:,}", first)


def _refuse(wrong: npt.NDArray[Any], what: str, first: int) -> None:
    if wrong.any():
        raise InputError(f"the public key in slot {first + int(np.argmax(wrong)):,} is {what}")
