"""PostgreSQL, where it is installed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def postgres_bin() -> Path:
    """The folder with PostgreSQL's own programs: initdb, postgres, pg_ctl."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    found = shutil.which("initdb") or next(map(str, installed), None)
    if found is None:
        pytest.skip("PostgreSQL is absent: 'make system-deps' installs it")
    return Path(found).parent
