"""Tags about pairs of people in closed clusters: the paper's construction, and our client's.

Chow, Pathak and Wang send g^(s_u s_v + L_u). For one pair the server has that and the other one's,
g^(s_u s_v + L_v), whose quotient is g^(L_u - L_v). There are few differences, and it knows all of
their powers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import mpmath
import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from discreet.protocols.closed_clusters.client import pair_tags
from discreet.protocols.closed_clusters.messages import (
    TAG_BYTES,
    Directory,
    chain_keys,
    public_bytes,
)

BITS = 8
"""Of a hash value."""


@dataclass(frozen=True)
class Group:
    """Numbers modulo a prime, and one whose powers are tags.

    Attributes:
        prime: The modulus.
        generator: Of the powers.
    """

    prime: int
    generator: int = 4

    def tags(self, values: Sequence[int], keys: Sequence[int]) -> list[list[int]]:
        """What everybody sends about everybody, from hash values and secret keys."""
        shared = [pow(self.generator, key, self.prime) for key in keys]
        return [
            [pow(other, key, self.prime) * self._power(value) % self.prime for other in shared]
            for key, value in zip(keys, values, strict=True)
        ]

    def differences(
        self, tags: Sequence[Sequence[int]], pairs: Iterable[tuple[int, int]]
    ) -> list[int | None]:
        """L_u - L_v for each pair (u, v), or None where the quotient is no small power."""
        powers = _small_powers(self)
        return [
            powers.get(tags[u][v] * pow(tags[v][u], -1, self.prime) % self.prime) for u, v in pairs
        ]

    def _power(self, exponent: int) -> int:
        return pow(self.generator, exponent, self.prime)


@cache
def _small_powers(group: Group) -> dict[int, int]:
    """Every difference of two hash values, by its power."""
    reach = 1 << BITS
    return {pow(group.generator, d, group.prime): d for d in range(1 - reach, reach)}


@cache
def large_group() -> Group:
    """With the 2048-bit safe prime of RFC 3526, from its formula."""
    with mpmath.workprec(2100):
        digits = int(mpmath.floor(mpmath.ldexp(mpmath.pi, 1918)))
    return Group(int(2**2048 - 2**1984 - 1 + 2**64 * (digits + 124476)))


def our_tags(values: Sequence[int], private: Sequence[X25519PrivateKey]) -> npt.NDArray[np.uint8]:
    """What everybody's client sends about everybody: bytes, by sender and by whom it is about."""
    keys = np.array([np.frombuffer(public_bytes(key), np.uint8) for key in private])
    # Without the signature, which clients check and tags do not need.
    told = (1, 1, bytes(32), BITS, len(keys), np.empty(0, np.uint32), chain_keys(keys))
    directory = Directory(*told, bytes(64), 0, keys)
    said = [pair_tags(key, directory, int(v)) for key, v in zip(private, values, strict=True)]
    return np.array([np.frombuffer(each, np.uint8) for each in said]).reshape(
        len(values), len(values), TAG_BYTES
    )
