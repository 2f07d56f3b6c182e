"""What audits found, beside what the release claims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from discreet import __version__
from discreet.domain import InputError
from discreet.privacy import Guarantee
from discreet.release import Release
from discreet.report import _html
from discreet.report._audit import AuditFile, AuditFinding
from discreet.report._html import Html
from discreet.report._odds import number_down, number_up
from discreet.report._readers import Made, made_by

THE_RELEASE = "release"
"""The subject of an audit of one release by its canaries; others are parts of the program."""
_NOISES = {"gaussian": "gaussian", "geometric": "laplace"}
"""As the names of subjects have them, by the kind of an event."""
_HEADS = (
    "subject", "claimed epsilon", "audited, at least", "runs could show", "delta", "confidence",
    "runs", "",
)  # fmt: skip
_HOW_TO = (
    "No audit was attached. discreet audit --json writes one: attacks that give a lower bound on "
    "epsilon, to be held against what is claimed."
)
_OF_PARTS = (
    "None of these audits is of this file: each is of a part of the program, on data made for the "
    "test. discreet plant-canaries makes a release that can be audited itself."
)
_OF_THIS = (
    "The subject release is this file; any other is a part of the program, on data made for the "
    "test."
)
_CANARIES = (
    "The ratings of this release were mixed with made-up users, the canaries, and the audit "
    "guessed which of them are in. Such a release is for the audit, and not for predictions: some "
    "of its ratings nobody gave."
)


def check_audits(path: Path, sha256: str, audits: Sequence[AuditFinding]) -> None:
    """Refuse an audit of another release, or of one that it does not name by its digest.

    Raises:
        InputError: There is one.
    """
    for one in audits:
        if one.subject == THE_RELEASE and one.release_sha256 is None:
            where = None if one.file is None else Path(one.file.name)
            raise InputError(
                "does not say which release was audited: it has no release_sha256; make it again "
                "by discreet audit --release --canaries --json",
                path=where,
            )
        if one.release_sha256 not in (None, sha256):
            raise InputError(
                f"this is not the release that was audited, whose SHA-256 is {one.release_sha256}",
                path=path,
            )


def rests_on(release: Release, subject: str) -> bool:
    """Whether an audit's subject is this release, or a fit of its method, unit and noise.

    What reports were randomised by on people's devices has subjects of its own.
    """
    parts = set(subject.split("/"))
    if made_by(release) is Made.LOCAL:
        return subject == THE_RELEASE or "local-reports" in parts
    noises = {_NOISES.get(event.kind) for event in release.guarantee.events}
    is_alike = {release.method, str(release.guarantee.unit)} <= parts and bool(noises & parts)
    return subject == THE_RELEASE or is_alike


def audited(guarantee: Guarantee, audits: Sequence[AuditFinding]) -> list[Html]:
    """Every finding, what it can mean, and what was counted on this file itself."""
    if not audits:
        return [_html.paragraph(_HOW_TO)]
    claimed = "no epsilon"
    if guarantee.is_private:
        claimed = f"epsilon {number_up(guarantee.epsilon)} at delta {number_up(guarantee.delta)}"
        claimed += f", per {guarantee.unit}"
    own = [one for one in audits if one.subject == THE_RELEASE]
    said = (
        f"This release claims {claimed}. An audited epsilon is what attacks have shown "
        "for sure; it is never above the true one, but for a chance of 1 less the confidence. "
        f"Below the claim it proves nothing; above it the claim is false. "
        f"{_OF_THIS if own else _OF_PARTS}"
    )
    parts = [_html.paragraph(said), _html.table(_HEADS, [_row(one) for one in audits])]
    if own:
        counted = [f"{one.seen}." for one in own if one.seen]
        parts.append(_html.paragraph(" ".join([_CANARIES, *counted])))
    said_with_it = [f"The audit notes: {note}" for note in _notes(audits)]
    parts += [_html.paragraph(one, "small") for one in said_with_it]
    files = dict.fromkeys(one.file for one in audits if one.file is not None)
    return [*parts, *(part for file in files for part in _made(file))]


def _made(file: AuditFile) -> list[Html]:
    """Where findings come from, so that whoever checks the page can find them again."""
    facts = [
        ("audit file", file.name),
        ("its SHA-256", file.sha256),
        ("made by", f"discreet {file.version}" if file.version else "not told"),
        ("made at", file.time or "not told"),
        ("seed", "none told" if file.seed is None else file.seed),
        ("command", file.command or "not told"),
    ]
    parts = [_html.table((), facts)]
    if file.version != __version__:
        which = f"by discreet {file.version}" if file.version else "by a version that it leaves out"
        parts.append(
            _html.paragraph(
                f"Warning: {file.name} was made {which}, and this page by {__version__}. What was "
                "audited may be another program; make the audit again."
            )
        )
    return parts


def _notes(audits: Sequence[AuditFinding]) -> list[str]:
    """Each once, and none that another one repeats."""
    told = {one.note for one in audits} - {""}
    return sorted(one for one in told if not any(one in more for more in told - {one}))


def _row(one: AuditFinding) -> tuple[str, ...]:
    claimed = "none" if one.claimed_epsilon is None else number_up(one.claimed_epsilon)
    return (
        one.subject, claimed, number_down(one.audited_epsilon),
        "" if one.most is None else number_down(one.most), number_up(one.delta),
        f"{100 * one.confidence:.7g} %", f"{one.runs:,}", _verdict(one),
    )  # fmt: skip


def _verdict(one: AuditFinding) -> str:
    if one.violated:
        return "CLAIM REFUTED"
    return "not refuted" if one.can_refute else "too few runs to refute"
