"""The browser's modules under node's own test runner, a case a file."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("*.test.mjs"))
NODE = shutil.which("node")


@pytest.mark.skipif(
    NODE is None, reason="node is absent; install Node 20 to test the browser's code"
)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_javascript(file: Path) -> None:
    command = [str(NODE), "--test", str(file)]
    done = subprocess.run(
        command, check=False, cwd=FOLDER, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_file_of_javascript_tests_is_run() -> None:
    assert {"predict.test.mjs", "release.test.mjs", "scale.test.mjs"} <= {f.name for f in FILES}
