"""What an archive may do to a folder, and what the register says of the public sets."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import stat
import zipfile
from pathlib import Path

import pytest

from discreet.domain import InputError, Scale
from discreet.domain.errors import DownloadError
from discreet.ratings.download import Fetched, data_sets, fetch, find_data_set
from loopback import Site, serving
from ratings._toy import described, zipped

RATINGS = hashlib.sha512(b"").digest() * 2000
ARCHIVE = zipped({"toy-set/ratings.dat": RATINGS, "toy-set/movies.dat": b"1::Alien::Horror\n"})


def get(archive: bytes, folder: Path) -> Fetched:
    """Fetch a set whose published archive is this one."""
    site = Site()
    site.files["/toy.zip"] = archive
    with serving(site) as base:
        return fetch(described(archive), folder, address=f"{base}/toy.zip")


def link(name: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        entry = zipfile.ZipInfo(name)
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    return buffer.getvalue()


def locked() -> bytes:
    """An archive that says its entry is encrypted: bit 0 of the flags, in both its headers."""
    plain = bytearray(zipped({"ratings.dat": b"secret"}))
    plain[6] |= 1
    plain[plain.index(b"PK\x01\x02") + 8] |= 1
    return bytes(plain)


BAD_ARCHIVES = {
    "climbs": (zipped({"ratings.dat": b"", "../evil": b""}), "outside its folder"),
    "climbs deeper": (zipped({"toy/a/../../../evil": b""}), "outside its folder"),
    "absolute": (zipped({"/evil": b""}), "outside its folder"),
    "drive": (zipped({"c:/evil": b""}), "outside its folder"),
    "backslash": (zipped({"..\\evil": b""}), "outside its folder"),
    "link": (link("toy/ratings.dat"), "a link"),
    "not a zip": (b"PK" + bytes(1000), "not a zip archive"),
    "damaged": (ARCHIVE[:5000] + bytes(64) + ARCHIVE[5064:], "not a zip archive that can be read"),
    "locked": (locked(), "not a zip archive that can be read"),
    "cut": (ARCHIVE[:-100], "not a zip archive"),
    "lacks the items": (zipped({"toy/ratings.dat": b""}), r"does not contain movies\.dat"),
}


@pytest.mark.parametrize("name", BAD_ARCHIVES)
def test_bad_archives_leave_nothing_behind(tmp_path: Path, name: str) -> None:
    archive, message = BAD_ARCHIVES[name]
    with pytest.raises(DownloadError, match=message):
        get(archive, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["toy.zip.part"]
    assert not (tmp_path.parent / "evil").exists()


def test_files_at_the_top_of_an_archive_get_a_folder(tmp_path: Path) -> None:
    flat = zipped({"ratings.dat": RATINGS, "movies.dat": b"", "__MACOSX/ratings.dat": b"noise"})
    get(flat, tmp_path)
    assert (tmp_path / "toy" / "ratings.dat").read_bytes() == RATINGS
    assert sorted(path.name for path in (tmp_path / "toy").iterdir()) == [
        "movies.dat",
        "ratings.dat",
    ]


def test_others_may_read_what_was_unpacked(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        get(ARCHIVE, tmp_path)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "toy").stat().st_mode) == 0o755


def test_a_full_disk_leaves_no_half_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(DownloadError, match="cannot be written: No space left"):
        get(ARCHIVE, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["toy.zip.part"]
    monkeypatch.undo()
    assert get(ARCHIVE, tmp_path).verified


def test_every_data_set_is_well_described() -> None:
    assert len({each.name for each in data_sets()}) == len(data_sets()) == 8
    lengths = {"md5": 32, "sha256": 64}
    for each in data_sets():
        assert each.address.startswith("https://") and each.address.endswith(".zip")
        assert Scale.parse(each.scale)
        assert bool(each.checksums) != each.changes
        for checksum in each.checksums:
            kind, _, digest = checksum.partition(":")
            assert len(digest) == lengths[kind] and set(digest) <= set("0123456789abcdef")


@pytest.mark.parametrize("name", ["ml-100k", "ml-1m", "ml-latest-small"])
def test_counts_are_those_of_the_real_files(name: str, data_folder: Path) -> None:
    each = find_data_set(name)
    paths = [data_folder / name / file for file in each.files]
    headers = sum(path.suffix == ".csv" for path in paths[:1])
    ratings, items = (path.read_bytes().count(b"\n") - headers for path in paths)
    assert (ratings, items) == (each.ratings, each.items)


def test_an_unknown_name_is_told_what_there_is() -> None:
    with pytest.raises(InputError, match=r"'ml-2m' is not .*ml-100k, .*ml-32m"):
        find_data_set("ml-2m")
