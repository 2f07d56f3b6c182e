"""Fixtures that several rooms' tests share."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# A kernel compiles on its first call, which no deadline should count.
settings.register_profile("discreet", deadline=None)
settings.load_profile("discreet")

# In a job that runs in the background an interrupt is ignored, until somebody listens to it.
signal.signal(signal.SIGINT, signal.default_int_handler)

_ROOT = Path(__file__).resolve().parent.parent

# What one process does as a whole, and first, since it mostly waits: for Spark, for a browser.
_WHOLE = ("tests/spark", "tests/web")


def _group(nodeid: str) -> str:
    """Tests of one group are run by one process."""
    path = nodeid.partition("::")[0]
    if "/test_spark_" in path:
        return "tests/spark"
    return next((whole for whole in _WHOLE if path.startswith(f"{whole}/")), path)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A browser, for which a test waits, goes before what only takes its time."""
    if "PYTEST_XDIST_WORKER" in os.environ and _group(item.nodeid) != "tests/web":
        os.nice(max(10 - os.nice(0), 0))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What waits comes first."""
    items.sort(key=lambda item: _group(item.nodeid) not in _WHOLE)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Who shares tests out among processes keeps groups together, in the order of the tests."""
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _group(nodeid)

    config.option.loadscopereorder = False
    return Groups(config, log)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with real rating data: `DISCREET_DATA`, or `shared/data` beside the checkout."""
    told = os.environ.get("DISCREET_DATA")
    folder = Path(told) if told else _ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("real rating data is absent: set DISCREET_DATA to the folder that holds it")
    return folder
