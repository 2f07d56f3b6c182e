"""The thread that writes: in the order that people asked, each as if alone, whoever goes away."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from sqlalchemy.exc import IntegrityError

from discreet.serve import _changes
from discreet.serve._store import Change, Enrol, Forget, Outcome, Put, Store, Withdraw


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(str(tmp_path / "reports.db"))
    yield store
    store.close()


def digest(number: int) -> bytes:
    return number.to_bytes(32, "big")


def test_who_goes_before_the_writing_is_stored_all_the_same(store: Store) -> None:
    begun, go_on = threading.Event(), threading.Event()
    write = _changes._persons

    def slowly(*told: Any) -> Any:
        begun.set()
        assert go_on.wait(10)
        return write(*told)

    with mock.patch.object(_changes, "_persons", slowly):
        first = store.submit([Enrol(digest(1))])
        assert begun.wait(10)
        second, third = (store.submit([Enrol(digest(n))]) for n in (2, 3))
        assert second.cancel()
        # What is being written cannot be called back.
        assert not first.cancel()
        go_on.set()
        assert first.result(10) == [True]
        assert third.result(10) == [True]
    assert store.submit([Enrol(digest(4))]).result(10) == [True]
    assert store.enrolled({digest(n) for n in range(6)}) == {digest(n) for n in (1, 2, 3, 4)}


def test_who_goes_before_a_failure_takes_the_thread_not_along(store: Store) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def failing(*_: Any) -> Any:
        begun.set()
        assert go_on.wait(10)
        raise RuntimeError

    with mock.patch.object(_changes, "_persons", failing):
        first = store.submit([Enrol(digest(1))])
        assert begun.wait(10)
        second = store.submit([Enrol(digest(2))])
        assert second.cancel()
        go_on.set()
        with pytest.raises(RuntimeError):
            first.result(10)
        with pytest.raises(RuntimeError):
            store.submit([Enrol(digest(3))]).result(10)
    assert store.submit([Enrol(digest(4))]).result(10) == [True]
    assert store.enrolled({digest(n) for n in range(6)}) == {digest(4)}


@dataclass(frozen=True)
class Said:
    """Some tags of a slot."""

    slot: int
    mark: bytes = b"first"
    scope: str = "an epoch"
    stop: int = 1

    def follows(self, stop: int, mark: bytes, stored: bytes | None) -> bool:
        return (stop, mark) == (self.stop, self.mark)


@contextmanager
def together(store: Store) -> Iterator[None]:
    """Whatever is submitted meanwhile becomes one transaction."""
    begun, go_on, real = threading.Event(), threading.Event(), _changes._persons

    def slowly(*told: Any) -> Any:
        begun.set()
        assert go_on.wait(10)
        return real(*told)

    with mock.patch.object(_changes, "_persons", slowly):
        store.submit([Withdraw(b"nobody's")])
        assert begun.wait(10)
        yield
        go_on.set()


def done(store: Store, changes: list[Change]) -> list[Outcome]:
    """The outcomes of changes that different people ask for, all in one transaction."""
    before = store.writer.commits
    with together(store):
        futures = [store.submit([change]) for change in changes]
    outcomes = [outcome for future in futures for outcome in future.result(10)]
    assert store.writer.commits == before + 2
    return outcomes


@pytest.fixture
def one(store: Store) -> bytes:
    store.add_collection("c", {})
    assert store.submit([Enrol(digest(n)) for n in (1, 2)]).result(10) == [True] * 2
    return digest(1)


def test_who_deletes_and_then_sends_has_sent(store: Store, one: bytes) -> None:
    told: list[Change] = [Put(one, "c", b"old"), Withdraw(one), Put(one, "c", b"new")]
    assert done(store, told) == [True] * 3
    assert store.read(one) == b"new"
    assert done(store, [Put(one, "c", b"newer"), Withdraw(one)]) == [True] * 2
    assert store.read(one) is None


def test_who_leaves_is_not_enrolled_for_what_comes_after(store: Store, one: bytes) -> None:
    late = Put(one, "c", b"y", Said(7))
    told: list[Change] = [Put(one, "c", b"x"), Forget(one), late, Forget(one)]
    assert done(store, told) == [True, True, False, False]
    assert not store.is_enrolled(one)
    # And what was refused was not said: the slot is still free for other tags.
    assert done(store, [Put(digest(2), "c", b"z", Said(7, b"other"))]) == [True]


def test_what_was_said_first_binds_within_a_transaction_too(store: Store, one: bytes) -> None:
    two = digest(2)
    told: list[Change] = [
        Put(one, "c", b"a", Said(5)),
        Put(two, "c", b"b", Said(5, b"other")),
        Put(two, "c", b"c", Said(5)),
        Withdraw(two),
        Put(two, "c", b"d", Said(5, b"other")),
        Put(one, "c", b"e", Said(6)),
    ]
    assert done(store, told) == [True, None, True, True, None, True]
    assert (store.read(one), store.read(two)) == (b"e", None)
    # They change places; and a third's report of a slot gives way.
    assert done(store, [Put(two, "c", b"f", Said(6)), Put(one, "c", b"g", Said(5))]) == [True] * 2
    assert (store.read(one), store.read(two)) == (b"g", b"f")
    assert done(store, [Put(one, "c", b"h", Said(6)), Put(two, "c", b"i", Said(5))]) == [True] * 2
    assert (store.read(one), store.read(two)) == (b"h", b"i")
    assert store.submit([Enrol(digest(3)), Put(digest(3), "c", b"j", Said(6))]).result(10)
    assert [store.read(digest(n)) for n in (1, 2, 3)] == [None, b"i", b"j"]


def test_one_bad_job_fails_alone(store: Store, one: bytes) -> None:
    with together(store):
        good = store.submit([Put(one, "c", b"good")])
        bad = store.submit([Put(digest(2), "no such collection", b"bad")])
        also = store.submit([Enrol(digest(4))])
    assert good.result(10) == also.result(10) == [True]
    with pytest.raises(IntegrityError):
        bad.result(10)
    assert (store.read(one), store.read(digest(2))) == (b"good", None)
    assert store.is_enrolled(digest(4))


def test_tables_of_the_first_version_become_these(tmp_path: Path) -> None:
    path = tmp_path / "first.db"
    store = Store(str(path))
    store.add_collection("c", {})
    store.submit([Enrol(digest(1)), Put(digest(1), "c", b"old")]).result(10)
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "DROP INDEX one_report_a_slot; ALTER TABLE reports DROP COLUMN slot;"
            "UPDATE about SET value = '1' WHERE name = 'version'"
        )
    for _ in range(2):
        store = Store(str(path))
        assert store.read(digest(1)) == b"old"
        assert store.submit([Put(digest(1), "c", b"old", Said(1))]).result(10) == [True]
        store.close()
