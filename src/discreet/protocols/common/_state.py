"""The client's own file: frozen answers, fakes, keys, capabilities. Nobody else may read it."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.domain import InputError
from discreet.domain.files import whole_file
from discreet.protocols.common._lock import alone

_VERSION = 1
_FAMILIES = {"open-clusters": "clusters", "closed-clusters": "clusters"}
"""Protocols that share a file: they share what was made up, and two files would have two sets."""


class StateFile:
    """One JSON object on disk, readable by its owner alone, written whole or not at all.

    Args:
        path: Where; it need not exist yet.
        kind: The protocol's name, so that no other protocol's file is taken for its own.
    """

    def __init__(self, path: str | os.PathLike[str], kind: str) -> None:
        self.path, self.kind = Path(path), _FAMILIES.get(kind, kind)

    def read(self) -> dict[str, Any]:
        """The content; empty if there is no file yet.

        Raises:
            InputError: The file is not this protocol's, or damaged, or others may read it.
        """
        try:
            mode = self.path.stat().st_mode
            told = json.loads(self.path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise InputError("cannot be read as a client's state", path=self.path) from error
        if stat.S_IMODE(mode) & 0o077:
            raise InputError(
                "others may read this file, which holds secrets: chmod 600", path=self.path
            )
        known = isinstance(told, dict) and told.get("version") == _VERSION
        if not known or not isinstance(told.get("state"), dict):
            raise InputError(f"is no state of a '{self.kind}' client", path=self.path)
        if told.get("kind") != self.kind:
            raise InputError(
                f"is no state of a '{self.kind}' client but of another protocol's; "
                "each needs a file of its own",
                path=self.path,
            )
        return dict(told["state"])

    def write(self, state: dict[str, Any]) -> None:
        """Replace the content; it is on disk when this returns."""
        text = json.dumps({"version": _VERSION, "kind": self.kind, "state": state})
        with whole_file(self.path, private=True) as temporary:
            temporary.write_text(text, "utf-8")

    @contextmanager
    def change(self) -> Iterator[dict[str, Any]]:
        """Read, let the caller change the content, write; nothing is written if that fails.

        Whoever else wants to change the file waits meanwhile, in other processes too; so a block
        must not change it again.
        """
        with alone(self.path):
            state = self.read()
            before = json.dumps(state)
            yield state
            if json.dumps(state) != before:
                self.write(state)
