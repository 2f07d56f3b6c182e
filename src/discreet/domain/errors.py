"""Every error that discreet raises on purpose.

    DiscreetError
    ├── InputError            a file, a frame or an argument cannot be used
    │   ├── FieldError        a field of a message is not what it should be
    │   ├── MissingPart       an optional part of the installation is absent
    │   └── Refusal           a service refused a request
    ├── BudgetExceeded        a charge would exceed the ledger's limit; nothing was charged
    ├── PeriodExists          a period of a series was published before; nothing was charged
    ├── LedgerError           a ledger cannot be read or written; nothing was drawn
    ├── NotCharged            no receipt covers what a mechanism was to draw; nothing was drawn
    └── DownloadError         a public data set could not be fetched or did not verify

Each message is one line for the person who reads it: what was wrong, where, what would be right.
No message, and no `repr` in the package, contains a private rating.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Hint:
    """An argument that would help, as data: Python and the command line spell it differently.

    A message contains `str(hint)`, like `scale=(1, 5)`, and its error carries the hint, so that
    the command line can show `--scale 1..5` instead.
    """

    argument: str
    value: object

    def __str__(self) -> str:
        return f"{self.argument}={_literal(self.value)}"


def _literal(value: object) -> str:
    """The value as Python code, with text in double quotes."""
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_literal(k)}: {_literal(v)}" for k, v in value.items()) + "}"
    return repr(value)


# What a terminal acts upon instead of showing it: control characters but for the tab and the line's
# end, marks that turn the direction of writing, and halves of characters, which it cannot show.
_ACTED_UPON = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with all that a terminal would act upon spelled out, as `ascii` does it."""
    return _ACTED_UPON.sub(lambda found: ascii(found[0])[1:-1], text)


class DiscreetError(Exception):
    """The root: catch it to catch everything that discreet raises on purpose."""


class InputError(DiscreetError):
    """Input that cannot be used.

    Args:
        reason: What was wrong, and what would be right.
        path: The file it was found in, if it came from one.
        line: The 1-based line in that file, if it has lines.
        hints: The arguments that the reason mentions; those that it does not are ignored.
    """

    def __init__(
        self,
        reason: str,
        *,
        path: str | os.PathLike[str] | None = None,
        line: int | None = None,
        hints: Iterable[Hint] = (),
    ) -> None:
        self.reason = reason
        self.hints = tuple(hints)
        self.path = None if path is None else os.fspath(path)
        self.line = line
        # Whoever names a file may have put a line's end into the name, or what a terminal obeys.
        shown = printable(self.path or "").replace("\n", "\\n")
        where = "" if self.path is None else f"{shown}: "
        if line is not None:
            where = f"{shown or 'input'}, line {line:,}: "
        super().__init__(f"{where}{reason}")

    def spelled(self, spell: Callable[[Hint], str]) -> str:
        """The message with every hint spelled in another way than Python's."""
        message = str(self)
        for hint in self.hints:
            message = message.replace(str(hint), spell(hint))
        return message


class FieldError(InputError):
    """A field of a message does not have what it should.

    Args:
        kind: The message's name.
        field: The field's name.
        wanted: What it should be, in words.
        limits: The least and the most, if it should be a whole number.
    """

    def __init__(
        self, kind: str, field: str, wanted: str, limits: tuple[int, int] | None = None
    ) -> None:
        self.field, self.wanted, self.limits = field, wanted, limits
        super().__init__(f"{kind}: '{field}' should be {wanted}")


class MissingPart(InputError):
    """An optional dependency is needed here and not installed."""

    @classmethod
    def of(cls, what: str, part: str) -> MissingPart:
        """The error with a way to install what is missing.

        Args:
            what: What is missing: "pictures need matplotlib".
            part: The name of the optional part that brings it, like `plots`.
        """
        return cls(
            f"{what}: in a clone of discreet, run pip install '.[{part}]'; with a wheel, run pip "
            f"install 'discreet-<version>-py3-none-any.whl[{part}]'"
        )


class Refusal(InputError):
    """A service refused a request.

    Args:
        server: Who answered.
        status: The answer's status.
        reason: The server's own words, if any.
        wait: Seconds after which to try again, if the server says so.
        advice: What would help.
    """

    def __init__(
        self, server: str, status: int, reason: str = "", wait: int | None = None, advice: str = ""
    ) -> None:
        self.server, self.status, self.said, self.wait = server, status, reason, wait
        message = f"{server} refused ({status})" + (f": {reason}" if reason else "")
        if wait is not None:
            message += f"; try again in {wait:,} second" + ("" if wait == 1 else "s")
        super().__init__(message + (f"; {advice}" if advice else ""))

    def advised(self, advice: str) -> Refusal:
        """The same refusal with advice."""
        return Refusal(self.server, self.status, self.said, self.wait, advice)


class BudgetExceeded(DiscreetError):
    """The charge would take the ledger past its limit. Nothing was charged, nothing was drawn."""


class PeriodExists(DiscreetError):
    """The period was added to its series and published before. Nothing was charged or drawn."""


class LedgerError(DiscreetError):
    """The ledger cannot be used: missing, damaged, foreign, locked, read-only or full."""


class NotCharged(DiscreetError):
    """A mechanism was asked to draw for an event that no receipt covers. A bug, caught in time."""


class DownloadError(DiscreetError):
    """A data set could not be fetched, or what came does not match its published checksum."""
