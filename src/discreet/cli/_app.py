"""All commands by name, each loaded when it is used, and how errors are shown.

Listing the commands loads none of them: `discreet --help` needs neither numpy nor numba.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from discreet import __version__
from discreet.cli import INTERRUPTED
from discreet.domain import DiscreetError, Hint, InputError, Scale
from discreet.domain.errors import BudgetExceeded, PeriodExists, printable

# The exit code of wrong input and wrong usage, as argparse and click have it.
_WRONG = 2
# Exit codes of refusals that a script can act on: wait for another budget, go on with the next
# period. docs/make_commands.py has the whole table.
_CODES: dict[type[Exception], int] = {BudgetExceeded: 3, PeriodExists: 4}

_OUT_OF_MEMORY = (
    "there is not enough memory for this; use a machine with more, fewer items, or --method "
    "refined or lists, whose matrices stay small"
)

# What Typer says of a value that it cannot convert, and what a reader needs to know of it.
_TYPERS_WORDS = {
    "Value error, ": "",
    "Input should be a valid number, unable to parse string as a number": "write a number",
    "Input should be a valid integer, unable to parse string as an integer": "write a whole number",
}

# In the order of `discreet --help`: the module, which defines either a function of its own name or
# a group of commands called `app`, and a line for the list. The command's own help is longer.
_COMMANDS = {
    "demo": ("demo", "See everything once, on synthetic data."),
    "fit": ("fit", "Make a private release from ratings."),
    "recommend": ("recommend", "Recommend items from a release."),
    "similar": ("similar", "List the items most like one, from a release."),
    "predict": ("predict", "Predict one person's ratings from a release."),
    "export": ("export", "Write a release's vectors, or a model card."),
    "inspect": ("inspect", "Check a release and show its guarantee."),
    "sign": ("sign", "Sign a release's file."),
    "verify": ("verify", "Check who signed a release's file."),
    "report": ("report", "Write a privacy report about a release."),
    "evaluate": ("evaluate", "Measure how good private releases would be."),
    "choose-epsilon": ("choose_epsilon", "Choose epsilon by attacking releases."),
    "attack": ("attack", "Attack releases, with and without protection."),
    "audit": ("audit", "Search for violations of claimed guarantees."),
    "plant-canaries": ("plant_canaries", "Prepare ratings for auditing a release."),
    "serve": ("serve", "Publish a release over HTTP; collect reports."),
    "client": ("client", "Take part in a service's collection."),
    "authority": ("authority", "Manage the members of closed clusters."),
    "data": ("data", "List, make, fetch and describe rating data."),
    "series": ("series", "Refresh a release period by period."),
    "ledger": ("ledger", "Keep account of what releases have cost."),
}


class _LazyGroup(typer.core.TyperGroup):
    """A group that imports a command's module when the command or its help is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        if cmd_name not in self.commands:
            self.commands[cmd_name] = _load(cmd_name)
        return self.commands[cmd_name]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that was named, or an error with the one that was meant."""
        # Typer suggests names among the commands that are loaded, and here none is yet.
        meant = get_close_matches(args[0], _COMMANDS, n=1)
        if args[0] not in _COMMANDS and meant:
            ctx.fail(f"No such command '{args[0]}'. Did you mean '{meant[0]}'?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])


def _load(name: str) -> Any:
    home = _COMMANDS[name][0]
    module = import_module(f"discreet.cli.{home}")
    parent = typer.Typer(add_completion=False, rich_markup_mode=None)
    if hasattr(module, "app"):
        parent.add_typer(module.app, name=name)
    else:
        parent.command(name)(getattr(module, home))
    return typer.main.get_group(parent).commands[name]


app = typer.Typer(
    name="discreet",
    cls=_LazyGroup,
    help="Recommendations that keep every rating private.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discreet {__version__}")
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
    except typer.Abort:
        return INTERRUPTED
    except Exception as error:
        message = _message(error)
        if message is None:
            raise
        typer.secho(printable(message), fg="red", err=True)
        return _CODES.get(type(error), _WRONG)


def _message(error: Exception) -> str | None:
    """What to print of an error; None for one that nobody expected."""
    # Typer's own errors: their class changes with typer's version, this method stays.
    if hasattr(error, "format_message"):
        return _usage(error)
    if isinstance(error, InputError):
        return f"discreet: {error.spelled(as_option)}"
    if isinstance(error, MemoryError):
        return f"discreet: {_OUT_OF_MEMORY}"
    return f"discreet: {error}" if isinstance(error, DiscreetError) else None


def as_option(hint: Hint) -> str:
    """A hint as an option of the command line: `--scale 1..5` for `scale=(1, 5)`."""
    option = f"--{hint.argument.replace('_', '-')}"
    match hint.value:
        case True:
            return option
        case tuple() as numbers:
            return f"{option} {Scale(*numbers).spelling}"
        case Mapping() as columns:
            places = (f"{role}={'' if at is None else at}" for role, at in columns.items())
            return f"{option} {shlex.quote(','.join(places))}"
    return f"{option} {shlex.quote(str(hint.value))}"


def _usage(error: Any) -> str:
    message = error.format_message()
    for typers, ours in _TYPERS_WORDS.items():
        message = message.replace(typers, ours)
    if message.startswith("Usage:"):  # the help, where no command was named
        return str(message)
    message = " ".join(message.split())  # a missing option's choices come in lines of their own
    command = error.ctx.command_path if getattr(error, "ctx", None) else "discreet"
    see = " See" if message.endswith("?") else "; see"
    return f"discreet: {message[:1].lower()}{message[1:].rstrip('.')}{see} {command} --help"
