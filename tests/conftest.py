"""Fixtures that several rooms' tests share."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

# A kernel compiles on its first call, which no deadline should count.
settings.register_profile("discreet", deadline=None)
settings.load_profile("discreet")

_ROOT = Path(__file__).resolve().parent.parent

# What one process does as a whole, and first, since it mostly waits: for Spark, for a browser.
_WHOLE = ("spark", "web")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Which tests stay together where several processes share them, and what comes first."""
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_group(item.path)))
    items.sort(key=lambda item: _group(item.path) not in _WHOLE)


@cache
def _group(path: Path) -> str:
    place = path.relative_to(_ROOT / "tests")
    if place.name.startswith("test_spark_"):
        return "spark"
    return place.parts[0] if place.parts[0] in _WHOLE else str(place)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with real rating data: `DISCREET_DATA`, or `shared/data` beside the checkout."""
    told = os.environ.get("DISCREET_DATA")
    folder = Path(told) if told else _ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("real rating data is absent: set DISCREET_DATA to the folder that holds it")
    return folder
