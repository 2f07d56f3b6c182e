"""Progress bars on standard error, for whoever is watching."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from discreet.cli import _console


@contextmanager
def stages() -> Iterator[Callable[[str, int, int | None], None]]:
    """Yields what to call with a stage's name, how much of it is done and how much there is.

    Each stage gets a bar of its own, gone in the end. Nothing appears where standard error is not
    a terminal.
    """
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=_console.err,
        transient=True,
        disable=not _console.err.is_terminal,
    ) as shown:
        bars: dict[str, TaskID] = {}

        def advance(stage: str, done: int, total: int | None) -> None:
            if stage not in bars:
                bars[stage] = shown.add_task(stage, total=total)
            shown.update(bars[stage], completed=done, total=total)

        yield advance


@contextmanager
def bar(stage: str) -> Iterator[Callable[[int, int], None]]:
    """Yields what to call with how much is done and how much there is."""
    with stages() as progress:
        progress(stage, 0, None)
        yield lambda done, total: progress(stage, done, total)
