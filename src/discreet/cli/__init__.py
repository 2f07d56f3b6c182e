"""The command line: one thin module a command."""

from __future__ import annotations

import sys

import typer

from discreet.cli import _console, data, demo, ledger
from discreet.domain import DiscreetError

app = typer.Typer(
    name="discreet",
    help="Recommendations that keep every rating private.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(demo.demo)
app.add_typer(data.app, name="data")
app.add_typer(ledger.app, name="ledger")


def main() -> None:
    """Run the command line; a known error is one line on standard error and exit code 2."""
    try:
        app()
    except DiscreetError as error:
        _console.complain(str(error))
        sys.exit(2)
    except KeyboardInterrupt:
        _console.complain("interrupted; nothing was left half-written")
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
