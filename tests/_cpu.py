"""CPU seconds per test file: `pytest --cpu` prints them, slowest first.

Counted are user and system time of the test processes and of their children that have ended
(browsers, servers, Spark). Of these, `compiling` is what numba spent on kernels that no cache held,
in the test processes themselves.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator
from typing import Any

import pytest
from numba.core import event as numba_events


def _spent(*, with_children: bool = True) -> float:
    times = os.times()
    own = times.user + times.system
    return own + times.children_user + times.children_system if with_children else own


class CpuReport:
    """Attributes the CPU time of each process to the test file that it runs."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        # Who shares tests out counts itself alone: test processes report what they spent.
        is_worker = hasattr(config, "workerinput")
        self._with_children = is_worker or not config.getoption("numprocesses", None)
        self._seconds: dict[str, float] = defaultdict(float)
        self._compiling: dict[str, float] = defaultdict(float)
        self._file = "collection and imports"
        self._since = 0.0
        self._compiles = _CompileTime()
        numba_events.register("numba:compile", self._compiles)

    def _book(self, next_file: str) -> None:
        """Charge what was spent since the last call to the file that ran until now."""
        now = _spent(with_children=self._with_children)
        self._seconds[self._file] += now - self._since
        self._compiling[self._file] += self._compiles.taken()
        self._file, self._since = next_file, now

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._book(item.nodeid.partition("::")[0])
        return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        self._book("end")
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["cpu"] = (dict(self._seconds), dict(self._compiling))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A process of pytest-xdist has ended and sent what it measured."""
        seconds, compiling = node.workeroutput["cpu"]
        for file, spent in seconds.items():
            self._seconds[file] += spent
        for file, spent in compiling.items():
            self._compiling[file] += spent

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.section("CPU seconds (of them compiling)")
        for file, spent in sorted(self._seconds.items(), key=lambda row: -row[1]):
            terminalreporter.line(f"{spent:8.1f} {self._compiling[file]:8.1f}  {file}")
        total, compiling = sum(self._seconds.values()), sum(self._compiling.values())
        terminalreporter.line(f"{total:8.1f} {compiling:8.1f}  in all")


class _CompileTime(numba_events.Listener):
    """Listens to numba; a kernel that compiles another one counts once."""

    def __init__(self) -> None:
        self._depth = 0
        self._began = 0.0
        self._seconds = 0.0

    def on_start(self, event: object) -> None:
        self._depth += 1
        if self._depth == 1:
            self._began = _spent()

    def on_end(self, event: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._seconds += _spent() - self._began

    def taken(self) -> float:
        """What was spent since the last call."""
        taken, self._seconds = self._seconds, 0.0
        return taken
