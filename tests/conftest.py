"""Fixtures that several rooms' tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A kernel compiles on its first call, which no deadline should count.
settings.register_profile("discreet", deadline=None)
settings.load_profile("discreet")

_ROOT = Path(__file__).resolve().parent.parent

# What one process does as a whole, and first, since it mostly waits: for Spark, for a browser.
_WHOLE = {"spark": "spark", "test_spark_": "spark", "web": "web"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Which tests stay together where several processes share them, and what comes first."""

    def group(item: pytest.Item) -> str:
        place = item.path.relative_to(_ROOT / "tests")
        return next((_WHOLE[each] for each in _WHOLE if _belongs(place, each)), str(place))

    for item in items:
        item.add_marker(pytest.mark.xdist_group(group(item)))
    items.sort(key=lambda item: group(item) not in _WHOLE.values())


def _belongs(place: Path, to: str) -> bool:
    return place.parts[0] == to or place.name.startswith(to)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with real rating data: `DISCREET_DATA`, or `shared/data` beside the checkout."""
    told = os.environ.get("DISCREET_DATA")
    folder = Path(told) if told else _ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("real rating data is absent: set DISCREET_DATA to the folder that holds it")
    return folder
