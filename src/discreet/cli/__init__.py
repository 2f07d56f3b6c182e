"""The command line: one thin module a command.

Nothing is loaded here, so that an interrupt is met even while the commands load.
"""

from __future__ import annotations

import sys
from typing import Any

INTERRUPTED = 130


def main() -> None:
    """Run the command line; a known error is one line on standard error and exit code 2."""
    try:
        from discreet.cli._app import run

        code = run()
    except KeyboardInterrupt:
        code = INTERRUPTED
    if code == INTERRUPTED:
        sys.stderr.write("discreet: interrupted; nothing was left half-written\n")
    sys.exit(code)


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'discreet.cli' has no attribute '{name}'")
    from discreet.cli._app import app

    return app
