"""Where random bits come from."""

from __future__ import annotations

import abc
import hashlib
import os
from typing import TYPE_CHECKING

from discreet.domain.lazy import LazyModule

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from cryptography.hazmat.primitives import ciphers
else:
    np, ciphers = LazyModule("numpy"), LazyModule("cryptography.hazmat.primitives.ciphers")

# Bytes that are made with one key and in one call; larger ones were not faster. Chosen by hand.
_CHUNK = 1 << 20
# Bytes up to which the system is asked directly: setting up a cipher would take longer.
_SMALL = 1 << 12
_ZEROS = bytes(_CHUNK)


class Randomness(abc.ABC):
    """A source of independent fair bits."""

    is_private: bool
    """Whether the bits are unpredictable. Releases made otherwise say that they are not private."""

    @abc.abstractmethod
    def fill(self, buffer: memoryview) -> None:
        """Overwrite a writable byte buffer with random bytes."""

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        """Random 64-bit words."""
        out = np.empty(count, dtype=np.uint64)
        self.fill(out.data.cast("B"))
        return out

    def half_words(self, count: int) -> npt.NDArray[np.uint32]:
        """Random 32-bit words."""
        out = np.empty(count, dtype=np.uint32)
        self.fill(out.data.cast("B"))
        return out

    def bits(self, count: int) -> int:
        """A random integer of `count` bits."""
        buffer = bytearray((count + 7) // 8)
        self.fill(memoryview(buffer))
        return int.from_bytes(buffer, "big") >> (-count % 8)


class SystemRandomness(Randomness):
    """The operating system's cryptographic source.

    Large requests run through AES-256 in counter mode, one fresh key from the system for every
    mebibyte: about as fast as memory, and nothing is kept that a fork, a thread or a snapshot
    of the machine could repeat.
    """

    is_private = True

    def fill(self, buffer: memoryview) -> None:
        size = len(buffer)
        if size <= _SMALL:
            buffer[:] = os.urandom(size)
            return
        for start in range(0, size, _CHUNK):
            part = buffer[start : start + _CHUNK]
            _keystream(os.urandom(32)).update_into(_ZEROS[: len(part)], part)


class SeededRandomness(Randomness):
    """A repeatable stream for tests and experiments: the same seed, the same bits.

    Whoever knows the seed can subtract the noise, so nothing made with it is private: a release
    made with it says so, and needs no ledger. For anything that you publish, leave `randomness`
    out; then noise comes from the operating system's cryptographic source.

    Args:
        seed: A number or a text.

    Example:
        >>> import discreet
        >>> ratings = discreet.make_ratings("ml-100k", ratings=2000, seed=1)
        >>> release = discreet.fit(
        ...     ratings, epsilon=1.0, randomness=discreet.SeededRandomness("experiment 1")
        ... )
        >>> release.guarantee.is_private
        False
    """

    is_private = False

    def __init__(self, seed: int | str) -> None:
        self._stream = _keystream(hashlib.sha256(f"discreet seed {seed}".encode()).digest())

    def fill(self, buffer: memoryview) -> None:
        for start in range(0, len(buffer), _CHUNK):
            part = buffer[start : start + _CHUNK]
            self._stream.update_into(_ZEROS[: len(part)], part)


def _keystream(key: bytes) -> ciphers.CipherContext:
    mode = ciphers.modes.CTR(bytes(16))
    return ciphers.Cipher(ciphers.algorithms.AES256(key), mode).encryptor()
