"""The page itself."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from pathlib import Path

from discreet import __version__
from discreet.domain import CatalogOrigin
from discreet.privacy import Guarantee, Unit
from discreet.privacy.ledger import Ledger
from discreet.release import Release, load
from discreet.report import _html
from discreet.report._audit import AuditFinding, sha256_of
from discreet.report._audited import audited, check_audits
from discreet.report._html import Html
from discreet.report._odds import (
    after,
    best_guess,
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
    sha256 = sha256_of(path)
    check_audits(path, sha256, release.guarantee, audits)
    made = made or datetime.datetime.now(datetime.UTC)
    under = f"{path.name}, page made on {made:%Y-%m-%d %H:%M} UTC by discreet {__version__}"
    return _html.page(
        "Privacy report of a release",
        under,
        _verdict(release.guarantee, audits),
        _html.section("What was published", *_published(path, sha256, release)),
        _html.section("What it promises", *_promises(release)),
        _html.section("What it does not promise", *_not_promised(release)),
        _html.section("What was spent and what is left", *spending(release, ledger)),
        _html.section("Audited beside claimed", *audited(release.guarantee, audits)),
        _html.section("Who can do what with it", _who(release)),
        _html.section("Notes", _html.bullets(_notes(path))),
    )


def _verdict(guarantee: Guarantee, audits: Sequence[AuditFinding]) -> Html:
    lines = str(guarantee).splitlines()
    if guarantee.is_private:
        refuted = [one.subject for one in audits if one.violated]
        if refuted:
            claimed = f"It claims: {lines[0]}"
            by = f"An audit refuted what this rests on: {', '.join(refuted)}. See below."
            return _html.box(["Not to be relied on: a claim is false", by, claimed], good=False)
        return _html.box([f"Differentially private: {lines[0]}", lines[1]], good=True)
    return _html.box(["Not private: there is no guarantee", *lines[1:]], good=False)


def _published(path: Path, sha256: str, release: Release) -> list[Html]:
    found = path.stat()
    date = datetime.datetime.fromtimestamp(found.st_mtime, datetime.UTC)
    catalog = release.catalog
    kind = "presence alone: that a record is there" if release.scale.presence else release.scale
    facts = [
        ("file", path.name),
        ("date of the file", f"{date:%Y-%m-%d %H:%M:%S} UTC"),
        ("size", f"{found.st_size:,} bytes"),
        ("SHA-256 of the file", sha256),
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
