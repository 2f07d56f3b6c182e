"""examples/refresh for real: its own lines make a series, and each week's release is served."""

from __future__ import annotations

import datetime
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from discreet.privacy.ledger import Ledger
from discreet.release import load
from serve._running import Talk, until

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "refresh"
SCRIPT = EXAMPLE / "refresh.sh"
ITEMS, PEOPLE, RATED = 40, 120, 6
REFUSED, ALREADY = 3, 4


def blocks() -> list[str]:
    """The README's commands, block by block."""
    text = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    return re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


class Curator:
    """A curator's folder, `discreet` on the path, and made-up records."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.release = folder / "private", folder / "public" / "films.discreet"
        bin_ = folder / "bin"
        for each in (self.folder, self.release.parent, bin_):
            each.mkdir(parents=True)
        (bin_ / "discreet").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m discreet "$@"\n')
        (bin_ / "discreet").chmod(0o755)
        self.env = os.environ | {"PATH": f"{bin_}:{os.environ['PATH']}"}
        rows = "".join(f"f{n},Film {n}\n" for n in range(ITEMS))
        (self.folder / "items.csv").write_text("id,title\n" + rows)

    def shell(self, commands: str) -> None:
        subprocess.run(
            ["/bin/sh", "-eu", "-c", commands],
            cwd=self.folder,
            env=self.env,
            check=True,
            timeout=300,
        )

    def bring(self, week: str) -> None:
        """A week's records, whole: people come back in most weeks and rate other films."""
        year, number = (int(part) for part in week.split("-W"))
        monday = datetime.datetime.combine(
            datetime.date.fromisocalendar(year, number, 1), datetime.time(), datetime.UTC
        )
        rng = np.random.default_rng(number)
        lines = ["user,item,rating,timestamp"]
        for person in rng.choice(PEOPLE, PEOPLE // 2, replace=False):
            for item in rng.choice(ITEMS, RATED, replace=False):
                when = int(monday.timestamp()) + int(rng.integers(7 * 86_400))
                lines.append(f"u{person},f{item},{rng.integers(1, 6)},{when}")
        file = self.folder / "waiting" / f"ratings-{week}.csv"
        file.with_suffix(".part").write_text("\n".join(lines) + "\n")
        file.with_suffix(".part").rename(file)

    def start(self) -> subprocess.Popen[str]:
        told = ["/bin/sh", os.fspath(SCRIPT), os.fspath(self.folder), os.fspath(self.release)]
        return subprocess.Popen(
            told, env=self.env, stderr=subprocess.PIPE, text=True, start_new_session=True
        )

    def run(self) -> tuple[int, str]:
        with self.start() as process:
            _, said = process.communicate(timeout=300)
        return process.returncode, said

    @property
    def charges(self) -> int:
        return len(Ledger.open(self.folder / "members.ledger").history())

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.release.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a curator who has done what the README begins with."""
    found = Curator(tmp_path_factory.mktemp("begun"))
    found.shell(blocks()[0])
    return found.folder


@pytest.fixture
def curator(begun: Path, tmp_path: Path) -> Curator:
    found = Curator(tmp_path)
    shutil.copytree(begun, found.folder, dirs_exist_ok=True)
    return found


@contextmanager
def serving(curator: Curator) -> Iterator[Talk]:
    told = [sys.executable, "-m", "discreet", "serve", os.fspath(curator.release), "--port", "0"]
    told += ["--per-address", "0"]  # the test asks until it sees the new release
    with subprocess.Popen(told, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            talk = Talk(process.stderr.readline().rpartition(" ")[2].strip())
            with closing(talk):
                yield talk
        finally:
            process.kill()


def test_each_week_is_served_without_a_restart(curator: Curator) -> None:
    curator.bring("2026-W12")
    code, said = curator.run()
    assert code == 0, said
    assert load(curator.release, verify=True).catalog.ids == tuple(f"f{n}" for n in range(ITEMS))
    with serving(curator) as talk:
        seen = []
        for week in ("2026-W13", "2026-W14"):
            curator.bring(week)
            code, _ = curator.run()
            assert code == 0
            until(lambda: talk.ask("GET", "/v1/release/about").json()["sha256"] == curator.digest)
            seen.append(curator.digest)
        assert len(set(seen)) == 2
        promise = talk.ask("GET", "/v1/release/about").json()["promise"]
    assert "user-week" in promise
    assert sorted(path.name for path in (curator.folder / "added").iterdir()) == [
        f"ratings-2026-W{number}.csv" for number in (12, 13, 14)
    ]
    # A week twice is refused, charged nothing, and leaves the release as it was.
    charges, release = curator.charges, curator.digest
    curator.bring("2026-W13")
    code, said = curator.run()
    assert code == ALREADY
    assert "a week is added once" in said
    assert (curator.charges, curator.digest) == (charges, release)


def test_a_run_that_is_killed_is_repeated_and_charged_once(curator: Curator) -> None:
    curator.bring("2026-W12")
    before = curator.charges
    with curator.start() as process:
        time.sleep(1.5)  # wherever it is then: nothing depends on it
        os.killpg(process.pid, signal.SIGKILL)
    code, said = curator.run()
    assert code == 0, said
    assert load(curator.release, verify=True).guarantee.is_private
    assert sorted(path.name for path in (curator.folder / "waiting").iterdir()) == []
    assert curator.charges == before + 1


def test_what_the_ledger_refuses_ends_with_its_own_code(tmp_path: Path) -> None:
    curator = Curator(tmp_path)
    setup = blocks()[0]
    tight = setup.replace(
        "--protect user-week --epsilon 1\n", "--protect user-week --epsilon 0.5\n"
    )
    assert tight != setup
    try:
        curator.shell(tight)
    except subprocess.CalledProcessError as error:  # `series init` may refuse it already
        assert error.returncode == REFUSED
        return
    curator.bring("2026-W12")
    code, said = curator.run()
    assert code == REFUSED, said
    assert not curator.release.exists()
    assert (curator.folder / "waiting" / "ratings-2026-W12.csv").exists()
