"""How the command line speaks: tables and progress for people, JSON for scripts."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from discreet.domain.errors import printable
from discreet.domain.files import spell_size as spell_size

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

# The exit code where nobody reads the output, as shells have it (128 + SIGPIPE); 1 would say that
# an audit refuted a claim.
_BROKEN_PIPE = 141
# Seconds between lines on progress where there is no terminal; chosen by hand: a log of hours stays
# short, and nobody wonders for long whether anything happens.
_QUIET_SECONDS = 60.0


class _Console(Console):
    """Ends with an exit code of its own where nobody reads on, as in `| head`."""

    def on_broken_pipe(self) -> None:
        """See `Console`."""
        try:
            super().on_broken_pipe()
        except SystemExit:
            raise SystemExit(_BROKEN_PIPE) from None


out = _Console(highlight=False)
err = _Console(stderr=True, highlight=False)


def warn(message: str) -> None:
    """One line on standard error about something that does not stop the command."""
    line = f"discreet: warning: {printable(message)}"
    err.print(line, style="yellow", markup=False, soft_wrap=True)


def note(message: str) -> None:
    """One quiet line on standard error, so that standard output stays clean for `--json`."""
    err.print(printable(message), style="dim", markup=False, soft_wrap=True)


def say(text: str) -> None:
    """Text on standard output, never wrapped."""
    out.print(printable(text), markup=False, soft_wrap=True)


def write_json(data: Any) -> None:
    """One JSON document on standard output."""
    json.dump(data, sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")


def table(
    left: Sequence[str],
    right: Sequence[str] = (),
    rows: Iterable[Sequence[str]] = (),
    *,
    title: str | None = None,
    wraps: bool = False,
) -> Table:
    """A plain table without lines; cells are shown as text, whatever they contain.

    Args:
        left: Headings of columns that are aligned to the left; they come first.
        right: Headings of columns that are aligned to the right. Without any heading at all the
            table has no header.
        rows: The cells.
        title: A line above the table.
        wraps: Whether cells may be broken where the terminal is narrow; times never are.
    """
    made = Table(
        title=title, title_justify="left", box=None, pad_edge=False,
        show_header=any((*left, *right)),
    )  # fmt: skip
    for heading in left:
        made.add_column(heading, no_wrap=not wraps or heading.startswith("time"))
    for heading in right:
        made.add_column(heading, justify="right", no_wrap=not wraps)
    for row in rows:
        made.add_row(*(Text(printable(cell)) for cell in row))
    return made


@contextmanager
def stages() -> Iterator[Callable[[str, int, int | None], None]]:
    """Progress bars on standard error, one for each stage of the work.

    Yields what to call with a stage's name, how much of it is done and how much there is. The bars
    disappear in the end. Where standard error is not a terminal, there is a line a minute instead.
    """
    if not err.is_terminal:
        yield _say_at_times()
        return
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=err,
        transient=True,
    ) as shown:
        bars: dict[str, TaskID] = {}

        def advance(stage: str, done: int, total: int | None) -> None:
            if stage not in bars:
                bars[stage] = shown.add_task(stage, total=total)
            shown.update(bars[stage], completed=done, total=total)

        yield advance


def _say_at_times() -> Callable[[str, int, int | None], None]:
    said = time.monotonic()

    def advance(stage: str, done: int, total: int | None) -> None:
        nonlocal said
        if time.monotonic() >= said + _QUIET_SECONDS:
            said = time.monotonic()
            note(f"{stage}: {done / total:.0%}" if total else stage)

    return advance


@contextmanager
def bar(stage: str) -> Iterator[Callable[[int, int], None]]:
    """One progress bar: yields what to call with how much is done and how much there is."""
    with stages() as progress:
        progress(stage, 0, None)
        yield lambda done, total: progress(stage, done, total)
