"""Somewhere to write files that are read once."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path


class Folder:
    """A folder whose files are written one over the other; it goes when nobody holds it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="discreet-"))
        weakref.finalize(self, shutil.rmtree, self.path, True)

    def write(self, name: str, data: bytes) -> Path:
        """Where the data are now."""
        path = self.path / name
        path.write_bytes(data)
        return path
