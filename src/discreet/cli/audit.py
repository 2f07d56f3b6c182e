"""`discreet audit`: try to prove that a claimed epsilon is wrong."""

from __future__ import annotations

import datetime
import math
import secrets
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet import __version__
from discreet.audit.lower_bound import (
    PLANTED,
    SUBJECTS,
    Canaries,
    Entry,
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
from discreet.cli import _console
from discreet.cli._console import Json
from discreet.domain import InputError
from discreet.release import load
from discreet.report import number_down, number_up, sha256_of

_ON_BOUNDS = (
    "An audited epsilon above the claimed one proves a violation, at the confidence stated. One "
    "below it proves nothing: no audit can show that something is safe."
)
_ON_ABSENCE = (
    "A release that was fitted without these canaries looks the same as one whose noise hides them."
)
_ON_READERS = """
Each pair of files differs in one person's rows. A pair is a violation if other people's records
differ too, or if only one of the files is accepted. Finding none proves nothing; the proof is in
ratings/PROOF.md."""
# The exit code if a claim was refuted, or a planted bug was not caught.
_FOUND = 1

_Names = Annotated[
    list[str] | None,
    typer.Argument(
        help="What to audit: names or their beginnings, like pipeline/refined; or all. See --list."
    ),
]
_List = Annotated[bool, typer.Option("--list", help="List what can be audited.")]
_Planted = Annotated[
    bool, typer.Option("--planted", help="Audit bugs planted on purpose, which must be caught.")
]
_Runs = Annotated[
    int | None,
    typer.Option(
        help="Runs on each of two neighbouring data sets; for readers, pairs of files. [default: "
        "depends on the subject]"
    ),
]
_Confidence = Annotated[float, typer.Option(help="The confidence of all findings together.")]
_Search = Annotated[
    int,
    typer.Option(help="First search this many steps for worse neighbours of each statistic."),
]
_Seed = Annotated[int | None, typer.Option(help="Makes an audit repeatable.", min=0)]
_Release = Annotated[
    Path | None, typer.Option(help="Audit this release, by the canaries in its ratings.")
]
_Key = Annotated[Path | None, typer.Option(help="The key that plant-canaries wrote.")]

_Readers = Mapping[str, Entry[Reader]]


def audit(
    names: _Names = None,
    *,
    list_subjects: _List = False,
    planted: _Planted = False,
    runs: _Runs = None,
    confidence: _Confidence = 0.95,
    search: _Search = 0,
    seed: _Seed = None,
    release: _Release = None,
    canaries: _Key = None,
    json: Json = False,
) -> None:
    """Compute lower bounds on epsilon by distinguishing neighbouring data sets.

    A lower bound above the claimed epsilon refutes the claim. The exit code is 1 if a claim was
    refuted or, with --planted, if a bug was not caught.
    """
    readers: list[ReaderFinding] = []
    if release is not None or canaries is not None:
        _refuse_with_release(names, planted, list_subjects, runs, search, seed)
        findings = [_audit_release(release, canaries, confidence)]
    else:
        subjects, makers = _known(planted)
        _check_names(names or [], planted)
        if list_subjects:
            _list(names or ["all"], {**subjects, **makers}, json)
            return
        if not names and not planted:
            raise InputError("say what to audit: a name from --list, or all")
        wanted = _found(names or ["all"], subjects)
        findings = []
        if wanted or search:
            with _console.stages() as progress:
                findings = audit_all(
                    wanted, subjects, runs=runs, confidence=confidence, search=search, seed=seed,
                    progress=progress,
                )  # fmt: skip
        readers = _audit_readers(_found(names or ["all"], makers), makers, planted, runs, seed)
    if json:
        _console.write_json(_as_json(findings, readers, confidence, planted, release, seed))
    else:
        if findings:
            _show(findings, confidence, planted)
        _show_counts(findings, planted, release)
        _show_readers(readers, planted)
    verdicts = [each.is_violated for each in findings] + [each.is_violated for each in readers]
    if any(verdict is not planted for verdict in verdicts):
        raise typer.Exit(_FOUND)


def _known(planted: bool) -> tuple[Subjects, _Readers]:
    """What can be audited: mechanisms and statistics, and readers; or the planted bugs of both."""
    return (PLANTED, PLANTED_READERS) if planted else (SUBJECTS, READERS)


def _found(names: Iterable[str], among: Mapping[str, Any]) -> list[str]:
    """Everything that these names stand for, each once."""
    return list(dict.fromkeys(each for name in names for each in matching(name, among)))


def _refuse_with_release(
    names: list[str] | None,
    planted: bool,
    listed: bool,
    runs: int | None,
    search: int,
    seed: int | None,
) -> None:
    if names or planted or listed:
        raise InputError("--release audits one release; leave names, --planted and --list out")
    if runs is not None or search or seed is not None:
        raise InputError(
            "--release audits a fit that was made once; leave --runs, --search and --seed out"
        )


def _audit_release(release: Path | None, canaries: Path | None, confidence: float) -> Finding:
    if release is None or canaries is None:
        raise InputError("a release is audited by its canaries: give --release and --canaries")
    key = Canaries.load(canaries)
    return audit_release(load(release, verify=True), key, confidence=confidence)


def _check_names(names: list[str], planted: bool) -> None:
    """Refuse unknown names before anything is run.

    Raises:
        InputError: Says where the name would be found.
    """
    for name in names:
        if any(_found([name], each) for each in _known(planted)):
            continue
        kind, listing = ("planted bug", "--planted --list") if planted else ("subject", "--list")
        where = f"see discreet audit {listing}"
        if any(_found([name], each) for each in _known(not planted)):
            where = (
                "that is not a bug but the real thing: leave --planted out, or see --planted --list"
                if planted
                else "that is a bug planted on purpose: add --planted"
            )
        raise InputError(f"there is no {kind} '{name}'; {where}")


def _audit_readers(
    names: list[str], makers: _Readers, planted: bool, runs: int | None, seed: int | None
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
    with _console.stages() as progress:
        for done, name in enumerate(names):
            progress("readers", done, len(names))
            findings.append(search_violations(name, makers[name].make(), files=files, seed=seed))
    return findings


def _list(names: list[str], among: Mapping[str, Any], as_json: bool) -> None:
    subjects = {name: among[name].about for name in _found(names, among)}
    if as_json:
        _console.write_json([{"name": name, "about": about} for name, about in subjects.items()])
        return
    width = max(map(len, subjects))
    for name, about in subjects.items():
        _console.say(f"{name:<{width}}  {about}")


def _as_json(
    findings: list[Finding],
    readers: list[ReaderFinding],
    confidence: float,
    planted: bool,
    release: Path | None,
    seed: int | None,
) -> dict[str, Any]:
    """The findings and how they were made, for those who file them."""
    about: dict[str, Any] = {
        "note": _ON_BOUNDS,
        "version": __version__,
        "time": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H:%M:%SZ}",
        "seed": seed,
        "command": shlex.join(["discreet", *sys.argv[1:]]),
        "planted": planted,
    }
    if release is not None:
        about |= {"note": f"{_ON_BOUNDS} {_ON_ABSENCE}", "release_sha256": sha256_of(release)}
    return about | {
        "confidence": confidence,
        "violated": sum(each.is_violated for each in findings)
        + sum(each.is_violated for each in readers),
        "findings": [each.as_json() for each in findings],
        "readers": [each.as_json() for each in readers],
    }


def _show(findings: list[Finding], confidence: float, planted: bool) -> None:
    """Claims rounded up and lower bounds down, as on the page of a report."""
    width = max(len("subject"), *(len(each.subject) for each in findings))
    _console.say(
        f"{'subject':<{width}}  {'claimed':>8}  {'delta':>6}  {'audited':>8}  {'of it':>6}  verdict"
    )
    for each in findings:
        share = "" if each.claim.size == 0 else f"{math.floor(100 * each.reached)} %"
        claimed, delta = number_up(each.claim.epsilon), number_up(each.claim.delta, 2)
        _console.say(
            f"{each.subject:<{width}}  {claimed:>8}  {delta:>6}  "
            f"{number_down(each.epsilon):>8}  {share:>6}  {_verdict(each, planted)}"
        )
    _console.say(
        f"\nEpsilons, claimed rounded up and audited down; at confidence {confidence:g} for all\n"
        f"rows together, each at {findings[0].confidence:.6g}.\n"
        "Gaussian noise claims a curve: audited is the largest epsilon that was refuted, at the\n"
        f"same delta, and 'of it' compares the two values of mu.\n{_ON_BOUNDS}"
    )


def _show_counts(findings: list[Finding], planted: bool, release: Path | None) -> None:
    """The counts behind every violation, and behind an audit by one run."""
    for each in findings:
        if each.how == "one run" or (each.is_violated and not planted):
            _console.say(f"\n{each.subject}: {each.seen}.")
        if release is not None and not each.is_violated:
            _console.say(_ON_ABSENCE)


def _show_readers(findings: list[ReaderFinding], planted: bool) -> None:
    """A table, and examples of violations."""
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
    _console.say(_ON_READERS)
    for each in findings:
        for example in () if planted else each.examples:
            _console.say(f"\n{each.reader}: {example}.")


def _verdict(finding: Finding, planted: bool) -> str:
    if planted:
        return "caught" if finding.is_violated else "MISSED"
    if finding.is_violated:
        return "VIOLATED"
    return "not refuted" if finding.can_refute else "too few runs to refute"
