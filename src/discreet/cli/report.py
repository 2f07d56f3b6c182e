"""`discreet report`: a page about a release that a privacy officer can file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import _console
from discreet.cli._console import Json
from discreet.cli._outputs import Overwrite, check_new
from discreet.domain import InputError
from discreet.domain.files import whole_file
from discreet.privacy.ledger import Ledger
from discreet.release import load
from discreet.report import as_yaml, describe_release, registry_entry
from discreet.report import report as write_report


def report(
    release: Annotated[Path, typer.Argument(help="The file of a release.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The page to write: an .html file. [default: report.html]"
        ),
    ] = None,
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
    registry: Annotated[
        Path | None,
        typer.Option(
            help="Write an entry for the public registry of deployments: a .yaml file, with blanks "
            "marked."
        ),
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Write a page about a release: its guarantee and limits, its cost, and who can do what.

    The page loads nothing from the network and can be printed. Ledgers are only read. With --json
    or --registry no page is written unless --output names one. The exit code is 1 if the ledger
    did not pay for this file.
    """
    book = None if ledger is None else Ledger.open(ledger)
    if registry is not None:
        _write_entry(release, registry, overwrite)
    if output is not None or not (json or registry):
        page = Path("report.html") if output is None else output
        write_report(release, page, ledger=book, audits=audit or (), overwrite=overwrite)
        (_console.note if json else _console.say)(f"{page}: print it to PDF from any browser")
    if json:
        _console.write_json(describe_release(release, ledger=book))
    if book is not None:
        found = load(release, verify=True)
        if not book.pair(found.guarantee, found.digest()).is_paid:
            _console.note(
                f"Warning: {ledger} did not pay for {release}; the page says what differs."
            )
            raise typer.Exit(1)


def _write_entry(release: Path, path: Path, overwrite: bool) -> None:
    if path.suffix.lower() not in (".yaml", ".yml"):
        raise InputError("an entry of the registry is a .yaml file", path=path)
    check_new(path, overwrite)
    found = load(release, verify=True)
    with whole_file(path) as temporary:
        temporary.write_text(as_yaml(registry_entry(found)), encoding="utf-8")
    _console.note(
        f"{path}: fill in what is marked, then propose it at "
        "github.com/opendp/deployments-registry-data"
    )
