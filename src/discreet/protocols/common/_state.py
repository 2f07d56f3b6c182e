"""The client's own file: frozen answers, fakes, keys, capabilities, and the person's limit."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.domain import InputError
from discreet.domain.files import whole_file


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold the lock beside a file while the block runs; others wait.

    The lock ends with the process at the latest. The empty file stays: removing it would let two
    processes hold locks on two files of one name.

    Raises:
        InputError: The folder cannot be written.
    """
    # By links, too, it is one file: what is written replaces what they lead to.
    path = path.resolve()
    beside = path.with_name(f"{path.name}.lock")
    try:
        handle = os.open(beside, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise InputError(f"cannot be locked: {error.strerror}", path=path) from error
    try:
        _wait(handle)
        yield
    finally:
        os.close(handle)


if os.name == "nt":  # pragma: no cover

    def _wait(handle: int) -> None:
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]

else:

    def _wait(handle: int) -> None:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX)


# Of the file: a change of its form is a new number.
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
            content = json.loads(self.path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise InputError("cannot be read as a client's state", path=self.path) from error
        if stat.S_IMODE(mode) & 0o077:
            raise InputError(
                "others may read this file, which holds secrets: chmod 600", path=self.path
            )
        known = isinstance(content, dict) and content.get("version") == _VERSION
        if not known or not isinstance(content.get("state"), dict):
            raise InputError(f"is not the state of a '{self.kind}' client", path=self.path)
        if content.get("kind") != self.kind:
            raise InputError(
                f"is the state of another protocol's client, not of '{self.kind}'; "
                "each needs a file of its own",
                path=self.path,
            )
        return dict(content["state"])

    def write(self, state: dict[str, Any]) -> None:
        """Replace the content; it is on disk when this returns."""
        text = json.dumps({"version": _VERSION, "kind": self.kind, "state": state})
        with whole_file(self.path, private=True) as temporary:
            temporary.write_text(text, "utf-8")

    @contextmanager
    def change(self) -> Iterator[dict[str, Any]]:
        """Read, let the caller change the content, write; nothing is written if that fails.

        Other changes of the file wait meanwhile, in other processes too; so a block must not
        change it again.
        """
        with alone(self.path):
            state = self.read()
            before = json.dumps(state)
            yield state
            if json.dumps(state) != before:
                self.write(state)


# Relative; so that sums of epsilons may be rounded up to the limit itself.
_SLACK = 1e-9


class Limit:
    """What all reports together may cost.

    The file remembers a limit from `remember` on, drawn or refused, until another one is set.

    Args:
        file: The person's own.
        value: The most epsilon; if absent, the remembered limit holds, if there is one.

    Raises:
        InputError: It is not an epsilon.
    """

    def __init__(self, file: StateFile, value: float | None = None) -> None:
        if value is not None and not _is_epsilon(value):
            raise InputError(f"a limit is an epsilon from 0 on, not {value!r}")
        self._file, self._given = file, value

    @property
    def value(self) -> float | None:
        """The limit given, or else the remembered one."""
        return self._given if self._given is not None else self._remembered(self._file.read())

    def remember(self) -> None:
        """On disk before anything else: a report that is refused must not forget why."""
        if self._given is not None:
            with self._file.change() as state:
                state["limit"] = self._given

    def allows(self, spent: float, more: float) -> bool:
        """Whether `more` may still be spent."""
        return _is_within(self.value, spent + more)

    def check(self, state: Mapping[str, Any], spent: float, more: float) -> None:
        """Refuse to pass the limit that a state remembers.

        Raises:
            InputError: It would be passed.
        """
        limit, after = self._remembered(state), spent + more
        if not _is_within(limit, after):
            raise InputError(
                f"this report would take the epsilon of all to {after:g}, past your limit of "
                f"{limit:g}; nothing was drawn or sent. The limit stays until you set another"
            )

    def _remembered(self, state: Mapping[str, Any]) -> float | None:
        found = state.get("limit")
        if found is not None and not _is_epsilon(found):
            raise InputError("the limit is damaged", path=self._file.path)
        return None if found is None else float(found)


def _is_epsilon(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _is_within(limit: float | None, after: float) -> bool:
    return limit is None or after <= limit * (1 + _SLACK)
