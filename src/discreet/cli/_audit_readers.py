"""The part of `discreet audit` that is about readers: one person's rows and everybody else's."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from discreet.cli import _console
from discreet.cli._progress import stages
from discreet.domain import InputError

if TYPE_CHECKING:
    from discreet.audit.stability import Entry, Reader, ReaderFinding

_NOTE = """
Each pair of files differs in one person's rows. A violation is a pair in which somebody else's
records differ too, or of which only one is accepted. Finding none proves nothing; the proof is in
ratings/PROOF.md."""


def among(planted: bool) -> Mapping[str, Entry[Reader]]:
    """The readers, or the planted bugs."""
    from discreet.audit.stability import PLANTED_READERS, READERS

    return PLANTED_READERS if planted else READERS


def found(names: Iterable[str], among: Mapping[str, Any]) -> list[str]:
    """All that these names stand for, each once."""
    from discreet.audit.lower_bound import matching

    return list(dict.fromkeys(each for name in names for each in matching(name, among)))


def audit(
    names: list[str], planted: bool, runs: int | None, seed: int | None
) -> list[ReaderFinding]:
    """Search for violations in the readers that are named, if any is.

    Raises:
        InputError: The number of runs cannot be used.
    """
    from discreet.audit.stability import FILES, PLANTED_FILES, search

    makers = among(planted)
    named = found(names, makers)
    if named and runs is not None and runs < 1:
        raise InputError(f"readers are audited by 1 pair of files or more, not {runs}")
    files = runs or (PLANTED_FILES if planted else FILES)
    seed = secrets.randbits(32) if seed is None else seed
    findings = []
    with stages() as progress:
        for done, name in enumerate(named):
            progress("readers", done, len(named))
            findings.append(search(name, makers[name].make(), files=files, seed=seed))
    return findings


def show(findings: list[ReaderFinding], planted: bool) -> None:
    """A table, and examples of what was violated."""
    if not findings:
        return
    width = max(len(each.reader) for each in findings)
    _console.say(f"\n{'reader':<{width}}  {'files':>6}  {'pairs':>8}  {'violations':>10}  verdict")
    violated, right = ("caught", "MISSED") if planted else ("VIOLATED", "none found")
    for each in findings:
        _console.say(
            f"{each.reader:<{width}}  {each.files:>6,}  {each.pairs:>8,}  {each.violations:>10,}  "
            f"{violated if each.is_violated else right}"
        )
    _console.say(_NOTE)
    for each in findings:
        for example in () if planted else each.examples:
            _console.say(f"\n{each.reader}: {example}.")
