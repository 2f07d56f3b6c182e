"""Ledgers as older versions wrote them, by their own layout and digests."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

from discreet.privacy import PureEvent

_LAYOUT = """
PRAGMA journal_mode = OFF;
PRAGMA application_id = 1685285991;
PRAGMA user_version = 1;
CREATE TABLE title (
    population TEXT NOT NULL, created TEXT NOT NULL, limits TEXT NOT NULL,
    charges INTEGER NOT NULL, head TEXT NOT NULL
);
CREATE TABLE charges (
    number INTEGER PRIMARY KEY, time TEXT NOT NULL, purpose TEXT NOT NULL,
    is_private INTEGER NOT NULL, events TEXT NOT NULL, spent TEXT NOT NULL, digest TEXT NOT NULL
);
"""
_SECOND = (
    "ALTER TABLE charges ADD COLUMN configuration TEXT",
    "ALTER TABLE title ADD COLUMN publications INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE title ADD COLUMN last_publication TEXT",
    """CREATE TABLE publications (
    number INTEGER PRIMARY KEY, time TEXT NOT NULL, charge INTEGER NOT NULL UNIQUE,
    charge_digest TEXT NOT NULL, content TEXT NOT NULL, digest TEXT NOT NULL
)""",
    "PRAGMA user_version = 2",
)
_TIME = "2026-11-01T12:00:00.000000+00:00"


def write_first_format(path: Path, event: PureEvent, charges: int, limit: float = 1e5) -> None:
    """So many pure charges per user, under a limit of delta 0."""
    limits = json.dumps([{"unit": "user", "epsilon": limit, "delta": 0.0, "reserve": 0.0}])
    title = ("people", _TIME, limits)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(_LAYOUT)
        head = _digest(*title)
        connection.execute("INSERT INTO title VALUES (?, ?, ?, 0, ?)", [*title, head])
        spent = 0.0
        for number in range(1, charges + 1):
            spent += event.epsilon
            totals = json.dumps({"rating": [2 * spent, 0.0], "user": [spent, 0.0]})
            events = json.dumps([event.to_dict()])
            row = (number, _TIME, f"release {number}", 1, events, totals)
            head = _digest(head, *row)
            connection.execute("INSERT INTO charges VALUES (?, ?, ?, ?, ?, ?, ?)", [*row, head])
            connection.execute("UPDATE title SET charges = ?, head = ?", [number, head])


def write_second_format(path: Path, event: PureEvent, charges: int, limit: float = 1e5) -> None:
    """The same in format 2, which can hold configurations and publications."""
    write_first_format(path, event, charges, limit)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for step in _SECOND:
            connection.execute(step)


def version_of(path: Path) -> int:
    """The format that a ledger has."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _digest(*fields: Any) -> str:
    return hashlib.sha256(json.dumps(fields).encode()).hexdigest()
