"""`discreet verify`: check who published a release's file."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import _console, _own_ratings
from discreet.release import load
from discreet.release import verify as verify_file


def verify(
    file: _own_ratings.ReleaseFile,
    public_key: Annotated[
        str, typer.Option(help="The publisher's key, 64 hexadecimal digits, as they made it known.")
    ],
) -> None:
    """Check that the owner of a key signed this very file, and that it is undamaged."""
    made = verify_file(file, public_key)
    release = load(file, verify=True)
    _console.say(f"signed with {made.public_key}\n")
    _console.say(str(release.guarantee))
