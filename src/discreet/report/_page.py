"""The page itself."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

from discreet import __version__
from discreet.domain import CatalogOrigin
from discreet.privacy import Unit
from discreet.privacy.ledger import Ledger
from discreet.release import Release, load
from discreet.report import _html
from discreet.report._audit import AuditFinding, sha256_of
from discreet.report._audited import audited, check_audits
from discreet.report._html import Html
from discreet.report._promised import promises
from discreet.report._readers import Made, made_by, who_can
from discreet.report._spending import origin, spending
from discreet.report._verdict import verdict

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
_BY_HAND = ("controller", "purpose", "name and office", "place and date", "signature")


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
        ledger: Of the people it is about; only its totals and purposes are shown. The page says
            whether it paid for this very file.
        audits: What an audit found, of this release or of what the program is made of.
        made: When the page is made; now if absent.

    Raises:
        InputError: The file is no release, or an audit is of another one.
    """
    release = load(path, verify=True)
    sha256 = sha256_of(path)
    pairing = None if ledger is None else ledger.pair(release.guarantee, release.digest())
    check_audits(path, sha256, audits)
    made = made or datetime.datetime.now(datetime.UTC)
    under = (
        f"{path.name}; page made on {made:%Y-%m-%d %H:%M} UTC by discreet {__version__}, which is "
        "the version that made the page and not always the one that made the release"
    )
    return _html.page(
        "Privacy report of a release",
        under,
        verdict(release, audits, pairing),
        _html.section("What was published", *_published(path, sha256, release)),
        _html.section("What it promises", *promises(release)),
        _html.section("What it does not promise", *_not_promised(release)),
        _html.section("What was spent and what is left", *spending(release, ledger, pairing)),
        _html.section("Audited beside claimed", *audited(release.guarantee, audits)),
        _html.section("Who can do what with it", _who(release)),
        _html.section("Notes", _html.bullets(_notes(path))),
        _html.section("Filed by", _html.to_fill_in(_BY_HAND)),
    )


def _published(path: Path, sha256: str, release: Release) -> list[Html]:
    found = path.stat()
    date = datetime.datetime.fromtimestamp(found.st_mtime, datetime.UTC)
    catalog = release.catalog
    kind = "presence alone: that a record is there" if release.scale.presence else release.scale
    facts = [
        ("file", path.name),
        ("last changed on disk", f"{date:%Y-%m-%d %H:%M:%S} UTC"),
        ("size", f"{found.st_size:,} bytes"),
        ("SHA-256 of the file", sha256),
        ("method", _METHODS.get(release.method, release.method)),
        ("made", made_by(release).value),
        ("items", f"{len(catalog):,}; the catalogue is {_ORIGINS[catalog.origin]}"),
        ("digest of the catalogue", catalog.digest()),
        *origin(release),
        ("scale of ratings", kind),
    ]
    arrays = [
        (name, array.dtype.name, " x ".join(f"{n:,}" for n in array.shape))
        for name, array in release.arrays.items()
    ]
    return [_html.table((), facts), _html.table(("array", "numbers", "how many"), arrays)]


def _not_promised(release: Release) -> list[Html]:
    guarantee = release.guarantee
    said = [f"There is no guarantee: {reason}." for reason in guarantee.not_private]
    if guarantee.is_private and guarantee.per(Unit.USER) is None:
        said.append(
            "A person's whole history is not protected: nothing limits how many ratings it has."
        )
    if guarantee.is_private and made_by(release) is Made.LOCAL:
        said.append("That somebody sent a report is not protected: how many did is published.")
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
