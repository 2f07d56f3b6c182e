"""The command line: one thin module a command.

Nothing is loaded here, so that an interrupt is handled even while the commands load.
"""

from __future__ import annotations

import sys

# The exit code of a program that Ctrl-C ended, as shells have it: 128 + SIGINT.
INTERRUPTED = 130


# What numba tries to import; SciPy's linear algebra needs it itself.
_PROBED = "scipy.linalg.cython_blas"


class _ProbeEnd:
    """Lets everything be imported again as soon as somebody does want SciPy's linear algebra."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "scipy.linalg" and sys.modules.get(_PROBED) is None:
            sys.modules.pop(_PROBED, None)


def main() -> None:
    """Run the command line; a known error is one line on standard error, exit code 2 to 4."""
    # Numba loads SciPy's linear algebra to see whether kernels could call it, and ours never do.
    # Only here, since another program's kernels may.
    sys.modules.setdefault(_PROBED, None)  # type: ignore[arg-type]
    sys.meta_path.insert(0, _ProbeEnd())
    try:
        from discreet.cli._app import run

        code = run()
    except KeyboardInterrupt:
        code = INTERRUPTED
    if code == INTERRUPTED:
        sys.stderr.write("discreet: interrupted; nothing was left half-written\n")
    sys.exit(code)
