"""`discreet serve`: what it says when it starts, and why it does not."""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from sqlalchemy.exc import OperationalError

from cli._calling import Outcome, call
from discreet.cli.serve import _write_log
from discreet.domain import InputError
from discreet.serve import Server, database_url
from discreet.serve._store import Store, _unusable
from release._making import random_release
from serve._running import make_collection, make_report, make_settings, running

COLLECT = ["good", "--collect", "local-reports", "--db", "x.db"]
CLOSED = ["good", "--collect", "closed-clusters", "--directory", "d", "--server-key", "wrong"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISCREET_DATABASE", raising=False)
    monkeypatch.delenv("DISCREET_ADMIN_TOKEN", raising=False)
    random_release(60, 3).save("good")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        (["absent.discreet"], "no such release"),
        (["wrong"], "not a safetensors file"),
        (
            ["absent.discreet", "--collect", "local-reports", "--db", "x.db"],
            "both --catalog and --scale",
        ),
        (["good", "--collect", "local-reports", "--term", "epsilon=1"], "needs a database"),
        (
            ["good", "--collect", "postal", "--db", "x.db"],
            "there is no protocol 'postal'; there are closed-clusters, local",
        ),
        (COLLECT, "--term: 'local-reports' needs the term 'epsilon', like epsilon=1"),
        ([*COLLECT, "--term", "colour=1"], "no term 'colour'; it has mechanism, epsilon, period"),
        ([*COLLECT, "--term", "epsilon"], "like --term epsilon=1"),
        ([*COLLECT, "--term", "epsilon=99"], "epsilon is from 0.01 to 50"),
        ([*COLLECT, "--term", "epsilon=one"], "the term 'epsilon' is a number, not 'one'"),
        ([*COLLECT, "--term", "epsilon=1", "--term", "epsilon=2"], "--term epsilon is given twice"),
        (["good", "--db", "x.db"], "--db is for --collect"),
        (["good", "--directory", "x"], "--server-key are for --collect closed-clusters"),
        ([*COLLECT, "--term", "epsilon=1", "--least-people", "0"], "1 person or more"),
        (["good", "--term", "epsilon=1"], "are for --collect"),
        (["good", "--admin-token-file", "absent"], "absent: the administrator's token cannot be"),
        (["good", "--admin-token-file", "absent"], "cannot be read: No such file"),
        (["good", "--admin-token-file", "wrong"], "wrong: an administrator's token is"),
        (["good", "--proxies", "banana"], "--proxies takes IP addresses or networks"),
        (["good", "--proxies", "127.0.0.1,"], "--proxies takes IP addresses or networks"),
        (
            [*CLOSED, "--term", "authority=7"],
            "--term: the term 'authority' is a public key, 64 hexa",
        ),
        ([*CLOSED, "--term", f"authority={'7' * 64}"], "wrong: is not a server's key (64 hexadec"),
        (["good", "--admin-token-file", "open"], "others may read this token: chmod 600 open"),
        (["good", "--host", "192.0.2.77"], "cannot listen at 192.0.2.77"),
        (["good", "--port", "99999"], "a port is"),
        (["good", "--per-address", "-1"], "a rate"),
    ],
)
def test_what_cannot_be_served_is_one_clear_line(
    tmp_path: Path, arguments: list[str], about: str
) -> None:
    for name, mode in (("wrong", 0o600), ("open", 0o644)):
        Path(name).write_text("too short")
        Path(name).chmod(mode)
    assert about in call("serve", *arguments).complaint()
    assert not list(tmp_path.glob("*.db-wal"))


def test_a_file_that_is_no_database_is_named_with_the_reason(folder: Path) -> None:
    (folder / "notes.txt").write_text("These are notes, and long enough to be looked at. " * 9)
    told = ["good", "--collect", "local-reports", "--term", "epsilon=1", "--db"]
    complaint = call("serve", *told, "notes.txt").complaint()
    assert "notes.txt: cannot be used as a database: file is not a database" in complaint
    with sqlite3.connect("foreign.db") as foreign:
        foreign.execute("CREATE TABLE bookmarks (url TEXT)")
    foreign.close()
    before = Path("foreign.db").read_bytes()
    assert (
        "foreign.db: is a database of something else"
        in call("serve", *told, "foreign.db").complaint()
    )
    with sqlite3.connect("foreign.db") as foreign:
        tables = foreign.execute("SELECT name FROM sqlite_master").fetchall()
    foreign.close()
    assert tables == [("bookmarks",)]
    assert Path("foreign.db").read_bytes() == before


def started(*arguments: object) -> Outcome:
    """What it says until it would begin to answer."""
    with mock.patch.object(Server, "run", lambda _: None):
        return call("serve", *arguments, "--port", "0")


def test_the_first_lines_say_what_is_collected_and_what_is_there(folder: Path) -> None:
    with running(make_settings(folder)) as talk:
        for n in range(2):
            talk.send(talk.enrol(), make_report(n))
    told = ["--collect", "local-reports", "--db", "reports.db", "--term", "epsilon=2"]
    told += ["--term", "mechanism=modified-laplace"]
    said = started("made.discreet", *told, "--catalog", items(folder), "--scale", "1..5").err
    first, second, *rest = said.splitlines()
    assert first.startswith(
        "serving made.discreet (once it is built) and collecting local-reports "
        "(epsilon 2 for each rating, period 1) at http://127.0.0.1:"
    )
    assert second == "2 reports of this collection are stored"
    assert rest == []
    said = started(
        "good", "--collect", "local-reports", "--db", "reports.db", "--term", "epsilon=1"
    ).err
    assert "0 reports of this collection are stored" in said
    assert "2 reports were sent under other terms and are not used" in said
    assert started("good").err.startswith("serving good at http://")


def test_nothing_is_collected_for_other_items_than_are_served(folder: Path) -> None:
    catalog = ["--catalog", items(folder), "--scale"]
    told = ["--collect", "local-reports", "--db", "x.db", "--term", "epsilon=1", *catalog]
    complaint = started("good", *told, "1..10").complaint()
    assert (
        "good: is a release of something else: --catalog has other items and --scale" in complaint
    )
    assert "is 1..10 in steps of 1, not 1..5 in steps of 1; serve another file" in complaint
    assert not (folder / "x.db").exists()
    random_release(60, 3, catalog=make_collection().catalog).save("same")
    assert started("same", *told, "1..5").code == 0
    assert started("new", *told, "1..5").code == 0


def test_addresses_of_proxies_are_taken() -> None:
    for proxies in ("*", "127.0.0.1", "127.0.0.1, 10.0.0.0/8,::1"):
        assert started("good", "--proxies", proxies).code == 0


def test_a_database_that_does_not_let_in_is_told_without_the_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = "postgresql://me:hidden@127.0.0.1:9/x"
    monkeypatch.setenv("DISCREET_DATABASE", place)
    told = ["good", "--collect", "local-reports", "--term", "epsilon=1"]
    complaint = call("serve", *told).complaint()
    assert "the database cannot be opened: OperationalError: connection failed" in complaint
    assert "hidden" not in complaint
    url = database_url(place)
    repeated = OperationalError("", None, Exception("no such user me:hidden\nmore"))
    assert str(_unusable(url, repeated)) == "the database cannot be opened: Exception"


def test_few_people_are_taken_with_a_word_of_warning() -> None:
    few = started(*COLLECT, "--term", "epsilon=1", "--least-people", "1")
    assert few.code == 0
    assert "warning: a release may be built from one person" in few.err
    assert "warning" not in started(*COLLECT, "--term", "epsilon=1").err


def test_an_epoch_does_not_go_back_by_forgetting(folder: Path) -> None:
    told = [
        "made.discreet",
        "--collect",
        "local-reports",
        "--db",
        "reports.db",
        "--term",
        "epsilon=2",
    ]
    told += ["--term", "mechanism=modified-laplace"]
    told += ["--catalog", str(items(folder)), "--scale", "1..5"]
    later = make_collection(epoch=3)
    with running(make_settings(folder, collection=later)) as talk:
        # As long as nobody has sent anything it may have been a slip.
        assert started(*told).code == 0
        talk.send(talk.enrol(), make_report(collection=later))
    complaint = started(*told).complaint()
    assert "period 1 is over: the database has reports of period 3" in complaint
    assert "go on with the term period=3, or go back with --allow-older-period" in complaint
    assert started(*told, "--allow-older-epoch").code == 0
    assert started(*told, "--allow-older-period").code == 0
    assert started(*told, "--term", "period=3").code == 0
    assert started(*told, "--term", "epoch=4").code == 0
    # Other terms have epochs of their own.
    assert started(*[each.replace("epsilon=2", "epsilon=3") for each in told]).code == 0
    with pytest.raises(InputError, match=r"period 2 is over.* go back with allow_older_epoch$"):
        Server(make_settings(folder, collection=make_collection(epoch=2)), "127.0.0.1", 0)


def test_a_server_that_never_ran_lets_go_of_its_port_and_its_database(folder: Path) -> None:
    before = {thread.ident for thread in threading.enumerate()}
    with Server(make_settings(folder), "127.0.0.1", 0) as server:
        port = int(server.url.rpartition(":")[2])
        assert {thread.ident for thread in threading.enumerate()} != before
    assert {thread.ident for thread in threading.enumerate()} == before
    with running(make_settings(folder), f"http://127.0.0.1:{port}") as talk:
        assert talk.ask("GET", "/readyz").status == 200


def test_a_store_knows_the_last_epoch_of_the_same_terms(folder: Path) -> None:
    store = Store("x.db")
    try:
        assert store.latest_epoch({"epoch": 1}) is None
        assert not store.has_built("a" * 64)
        store.note_built("a" * 64)
        store.note_built("a" * 64)
        assert store.has_built("a" * 64)
        assert not store.has_built("b" * 64)
    finally:
        store.close()


def test_the_log_has_times_in_utc(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    root, ours = logging.getLogger(), logging.getLogger("discreet")
    level = ours.level
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    _write_log("text")
    ours.setLevel(level)
    record = logging.LogRecord("discreet.serve", logging.INFO, "", 0, "build: failed", (), None)
    record.created = 0.0
    assert root.handlers[0].format(record) == "1970-01-01T00:00:00Z discreet: build: failed"


def items(folder: Path) -> Path:
    """The items that the service in these tests is about, as a file."""
    path = folder / "items.csv"
    catalog = make_collection().catalog
    rows = [
        f"{json.dumps(i)},{json.dumps(t, ensure_ascii=False)}"
        for i, t in zip(catalog.ids, catalog.titles, strict=True)
    ]
    path.write_text("\n".join(["id,title", *rows]), encoding="utf-8")
    return path
