"""How the command line speaks: tables and progress for people, JSON for scripts."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console

from discreet.domain.files import spell_size as spell_size

_NOBODY_READS = 141
"""As the shell has it; 1 would say that a claim was refuted."""


class _Console(Console):
    """Ends with an exit code of its own where nobody reads on, as in `| head`."""

    def on_broken_pipe(self) -> None:
        """See `Console`."""
        try:
            super().on_broken_pipe()
        except SystemExit:
            raise SystemExit(_NOBODY_READS) from None


out = _Console(highlight=False)
err = _Console(stderr=True, highlight=False)


def complain(message: str) -> None:
    """One line on standard error."""
    err.print(f"discreet: {message}", style="red", markup=False, soft_wrap=True)


def warn(message: str) -> None:
    """One line on standard error about what goes on all the same."""
    err.print(f"discreet: warning: {message}", style="yellow", markup=False, soft_wrap=True)


def note(message: str) -> None:
    """One quiet line on standard error, so that standard output stays clean for `--json`."""
    err.print(message, style="dim", markup=False, soft_wrap=True)


def say(text: str) -> None:
    """Text on standard output as it is, never wrapped."""
    out.print(text, markup=False, soft_wrap=True)


def write_json(data: Any) -> None:
    """One JSON document on standard output."""
    json.dump(data, sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")
