"""Writes docs/reference/commands.md from the commands, so that no option goes undocumented.

python docs/make_commands.py          write it
python docs/make_commands.py --check  say whether it is up to date
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from discreet.cli._app import app

PAGE = Path(__file__).parent / "reference" / "commands.md"
HEAD = """# Commands

Every command prints tables for people and, where a script would read it, JSON with `--json`. An
error is one line on standard error. `make docs` writes this page from the commands themselves.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | the answer is no: a claim is refuted, no charge paid for a file, releases do not fit |
| 2 | wrong input or usage, or something that cannot be read or written |
| 3 | the ledger has no room; nothing was charged, nothing was drawn |
| 4 | the period is in the series already; nothing was charged, nothing was drawn |
| 130, 141 | interrupted; nobody reads the output |
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_sections(typer.main.get_command(app), "discreet")])


def _sections(command: Any, name: str) -> Iterator[str]:
    if hasattr(command, "list_commands"):
        for child in command.list_commands(None):
            yield from _sections(command.get_command(None, child), f"{name} {child}")
        return
    yield f"## `{name}`\n\n{_sentence(command.help)}\n"
    rows = [_row(parameter) for parameter in command.params if parameter.name != "help"]
    if rows:
        yield "\n".join(["| option | meaning |", "|---|---|", *rows, ""])


def _row(parameter: Any) -> str:
    names = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    if parameter.param_type_name == "argument":
        names = f"`{parameter.name.upper()}`"
    meaning = _sentence(getattr(parameter, "help", None) or "").replace("|", "\\|")
    if parameter.required:
        meaning += " Required."
    elif parameter.default not in (None, False, (), []) and not callable(parameter.default):
        meaning += f" Default: `{parameter.default}`."
    return f"| {names} | {meaning} |"


def _sentence(text: str | None) -> str:
    return " ".join((text or "").split())


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
