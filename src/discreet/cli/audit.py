"""`discreet audit`: try to prove that a claimed epsilon is wrong."""

from __future__ import annotations

import math
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.audit import ON_BOUNDS, AuditResults, audit_names
from discreet.audit import audit as run_audit
from discreet.audit.lower_bound import Finding
from discreet.audit.stability import ReaderFinding
from discreet.cli import _console
from discreet.cli._console import Json
from discreet.domain import InputError
from discreet.report import number_down, number_up, sha256_of

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
    if list_subjects and release is None and canaries is None:
        _list(names or ["all"], planted, json)
        return
    if list_subjects:
        raise InputError("--release audits one release; leave names, --planted and --list out")
    with _console.stages() as progress:
        results = run_audit(
            names or (),
            release=release,
            canaries=canaries,
            planted=planted,
            runs=runs,
            confidence=confidence,
            search=search,
            seed=seed,
            progress=progress,
        )
    findings, readers = list(results.findings), list(results.readers)
    if json:
        _console.write_json(_as_json(results, release))
    else:
        if findings:
            _show(findings, confidence, planted)
        _show_counts(findings, planted, release)
        _show_readers(readers, planted)
    if not results.is_as_expected:
        raise typer.Exit(_FOUND)


def _list(names: list[str], planted: bool, as_json: bool) -> None:
    subjects = audit_names(names, planted=planted)
    if as_json:
        _console.write_json([{"name": name, "about": about} for name, about in subjects.items()])
        return
    width = max(map(len, subjects))
    for name, about in subjects.items():
        _console.say(f"{name:<{width}}  {about}")


def _as_json(results: AuditResults, release: Path | None) -> dict[str, Any]:
    """The findings and how they were made, for those who file them."""
    found = results.as_json()
    about: dict[str, Any] = {"command": shlex.join(["discreet", *sys.argv[1:]])}
    if release is not None:
        note = f"{ON_BOUNDS} {_ON_ABSENCE}"
        about |= {"note": note, "release_sha256": sha256_of(release)}
    return found | about


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
        f"same delta, and 'of it' compares the two values of mu.\n{ON_BOUNDS}"
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
