"""The command line: one thin module a command.

Nothing is loaded here, so that an interrupt is handled even while the commands load.
"""

from __future__ import annotations

import sys

# The exit code of a program that Ctrl-C ended, as shells have it: 128 + SIGINT.
INTERRUPTED = 130


def main() -> None:
    """Run the command line; a known error is one line on standard error, exit code 2 to 4."""
    try:
        from discreet.cli._app import run

        code = run()
    except KeyboardInterrupt:
        code = INTERRUPTED
    if code == INTERRUPTED:
        sys.stderr.write("discreet: interrupted; nothing was left half-written\n")
    sys.exit(code)
