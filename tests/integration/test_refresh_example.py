"""examples/refresh: the units are valid, and its script survives what happens to timers."""

from __future__ import annotations

import configparser
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "refresh"
SCRIPT = EXAMPLE / "refresh.sh"
# Stands for `discreet`: notes what it is called with, writes the release, and ends as it is told.
_DISCREET = """#!/bin/sh
echo "$@" >> "$LOG"
code=$(cat "$CODES/$6" 2> /dev/null || echo 0)
[ "$code" = 0 ] && echo "the release after $6" > "$8"
exit "$code"
"""


def read_unit(name: str) -> configparser.ConfigParser:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string((EXAMPLE / name).read_text(encoding="utf-8"))
    return unit


def command() -> list[str]:
    return shlex.split(read_unit("discreet-refresh.service")["Service"]["ExecStart"])


def test_units_crontab_and_readme_name_the_same_script() -> None:
    service, timer = read_unit("discreet-refresh.service"), read_unit("discreet-refresh.timer")
    # A timer starts the service of its own name.
    assert "Unit" not in timer["Timer"]
    assert timer["Install"]["WantedBy"] == "timers.target"
    assert timer["Timer"]["Persistent"] == "true"
    script, folder, release = command()
    assert Path(script).name == SCRIPT.name
    assert os.access(SCRIPT, os.X_OK)
    assert folder == f"/var/lib/{service['Service']['StateDirectory']}"
    assert str(Path(release).parent) in service["Service"]["ReadWritePaths"].split()
    already = re.findall(r"^already=(\d+)$", SCRIPT.read_text(encoding="utf-8"), re.MULTILINE)
    codes = service["Service"]["RestartPreventExitStatus"].split()
    readme = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    assert already[0] in codes
    assert set(codes) == set(re.findall(r"^\| ([1-9]\d*) \|", readme, re.MULTILINE))
    assert f"./{SCRIPT.name} {folder} {release}" in readme
    line = (EXAMPLE / "crontab").read_text(encoding="utf-8").splitlines()[-1]
    *when, path, told = line.split(maxsplit=6)
    assert len(when) == 5 and all(re.fullmatch(r"\*|\d+", field) for field in when)
    assert path == service["Service"]["Environment"]
    assert shlex.split(told) == command()


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is absent")
    for path in EXAMPLE.glob("discreet-refresh.*"):
        text = path.read_text(encoding="utf-8").replace(command()[0], os.fspath(SCRIPT))
        (tmp_path / path.name).write_text(text, encoding="utf-8")

    def verify() -> str:
        units = [os.fspath(path) for path in sorted(tmp_path.iterdir())]
        told = ["systemd-analyze", "verify", *units]
        done = subprocess.run(told, capture_output=True, text=True, check=False, timeout=60)
        return "\n".join(line for line in done.stderr.splitlines() if "discreet-refresh" in line)

    assert verify() == ""
    timer = tmp_path / "discreet-refresh.timer"
    timer.write_text(timer.read_text(encoding="utf-8").replace("Mon *", "Moon *"))
    assert "discreet-refresh.timer" in verify()


class Curator:
    """A curator's folder, and a `discreet` that does as it is told."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.release = folder / "private", folder / "films.discreet"
        self.codes, self._log, self._bin = folder / "codes", folder / "log", folder / "bin"
        for each in (self.folder / "waiting", self.codes, self._bin):
            each.mkdir(parents=True)
        (self._bin / "discreet").write_text(_DISCREET, encoding="utf-8")
        (self._bin / "discreet").chmod(0o755)

    def bring(self, *weeks: str) -> None:
        for week in weeks:
            (self.folder / "waiting" / f"ratings-{week}.csv").write_text(f"records of {week}")

    def run(self) -> tuple[int, str, list[str]]:
        """The script's exit code, what it complains of, and what it called `discreet` with."""
        self._log.write_text("")
        told = ["/bin/sh", os.fspath(SCRIPT), os.fspath(self.folder), os.fspath(self.release)]
        path = f"{self._bin}:/usr/bin:/bin"
        env = {"PATH": path, "LOG": os.fspath(self._log), "CODES": os.fspath(self.codes)}
        done = subprocess.run(
            told, env=env, capture_output=True, text=True, check=False, timeout=60
        )
        return done.returncode, done.stderr, self._log.read_text().splitlines()

    def names(self, folder: str) -> list[str]:
        return sorted(path.name for path in (self.folder / folder).iterdir())

    def add(self, week: str) -> str:
        file = f"waiting/ratings-{week}.csv"
        told = f"series add films.series {file} --period {week} -o {self.release}"
        return f"{told} --ledger members.ledger"


@pytest.fixture
def curator(tmp_path: Path) -> Curator:
    return Curator(tmp_path / "with a space")


def test_weeks_that_wait_are_added_in_their_order_and_once(curator: Curator) -> None:
    assert curator.run() == (0, "", [])
    curator.bring("2026-W10", "2025-W52", "2026-W09")
    weeks = ["2025-W52", "2026-W09", "2026-W10"]
    assert curator.run() == (0, "", [curator.add(week) for week in weeks])
    assert curator.release.read_text() == "the release after 2026-W10\n"
    assert curator.names("waiting") == []
    assert curator.names("added") == [f"ratings-{week}.csv" for week in weeks]
    assert curator.run() == (0, "", [])


@pytest.mark.parametrize("code", [1, 2, 3, 137])
def test_what_failed_waits_and_so_does_what_comes_after_it(curator: Curator, code: int) -> None:
    curator.bring("2026-W09", "2026-W10", "2026-W11")
    (curator.codes / "2026-W10").write_text(str(code))
    weeks = ["2026-W09", "2026-W10", "2026-W11"]
    assert curator.run() == (code, "", [curator.add(week) for week in weeks[:2]])
    assert curator.names("waiting") == ["ratings-2026-W10.csv", "ratings-2026-W11.csv"]
    assert curator.release.read_text() == "the release after 2026-W09\n"
    (curator.codes / "2026-W10").unlink()
    assert curator.run() == (0, "", [curator.add(week) for week in weeks[1:]])
    assert curator.names("waiting") == []


def test_a_week_that_was_added_by_an_interrupted_run_is_put_away(curator: Curator) -> None:
    curator.bring("2026-W09", "2026-W10")
    (curator.codes / "2026-W09").write_text("4")
    code, said, _ = curator.run()
    assert (code, said) == (0, "")
    assert curator.names("waiting") == []
    # A second file for a week is for a person to look at, and nothing is lost of either.
    curator.bring("2026-W09")
    code, said, _ = curator.run()
    assert code == 4
    assert said == (
        "waiting/ratings-2026-W09.csv: week 2026-W09 was added before, from "
        "added/ratings-2026-W09.csv; a week is added once\n"
    )
    assert curator.names("waiting") == ["ratings-2026-W09.csv"]
    assert "ratings-2026-W09.csv" in curator.names("added")


def test_it_says_how_it_is_called() -> None:
    done = subprocess.run(
        ["/bin/sh", os.fspath(SCRIPT)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode != 0
    assert "usage: refresh.sh FOLDER RELEASE" in done.stderr


class _Airflow:
    """What the DAG uses of Airflow, which takes 300 packages: enough to read and run the file."""

    def __init__(self) -> None:
        self.told: dict[str, Any] = {}
        self.tasks: list[Callable[[], None]] = []

    def modules(self) -> dict[str, ModuleType]:
        def dag(**told: Any) -> Any:
            self.told = told
            return lambda function: function

        def task(function: Callable[[], None]) -> Callable[[], None]:
            return lambda: self.tasks.append(function)

        names = ("airflow", "airflow.sdk", "airflow.sdk.exceptions")
        found = {name: ModuleType(name) for name in names}
        vars(found["airflow.sdk"]).update(dag=dag, task=task)
        vars(found["airflow.sdk.exceptions"])["AirflowFailException"] = _FailedForGood
        return found


class _FailedForGood(Exception):
    pass


@pytest.mark.parametrize(
    ("code", "error"),
    [(0, None), (3, _FailedForGood), (4, _FailedForGood), (1, subprocess.CalledProcessError)],
)
def test_the_dag_runs_the_script_and_tries_again_where_that_can_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, error: type[Exception] | None
) -> None:
    airflow = _Airflow()
    for name, module in airflow.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    found = runpy.run_path(str(EXAMPLE / "airflow_dag.py"))
    assert [found[name] for name in ("SCRIPT", "FOLDER", "RELEASE")] == command()
    minute, hour, *_, day = airflow.told["schedule"].split()
    assert f"OnCalendar=Mon *-*-* {hour:0>2}:{minute}" in (
        EXAMPLE / "discreet-refresh.timer"
    ).read_text(encoding="utf-8")
    assert day == "1" and airflow.told["catchup"] is False
    script = tmp_path / "refresh.sh"
    script.write_text(f"#!/bin/sh\nexit {code}\n")
    script.chmod(0o755)
    (refresh,) = airflow.tasks
    refresh.__globals__["SCRIPT"] = str(script)
    if error is None:
        refresh()
    else:
        with pytest.raises(error):
            refresh()
