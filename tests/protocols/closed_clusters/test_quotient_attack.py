"""Errata, 002 appendix: the quotient of two tags shows the difference of two hash values.

The paper sends g^(s_u s_v + L_u). For one pair the server has that and g^(s_u s_v + L_v), whose
quotient is g^(L_u - L_v); with 8 bits of L there are 511 candidates. So it reads every difference,
and with one known L every L.
"""

from __future__ import annotations

import secrets
from pathlib import Path

import numpy as np
import pytest

from discreet.protocols.closed_clusters.client import pair_tags
from protocols.closed_clusters._making import BITS, System, some_values

# The 2048-bit safe prime of RFC 3526 (group 14), from its formula's constant.
_RFC_3526_OFFSET = 124476


def _pi_digits(bits: int) -> int:
    """The integer part of 2^bits pi, by Machin's formula with guard bits."""
    guard = 64
    one = 1 << (bits + guard)

    def arctan_inverse(x: int) -> int:
        total = term = one // x
        square, n, sign = x * x, 3, -1
        while term:
            term //= square
            total += sign * (term // n)
            n, sign = n + 2, -sign
        return total

    return (4 * (4 * arctan_inverse(5) - arctan_inverse(239))) >> guard


def _group_14() -> int:
    return 2**2048 - 2**1984 - 1 + 2**64 * (_pi_digits(1918) + _RFC_3526_OFFSET)


GROUPS = {"small": 2879, "2048 bits": _group_14()}  # safe primes p; squares have order (p - 1)/2
GENERATOR = 4


def paper_tags(values: list[int], prime: int) -> list[list[int]]:
    """What everybody sends about everybody in the paper's construction."""
    order = (prime - 1) // 2
    own = [secrets.randbelow(order - 1) + 1 for _ in values]
    public = [pow(GENERATOR, secret, prime) for secret in own]
    return [
        [pow(key, secret, prime) * pow(GENERATOR, value, prime) % prime for key in public]
        for secret, value in zip(own, values, strict=True)
    ]


def read_difference(one: int, other: int, prime: int) -> int | None:
    """The attack: L_u - L_v from the two tags of a pair, or None."""
    quotient = one * pow(other, -1, prime) % prime
    for difference in range(1 - (1 << BITS), 1 << BITS):
        if pow(GENERATOR, difference, prime) == quotient:
            return difference
    return None


def test_the_large_group_is_a_real_one() -> None:
    prime = GROUPS["2048 bits"]
    assert prime.bit_length() == 2048
    for odd in (prime, (prime - 1) // 2):
        assert pow(2, odd - 1, odd) == 1 and pow(3, odd - 1, odd) == 1


@pytest.mark.parametrize("group", GROUPS)
def test_on_the_papers_tags_the_server_reads_every_difference(group: str) -> None:
    prime = GROUPS[group]
    values = some_values(5, 1 << BITS, seed=4)
    tags = paper_tags(values, prime)
    for u in range(5):
        for v in range(u):
            found = read_difference(tags[u][v], tags[v][u], prime)
            assert found == values[u] - values[v]
    # One known value gives all others.
    rest = [values[0] + read_difference(tags[u][0], tags[0][u], prime) for u in range(1, 5)]
    assert rest == values[1:]


def test_on_our_tags_the_same_attack_reads_nothing(tmp_path: Path) -> None:
    """Read as group elements, two different tags have no small quotient; equal ones say "equal"."""
    values = [17, 17, 18, 250]
    tags = [upload.tags for upload in System(tmp_path, 4).uploads(values)]
    prime = GROUPS["2048 bits"]

    def number(u: int, v: int) -> int:
        return int.from_bytes(tags[u][16 * v : 16 * v + 16], "little")

    for u in range(4):
        for v in range(u):
            found = read_difference(number(u, v), number(v, u), prime)
            assert found == (0 if values[u] == values[v] else None)


def test_no_simple_relation_between_tags_tells_a_difference(tmp_path: Path) -> None:
    """Over many pairs at a difference of 1 and of 100: xor, difference and sum are all distinct."""
    folders = (tmp_path / "near", tmp_path / "far")
    seen: dict[str, list[np.ndarray]] = {"xor": [], "minus": [], "plus": []}
    for folder, values in zip(folders, ([5, 6] * 8, [5, 105] * 8), strict=True):
        folder.mkdir()
        words = [upload.words() for upload in System(folder, 16).uploads(values)]
        for u in range(16):
            for v in range(u):
                if values[u] != values[v]:
                    one, other = words[u][v], words[v][u]
                    seen["xor"].append(one ^ other)
                    seen["minus"].append(one - other)
                    seen["plus"].append(one + other)
    for relation in seen.values():
        whole = np.array(relation)
        assert len(whole) == 2 * 64 and len(np.unique(whole, axis=0)) == len(whole)
    # Of 128 x 128 fair bits half are set, give or take 64; six times that never happens.
    ones = int(np.bitwise_count(np.array(seen["xor"])).sum())
    assert abs(ones - 8192) < 6 * 64


def test_a_member_who_works_with_the_server_reads_values(tmp_path: Path) -> None:
    """The limit of the claim: with one member's key the server tries all values on that pair."""
    system = System(tmp_path, 4)
    values = [17, 3, 200, 90]
    tags = [upload.tags for upload in system.uploads(values)]
    traitor = system.clients[3]._private
    guesses = [pair_tags(traitor, system.directory, value) for value in range(1 << BITS)]
    for member in range(3):
        place = slice(16 * member, 16 * member + 16)
        read = [value for value, made in enumerate(guesses) if made[place] == tags[member][48:64]]
        assert read == [values[member]]
