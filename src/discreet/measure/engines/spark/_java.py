"""Java, as Spark will look for it: there, and new enough, before Spark starts."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from discreet.domain import InputError

_OLDEST = 17
_WAIT_SECONDS = 60
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def check_java() -> None:
    """Ask the Java that Spark would start for its version.

    Raises:
        InputError: There is none where JAVA_HOME or the PATH says, it does not run, or it is old.
    """
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if program is None:
        raise InputError(
            f"Spark needs Java {_OLDEST} or newer: there is no java on the PATH, and JAVA_HOME is "
            "not set"
        )
    if not os.access(program, os.X_OK) or Path(program).is_dir():
        raise InputError(
            f"Spark needs Java {_OLDEST} or newer: JAVA_HOME is '{home}', and there is no program "
            "bin/java in it"
        )
    version = _version(program)
    if version < _OLDEST:
        raise InputError(f"Spark needs Java {_OLDEST} or newer: '{program}' is Java {version}")


def _version(program: str) -> int:
    command = [program, "-version"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_WAIT_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        said = None
    else:
        said = _VERSION.search(done.stderr + done.stdout)
    if said is None:
        raise InputError(
            f"Spark needs Java {_OLDEST} or newer: '{program} -version' does not say which it is"
        )
    return int(said[1])
