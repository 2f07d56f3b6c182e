"""The quotient of two tags in the paper's closed variant, and the same tried on ours."""

from __future__ import annotations

import hashlib

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from discreet.audit._tags import BITS, large_group, our_tags
from discreet.audit.attacks._attack import Attack, Outcome, judge
from discreet.audit.attacks._uploads import collection_of, true_hashes
from discreet.ratings import Ratings

# All of their pairs are attacked: 66, each with exponentiations in a group of 2048 bits.
_PEOPLE = 12
# Pairs of people drawn to find the difference that most of them have.
_DRAWN = 20_000


def _outcomes(ratings: Ratings, seed: int) -> list[Outcome]:
    """All pairs of twelve people: real hash values, a group of 2048 bits."""
    rng = np.random.default_rng([seed, 72])
    hashes = true_hashes(ratings, collection_of(ratings, bits=BITS))
    values = rng.choice(hashes, _PEOPLE, replace=False)
    u, v = np.tril_indices(_PEOPLE, -1)
    true, group = values[u] - values[v], large_group()
    # Whoever sees tags sees who is alike; else the difference that most pairs of people have.
    drawn = rng.choice(hashes, (2, _DRAWN))
    found, times = np.unique(drawn[0] - drawn[1], return_counts=True)
    blind = np.where(true == 0, 0, found[np.where(found == 0, 0, times).argmax()])
    paper = group.tags(values.tolist(), secret_keys(_PEOPLE, seed))
    ours = our_tags(values.tolist(), [X25519PrivateKey.generate() for _ in values])
    numbers = [[int.from_bytes(tag.tobytes(), "little") for tag in each] for each in ours]
    pairs = list(zip(u.tolist(), v.tolist(), strict=True))
    read = [
        np.array([b if d is None else d for d, b in zip(found, blind, strict=True)])
        for found in (group.differences(each, pairs) for each in (paper, numbers))
    ]
    return [
        judge("the paper's tags", read[0] == true, blind == true, is_protected=False),
        judge("keyed tags", read[1] == true, blind == true, is_protected=True),
    ]


ATTACK = Attack(
    name="quotient",
    about="differences of hash values, from pairs of tags",
    source="against Chow, Pathak and Wang, appendix",
    knows="the tags that two people sent about each other, and the group",
    tries_to="read the difference of their hash values: with one of them it gives every value away",
    counts=f"the difference was read, {BITS} bits",
    remark=(
        "Where no quotient is a small power, the attacker guesses; equal tags mean equal values, "
        "which is what tags are for."
    ),
    outcomes=_outcomes,
)


def secret_keys(people: int, seed: int) -> list[int]:
    """A secret number for each person."""
    names = [f"{seed} {person}".encode() for person in range(people)]
    return [int.from_bytes(hashlib.shake_256(name).digest(32), "big") for name in names]
