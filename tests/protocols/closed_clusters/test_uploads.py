"""Uploads: exact bytes, frozen values, epochs without a link, and what the server refuses."""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from discreet.domain import InputError
from discreet.protocols.closed_clusters.client import ClosedClient, pair_tags
from discreet.protocols.closed_clusters.messages import Directory, TagUpload, public_bytes
from discreet.protocols.closed_clusters.server import Matching
from protocols.closed_clusters._making import System, digest


@pytest.fixture
def system(tmp_path: Path) -> System:
    return System(tmp_path, 5)


def hkdf_sha256(secret: bytes, info: bytes) -> bytes:
    """RFC 5869, without salt, 32 bytes: written out."""
    extracted = hmac.digest(bytes(32), secret, "sha256")
    return hmac.digest(extracted, info + b"\x01", "sha256")


def test_tags_and_mac_are_as_specified(system: System) -> None:
    mine, theirs = X25519PrivateKey.generate(), X25519PrivateKey.generate()
    pair = sorted((public_bytes(mine), public_bytes(theirs)))
    now = system.authority.change(join=b"".join(pair))
    secret = mine.exchange(X25519PublicKey.from_public_bytes(public_bytes(theirs)))
    bound = digest("hash") + struct.pack("<Q", 1)
    key = hkdf_sha256(secret, b"discreet closed-clusters 1 tag" + pair[0] + pair[1] + bound)
    tag = hashlib.blake2b(struct.pack("<H", 200), digest_size=16, key=key).digest()
    place = 5 + pair.index(public_bytes(theirs))
    assert pair_tags(mine, now, 200)[16 * place : 16 * place + 16] == tag
    back = 5 + pair.index(public_bytes(mine))
    assert pair_tags(theirs, now, 200)[16 * back : 16 * back + 16] == tag
    assert pair_tags(mine, now, 200)[16 * back : 16 * back + 16] == bytes(16)

    upload = system.upload(2, 7)
    head = b"discreet closed tags 1".ljust(32, b"\0") + struct.pack("<QIII", 1, 2, 0, 7)
    server = system.collection.server
    shared = system.server.exchange(X25519PublicKey.from_public_bytes(system.clients[2].public_key))
    both = b"".join(sorted((server, system.clients[2].public_key)))
    key = hkdf_sha256(shared, b"discreet closed-clusters 1 mac" + both + bound)
    mac = hashlib.blake2b(head + upload.tags, digest_size=16, key=key).digest()
    assert upload.as_bytes() == head + upload.tags + mac


def test_an_upload_comes_back_from_its_bytes_and_its_json(system: System) -> None:
    upload = system.upload(1, 7)
    assert TagUpload.from_bytes(upload.as_bytes()) == upload
    assert TagUpload.from_json(upload.as_json()) == upload
    assert "7" not in repr(upload).replace("7 tags", "")


def test_a_value_is_frozen_for_an_epoch_and_a_new_epoch_shows_no_link(system: System) -> None:
    first = system.upload(0, 7)
    again = system.clients[0].upload(system.collection, system.directory, 99, since=0)
    assert again == first
    system.authority.begin_epoch(digest("hash"), 8)
    other = system.upload(0, 99)
    system.authority.begin_epoch(digest("hash"), 8)
    back = system.upload(0, 7)
    tags = np.concatenate([upload.words()[1:] for upload in (first, other, back)])
    assert len(np.unique(tags, axis=0)) == 12


def test_another_hash_gives_other_tags() -> None:
    private, other = X25519PrivateKey.generate(), X25519PrivateKey.generate()
    keys = np.frombuffer(public_bytes(other), np.uint8).reshape(1, 32)
    gone = np.empty(0, np.uint32)
    made = {
        pair_tags(private, Directory(epoch, 1, bound, 8, 1, gone, b"", b"", 0, keys), value)
        for epoch in (1, 2)
        for bound in (bytes(32), digest("hash"))
        for value in (0, 1)
    }
    assert len(made) == 8


def test_progress_is_told_and_what_is_new_is_enough(system: System) -> None:
    told: list[tuple[int, int]] = []
    member = system.clients[0]
    member.upload(system.collection, system.directory, 7, lambda *done: told.append(done))
    assert told == [(4, 4)] and member.next_slot(1) == 5 and member.next_slot(2) == 0
    system.join(3)
    with pytest.raises(InputError, match="whole, or from slot 5 on"):
        member.upload(system.collection, system.directory.since(6), 7)
    news = member.upload(system.collection, system.directory.since(5), 7)
    assert (news.first, news.stop) == (5, 8)
    whole = member.upload(system.collection, system.directory, 7, since=0)
    assert whole.tags[5 * 16 :] == news.tags
    with pytest.raises(InputError, match="slot 8 or before"):
        member.upload(system.collection, system.directory, 7, since=9)


def test_a_client_outside_the_directory_sends_nothing(system: System, tmp_path: Path) -> None:
    stranger = ClosedClient(tmp_path / "stranger", system.authority.public_key)
    with pytest.raises(InputError, match="not in the directory"):
        stranger.upload(system.collection, system.directory, 7)
    system.upload(3, 7)
    system.authority.change(leave=(3,))
    with pytest.raises(InputError, match="not in the directory"):
        system.upload(3, 7)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"epoch": 2}, "of another period; period 1 is running"),
        ({"slot": 5}, "the sender's slot is empty"),
        ({"slot": 1}, "not sent by the owner of the slot"),
        ({"first": 1}, "from slot 0 to at most 5"),
        ({"tags": bytes(6 * 16)}, "from slot 0 to at most 5"),
        ({"tags": b""}, "the sender's own slot among"),
        ({"tags": bytes(5 * 16)}, "not sent by the owner of the slot"),
        ({"mac": bytes(16)}, "not sent by the owner of the slot"),
    ],
)
def test_the_server_refuses_what_does_not_fit(
    system: System, change: dict[str, Any], complaint: str
) -> None:
    upload = system.upload(0, 7)
    with system.matching() as matching:
        with pytest.raises(InputError, match=complaint) as refused:
            matching.add([replace(upload, **change)])
        assert "\n" not in str(refused.value)
        assert matching.next_slot(0) == 0 and matching.waiting_bytes == 0
        matching.add([upload])
        with pytest.raises(InputError, match="from slot 5 to at most 5"):
            matching.add([upload])


def test_an_upload_of_an_earlier_epoch_is_refused_even_under_a_new_number(system: System) -> None:
    old = system.upload(0, 7)
    system.authority.begin_epoch(digest("hash"), 8)
    with pytest.raises(InputError, match="of another period; period 2"):
        TagUpload.from_json(old.as_json()).check_epoch(system.collection)
    refused = pytest.raises(InputError, match="not sent by the owner")
    with system.matching() as matching, refused:
        matching.add([replace(old, epoch=2)])


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        {},
        b"",
        b"discreet closed tags 1",
        {"protocol": "closed-clusters", "version": 1, "upload": "AAAA"},
        {"protocol": "closed-clusters", "version": 1, "upload": "not base64!"},
        {"protocol": "closed-clusters", "version": 2, "upload": ""},
        {"protocol": "open-clusters", "version": 1, "upload": ""},
        {"protocol": "closed-clusters", "version": 1, "upload": "", "extra": 1},
    ],
)
def test_what_is_no_upload_gets_one_line(system: System, content: Any) -> None:
    with pytest.raises(InputError, match=r"closed-clusters tags: ") as refused:
        TagUpload.from_json(content)
    assert "\n" not in str(refused.value)


def test_a_refusal_repeats_nothing_of_an_upload(system: System) -> None:
    upload = system.upload(0, 7)
    changes = ({"slot": 4567}, {"epoch": 4567}, {"first": 4567}, {"tags": bytes(4567 * 16)})
    with system.matching() as matching:
        for change in changes:
            wrong = replace(upload, **change)
            with pytest.raises(InputError) as refused:
                matching.check(TagUpload.from_json(wrong.as_json()))
            assert "4567" not in str(refused.value).replace(",", "")
    with pytest.raises(InputError) as refused:
        TagUpload.from_bytes(replace(upload, tags=bytes(4567 * 16)).as_bytes()[:-1])
    assert "4567" not in str(refused.value).replace(",", "")


@pytest.mark.parametrize("cut", [1, 16, 30])
def test_an_upload_of_the_wrong_length_is_refused(system: System, cut: int) -> None:
    content = system.upload(0, 7).as_bytes()
    for wrong in (content[:-cut], content + bytes(cut)):
        with pytest.raises(InputError, match="16 bytes for each slot"):
            TagUpload.from_bytes(wrong)
    far = content[:44] + struct.pack("<I", 2**31) + content[48:]
    with pytest.raises(InputError, match="out of range"):
        TagUpload.from_bytes(far)


def test_copied_tags_match_nobody(system: System) -> None:
    """Somebody who sends another's tags as their own is alone; the others are as without them."""
    uploads = system.uploads([1, 1, 1, 2, 1])
    thief = system.clients[4]
    copied = thief._sealed(system.collection, replace(uploads[4], tags=uploads[0].tags))
    found = system.clusters([*uploads[:4], copied])
    assert found.labels.tolist() == [0, 0, 0, 1, 2]


def test_a_server_needs_its_own_key_and_a_directory_that_fits(system: System) -> None:
    private = system.server.private_bytes_raw()
    with pytest.raises(InputError, match="not that of the announced server key"):
        Matching(system.collection, system.directory, bytes(range(32)))
    with pytest.raises(InputError, match="another period or hash"):
        Matching(replace(system.collection, epoch=2), system.directory, private)
    with pytest.raises(InputError, match="not signed"):
        Matching(replace(system.collection, authority=bytes(32)), system.directory, private)
    old = system.directory
    system.join(1)
    refused = pytest.raises(InputError, match="older than the one in use")
    with system.matching() as matching, refused:
        matching.update(old)
