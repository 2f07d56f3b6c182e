"""`discreet audit`: try to prove that a claimed epsilon is wrong; `discreet plant-canaries`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import _console, _inputs, _outputs
from discreet.cli._inputs import BadRows
from discreet.cli._progress import stages
from discreet.domain import InputError

if TYPE_CHECKING:
    from discreet.audit.lower_bound import Finding

# The rooms that do the work are imported where they are used: `discreet --help` stays quick.

_HONEST = (
    "An audited epsilon above the claimed one proves a violation, at the confidence stated. One "
    "below it proves nothing: no audit can show that something is safe."
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
    int | None, typer.Option(help="In each of the two worlds. [default: each subject's own]")
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
    if release is not None or canaries is not None:
        _refuse_both(names, planted, list_subjects)
        findings = [_audit_release(release, canaries, confidence)]
    else:
        from discreet.audit.lower_bound import SUBJECTS
        from discreet.audit.lower_bound.planted import PLANTED

        among = PLANTED if planted else SUBJECTS
        if list_subjects:
            _show_subjects({name: make().about for name, make in among.items()}, json)
            return
        if not names and not planted:
            raise InputError("say what to audit: a name from --list, or all")
        told = {"runs": runs, "confidence": confidence, "search": search, "seed": seed}
        findings = _audit_subjects(names or ["all"], among, told)
    if json:
        _console.write_json(_as_json(findings, confidence, planted))
    else:
        _show(findings, confidence, planted)
    if any(each.is_violated is not planted for each in findings):
        raise typer.Exit(_FOUND)


def _refuse_both(names: list[str] | None, planted: bool, listed: bool) -> None:
    if names or planted or listed:
        raise InputError("--release audits one release; leave names, --planted and --list out")


def _audit_release(release: Path | None, canaries: Path | None, confidence: float) -> Finding:
    from discreet.audit.lower_bound import Canaries, audit_release
    from discreet.release import load

    if release is None or canaries is None:
        raise InputError("a release is audited by its canaries: say --release and --canaries")
    if not 0.5 <= confidence < 1:
        raise InputError(f"--confidence is from 0.5 to below 1, not {confidence:g}")
    key = Canaries.load(canaries)
    return audit_release(load(release, verify=True), key, confidence=confidence)


def _audit_subjects(names: list[str], among: Any, told: dict[str, Any]) -> list[Finding]:
    from discreet.audit.lower_bound import audit_all

    with stages() as progress:
        return audit_all(names, among, progress=progress, **told)


def _show_subjects(subjects: dict[str, str], json: bool) -> None:
    if json:
        _console.write_json([{"name": name, "about": about} for name, about in subjects.items()])
        return
    width = max(map(len, subjects))
    for name, about in subjects.items():
        _console.say(f"{name:<{width}}  {about}")


def _as_json(findings: list[Finding], confidence: float, planted: bool) -> dict[str, Any]:
    return {
        "note": _HONEST,
        "confidence": confidence,
        "planted": planted,
        "violated": sum(each.is_violated for each in findings),
        "findings": [each.as_json() for each in findings],
    }


def _show(findings: list[Finding], confidence: float, planted: bool) -> None:
    width = max(len("subject"), *(len(each.subject) for each in findings))
    _console.say(
        f"{'subject':<{width}}  {'claimed':>8}  {'delta':>6}  {'audited':>8}  {'of it':>6}  verdict"
    )
    for each in findings:
        share = "" if each.claim.size == 0 else f"{100 * each.reached:.0f} %"
        _console.say(
            f"{each.subject:<{width}}  {each.claim.epsilon:>8.4g}  {each.claim.delta:>6.2g}  "
            f"{each.epsilon:>8.4g}  {share:>6}  {_verdict(each, planted)}"
        )
    _console.say(
        f"\nEpsilons; at confidence {confidence:g} for all rows together, each at "
        f"{findings[0].confidence:.6g}.\n"
        "Gaussian noise claims a curve: audited is the largest that was refuted, told at the same\n"
        f"delta, and 'of it' compares the two mu.\n{_HONEST}"
    )
    if not planted:
        for each in findings:
            if each.is_violated:
                _console.say(f"\n{each.subject}: {each.seen}.")


def _verdict(finding: Finding, planted: bool) -> str:
    if planted:
        return "caught" if finding.is_violated else "MISSED"
    return "VIOLATED" if finding.is_violated else "not refuted"


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
    layout: _inputs.LayoutName = "auto",
    on_bad_rows: _inputs.OnBadRows = BadRows.REFUSE,
    implicit: _inputs.Implicit = False,
) -> None:
    """Put made-up users among ratings by coins, so that one fit of them can be audited."""
    from discreet.audit.lower_bound import insert_canaries
    from discreet.privacy import SystemRandomness
    from discreet.ratings import write_ratings

    _outputs.check_writable(output)
    _outputs.check_writable(key)
    data = _inputs.read(ratings, scale, catalog, columns, layout, on_bad_rows, implicit)
    mixed, coins = insert_canaries(data, count, SystemRandomness())
    write_ratings(mixed, output)
    coins.save(key)
    _console.note(
        f"{output} has {int(coins.included.sum()):,} of {count:,} canaries in it; fit it with the "
        f"same --catalog, then: discreet audit --release FILE --canaries {key}"
    )
