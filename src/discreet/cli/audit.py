"""`discreet audit`: try to prove that a claimed epsilon is wrong; `discreet plant-canaries`."""

from __future__ import annotations

import datetime
import math
import shlex
import sys
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet import __version__
from discreet.cli import _audit_readers, _console, _inputs, _outputs
from discreet.cli._inputs import BadRows
from discreet.cli._overwriting import Overwrite, check_new
from discreet.cli._progress import stages
from discreet.domain import InputError

if TYPE_CHECKING:
    from discreet.audit.lower_bound import Finding, Subjects
    from discreet.audit.stability import ReaderFinding

# The rooms that do the work are imported where they are used: `discreet --help` stays quick.

_HONEST = (
    "An audited epsilon above the claimed one proves a violation, at the confidence stated. One "
    "below it proves nothing: no audit can show that something is safe."
)
_ABSENT = (
    "A release that was fitted without these canaries looks the same as one whose noise hides them."
)
_FOUND = 1
"""The exit code where a claim was refuted, or a planted bug was not."""

_Names = Annotated[
    list[str] | None,
    typer.Argument(help="Subjects, or how their names begin, like pipeline/refined; or all."),
]
_List = Annotated[bool, typer.Option("--list", help="Show what can be audited, and audit nothing.")]
_Planted = Annotated[
    bool, typer.Option("--planted", help="Bugs planted on purpose, which the audit must catch.")
]
_Runs = Annotated[
    int | None,
    typer.Option(
        help="In each of the two worlds; for readers, pairs of files. [default: each subject's own]"
    ),
]
_Confidence = Annotated[float, typer.Option(help="Of all findings of the table together.")]
_Search = Annotated[
    int, typer.Option(help="Steps to look for worse neighbours of a statistic before.")
]
_Seed = Annotated[int | None, typer.Option(help="Makes an audit repeatable.", min=0)]
_Release = Annotated[
    Path | None, typer.Option(help="Audit this release by the canaries that are in it.")
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
    json: _inputs.Json = False,
) -> None:
    """Prove a lower bound on epsilon by telling neighbours apart, beside the claimed one."""
    readers: list[ReaderFinding] = []
    if release is not None or canaries is not None:
        _refuse_both(names, planted, list_subjects)
        _refuse_repeats(runs, search, seed)
        findings = [_audit_release(release, canaries, confidence)]
    else:
        among = _subjects(planted)
        _check_names(names or [], planted)
        if list_subjects:
            _show_subjects(names or ["all"], {**among, **_audit_readers.among(planted)}, json)
            return
        if not names and not planted:
            raise InputError("say what to audit: a name from --list, or all")
        told = {"runs": runs, "confidence": confidence, "search": search, "seed": seed}
        findings = _audit_subjects(names or ["all"], among, told)
        readers = _audit_readers.audit(names or ["all"], planted, runs, seed)
    if json:
        _console.write_json(_as_json(findings, readers, confidence, planted, release, seed))
    else:
        if findings:
            _show(findings, confidence, planted)
        _show_counts(findings, planted, release)
        _audit_readers.show(readers, planted)
    verdicts = [each.is_violated for each in findings] + [each.is_violated for each in readers]
    if any(verdict is not planted for verdict in verdicts):
        raise typer.Exit(_FOUND)


def _refuse_both(names: list[str] | None, planted: bool, listed: bool) -> None:
    if names or planted or listed:
        raise InputError("--release audits one release; leave names, --planted and --list out")


def _refuse_repeats(runs: int | None, search: int, seed: int | None) -> None:
    if runs is not None or search or seed is not None:
        raise InputError(
            "--release audits a fit that was made once; leave --runs, --search and --seed out"
        )


def _audit_release(release: Path | None, canaries: Path | None, confidence: float) -> Finding:
    from discreet.audit.lower_bound import Canaries, audit_release
    from discreet.release import load

    if release is None or canaries is None:
        raise InputError("a release is audited by its canaries: say --release and --canaries")
    key = Canaries.load(canaries)
    return audit_release(load(release, verify=True), key, confidence=confidence)


def _subjects(planted: bool) -> Subjects:
    from discreet.audit.lower_bound import PLANTED, SUBJECTS

    return PLANTED if planted else SUBJECTS


def _check_names(names: list[str], planted: bool) -> None:
    """Before anything is run.

    Raises:
        InputError: Nothing is called so, and where it would be found.
    """
    for name in names:
        if _audit_readers.found([name], _subjects(planted)) or _audit_readers.found(
            [name], _audit_readers.among(planted)
        ):
            continue
        kind, listing = ("planted bug", "--planted --list") if planted else ("subject", "--list")
        where = f"discreet audit {listing} has them all"
        if _audit_readers.found([name], _subjects(not planted)) or _audit_readers.found(
            [name], _audit_readers.among(not planted)
        ):
            where = (
                "that is no bug but the real thing: leave --planted out, or see --planted --list"
                if planted
                else "that is a bug planted on purpose: say --planted"
            )
        raise InputError(f"there is no {kind} '{name}'; {where}")


def _audit_subjects(names: list[str], among: Subjects, told: dict[str, Any]) -> list[Finding]:
    from discreet.audit.lower_bound import audit_all

    named = _audit_readers.found(names, among)
    if not named and not told["search"]:
        return []
    with stages() as progress:
        return audit_all(named, among, progress=progress, **told)


def _show_subjects(names: list[str], among: Mapping[str, Any], json: bool) -> None:
    subjects = {name: among[name].about for name in _audit_readers.found(names, among)}
    if json:
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
    """With how it was made, for those who file it."""
    about: dict[str, Any] = {
        "note": _HONEST,
        "version": __version__,
        "time": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H:%M:%SZ}",
        "seed": seed,
        "command": shlex.join(["discreet", *sys.argv[1:]]),
        "planted": planted,
    }
    if release is not None:
        from discreet.report import sha256_of

        about |= {"note": f"{_HONEST} {_ABSENT}", "release_sha256": sha256_of(release)}
    return about | {
        "confidence": confidence,
        "violated": sum(each.is_violated for each in findings)
        + sum(each.is_violated for each in readers),
        "findings": [each.as_json() for each in findings],
        "readers": [each.as_json() for each in readers],
    }


def _show(findings: list[Finding], confidence: float, planted: bool) -> None:
    """Claims rounded up and what was proved down, as on the page of a report."""
    from discreet.report import number_down, number_up

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
        "Gaussian noise claims a curve: audited is the largest that was refuted, told at the same\n"
        f"delta, and 'of it' compares the two mu.\n{_HONEST}"
    )


def _show_counts(findings: list[Finding], planted: bool, release: Path | None) -> None:
    """What was counted: of every violation, and of one run always."""
    for each in findings:
        if each.how == "one run" or (each.is_violated and not planted):
            _console.say(f"\n{each.subject}: {each.seen}.")
        if release is not None and not each.is_violated:
            _console.say(_ABSENT)


def _verdict(finding: Finding, planted: bool) -> str:
    if planted:
        return "caught" if finding.is_violated else "MISSED"
    if finding.is_violated:
        return "VIOLATED"
    return "not refuted" if finding.can_refute else "too few runs to refute"


_FROM_DATA = "from-data"
_ON_FROM_DATA = (
    "canaries rate items of a public list that hardly anybody has rated, and from-data reads off "
    "the private ratings what somebody has rated; give --catalog a file with columns id and title"
)
_Count = Annotated[int, typer.Option(help="How many canaries; about half of them will be in.")]
_Output = Annotated[
    Path, typer.Option("--output", "-o", help="Where the ratings go: a .csv or .parquet file.")
]
_NewKey = Annotated[Path, typer.Option(help="Where the key goes; keep it to yourself.")]


def plant_canaries(
    ratings: _inputs.RatingsPath,
    *,
    output: _Output,
    key: _NewKey,
    count: _Count = 400,
    scale: _inputs.ScaleText = None,
    catalog: _inputs.CatalogName = None,
    columns: _inputs.ColumnsText = None,
    separator: _inputs.Separator = None,
    quoting: _inputs.QuotingName = None,
    layout: _inputs.LayoutName = "auto",
    on_bad_rows: _inputs.OnBadRows = BadRows.REFUSE,
    implicit: _inputs.Implicit = False,
    overwrite: Overwrite = False,
) -> None:
    """Put made-up users among ratings by coins, so that one fit of them can be audited.

    The file has everybody's ratings, person by person, with their times if there are any, and the
    made-up users after them.
    """
    from discreet.audit.lower_bound import insert_canaries
    from discreet.privacy import SystemRandomness
    from discreet.ratings import check_target, write_ratings

    if catalog == _FROM_DATA:
        raise InputError(_ON_FROM_DATA)
    _refuse_overwriting(ratings, catalog, output, key)
    for path in (output, key):
        check_new(path, overwrite)
    check_target(output)
    _outputs.check_writable(output)
    _outputs.check_writable(key)
    how = (layout, on_bad_rows, implicit, None, separator, quoting)
    data = _inputs.read(ratings, scale, catalog, columns, *how)
    mixed, coins = insert_canaries(data, count, SystemRandomness())
    coins.save(key)
    write_ratings(mixed, output)
    _console.note(
        f"{output} has {int(coins.included.sum()):,} of {count:,} canaries in it; fit it with the "
        f"same --catalog, then: discreet audit --release FILE --canaries {key}"
    )


def _refuse_overwriting(ratings: str, catalog: str | None, output: Path, key: Path) -> None:
    """Nothing that was given to be read is written over, nor the ratings by their key.

    Raises:
        InputError: Two of the files are one, or another kind of file is where the key should go.
    """
    from discreet.audit.lower_bound import Canaries

    named = {"the ratings": Path(ratings), "--output": output, "--key": key}
    if catalog is not None:
        named["--catalog"] = Path(catalog)
    for (one, path), (other, again) in combinations(named.items(), 2):
        if _is_same(path, again):
            raise InputError(f"{one} and {other} are the same file; choose another name", path=path)
    for path in (output, key):
        if path.exists() and Path(ratings).resolve() in path.resolve().parents:
            raise InputError("is a file of the ratings; choose another name", path=path)
    if key.is_file():
        try:
            Canaries.load(key)
        except InputError:
            message = "exists and is no key of canaries; choose another name"
            raise InputError(message, path=key) from None


def _is_same(path: Path, other: Path) -> bool:
    """Whether two names lead to one file, by links too."""
    if path.exists() and other.exists():
        return path.samefile(other)
    return path.resolve() == other.resolve()
