"""Numbered pieces of work on Python threads, for kernels that release the interpreter lock."""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable

_WAKE_SECONDS = 0.2


def run_pieces(
    hire: Callable[[], Callable[[int], int]],
    pieces: int,
    threads: int,
    report: Callable[[int], None],
) -> None:
    """Do the pieces 0, 1, ... on several threads; the first error or Ctrl-C ends it.

    The calling thread only waits, so that Ctrl-C reaches it. However this returns, no thread of
    its own is left running.

    Args:
        hire: Called once on each thread; its result does the piece of a number, and returns how
            much was done.
        pieces: How many there are.
        threads: How many threads to use at most.
        report: Told in the calling thread how much each finished piece did.
    """
    results: queue.SimpleQueue[int | BaseException] = queue.SimpleQueue()
    numbers, stop = itertools.count(), threading.Event()

    def work() -> None:
        try:
            piece = hire()
            while not stop.is_set() and (number := next(numbers)) < pieces:
                results.put(piece(number))
        except BaseException as error:  # noqa: BLE001 - handed to the caller, who raises it
            results.put(error)

    crew = [threading.Thread(target=work, daemon=True) for _ in range(min(threads, pieces))]
    try:
        for member in crew:
            member.start()
        _collect(results, pieces, report)
    finally:
        stop.set()
        for member in crew:
            if member.ident is not None:
                member.join()


def _collect(
    results: queue.SimpleQueue[int | BaseException], pieces: int, report: Callable[[int], None]
) -> None:
    finished = 0
    while finished < pieces:
        try:
            result = results.get(timeout=_WAKE_SECONDS)
        except queue.Empty:
            continue
        if isinstance(result, BaseException):
            raise result
        finished += 1
        report(result)
