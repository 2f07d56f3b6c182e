"""examples/adapters: each runs to its end where its library is installed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "adapters"
NEEDS = {
    "duckdb_ratings": "duckdb",
    "lenskit_pipeline": "lenskit",
    "mlflow_model": "mlflow",
    "sklearn_search": "sklearn",
    "vector_index": "faiss",
}


def test_every_example_is_run() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == NEEDS.keys()


@pytest.mark.parametrize("name", sorted(NEEDS))
def test_the_example_runs(name: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is absent")
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{name}.py")],
        cwd=tmp_path, env=os.environ | {"PYTHONDONTWRITEBYTECODE": ""}, capture_output=True,
        text=True, check=False, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout
