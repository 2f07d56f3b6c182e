"""The command line: one thin module a command."""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from discreet import __version__
from discreet.cli import _console, data, demo, evaluate, fit, inspect, ledger, predict, recommend
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
app.command()(fit.fit)
app.command()(recommend.recommend)
app.command()(predict.predict)
app.command()(inspect.inspect)
app.command()(evaluate.evaluate)
app.add_typer(data.app, name="data")
app.add_typer(ledger.app, name="ledger")


_INTERRUPTED = 130


def _print_version(wanted: bool) -> None:
    if wanted:
        _console.say(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Recommendations that keep every rating private."""


def main() -> None:
    """Run the command line; a known error is one line on standard error and exit code 2."""
    try:
        app()
    except DiscreetError as error:
        _console.complain(str(error))
        sys.exit(2)
    except KeyboardInterrupt:
        _interrupted()
    except SystemExit as ended:
        if ended.code == _INTERRUPTED:  # what typer makes of an interrupt
            _interrupted()
        raise
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)


def _interrupted() -> NoReturn:
    _console.complain("interrupted; nothing was left half-written")
    sys.exit(_INTERRUPTED)
