"""The directory: exact bytes, the signature and the pin, keys that must not be used."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from discreet.domain import InputError
from discreet.protocols.closed_clusters.authority import Authority
from discreet.protocols.closed_clusters.client import ClosedClient, pair_tags
from discreet.protocols.closed_clusters.messages import (
    CHAIN_START,
    Collection,
    Directory,
    agree,
    chain_keys,
    check_keys,
)
from protocols.closed_clusters._making import System, digest

PRIME = 2**255 - 19
ORDER_8 = (
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
)
# Every encoding that X25519 takes for a point of low order: below the prime, above it, and each
# with the top bit, which is ignored, set.
_BELOW = [0, 1, PRIME - 1, *(int.from_bytes(bytes.fromhex(text), "little") for text in ORDER_8)]
_EVERY = [*_BELOW, PRIME, PRIME + 1]
LOW_ORDER = [(point | top).to_bytes(32, "little") for point in _EVERY for top in (0, 1 << 255)]


@pytest.fixture
def system(tmp_path: Path) -> System:
    return System(tmp_path, 5)


def test_the_signed_bytes_are_as_specified(system: System) -> None:
    now = system.authority.change(leave=(3, 1))
    link = bytes(32)
    for client in system.clients:
        link = hashlib.blake2b(link + client.public_key, digest_size=32).digest()
    gone = struct.pack("<II", 1, 3)
    signed = (
        b"discreet closed directory 1".ljust(32, b"\0")
        + struct.pack("<QQHII", 1, 3, 8, 5, 2)
        + digest("hash")
        + link
        + hashlib.blake2b(gone, digest_size=32).digest()
    )
    assert len(signed) == 154 and now.statement() == signed
    Ed25519PublicKey.from_public_bytes(system.authority.public_key).verify(now.signature, signed)
    keys = b"".join(client.public_key for client in system.clients)
    assert now.as_bytes() == signed + now.signature + struct.pack("<I", 0) + keys + gone


@pytest.mark.parametrize("first", [0, 2, 5])
def test_a_directory_comes_back_from_its_bytes(system: System, first: int) -> None:
    now = system.authority.change(leave=(2,)).since(first)
    link = chain_keys(system.directory.keys[:first], CHAIN_START)
    back = Directory.from_bytes(now.as_bytes())
    back.verify(system.authority.public_key, link)
    assert back.as_bytes() == now.as_bytes() and back.gone.tolist() == [2]
    if first:
        with pytest.raises(InputError, match="not those that were signed"):
            now.verify(system.authority.public_key)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"epoch": 2}, "not signed by the pinned authority"),
        ({"version": 9}, "not signed"),
        ({"bits": 9}, "not signed"),
        ({"hash_digest": bytes(32)}, "not signed"),
        ({"gone": np.array([0], np.uint32)}, "not signed"),
        ({"signature": bytes(64)}, "not signed"),
        ({"chain": bytes(32)}, "not signed"),
        ({"keys": np.ones((5, 32), np.uint8)}, "not those that were signed"),
    ],
)
def test_what_the_authority_did_not_sign_is_refused(
    system: System, change: dict[str, Any], complaint: str
) -> None:
    forged = replace(system.directory, **change)
    with pytest.raises(InputError, match=complaint):
        forged.verify(system.authority.public_key)


def test_a_key_that_the_server_adds_is_refused(system: System) -> None:
    now = system.directory
    spy = np.frombuffer(X25519PrivateKey.generate().public_key().public_bytes_raw(), np.uint8)
    keys = np.vstack((now.keys, spy))
    forged = replace(now, keys=keys, slots=6, chain=chain_keys(keys))
    with pytest.raises(InputError, match="not signed by the pinned authority"):
        system.clients[0].upload(system.collection, forged, 7)


def test_another_authority_is_refused_by_client_and_file(system: System, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other")
    keys = b"".join(client.public_key for client in system.clients)
    other.begin_epoch(digest("hash"), 8)
    theirs = other.change(join=keys)
    member, announced = system.clients[0], replace(system.collection, authority=other.public_key)
    with pytest.raises(InputError, match="another authority than the pinned"):
        member.upload(announced, theirs, 7)
    with pytest.raises(InputError, match="not signed by the pinned authority"):
        member.upload(system.collection, theirs, 7)
    with pytest.raises(InputError, match="pins another authority"):
        ClosedClient(tmp_path / "client 0", other.public_key)
    assert ClosedClient(tmp_path / "client 0", system.authority.public_key).public_key == keys[:32]


def test_an_older_directory_is_refused(system: System) -> None:
    member, old, announced = system.clients[0], system.directory, system.collection
    system.join(1)
    member.upload(announced, system.directory, 7)
    with pytest.raises(InputError, match="older than one that this client has seen"):
        member.upload(announced, old, 7)
    same = system.directory
    system.authority.begin_epoch(digest("hash"), 8)
    with pytest.raises(InputError, match="another period or hash than the server announces"):
        member.upload(announced, system.directory, 7)
    member.upload(system.collection, system.directory, 7)
    with pytest.raises(InputError, match="older than one"):
        member.upload(announced, same, 7)


def test_the_hash_stays_the_same_within_an_epoch(system: System) -> None:
    member, announced = system.clients[0], system.collection
    member.upload(announced, system.directory, 7)
    changed = replace(system.directory, version=9, hash_digest=digest("another hash"))
    signed = replace(changed, signature=system.authority._signing.sign(changed.statement()))
    signed.verify(system.authority.public_key)
    with pytest.raises(InputError, match="changes the hash within a period"):
        member.upload(replace(announced, hash_digest=digest("another hash")), signed, 7)


@pytest.mark.parametrize("key", LOW_ORDER, ids=lambda key: key.hex()[:6] + key.hex()[-2:])
def test_keys_of_low_order_are_refused_by_authority_and_by_arithmetic(
    system: System, key: bytes
) -> None:
    with pytest.raises(InputError, match=r"slot 5 is (of low order|not canonical)"):
        system.authority.change(join=key)
    with pytest.raises(InputError, match="the secret would be zero"):
        agree(X25519PrivateKey.generate(), key, b"")
    # An authority that signs it all the same.
    now = system.directory
    bad = replace(now, keys=np.vstack((now.keys, np.frombuffer(key, np.uint8))), slots=6)
    with pytest.raises(InputError, match=r"slot 5: .* the secret would be zero"):
        pair_tags(X25519PrivateKey.generate(), bad, 7)
    spoilt = replace(system.collection, server=key)
    with pytest.raises(InputError, match="the server's key: a public key of low order"):
        system.clients[0].upload(spoilt, now, 7)


def test_two_encodings_of_one_point_are_not_two_members() -> None:
    key = (5).to_bytes(32, "little")
    for twin in ((5 | 1 << 255), PRIME + 5):
        both = np.frombuffer(key + twin.to_bytes(32, "little"), np.uint8).reshape(2, 32)
        with pytest.raises(InputError, match="slot 11 is not canonical"):
            check_keys(both, first=10)
    largest = np.frombuffer((PRIME - 2).to_bytes(32, "little"), np.uint8).reshape(1, 32)
    check_keys(largest)


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda content: content[:100], "should start with"),
        (lambda content: b"x" + content[1:], "should start with"),
        (lambda content: content[:-1], "length does not fit"),
        (lambda content: content + bytes(4), "length does not fit"),
        (lambda content: content[:32] + bytes(8) + content[40:], "out of range"),
        (lambda content: content[:48] + b"\x11\0" + content[50:], "out of range"),
        (lambda content: content[:-4] + struct.pack("<I", 0), "not what was signed"),
        (lambda content: content[:-4] + struct.pack("<I", 5), "listed by slot"),
        (lambda content: content[:218] + struct.pack("<I", 6) + content[222:], "does not fit"),
    ],
)
def test_bytes_that_are_no_directory_are_refused(
    system: System, spoil: Any, complaint: str
) -> None:
    content = system.authority.change(leave=(4,)).as_bytes()
    with pytest.raises(InputError, match=complaint) as refused:
        Directory.from_bytes(spoil(content))
    assert "\n" not in str(refused.value)


def test_a_collection_comes_back_and_says_everything(system: System) -> None:
    announced = system.collection
    assert Collection.from_json(announced.as_json()) == announced
    changes: list[dict[str, Any]] = [{"bits": 7}, {"epoch": 2}]
    changes += ({name: bytes(32)} for name in ("authority", "server", "hash_digest"))
    others = [replace(announced, **change) for change in changes]
    assert len({str(other.as_json()) for other in [announced, *others]}) == 6
    for wrong in ({"bits": 17}, {"epoch": 0}, {"hash": "AA=="}, {"version": 2}, {"more": 1}):
        with pytest.raises(InputError, match="closed-clusters collection: "):
            Collection.from_json(announced.as_json() | wrong)
    senseless: tuple[dict[str, Any], ...] = ({"bits": 0}, {"epoch": 0}, {"server": b""})
    for wrong in senseless:
        with pytest.raises(InputError, match="closed-clusters collection: "):
            replace(announced, **wrong)


def test_an_authority_begins_with_an_epoch_and_takes_whole_keys(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "fresh")
    with pytest.raises(InputError, match="no period has begun"):
        authority.directory()
    with pytest.raises(InputError, match="digest of 32 bytes"):
        authority.begin_epoch(b"short", 8)
    with pytest.raises(InputError, match="32 bytes"):
        authority.change(join=b"short")
    assert Authority(tmp_path / "fresh").public_key == authority.public_key
