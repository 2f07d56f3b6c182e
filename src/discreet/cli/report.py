"""`discreet report`: a page about a release that a privacy officer can file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import _console
from discreet.cli._outputs import Overwrite
from discreet.privacy.ledger import Ledger
from discreet.release import load
from discreet.report import report as write_report


def report(
    release: Annotated[Path, typer.Argument(help="The file of a release.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The page to write: an .html file.")
    ] = Path("report.html"),
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="The ledger that paid for the release: shows what is spent and left, and checks "
            "that it paid."
        ),
    ] = None,
    audit: Annotated[
        list[Path] | None,
        typer.Option("--audit", help="The output of discreet audit --json; repeatable."),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a page about a release: its guarantee and limits, its cost, and who can do what.

    The page loads nothing from the network and can be printed. Ledgers are only read. The exit
    code is 1 if the ledger did not pay for this file.
    """
    book = None if ledger is None else Ledger.open(ledger)
    write_report(release, output, ledger=book, audits=audit or (), overwrite=overwrite)
    _console.say(f"{output}: print it to PDF from any browser")
    if book is not None:
        found = load(release, verify=True)
        if not book.pair(found.guarantee, found.digest()).is_paid:
            _console.note(
                f"Warning: {ledger} did not pay for {release}; the page says what differs."
            )
            raise typer.Exit(1)
