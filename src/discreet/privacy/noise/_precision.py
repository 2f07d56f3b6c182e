"""Exact arithmetic, one thread at a time: mpmath keeps its precision in one place for all."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import mpmath

_lock = threading.RLock()


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Compute with so many bits inside the block; other threads wait."""
    with _lock, mpmath.workprec(bits):
        yield
