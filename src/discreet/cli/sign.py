"""`discreet sign`: say who published a release's file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import _console, _own_ratings
from discreet.release import load, signature_path
from discreet.release import sign as sign_file


def sign(
    file: _own_ratings.ReleaseFile,
    key: Annotated[
        Path, typer.Option(help="The file of your private key (Ed25519, PEM); made if not there.")
    ],
) -> None:
    """Sign a release's file with Ed25519; the signature is written beside it.

    Make the public key known where people trust it to be yours: discreet verify asks for it, and
    the page's privacy panel shows it.
    """
    load(file, verify=True)  # nobody should vouch for a damaged file
    is_new = not key.exists()
    made = sign_file(file, key)
    if is_new:
        _console.note(f"made a private key in {key}: keep it safe, and a copy elsewhere")
    _console.note(f"wrote {signature_path(file)}")
    _console.say(f"public key {made.public_key}")
