"""Kernels and modules compile once, and not once per process.

On a fresh clone several processes of one test run need the same kernels at the same time. numba
looks into its cache, compiles, and writes the cache, without asking whether another process is
compiling the same. Here a file lock per kernel makes the others wait and then read the cache. The
same lock lets one process import all modules first, whose byte code the others then read.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numba.core.caching import NullCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

_FOLDER = Path(tempfile.gettempdir()) / "discreet-compile-locks"


def install() -> None:
    """Make every cached kernel of this process wait for its turn to compile."""
    plain = Dispatcher.compile
    held: set[Any] = set()

    def compile_once(self: Any, sig: Any) -> Any:
        # numba's own lock first: another thread of this process may hold it and want ours.
        with global_compiler_lock:
            if isinstance(self._cache, NullCache) or self.py_func in held:
                return plain(self, sig)
            held.add(self.py_func)
            try:
                code = self.py_func.__code__
                with alone(f"{code.co_filename}:{code.co_firstlineno}"):
                    return plain(self, sig)
            finally:
                held.discard(self.py_func)

    Dispatcher.compile = compile_once  # type: ignore[method-assign]


@contextlib.contextmanager
def alone(what: str) -> Iterator[None]:
    """No other process does this. Kernels call each other in no circle."""
    name = hashlib.sha256(what.encode()).hexdigest()[:24]
    _FOLDER.mkdir(exist_ok=True)
    with (_FOLDER / name).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
