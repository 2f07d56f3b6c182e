"""The quotient of two tags in the paper's closed variant, and the same tried on ours.

Chow, Pathak and Wang send g^(s_u s_v + L_u). For one pair the server has that and the other one's,
g^(s_u s_v + L_v), whose quotient is g^(L_u - L_v). There are few differences, and it knows all of
their powers.
"""

from __future__ import annotations

import hashlib

import mpmath
import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from discreet.audit.attacks._data import Ints
from discreet.audit.attacks._result import AttackResult, judge
from discreet.audit.attacks._uploads import collection_of, true_hashes
from discreet.protocols.closed_clusters.client import pair_tags
from discreet.protocols.closed_clusters.messages import Directory, chain_keys, public_bytes
from discreet.ratings import Ratings

_PEOPLE, _BITS = 12, 8
_GENERATOR = 4


def quotient(ratings: Ratings, seed: int) -> AttackResult:
    """All pairs of twelve people: real hash values, a group of 2048 bits."""
    rng = np.random.default_rng([seed, 72])
    hashes = true_hashes(ratings, collection_of(ratings, bits=_BITS))
    values = rng.choice(hashes, _PEOPLE, replace=False)
    u, v = np.tril_indices(_PEOPLE, -1)
    true = values[u] - values[v]
    # Whoever sees tags sees who is alike; else the difference that most pairs of people have.
    drawn = rng.choice(hashes, (2, 20_000))
    found, times = np.unique(drawn[0] - drawn[1], return_counts=True)
    blind = np.where(true == 0, 0, found[np.where(found == 0, 0, times).argmax()])
    paper = read_differences(paper_tags(values, seed), u, v)
    ours = read_differences(_our_tags(values), u, v)
    read = [np.array([b if d is None else d for d, b in zip(each, blind, strict=True)])
            for each in (paper, ours)]  # fmt: skip
    return AttackResult(
        "quotient",
        "the tags that two people sent about each other, and the group",
        "tell the difference of their hash values, which gives every value away with one of them",
        f"the difference was read, {_BITS} bits",
        (
            judge("the paper's tags", read[0] == true, blind == true, is_protected=False),
            judge("keyed tags", read[1] == true, blind == true, is_protected=True),
        ),
        "Where no quotient is a small power, the attacker guesses; equal tags mean equal values, "
        "which is what tags are for.",
    )


def group_prime() -> int:
    """The 2048-bit safe prime of RFC 3526, from its formula."""
    with mpmath.workprec(2100):
        digits = int(mpmath.floor(mpmath.ldexp(mpmath.pi, 1918)))
    return int(2**2048 - 2**1984 - 1 + 2**64 * (digits + 124476))


def paper_tags(values: Ints, seed: int) -> list[list[int]]:
    """What everybody sends about everybody, in the paper's construction."""
    prime = group_prime()
    keys = [
        int.from_bytes(hashlib.shake_256(f"{seed} {person}".encode()).digest(32), "big")
        for person in range(len(values))
    ]
    shared = [pow(_GENERATOR, key, prime) for key in keys]
    return [
        [pow(other, key, prime) * pow(_GENERATOR, int(value), prime) % prime for other in shared]
        for key, value in zip(keys, values, strict=True)
    ]


def read_differences(
    tags: list[list[int]], u: npt.NDArray[np.intp], v: npt.NDArray[np.intp]
) -> list[int | None]:
    """L_u - L_v for each of these pairs, or None where the quotient is no small power of g."""
    prime = group_prime()
    reach = 1 << _BITS
    powers = {pow(_GENERATOR, d, prime): d for d in range(1 - reach, reach)}
    pairs = zip(u.tolist(), v.tolist(), strict=True)
    return [powers.get(tags[a][b] * pow(tags[b][a], -1, prime) % prime) for a, b in pairs]


def _our_tags(values: Ints) -> list[list[int]]:
    """The same people's tags as their clients make them, read as numbers."""
    private = [X25519PrivateKey.generate() for _ in values]
    keys = np.array([np.frombuffer(public_bytes(key), np.uint8) for key in private])
    # Without the signature, which clients check and tags do not need.
    told = (1, 1, bytes(32), _BITS, len(keys), np.empty(0, np.uint32), chain_keys(keys))
    directory = Directory(*told, bytes(64), 0, keys)
    return [
        [int.from_bytes(made[16 * w : 16 * w + 16], "little") for w in range(len(values))]
        for made in (
            pair_tags(key, directory, int(value))
            for key, value in zip(private, values, strict=True)
        )
    ]
