"""`audit`: everything that `discreet audit` does, as one function."""

from __future__ import annotations

import datetime
import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from discreet import __version__
from discreet.audit._registry import Entry
from discreet.audit.lower_bound import (
    PLANTED,
    SUBJECTS,
    Canaries,
    Finding,
    Subjects,
    audit_all,
    audit_release,
    matching,
)
from discreet.audit.stability import (
    FILES,
    PLANTED_FILES,
    PLANTED_READERS,
    READERS,
    Reader,
    ReaderFinding,
)
from discreet.audit.stability import search as search_violations
from discreet.domain import InputError
from discreet.release import Release, load

Readers = Mapping[str, Entry[Reader]]
Progress = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done and how much there is."""

ON_BOUNDS = (
    "An audited epsilon above the claimed one proves a violation, at the confidence stated. One "
    "below it proves nothing: no audit can show that something is safe."
)


@dataclass(frozen=True)
class AuditResults:
    """What an audit found.

    Attributes:
        findings: A lower bound on epsilon for each subject.
        readers: What a search for unstable readers found.
        confidence: Of all findings together.
        planted: Whether bugs planted on purpose were audited, which must be caught.
        seed: That made it repeatable; None if it is not.
    """

    findings: tuple[Finding, ...]
    readers: tuple[ReaderFinding, ...]
    confidence: float
    planted: bool = False
    seed: int | None = None

    @property
    def violations(self) -> int:
        """How many claims were refuted."""
        return sum(each.is_violated for each in self.findings) + sum(
            each.is_violated for each in self.readers
        )

    @property
    def is_as_expected(self) -> bool:
        """Whether no claim was refuted; of planted bugs, whether all were caught."""
        wanted = len(self.findings) + len(self.readers) if self.planted else 0
        return self.violations == wanted

    def as_json(self) -> dict[str, Any]:
        """Plain data, for those who file them; `discreet.report` reads it."""
        return {
            "note": ON_BOUNDS,
            "version": __version__,
            "time": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H:%M:%SZ}",
            "seed": self.seed,
            "planted": self.planted,
            "confidence": self.confidence,
            "violated": self.violations,
            "findings": [each.as_json() for each in self.findings],
            "readers": [each.as_json() for each in self.readers],
        }


def audit(
    names: str | Iterable[str] = (),
    *,
    release: Release | str | os.PathLike[str] | None = None,
    canaries: Canaries | str | os.PathLike[str] | None = None,
    planted: bool = False,
    runs: int | None = None,
    confidence: float = 0.95,
    search: int = 0,
    seed: int | None = None,
    progress: Progress | None = None,
) -> AuditResults:
    """Compute lower bounds on epsilon by distinguishing neighbouring data sets.

    A lower bound above the claimed epsilon refutes the claim; one below it proves nothing.

    Args:
        names: What to audit: names, their beginnings (`pipeline/refined`), or `all`; see
            `audit_names`. Nothing, with a release.
        release: A release, or its file, to audit by the canaries in its ratings.
        canaries: The key of its canaries (`insert_canaries`), or its file.
        planted: Audit bugs planted on purpose, which must be caught.
        runs: On each of two neighbouring data sets; for readers, pairs of files. By default each
            subject's own number.
        confidence: Of all findings together.
        search: First search this many steps for worse neighbours of each statistic.
        seed: Makes an audit repeatable.
        progress: Called with a stage's name, how much of it is done and how much there is.

    Raises:
        InputError: A name is unknown, or arguments exclude each other.

    Example:
        >>> import discreet
        >>> results = discreet.audit("laplace/step-1", runs=2000, seed=1)
        >>> results.is_as_expected, results.violations
        (True, 0)
    """
    asked = [names] if isinstance(names, str) else list(names)
    if release is not None or canaries is not None:
        _refuse_with_release(asked, planted, runs, search, seed)
        return AuditResults((_of_release(release, canaries, confidence),), (), confidence)
    subjects, makers = known_subjects(planted)
    check_names(asked, planted)
    if not asked and not planted:
        raise InputError("say what to audit: a name from --list, or all")
    asked = asked or ["all"]
    wanted = found_names(asked, subjects)
    findings: list[Finding] = []
    if wanted or search:
        findings = audit_all(
            wanted, subjects, runs=runs, confidence=confidence, search=search, seed=seed,
            progress=progress,
        )  # fmt: skip
    readers = _of_readers(found_names(asked, makers), makers, planted, runs, seed, progress)
    return AuditResults(tuple(findings), tuple(readers), confidence, planted, seed)


def audit_names(names: Iterable[str] = ("all",), *, planted: bool = False) -> dict[str, str]:
    """What can be audited, by name, and what it is about.

    Args:
        names: Names or their beginnings; all by default.
        planted: Bugs planted on purpose instead.

    Raises:
        InputError: A name is unknown.

    Example:
        >>> from discreet.audit import audit_names
        >>> "pipeline/refined/user/gaussian" in audit_names(["pipeline"])
        True
    """
    names = list(names)
    check_names([name for name in names if name != "all"], planted)
    among: dict[str, Any] = {}
    for part in known_subjects(planted):
        among |= part
    return {name: among[name].about for name in found_names(names, among)}


def known_subjects(planted: bool) -> tuple[Subjects, Readers]:
    """What can be audited: mechanisms and statistics, and readers; or the planted bugs of both."""
    return (PLANTED, PLANTED_READERS) if planted else (SUBJECTS, READERS)


def found_names(names: Iterable[str], among: Mapping[str, Any]) -> list[str]:
    """Everything that these names stand for, each once."""
    return list(dict.fromkeys(each for name in names for each in matching(name, among)))


def check_names(names: list[str], planted: bool) -> None:
    """Refuse unknown names before anything is run.

    Raises:
        InputError: Says where the name would be found.
    """
    for name in names:
        if any(found_names([name], each) for each in known_subjects(planted)):
            continue
        kind, listing = ("planted bug", "--planted --list") if planted else ("subject", "--list")
        where = f"see discreet audit {listing}"
        if any(found_names([name], each) for each in known_subjects(not planted)):
            where = (
                "that is not a bug but the real thing: leave --planted out, or see --planted --list"
                if planted
                else "that is a bug planted on purpose: add --planted"
            )
        raise InputError(f"there is no {kind} '{name}'; {where}")


def _refuse_with_release(
    names: list[str], planted: bool, runs: int | None, search: int, seed: int | None
) -> None:
    if names or planted:
        raise InputError("--release audits one release; leave names, --planted and --list out")
    if runs is not None or search or seed is not None:
        raise InputError(
            "--release audits a fit that was made once; leave --runs, --search and --seed out"
        )


def _of_release(
    release: Release | str | os.PathLike[str] | None,
    canaries: Canaries | str | os.PathLike[str] | None,
    confidence: float,
) -> Finding:
    if release is None or canaries is None:
        raise InputError("a release is audited by its canaries: give --release and --canaries")
    key = canaries if isinstance(canaries, Canaries) else Canaries.load(canaries)
    made = release if isinstance(release, Release) else load(release, verify=True)
    return audit_release(made, key, confidence=confidence)


def _of_readers(
    names: list[str],
    makers: Readers,
    planted: bool,
    runs: int | None,
    seed: int | None,
    progress: Progress | None,
) -> list[ReaderFinding]:
    """Search for violations in readers.

    Raises:
        InputError: The number of runs cannot be used.
    """
    if names and runs is not None and runs < 1:
        raise InputError(f"readers are audited by 1 pair of files or more, not {runs}")
    files = runs or (PLANTED_FILES if planted else FILES)
    seed = secrets.randbits(32) if seed is None else seed
    findings = []
    for done, name in enumerate(names):
        if progress is not None:
            progress("readers", done, len(names))
        findings.append(search_violations(name, makers[name].make(), files=files, seed=seed))
    return findings
