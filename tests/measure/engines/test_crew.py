"""Pieces of work on threads: each done once, errors and Ctrl-C end it, nothing stays behind."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from discreet.measure.engines.local._crew import run_pieces


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = threading.active_count()
    yield
    assert threading.active_count() == before


@pytest.mark.parametrize(("pieces", "threads"), [(0, 3), (1, 3), (50, 1), (50, 4)])
def test_every_piece_once(pieces: int, threads: int) -> None:
    done: list[int] = []
    hired: list[int] = []
    told: list[int] = []

    def hire():
        hired.append(threading.get_ident())

        def piece(number: int) -> int:
            done.append(number)
            return number

        return piece

    run_pieces(hire, pieces, threads, told.append)
    assert sorted(done) == sorted(told) == list(range(pieces))
    assert len(hired) <= min(pieces, threads)
    assert threading.get_ident() not in hired


@pytest.mark.parametrize("where", ["hire", "piece", "report"])
def test_an_error_ends_it(where: str) -> None:
    done: list[int] = []

    def fail(at: str) -> None:
        if at == where:
            raise ValueError(at)

    def hire():
        fail("hire")

        def piece(number: int) -> int:
            fail("piece")
            done.append(number)
            return 1

        return piece

    with pytest.raises(ValueError, match=where):
        run_pieces(hire, 10**9, 2, lambda _: fail("report"))
    assert len(done) < 10**9


def test_ctrl_c_ends_it() -> None:
    def piece(number: int) -> int:
        if number == 20:
            os.kill(os.getpid(), signal.SIGINT)
        return 1

    with pytest.raises(KeyboardInterrupt):
        run_pieces(lambda: piece, 10**9, 2, lambda _: None)
