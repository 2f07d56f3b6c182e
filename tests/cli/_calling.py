"""Calling commands as a person or a script would."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from discreet import cli
from discreet.ratings import find_shape, make_ratings, write_catalog, write_ratings


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    def json(self) -> dict[str, Any]:
        assert self.code == 0, self.err
        parsed: dict[str, Any] = json.loads(self.out)
        return parsed

    def complaint(self) -> str:
        """What went wrong: one line on standard error, nothing else, exit code 2."""
        assert (self.code, self.out) == (2, ""), self
        assert self.err.startswith("discreet: ") and self.err.count("\n") == 1, self.err
        return self.err


def call(*arguments: object) -> Outcome:
    """`discreet ...` in this process."""
    out, err = io.StringIO(), io.StringIO()
    argv = ["discreet", *map(str, arguments)]
    with redirect_stdout(out), redirect_stderr(err), mock.patch.object(sys, "argv", argv):
        try:
            cli.main()
            code: Any = 0
        except SystemExit as ended:
            code = ended.code or 0
    return Outcome(int(code), out.getvalue(), err.getvalue())


def call_alone(*arguments: object) -> Outcome:
    """`discreet ...` in a process of its own."""
    return run_python("-m", "discreet", *arguments)


def run_python(*arguments: object) -> Outcome:
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return Outcome(done.returncode, done.stdout, done.stderr)


def write_sample(folder: Path, count: int = 3000) -> list[str]:
    """Made-up ratings in a file; the arguments that read them."""
    ratings = make_ratings(find_shape("ml-100k").scaled(ratings=count), seed=1)
    write_ratings(ratings, folder / "ratings.csv")
    write_catalog(ratings.catalog, folder / "items.csv")
    catalog = str(folder / "items.csv")
    return [str(folder / "ratings.csv"), "--scale", "1..5", "--catalog", catalog]
