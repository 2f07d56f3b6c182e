"""The findings that `discreet audit --json` wrote, read back."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet.domain import InputError

# The largest file that is read, in bytes. Chosen for safety: an audit of everything takes 100 kB.
_MOST_BYTES = 1 << 24
# Relative slack in comparing epsilons that were written with all their digits.
_SLACK = 1e-9


@dataclass(frozen=True)
class AuditFile:
    """Where findings were read, and what the file says of how they were made; empty if nothing.

    Attributes:
        name: Of the file.
        sha256: Of the file.
        version: Of the program that made the audit.
        time: When it was made.
        seed: Of its randomness; None if there was none or it is not stated.
        command: As it was typed.
    """

    name: str
    sha256: str
    version: str = ""
    time: str = ""
    seed: int | None = None
    command: str = ""


@dataclass(frozen=True)
class AuditFinding:
    """One subject of an audit.

    Attributes:
        subject: What was audited.
        claimed_epsilon: What it claims at `delta`; None if it claims nothing.
        audited_epsilon: A lower bound on the true epsilon; infinite if no epsilon is large enough.
        confidence: The least probability that the bound is right.
        delta: Of both epsilons.
        runs: The number of runs.
        violated: Whether the claim was refuted.
        release_sha256: Of the file that was audited; None if it is not known or not a release.
        most: The largest epsilon that this many runs can show; None if it is not stated.
        seen: What was counted, in words; empty if it is not stated.
        note: What the audit says about all its findings; empty if nothing.
        file: The file it was read from; None if it was not.
    """

    subject: str
    claimed_epsilon: float | None
    audited_epsilon: float
    confidence: float
    delta: float
    runs: int
    violated: bool
    release_sha256: str | None = None
    most: float | None = None
    seen: str = ""
    note: str = ""
    file: AuditFile | None = None

    @property
    def can_refute(self) -> bool:
        """Whether the runs could have refuted the claim; assumed if it is not stated."""
        if self.most is None or self.claimed_epsilon is None:
            return True
        return self.most > self.claimed_epsilon * (1 + _SLACK)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file in lower-case hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_audits(paths: Iterable[Path]) -> list[AuditFinding]:
    """The findings of several files, one after the other.

    Raises:
        InputError: As for `read_audit`; or two files are the same.
    """
    known: dict[str, Path] = {}
    found: list[AuditFinding] = []
    for path in paths:
        findings = read_audit(path)
        assert findings[0].file is not None
        sha256 = findings[0].file.sha256
        if sha256 in known:
            raise InputError(f"is the same audit as {known[sha256]}; give each once", path=path)
        known[sha256] = path
        found += findings
    return found


def read_audit(path: Path) -> list[AuditFinding]:
    """The findings in a file that `discreet audit --json` wrote.

    Raises:
        InputError: It cannot be read, holds something else, or an audit of bugs that were planted
            on purpose.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError("is too large for an audit's findings", path=path)
        content = path.read_bytes()
        found = json.loads(content.decode("utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=path) from error
    except (RecursionError, ValueError):
        raise InputError(
            "is not JSON; give what discreet audit --json printed", path=path
        ) from None
    if _is_planted(found):
        raise InputError(
            "is an audit of bugs that were planted on purpose, and says nothing about a release; "
            "leave --planted out",
            path=path,
        )
    try:
        file = _file(path.name, content, found if isinstance(found, dict) else {})
        sha, note = _sha256(found), _note(found)
        findings = [replace(_finding(one, sha, note), file=file) for one in _list(found)]
    except (KeyError, OverflowError, TypeError, ValueError):
        findings = []
    if not findings:
        raise InputError(
            "contains no audit; findings have subject, claimed_epsilon, audited_epsilon, "
            "confidence, delta and runs",
            path=path,
        )
    return findings


def _list(found: Any) -> list[Any]:
    """One finding, a list of them, or an object that has such lists."""
    if isinstance(found, dict) and "subject" not in found:
        return [one for value in found.values() if _is_list(value) for one in value]
    return found if isinstance(found, list) else [found]


def _is_planted(found: Any) -> bool:
    """Whether the file, or one of its findings, says that bugs were planted."""
    return any(isinstance(one, dict) and one.get("planted") for one in (found, *_list(found)))


def _sha256(plain: Any) -> str | None:
    """The SHA-256 of the release that was audited."""
    sha = plain.get("release_sha256") if isinstance(plain, dict) else None
    return None if sha is None else _name(sha).lower()


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(o, dict) and "subject" in o for o in value)


def _note(plain: Any) -> str:
    return _text(plain.get("note")) if isinstance(plain, dict) else ""


def _file(name: str, content: bytes, plain: dict[str, Any]) -> AuditFile:
    version, time, command = (_text(plain.get(key)) for key in ("version", "time", "command"))
    given = plain.get("seed")
    seed = given if isinstance(given, int) else None
    sha256 = hashlib.sha256(content).hexdigest()
    return AuditFile(name, sha256, version, time, seed, command)


def _finding(plain: dict[str, Any], sha: str | None, note: str) -> AuditFinding:
    claimed = plain["claimed_epsilon"]
    audited = plain["audited_epsilon"]
    known = math.inf if audited is None else _number(audited)
    promised = None if claimed is None else _number(claimed)
    beyond = promised is not None and known > promised * (1 + _SLACK)
    return AuditFinding(
        subject=_name(plain["subject"]),
        claimed_epsilon=promised,
        audited_epsilon=known,
        confidence=_number(plain["confidence"]),
        delta=_number(plain["delta"]),
        runs=int(_number(plain["runs"])),
        violated=beyond or plain.get("violated") is True,
        release_sha256=_sha256(plain) or sha,
        most=None if plain.get("most") is None else _number(plain["most"]),
        seen=_text(plain.get("seen")),
        note=_text(plain.get("note")) or note,
    )


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError("a subject has a name")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str | None):
        raise TypeError("what is noted is a text")
    return value or ""


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise TypeError("a figure is a number from 0 on")
    return float(value)
