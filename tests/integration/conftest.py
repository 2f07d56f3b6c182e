"""The parts beyond Python: each fixture finds one, or skips with the way to get it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest


def _program(name: str, *folders: str) -> str:
    found = shutil.which(name) or next(
        (str(path) for pattern in folders for path in sorted(Path("/").glob(pattern))), None
    )
    if found is None:
        pytest.skip(f"{name} is absent: 'make system-deps' installs it")
    return found


@pytest.fixture(scope="session")
def chromium() -> str:
    return _program("chromium")


@pytest.fixture(scope="session")
def java() -> str:
    return _program("java")


@pytest.fixture(scope="session")
def postgres_bin() -> Path:
    """The folder with PostgreSQL's own programs: initdb, postgres, pg_ctl."""
    return Path(_program("initdb", "usr/lib/postgresql/*/bin/initdb")).parent
