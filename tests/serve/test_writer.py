"""The thread that writes outlives whoever goes away while it does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from discreet.serve import _changes
from discreet.serve._store import Enrol, Store


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
