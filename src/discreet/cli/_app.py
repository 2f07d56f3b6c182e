"""The commands together, and how their errors are told."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from discreet import __version__
from discreet.cli import (
    INTERRUPTED,
    _console,
    _wording,
    attack,
    audit,
    authority,
    choose_epsilon,
    client,
    data,
    demo,
    evaluate,
    fit,
    inspect,
    ledger,
    predict,
    recommend,
    report,
    serve,
)
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
app.command()(report.report)
app.command()(evaluate.evaluate)
app.command()(choose_epsilon.choose_epsilon)
app.command()(attack.attack)
app.command()(audit.audit)
app.command()(audit.plant_canaries)
app.command()(serve.serve)
app.add_typer(client.app, name="client")
app.add_typer(authority.app, name="authority")
app.add_typer(data.app, name="data")
app.add_typer(ledger.app, name="ledger")


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


def run() -> int:
    """Run the command that the arguments name: the exit code."""
    try:
        return app(prog_name="discreet", standalone_mode=False) or 0
    except DiscreetError as error:
        _console.complain(_wording.in_options(str(error)))
        return 2
    except typer.Abort:
        return INTERRUPTED
    except Exception as error:
        # The class of typer's own errors changes with its version; this method stays.
        if not hasattr(error, "format_message"):
            raise
        _complain_of_usage(error)
        return 2


def _complain_of_usage(error: Any) -> None:
    message = error.format_message().replace("Value error, ", "")
    if "\n" in message:  # the help, where no command was named
        _console.err.print(message, markup=False, soft_wrap=True)
        return
    command = error.ctx.command_path if getattr(error, "ctx", None) else "discreet"
    _console.complain(f"{message[:1].lower()}{message[1:].rstrip('.')}; see {command} --help")
