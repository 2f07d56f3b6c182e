"""What audits found, beside what the release claims."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

from discreet.domain import InputError
from discreet.privacy import Guarantee
from discreet.release import Release
from discreet.report import _html
from discreet.report._audit import AuditFinding
from discreet.report._html import Html
from discreet.report._odds import number_down, number_up
from discreet.report._readers import Made, made_by

THE_RELEASE = "release"
"""The subject of an audit of one release by its canaries; others are parts of the program."""
SAME = 1e-6
"""How far apart, relatively, two costs may be that are taken for one."""
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


def check_audits(
    path: Path, sha256: str, guarantee: Guarantee, audits: Sequence[AuditFinding]
) -> None:
    """Refuse an audit of another release: by its digest, without one by what it claims.

    Raises:
        InputError: One is of another release.
    """
    for one in audits:
        if one.release_sha256 is not None:
            if one.release_sha256 != sha256:
                raise InputError(
                    f"this is not the release that was audited, whose SHA-256 is "
                    f"{one.release_sha256}",
                    path=path,
                )
        elif one.subject == THE_RELEASE and not _claims_the_same(one, guarantee):
            claimed = "nothing" if one.claimed_epsilon is None else f"{one.claimed_epsilon:g}"
            raise InputError(
                f"this is not the release that was audited, which claims epsilon {claimed} at "
                f"delta {one.delta:g}",
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


def _claims_the_same(one: AuditFinding, guarantee: Guarantee) -> bool:
    if not guarantee.is_private or one.claimed_epsilon is None:
        return False
    own = guarantee.delta if one.delta else 0.0  # a pure claim is told at delta 0
    try:
        told = dataclasses.replace(guarantee, delta=own).epsilon
    except InputError:  # Gaussian noise has no epsilon at delta 0
        return False
    return all(
        math.isclose(a, b, rel_tol=SAME) for a, b in ((one.claimed_epsilon, told), (one.delta, own))
    )


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
    return [*parts, *(_html.paragraph(one, "small") for one in said_with_it)]


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
