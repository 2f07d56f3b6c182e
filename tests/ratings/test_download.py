"""Fetching public data sets, against real servers on the loopback."""

from __future__ import annotations

import hashlib
import http.client
import io
import socket
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.domain.errors import DownloadError
from discreet.ratings.download import DataSet, Fetched, SafeRedirects, fetch
from loopback import Site, serving
from ratings._toy import described, zipped

Get = Callable[..., Fetched]

RATINGS = np.random.default_rng(0).bytes(700_000)
ARCHIVE = zipped({"toy-set/ratings.dat": RATINGS, "toy-set/movies.dat": b"1::Alien::Horror\n"})
TOY = described(ARCHIVE)


@pytest.fixture
def site() -> Site:
    site = Site()
    site.files["/toy.zip"] = ARCHIVE
    return site


@pytest.fixture
def base(site: Site) -> Iterator[str]:
    with serving(site) as address:
        yield address


@pytest.fixture
def get(base: str, tmp_path: Path) -> Get:
    """Fetch the toy set from the site into `tmp_path`."""

    def get(data_set: DataSet | None = None, path: str = "/toy.zip", **options: Any) -> Fetched:
        options = {"address": base + path, "pause": 0, "timeout": 5, **options}
        return fetch(data_set or TOY, tmp_path, **options)

    return get


def check_whole(folder: Path) -> None:
    assert (folder / "toy" / "ratings.dat").read_bytes() == RATINGS
    assert (folder / "toy" / "movies.dat").read_bytes() == b"1::Alien::Horror\n"
    assert [path.name for path in folder.iterdir()] == ["toy"]


def test_a_set_arrives_checked_and_unpacked(get: Get, tmp_path: Path) -> None:
    fetched = get()
    assert fetched.path == tmp_path / "toy"
    assert fetched.verified and not fetched.was_there
    assert fetched.sha256 == hashlib.sha256(ARCHIVE).hexdigest()
    check_whole(tmp_path)


def test_a_second_call_asks_nobody(get: Get, site: Site) -> None:
    get()
    del site.asked[:]
    assert get().was_there
    assert site.asked == []


def test_the_folder_is_made(get: Get, base: str, tmp_path: Path) -> None:
    fetch(TOY, tmp_path / "a" / "b", address=f"{base}/toy.zip")
    check_whole(tmp_path / "a" / "b")


def test_progress_reaches_the_end_of_every_stage(get: Get) -> None:
    told: dict[str, list[tuple[int, int | None]]] = {}
    get(progress=lambda what, done, total: told.setdefault(what, []).append((done, total)))
    unpacked = len(RATINGS) + len(b"1::Alien::Horror\n")
    assert list(told) == ["downloading", "checking", "unpacking"]
    assert told["downloading"][0] == (0, len(ARCHIVE))
    assert told["downloading"][-1] == told["checking"][-1] == (len(ARCHIVE), len(ARCHIVE))
    assert told["unpacking"][-1] == (unpacked, unpacked)


@pytest.mark.parametrize("how", ["close", "reset"])
def test_a_broken_connection_is_taken_up_again(
    get: Get, site: Site, tmp_path: Path, how: str
) -> None:
    site.breaks = [(300_000, how), (200_000, how)]
    get()
    check_whole(tmp_path)
    assert len(site.asked) == 3
    if how == "close":  # a reset may destroy what is on its way, a tidy close loses nothing
        assert [asked for _, asked in site.asked] == [None, "bytes=300000-", "bytes=500000-"]


def test_a_connection_that_keeps_breaking_is_left_for_the_next_call(
    get: Get, site: Site, tmp_path: Path
) -> None:
    site.breaks = [(100_000, "close")] * 3 + [(0, "close")]
    with pytest.raises(DownloadError, match=r"broke after 300,000 of .*run it again"):
        get()
    assert not (tmp_path / "toy").exists()
    assert (tmp_path / "toy.zip.part").stat().st_size == 300_000
    get()
    check_whole(tmp_path)
    assert site.asked[-1] == ("/toy.zip", "bytes=300000-")


def test_a_server_without_ranges_is_asked_for_everything_again(
    get: Get, site: Site, tmp_path: Path
) -> None:
    site.ranges = False
    site.breaks = [(300_000, "close")]
    get()
    check_whole(tmp_path)


def test_a_silent_server_is_given_up(get: Get, site: Site) -> None:
    site.breaks = [(1000, "silence")] * 4
    with pytest.raises(DownloadError, match="timed out"):
        get(timeout=0.2)
    assert len(site.asked) == 4


def test_a_whole_part_is_not_asked_for_again(get: Get, site: Site, tmp_path: Path) -> None:
    (tmp_path / "toy.zip.part").write_bytes(ARCHIVE)
    get()
    check_whole(tmp_path)
    assert site.asked == []


def test_a_part_longer_than_the_file_is_replaced(get: Get, tmp_path: Path) -> None:
    (tmp_path / "toy.zip.part").write_bytes(ARCHIVE + b"more")
    get()
    check_whole(tmp_path)


def test_a_part_of_another_file_is_found_out_and_thrown_away(get: Get, tmp_path: Path) -> None:
    (tmp_path / "toy.zip.part").write_bytes(b"x" * 1000)
    with pytest.raises(DownloadError, match="deleted"):
        get()
    assert list(tmp_path.iterdir()) == []
    get()
    check_whole(tmp_path)


def test_a_server_that_answers_with_another_part_is_refused(
    get: Get, site: Site, tmp_path: Path
) -> None:
    site.misplaces = True
    (tmp_path / "toy.zip.part").write_bytes(ARCHIVE[:1000])
    with pytest.raises(DownloadError, match="another part"):
        get()


def test_wrong_bytes_are_thrown_away(get: Get, site: Site, tmp_path: Path) -> None:
    site.files["/toy.zip"] = ARCHIVE[:500] + bytes([ARCHIVE[500] ^ 1]) + ARCHIVE[501:]
    with pytest.raises(DownloadError, match=f"MD5.*{MD5}.*deleted"):
        get()
    assert list(tmp_path.iterdir()) == []


def test_every_checksum_counts(get: Get, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="SHA256"):
        get(replace(TOY, checksums=(TOY.checksums[0], "sha256:" + "0" * 64)))
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_another_length_is_not_even_read(get: Get, site: Site, tmp_path: Path) -> None:
    site.files["/toy.zip"] = b"<html>moved</html>"
    with pytest.raises(DownloadError, match=f"offers 18 bytes where {len(ARCHIVE):,}"):
        get()
    assert list(tmp_path.iterdir()) == []


def test_a_short_file_of_unannounced_length_is_thrown_away(
    get: Get, site: Site, tmp_path: Path
) -> None:
    site.says_length = False
    site.files["/toy.zip"] = ARCHIVE[:1000]
    with pytest.raises(DownloadError, match="1,000 bytes came"):
        get()
    assert list(tmp_path.iterdir()) == []


def test_without_a_checksum_nothing_is_called_verified(get: Get) -> None:
    fetched = get(replace(TOY, checksums=(), size=None))
    assert not fetched.verified
    assert fetched.sha256 == hashlib.sha256(ARCHIVE).hexdigest()


def test_without_a_checksum_an_old_part_is_not_built_upon(get: Get, tmp_path: Path) -> None:
    (tmp_path / "toy.zip.part").write_bytes(b"x" * 1000)
    get(replace(TOY, checksums=(), size=None))
    check_whole(tmp_path)


CHANGING = replace(TOY, checksums=(), size=None, changes=True)
MD5 = hashlib.md5(ARCHIVE).hexdigest()


@pytest.mark.parametrize("line", [f"MD5 (toy.zip) = {MD5}\n", f"{MD5.upper()}  toy.zip\n"])
def test_a_changing_set_is_checked_by_the_sum_beside_it(get: Get, site: Site, line: str) -> None:
    site.files["/toy.zip.md5"] = line.encode()
    assert get(CHANGING).verified


def test_a_changing_set_that_differs_from_the_sum_beside_it_is_thrown_away(
    get: Get, site: Site, tmp_path: Path
) -> None:
    site.files["/toy.zip.md5"] = b"MD5 (toy.zip) = " + b"0" * 32
    with pytest.raises(DownloadError, match="deleted"):
        get(CHANGING)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("beside", [None, b"<html>no such thing</html>"])
def test_a_changing_set_without_a_sum_is_not_verified(
    get: Get, site: Site, beside: bytes | None
) -> None:
    if beside is not None:
        site.files["/toy.zip.md5"] = beside
    assert not get(CHANGING).verified


def test_redirects_are_followed_and_keep_the_range(get: Get, site: Site, tmp_path: Path) -> None:
    site.redirects["/old.zip"] = "/toy.zip"
    site.breaks = [(300_000, "close")]
    get(path="/old.zip")
    check_whole(tmp_path)
    assert site.asked[-2:] == [("/old.zip", "bytes=300000-"), ("/toy.zip", "bytes=300000-")]


def test_redirects_to_files_are_refused(get: Get, site: Site) -> None:
    site.redirects["/old.zip"] = "ftp://127.0.0.1/toy.zip"
    with pytest.raises(DownloadError, match="not safe"):
        get(path="/old.zip")


def test_redirects_never_leave_https() -> None:
    def follow(to: str) -> urllib.request.Request | None:
        request, headers = urllib.request.Request("https://a/x"), http.client.HTTPMessage()
        return SafeRedirects().redirect_request(request, io.BytesIO(), 302, "Found", headers, to)

    followed = follow("https://b/x")
    assert followed is not None and followed.full_url == "https://b/x"
    with pytest.raises(DownloadError, match="not safe"):
        follow("http://b/x")


def test_a_missing_file_is_said_plainly(get: Get, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"^127\.0\.0\.1:\d+: answered 404 Not Found$"):
        get(path="/gone.zip")
    assert list(tmp_path.iterdir()) == []


def test_no_network_is_said_plainly(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(DownloadError, match=r"cannot be reached \(.*refused\); check") as caught:
        fetch(TOY, tmp_path, address=f"http://127.0.0.1:{port}/toy.zip")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("address", ["file:///etc/passwd", "toy.zip", "http://", "http://["])
def test_other_addresses_are_refused(address: str, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="must begin with http"):
        fetch(TOY, tmp_path, address=address)


def test_a_password_in_an_address_is_not_repeated(base: str, tmp_path: Path) -> None:
    address = base.replace("//", "//me:secret@") + "/gone.zip"
    with pytest.raises(DownloadError) as caught:
        fetch(TOY, tmp_path, address=address)
    assert "secret" not in str(caught.value)


def test_a_proxy_does_not_come_between_us_and_ourselves(
    get: Get, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    get()
    check_whole(tmp_path)


def test_a_full_disk_is_said_plainly(get: Get, tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    (tmp_path / "toy.zip.part").symlink_to(full)
    with pytest.raises(DownloadError, match="cannot be written: No space left"):
        get()
    assert not (tmp_path / "toy").exists()


def test_a_folder_that_cannot_be_made_is_said_plainly(base: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DownloadError, match="cannot be made: Not a directory"):
        fetch(TOY, tmp_path / "file" / "sub", address=f"{base}/toy.zip")


def test_a_folder_with_something_else_in_it_is_not_touched(
    get: Get, site: Site, tmp_path: Path
) -> None:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "ratings.dat").write_text("mine")
    with pytest.raises(DownloadError, match=r"without movies\.dat; move it away"):
        get()
    assert site.asked == []
    assert (tmp_path / "toy" / "ratings.dat").read_text() == "mine"
