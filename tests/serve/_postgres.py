"""A PostgreSQL server of the tests' own, reached through a socket in a temporary folder."""

from __future__ import annotations

import os
import pwd
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg


class Postgres:
    """A running server; `crash` is what a power cut would do to it."""

    def __init__(self, programs: Path, folder: str) -> None:
        self._programs, self._folder, self._databases = programs, folder, 0

    def call(self, program: str, *arguments: str) -> None:
        owner = pwd.getpwnam("postgres") if os.getuid() == 0 else None
        told: dict[str, Any] = {"user": owner.pw_uid, "group": owner.pw_gid} if owner else {}
        data = ("-D", f"{self._folder}/data")
        command = [str(self._programs / program), *data, *arguments]
        null = subprocess.DEVNULL
        subprocess.run(command, check=True, timeout=60, stdout=null, stderr=null, **told)

    def start(self) -> None:
        self.call("pg_ctl", "-w", "-o", f"-k {self._folder} -c listen_addresses=''", "start")

    def crash(self) -> None:
        self.call("pg_ctl", "-w", "-m", "immediate", "stop")

    def new_database(self) -> str:
        """The URL of an empty database."""
        self._databases += 1
        name = f"test{self._databases}"
        with psycopg.connect(self._told("postgres"), autocommit=True) as connection:
            connection.execute(f"create database {name}")
        return f"postgresql://discreet@/{name}?host={self._folder}"

    def _told(self, name: str) -> str:
        return f"host={self._folder} user=discreet dbname={name}"


@contextmanager
def postgres(programs: Path) -> Iterator[Postgres]:
    with tempfile.TemporaryDirectory() as folder:
        if os.getuid() == 0:
            owner = pwd.getpwnam("postgres")
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        server = Postgres(programs, folder)
        server.call("initdb", "-U", "discreet", "-A", "trust", "--no-sync")
        server.start()
        try:
            yield server
        finally:
            server.call("pg_ctl", "-w", "-m", "fast", "stop")
