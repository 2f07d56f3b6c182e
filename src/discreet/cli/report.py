"""`discreet report`: a page about a release that a privacy officer can file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import _console
from discreet.cli._overwriting import Overwrite, check_new
from discreet.domain import InputError
from discreet.domain.files import whole_file

_Release = Annotated[Path, typer.Argument(help="A release's file.")]
_Output = Annotated[Path, typer.Option("--output", "-o", help="The page: an .html file.")]
_LedgerFile = Annotated[
    Path | None,
    typer.Option(help="The ledger that paid for it: what is spent and left, and whether it did."),
]
_Audits = Annotated[
    list[Path] | None,
    typer.Option("--audit", help="What discreet audit --json printed; may be told several times."),
]


def report(
    release: _Release,
    output: _Output = Path("report.html"),
    ledger: _LedgerFile = None,
    audit: _Audits = None,
    overwrite: Overwrite = False,
) -> None:
    """Write one page about a release: what it promises, what not, what was spent, who can do what.

    The page fetches nothing and prints well; ledgers are only read. Exit code 1: the ledger did
    not pay for this file.
    """
    # Imported where it is used: `discreet --help` stays quick.
    from discreet.privacy.ledger import Ledger
    from discreet.release import load
    from discreet.report import make_report, read_audits

    _check_output(output, overwrite)
    audits = read_audits(audit or [])
    book = None if ledger is None else Ledger.open(ledger)
    page = make_report(release, ledger=book, audits=audits)
    with whole_file(output) as temporary:
        temporary.write_text(page, encoding="utf-8")
    _console.say(f"{output}: print it to PDF from any browser")
    if book is not None:
        found = load(release, verify=True)
        if not book.pair(found.guarantee, found.digest()).is_paid:
            _console.note(
                f"Warning: {ledger} did not pay for {release}; the page says what differs."
            )
            raise typer.Exit(1)


def _check_output(output: Path, overwrite: bool) -> None:
    """Refuse to write over anything but an earlier report, and over that without being told."""
    from discreet.report import is_report

    if output.suffix.lower() not in (".html", ".htm"):
        raise InputError("a report is an .html file", path=output)
    if output.is_file() and not is_report(output):
        raise InputError("exists and is no report; choose another name", path=output)
    check_new(output, overwrite)
