"""What the command line says while it works."""

from __future__ import annotations

import time

import pytest

from discreet.cli import _console


def test_without_a_terminal_there_is_a_line_a_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with _console.stages() as progress:
        for second in range(100):
            now = float(second)
            progress("judging", second, 200)
        for second in range(100, 150):
            now = float(second)
            progress("writing", second, None)
    monkeypatch.undo()
    assert capsys.readouterr().err.splitlines() == ["judging: 30%", "writing"]
