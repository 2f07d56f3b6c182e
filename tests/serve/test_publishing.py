"""Fetching a release: whole, in part, compressed, and only if it changed."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from discreet.domain import InputError
from discreet.release import load, sign
from discreet.serve import Settings
from release._making import random_release
from serve._running import FREE, Talk, running


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("release") / "movies.discreet"
    random_release(3000, 8).save(path)
    return path


@pytest.fixture(scope="module")
def talk(file: Path) -> Iterator[Talk]:
    with running(Settings(file, **FREE)) as talk:
        yield talk


def test_the_file_comes_byte_for_byte(talk: Talk, file: Path) -> None:
    answer = talk.ask("GET", "/v1/release")
    assert answer.status == 200
    assert answer.body == file.read_bytes()
    assert answer.headers["etag"] == f'"{hashlib.sha256(answer.body).hexdigest()}"'
    assert answer.headers["accept-ranges"] == "bytes"
    assert "content-encoding" not in answer.headers


def test_gzip_is_another_representation_of_the_same_bytes(talk: Talk, file: Path) -> None:
    answer = talk.ask("GET", "/v1/release", Accept_Encoding="br;q=1, gzip;q=0.5")
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["vary"] == "accept-encoding"
    assert len(answer.body) == int(answer.headers["content-length"]) < file.stat().st_size
    assert gzip.decompress(answer.body) == file.read_bytes()
    assert answer.headers["etag"] != talk.ask("GET", "/v1/release").headers["etag"]


@pytest.mark.parametrize("accepted", ["", "br", "gzip;q=0", "gzip; q=0.0, br"])
def test_gzip_comes_only_where_it_is_taken(talk: Talk, accepted: str) -> None:
    answer = talk.ask("GET", "/v1/release", Accept_Encoding=accepted)
    assert "content-encoding" not in answer.headers


@pytest.mark.parametrize("path", ["/v1/release", "/v1/release/about", "/v1/catalog"])
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_what_did_not_change_is_not_sent_again(talk: Talk, path: str, encoding: str) -> None:
    first = talk.ask("GET", path, Accept_Encoding=encoding)
    assert first.status == 200
    for told in (first.headers["etag"], f'"x", W/{first.headers["etag"]}', "*"):
        again = talk.ask("GET", path, Accept_Encoding=encoding, If_None_Match=told)
        assert (again.status, again.body) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]
    assert talk.ask("GET", path, If_None_Match='"something else"').status == 200


@pytest.mark.parametrize(
    ("asked", "begin", "end"),
    [
        ("0-0", 0, 1),
        ("10-99", 10, 100),
        ("500-", 500, None),
        ("-7", -7, None),
        ("0-99999999", 0, None),
    ],
)
def test_a_part_is_of_the_uncompressed_bytes(
    talk: Talk, file: Path, asked: str, begin: int, end: int | None
) -> None:
    answer = talk.ask("GET", "/v1/release", Range=f"bytes={asked}", Accept_Encoding="gzip")
    whole = file.read_bytes()
    assert answer.status == 206
    assert answer.body == whole[begin:end]
    first = begin % len(whole)
    last = first + len(answer.body) - 1
    assert answer.headers["content-range"] == f"bytes {first}-{last}/{len(whole)}"


def test_a_part_after_the_end_is_refused(talk: Talk, file: Path) -> None:
    size = file.stat().st_size
    for asked in (f"bytes={size}-", f"bytes={size + 5}-{size + 9}", "bytes=-0"):
        answer = talk.ask("GET", "/v1/release", Range=asked)
        assert answer.status == 416
        assert answer.headers["content-range"] == f"bytes */{size}"


@pytest.mark.parametrize(
    "asked", ["bytes=5-2", "bytes=0-1,5-9", "bytes=-", "lines=0-1", "bytes=a-b"]
)
def test_what_is_no_single_range_is_answered_with_everything(talk: Talk, asked: str) -> None:
    assert talk.ask("GET", "/v1/release", Range=asked).status == 200


def test_a_part_of_another_release_is_not_mixed_in(talk: Talk) -> None:
    tag = talk.ask("HEAD", "/v1/release").headers["etag"]
    assert talk.ask("GET", "/v1/release", Range="bytes=0-9", If_Range=tag).status == 206
    assert talk.ask("GET", "/v1/release", Range="bytes=0-9", If_Range='"old"').status == 200


def test_the_head_alone(talk: Talk, file: Path) -> None:
    answer = talk.ask("HEAD", "/v1/release")
    assert (answer.status, answer.body) == (200, b"")
    assert int(answer.headers["content-length"]) == file.stat().st_size


def test_the_catalogue_and_the_promise(talk: Talk, file: Path) -> None:
    release = load(file)
    catalog = talk.ask("GET", "/v1/catalog").json()
    assert catalog["ids"] == list(release.catalog.ids)
    assert catalog["titles"] == list(release.catalog.titles)
    assert catalog["digest"] == release.catalog.digest()
    about = talk.ask("GET", "/v1/release/about").json()
    assert about["promise"] == str(release.guarantee)
    assert about["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.parametrize("path", ["/v1/collection", "/v1/report"])
def test_a_service_that_only_publishes_collects_nothing(talk: Talk, path: str) -> None:
    answer = talk.ask("GET", path, secret="x" * 43)
    assert answer.status == 404
    assert "collects nothing" in answer.reason
    assert talk.ask("POST", "/v1/enrolments").status == 404


def test_health_readiness_and_the_index(talk: Talk) -> None:
    assert talk.ask("GET", "/healthz").json() == {"status": "ok"}
    assert talk.ask("GET", "/readyz").json() == {"status": "ready"}
    assert talk.ask("GET", "/v1").json()["collects"] is None


def test_what_is_no_release_is_refused_before_anything_listens(tmp_path: Path) -> None:
    (tmp_path / "wrong").write_bytes(b"not a release at all")
    with (
        pytest.raises(InputError, match="no safetensors file"),
        running(Settings(tmp_path / "wrong")),
    ):
        pass
    with pytest.raises(InputError, match="no release here"):
        Settings(tmp_path / "absent")


def test_a_signature_beside_the_release_is_published_if_it_is_its_own(tmp_path: Path) -> None:
    path = tmp_path / "films.discreet"
    random_release().save(path)
    made = sign(path, tmp_path / "key")
    with running(Settings(path, **FREE)) as talk:
        assert talk.ask("GET", "/v1/release/signature").json() == asdict(made)
        answer = talk.ask("GET", "/v1/release")
        assert answer.headers["discreet-signature"] == f"{made.public_key} {made.signature}"
        answer = talk.ask("GET", "/v1/release", if_none_match=answer.headers["etag"])
        assert answer.status == 304 and "discreet-signature" in answer.headers
    random_release(seed=2).save(path, overwrite=True)
    with running(Settings(path, **FREE)) as talk:
        assert talk.ask("GET", "/v1/release/signature").status == 404
        assert "discreet-signature" not in talk.ask("GET", "/v1/release").headers
