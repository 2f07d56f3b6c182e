"""The page itself."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import math
from collections.abc import Sequence
from pathlib import Path

from discreet import __version__
from discreet.domain import CatalogOrigin, InputError
from discreet.privacy import Guarantee, Unit
from discreet.privacy.ledger import Ledger
from discreet.release import Release, load
from discreet.report import _html
from discreet.report._audit import AuditFinding
from discreet.report._html import Html
from discreet.report._odds import (
    after,
    best_guess,
    number_down,
    number_up,
    odds_factor,
    one_in,
    percent_up,
)
from discreet.report._readers import made_by, who_can
from discreet.report._spending import spending

PATENT = (
    "US patent 8,619,984 (McSherry and Mironov) is on recommendations under differential privacy "
    "and may cover what a curator does here. This page is no legal advice: have it checked before "
    "commercial use."
)
_METHODS = {
    "refined": "refined: item effects, a small covariance and one private refinement of all items",
    "covariance": "covariance: item effects and item covariances, after McSherry and Mironov",
    "slope-one": "slope-one: mean differences between two items, after Park and Acharya",
    "cosine": "cosine: how often two items go together, after Park and Acharya",
    "open-clusters": "open clusters: averages by bucket of like-minded people, after Chow, Pathak "
    "and Wang",
    "closed-clusters": "closed clusters: averages by cluster of members whose hash stays hidden",
}
_ORIGINS = {
    CatalogOrigin.GIVEN: "given as public",
    CatalogOrigin.LAYOUT: "part of a public data set's own files",
    CatalogOrigin.FROM_DATA: "read off the private ratings: that an item is listed tells that "
    "somebody rated it",
}
_ALWAYS = (
    "What is known already: side information stays as true as it was, and what the release says "
    "about people in general can be applied to anybody, whether they are in the data or not.",
    "Other releases: every further one about the same people adds to what this one tells. A "
    "ledger keeps count; without one nobody does.",
    "The operator's own machines, backups and logs, and whatever people show of their "
    "recommendations themselves.",
)
_LIMITS = (
    "People who are alike or belong together: what a family or a group does together can be learnt "
    "from several of them. The promise is about one, and grows weaker with each more.",
    "People who are not in the data: that they are not is protected as well as that others are, "
    "but what is learnt about people like them holds for them too.",
    *_ALWAYS,
)
_NO_LIMITS = (
    "Anybody who took part, alone or with others: nothing bounds what can be found out about them.",
    *_ALWAYS,
)
_THE_RELEASE = "release"
"""The subject of an audit of one release by its canaries; others are parts of the program."""
_ROUNDING = 1e-6
_PRIORS = (0.001, 0.01, 0.1, 0.5)


def make_report(
    path: Path,
    *,
    ledger: Ledger | None = None,
    audits: Sequence[AuditFinding] = (),
    made: datetime.datetime | None = None,
) -> str:
    """One self-contained HTML page about the release in a file.

    Args:
        path: The release's file, which is checked as a whole.
        ledger: Of the people it is about; only its totals and purposes are shown.
        audits: What an audit found, of this release or of what the program is made of.
        made: When the page is made; now if absent.

    Raises:
        InputError: The file is no release, or an audit is of another one.
    """
    release = load(path, verify=True)
    _check_audits(path, release.guarantee, audits)
    made = made or datetime.datetime.now(datetime.UTC)
    under = f"{path.name}, page made on {made:%Y-%m-%d %H:%M} UTC by discreet {__version__}"
    return _html.page(
        "Privacy report of a release",
        under,
        _verdict(release.guarantee),
        _html.section("What was published", *_published(path, release)),
        _html.section("What it promises", *_promises(release)),
        _html.section("What it does not promise", *_not_promised(release)),
        _html.section("What was spent and what is left", *spending(release, ledger)),
        _html.section("Audited beside claimed", *_audited(release.guarantee, audits)),
        _html.section("Who can do what with it", _who(release)),
        _html.section("Notes", _html.bullets(_notes(path))),
    )


def _verdict(guarantee: Guarantee) -> Html:
    lines = str(guarantee).splitlines()
    if guarantee.is_private:
        return _html.box([f"Differentially private: {lines[0]}", lines[1]], good=True)
    return _html.box(["Not private: there is no guarantee", *lines[1:]], good=False)


def _published(path: Path, release: Release) -> list[Html]:
    found = path.stat()
    date = datetime.datetime.fromtimestamp(found.st_mtime, datetime.UTC)
    catalog = release.catalog
    kind = "presence alone: that a record is there" if release.scale.presence else release.scale
    facts = [
        ("file", path.name),
        ("date of the file", f"{date:%Y-%m-%d %H:%M:%S} UTC"),
        ("size", f"{found.st_size:,} bytes"),
        ("SHA-256 of the file", _sha256(path)),
        ("method", _METHODS.get(release.method, release.method)),
        ("made", made_by(release).value),
        ("items", f"{len(catalog):,}; the catalogue is {_ORIGINS[catalog.origin]}"),
        ("digest of the catalogue", catalog.digest()),
        ("scale of ratings", kind),
    ]
    arrays = [
        (name, array.dtype.name, " x ".join(f"{n:,}" for n in array.shape))
        for name, array in release.arrays.items()
    ]
    return [_html.table((), facts), _html.table(("array", "numbers", "how many"), arrays)]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _promises(release: Release) -> list[Html]:
    guarantee = release.guarantee
    if not guarantee.is_private:
        return [_html.paragraph("Nothing that differential privacy can put into numbers.")]
    views = [
        ("one rating more or less", guarantee.per(Unit.RATING)),
        ("one rating with another value", guarantee.changed_rating),
        ("a person with all their ratings", guarantee.per(Unit.USER)),
    ]
    if release.scale.presence:
        views = [
            ("one record more or less", views[0][1]),
            ("a person with all records", views[2][1]),
        ]
    rows = [(what, *_figures(epsilon, guarantee.delta)) for what, epsilon in views]
    heads = (
        "who or what is protected",
        "epsilon",
        "delta",
        "odds grow at most",
        "best guess right",
    )
    parts = [_html.table(heads, rows), _html.paragraph(_explained(guarantee))]
    parts += [_html.paragraph(sentence) for sentence in guarantee.sentences()]
    return [*parts, _beliefs(guarantee)]


def _figures(epsilon: float | None, delta: float) -> tuple[str, str, str, str]:
    if epsilon is None or math.isinf(epsilon):
        return "no bound", "", "without bound", "100 %"
    factor, _ = odds_factor(epsilon, delta)
    return (
        number_up(epsilon),
        number_up(delta),
        number_up(factor, 3) + " times" * math.isfinite(factor),
        percent_up(best_guess(epsilon, delta)),
    )


def _explained(guarantee: Guarantee) -> str:
    _, chance = odds_factor(guarantee.epsilon, guarantee.delta)
    aside = ""
    if chance:
        aside = (
            f" (but for a chance of {one_in(chance)}, which is why it is a little more than the "
            "factor below)"
        )
    return (
        "Read it so: somebody who knows everything else about everybody, and looks at this release "
        "for as long as they like, multiplies the odds of what they suspect by at most so much"
        f"{aside}. Who has to guess between two cases that were equally likely, where 50 % is "
        "chance, is right at most so often."
    )


def _beliefs(guarantee: Guarantee) -> Html:
    factor, _ = odds_factor(guarantee.epsilon, guarantee.delta)
    whom = "person" if guarantee.unit is Unit.USER else "rating"
    rows = [(percent_up(prior), percent_up(after(prior, factor))) for prior in _PRIORS]
    heads = (f"belief beforehand that the {whom} is in the data", "at most afterwards")
    return _html.table(heads, rows)


def _not_promised(release: Release) -> list[Html]:
    guarantee = release.guarantee
    said = [f"There is no guarantee: {reason}." for reason in guarantee.not_private]
    if guarantee.is_private and guarantee.per(Unit.USER) is None:
        said.append(
            "A person's whole history is not protected: nothing limits how many ratings it has."
        )
    said += [f"The promise fails if it is not true that {clause}." for clause in guarantee.assumes]
    return [_html.bullets([*said, *(_LIMITS if guarantee.is_private else _NO_LIMITS)])]


def _check_audits(path: Path, guarantee: Guarantee, audits: Sequence[AuditFinding]) -> None:
    """Refuse an audit of another release: by its digest, without one by what it claims."""
    for one in audits:
        if one.release_sha256 is not None:
            if one.release_sha256 != _sha256(path):
                raise InputError(
                    f"this is not the release that was audited, whose SHA-256 is "
                    f"{one.release_sha256}",
                    path=path,
                )
        elif one.subject == _THE_RELEASE and not _claims_the_same(one, guarantee):
            claimed = "nothing" if one.claimed_epsilon is None else f"{one.claimed_epsilon:g}"
            raise InputError(
                f"this is not the release that was audited, which claims epsilon {claimed} at "
                f"delta {one.delta:g}",
                path=path,
            )


def _claims_the_same(one: AuditFinding, guarantee: Guarantee) -> bool:
    if not guarantee.is_private or one.claimed_epsilon is None:
        return False
    own = guarantee.delta if one.delta else 0.0  # a pure claim is told at delta 0
    try:
        told = dataclasses.replace(guarantee, delta=own).epsilon
    except InputError:  # Gaussian noise has no epsilon at delta 0
        return False
    return all(
        math.isclose(a, b, rel_tol=_ROUNDING)
        for a, b in ((one.claimed_epsilon, told), (one.delta, own))
    )


def _audited(guarantee: Guarantee, audits: Sequence[AuditFinding]) -> list[Html]:
    if not audits:
        return [
            _html.paragraph(
                "No audit was attached. discreet audit --json writes one: attacks that give a "
                "lower bound on epsilon, to be held against what is claimed."
            )
        ]
    rows = [_audit_row(one) for one in audits]
    heads = ("subject", "claimed epsilon", "audited, at least", "delta", "confidence", "runs", "")
    claimed = number_up(guarantee.epsilon) if guarantee.is_private else "none"
    said = (
        f"This release claims epsilon {claimed}. An audited epsilon is what attacks have shown "
        "for sure; it is never above the true one, but for a chance of 1 less the confidence. "
        "Below the claim it proves nothing; above it the claim is false. The subject release is "
        "this file; any other is a part of the program, on data made for the test."
    )
    return [_html.paragraph(said), _html.table(heads, rows)]


def _audit_row(one: AuditFinding) -> tuple[str, ...]:
    claimed = "none" if one.claimed_epsilon is None else number_up(one.claimed_epsilon)
    return (
        one.subject, claimed, number_down(one.audited_epsilon), number_up(one.delta),
        f"{100 * one.confidence:g} %", f"{one.runs:,}",
        "CLAIM REFUTED" if one.violated else "not refuted",
    )  # fmt: skip


def _who(release: Release) -> Html:
    return _html.table(("who", "can", "cannot"), who_can(release))


def _notes(path: Path) -> list[str]:
    return [
        f"Check the file yourself: discreet inspect {path.name} reads it and reckons the epsilons "
        "again from what was spent; sha256sum gives the digest above.",
        "Proofs of every bound are in the source, in the PROOF.md beside each mechanism and "
        "statistic; where the papers' own claims do not hold is in docs/errata.md.",
        PATENT,
    ]
