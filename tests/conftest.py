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


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with real rating data: `DISCREET_DATA`, or `shared/data` beside the checkout."""
    told = os.environ.get("DISCREET_DATA")
    folder = Path(told) if told else _ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("real rating data is absent: set DISCREET_DATA to the folder that holds it")
    return folder
