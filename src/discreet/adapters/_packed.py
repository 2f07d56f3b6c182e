"""A release as bytes, for systems that copy models between processes by pickling them.

Unpickling runs code that the bytes choose: hand a release on as a file, and pickles to nobody.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from discreet.release import Release, load


def pack(release: Release) -> bytes:
    """The bytes of the release's file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release"
        release.save(path)
        return path.read_bytes()


def unpack(data: bytes) -> Release:
    """The release that `pack` was given."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release"
        path.write_bytes(data)
        # Mapped: the bytes stay until the release is let go, though the file's name is gone.
        return load(path)
