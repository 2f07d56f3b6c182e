"""A small data set, as it would be registered, and the archive it comes in."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping

from discreet.ratings.download import DataSet


def zipped(entries: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name), content)  # whose date is not today
    return buffer.getvalue()


def described(archive: bytes) -> DataSet:
    return DataSet(
        name="toy",
        title="Toy",
        address="https://127.0.0.1:9/never-asked",
        ratings=1,
        users=1,
        items=1,
        scale="1..5",
        files=("ratings.dat", "movies.dat"),
        terms="None.",
        size=len(archive),
        checksums=(
            f"md5:{hashlib.md5(archive).hexdigest()}",
            f"sha256:{hashlib.sha256(archive).hexdigest()}",
        ),
    )
