"""The parts beyond Python work here: a browser renders, Java runs, PostgreSQL answers."""

from __future__ import annotations

import os
import pwd
import subprocess
import tempfile
from pathlib import Path


def run(*command: str, **options: object) -> str:
    return subprocess.run(
        command, check=True, text=True, timeout=120, **{"stdout": subprocess.PIPE, **options}
    ).stdout


def test_chromium_renders_a_page(chromium: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<body><script>document.body.append(6 * 7)</script></body>")
    shown = run(
        chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--no-first-run", "--disable-quic",
        f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri(),
    )  # fmt: skip
    assert "42" in shown


def test_java_runs(java: str) -> None:
    said = run(java, "-XshowSettings:properties", "-version", stderr=subprocess.STDOUT)
    assert "java.specification.version" in said


def test_postgres_stores_and_answers(postgres_bin: Path) -> None:
    """A server of its own in a temporary folder, reached through a socket there."""
    as_owner = _unprivileged()
    with tempfile.TemporaryDirectory() as folder:
        if as_owner:
            os.chown(folder, as_owner["user"], as_owner["group"])
        data = Path(folder) / "data"
        initdb = str(postgres_bin / "initdb")
        run(initdb, "-D", str(data), "-U", "discreet", "-A", "trust", **as_owner)
        control = (str(postgres_bin / "pg_ctl"), "-D", str(data), "-w")
        options = f"-k {folder} -c listen_addresses=''"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        run(*control, "-o", options, "start", **quiet, **as_owner)
        try:
            asked = ("psql", "-h", folder, "-U", "discreet", "-d", "postgres", "-Atc")
            said = run(*asked, "create table t(n int); insert into t values (40), (2)")
            said += run(*asked, "select sum(n) from t")
        finally:
            run(*control, "-m", "fast", "stop", **as_owner)
    assert said.split()[-1] == "42"


def _unprivileged() -> dict[str, int]:
    """PostgreSQL refuses to run as root: then it runs as its own user."""
    if os.getuid() != 0:
        return {}
    owner = pwd.getpwnam("postgres")
    return {"user": owner.pw_uid, "group": owner.pw_gid}
