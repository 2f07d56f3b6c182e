"""The page: the verdict first, then a section for each question that a privacy officer asks."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from pathlib import Path

from discreet import __version__
from discreet.domain import CatalogOrigin, InputError
from discreet.privacy import (
    NOT_RECORDED,
    WEAK_EPSILON,
    Event,
    Guarantee,
    Unit,
    spell_factor,
)
from discreet.privacy.accounting import Totals, compose
from discreet.privacy.ledger import Entry, Ledger, Pairing
from discreet.release import Release, load
from discreet.report import _html
from discreet.report._audits import AuditFile, AuditFinding, sha256_of
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
from discreet.report._statement import Item, Made, made_by, statements

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
    CatalogOrigin.FROM_DATA: "taken from the private ratings: an item that is listed was rated by "
    "somebody",
}
_BY_HAND = ("controller", "purpose", "name and office", "place and date", "signature")
_PATENT = (
    "US patent 8,619,984 (McSherry and Mironov) is about recommendations under differential "
    "privacy and may cover what a curator does here. This page is not legal advice: have it "
    "checked before commercial use."
)


def make_report(
    path: Path,
    *,
    ledger: Ledger | None = None,
    audits: Sequence[AuditFinding] = (),
    made: datetime.datetime | None = None,
) -> str:
    """One self-contained HTML page about the release in a file.

    Args:
        path: The file of the release, which is verified.
        ledger: Of the people it is about; only its totals and purposes are shown. The page says
            whether it paid for this very file.
        audits: What audits found, about this release or about parts of the program.
        made: When the page is made; now if absent.

    Raises:
        InputError: The file is not a release, or an audit is of another one.
    """
    release = load(path, verify=True)
    sha256 = sha256_of(path)
    pairing = None if ledger is None else ledger.pair(release.guarantee, release.digest())
    _check_audits(path, sha256, audits)
    made = made or datetime.datetime.now(datetime.UTC)
    under = (
        f"{path.name}; page made on {made:%Y-%m-%d %H:%M} UTC by discreet {__version__} (the "
        "release may have been made by another version)"
    )
    return _html.page(
        "Privacy report of a release",
        under,
        _verdict(release, audits, pairing),
        _html.section("What was published", *_published(path, sha256, release)),
        _html.section("What is guaranteed", *_guaranteed(release)),
        _html.section("What is not guaranteed", _not_guaranteed(release)),
        _html.section("What was spent and what is left", *_spending(release, ledger, pairing)),
        _html.section("Audits of the claims", *_audited(release.guarantee, audits)),
        _html.section(
            "Who can do what with it", _html.table(("who", "can", "cannot"), _who_can(release))
        ),
        *(_stated(title, items) for title, items in statements(release, ledger).items()),
        _html.section("Notes", _html.bullets(_notes(path))),
        _html.section("Filed by", _html.to_fill_in(_BY_HAND)),
    )


def _stated(title: str, items: Sequence[Item]) -> Html:
    """A section of statements; what the curator has to say is marked."""
    rows = [(item.topic, item.text) for item in items]
    return _html.section(title, _html.table((), rows))


def _notes(path: Path) -> list[str]:
    return [
        f"Check the file yourself: discreet inspect {path.name} reads it and recomputes the "
        "epsilons from what was spent; sha256sum gives the digest above.",
        "Proofs of every bound are in the source, in the PROOF.md beside each mechanism and "
        "statistic; docs/explanation/errata.md lists claims in the papers that do not hold.",
        _PATENT,
    ]


# The verdict.

_SILENT = (
    "This file does not say whether its privacy cost was recorded in a ledger: discreet 0.1.0, "
    "which made it, did not note that."
)
_HAS_CANARIES = (
    "Its ratings contain canaries (synthetic users): it is meant for an audit, not for predictions."
)


def _verdict(release: Release, audits: Sequence[AuditFinding], pairing: Pairing | None) -> Html:
    """Green for a guarantee of people that a ledger records, amber if it is less, red for none.

    Amber: a weak or partial guarantee, one of single ratings that leaves people open, or one that
    no ledger records; canaries in the ratings; a ledger of other people. Also red: a refuted claim,
    and a ledger that contradicts the file.
    """
    guarantee = release.guarantee
    lines = str(guarantee).splitlines()
    canaries = [_HAS_CANARIES] * any(one.subject == _THE_RELEASE for one in audits)
    if not guarantee.is_private:
        head = "Not private: there is no guarantee"
        return _html.box([head, *lines[1:], *canaries], "no")
    paid, unrecorded = _on_charge(release, pairing)
    warnings = [*_weaknesses(guarantee), *canaries, *unrecorded]
    besides = [*_on_history(guarantee), *paid, *warnings]
    refuted = [one.subject for one in audits if one.violated]
    if refuted:
        return _html.box([*_on_refuted(release, refuted), f"It claims: {lines[0]}", *besides], "no")
    if pairing is not None and pairing.is_contradiction:
        head = "Look into this first: this file and this ledger do not belong together"
        return _html.box([head, f"The file claims: {lines[0]}", *besides], "no")
    head = "Differentially private, with a warning" if warnings else "Differentially private"
    return _html.box([f"{head}: {lines[0]}", lines[1], *besides], "weak" if warnings else "")


def _on_charge(release: Release, pairing: Pairing | None) -> tuple[list[str], list[str]]:
    """What is known about the charge that paid for the release, and what is missing.

    People who draw noise at home pay for it at home: no ledger records their reports.
    """
    provenance = release.guarantee.provenance
    if pairing is not None and made_by(release) is not Made.LOCAL:
        said = pairing.sentences()
        return (said, []) if pairing.is_paid else ([], said)
    if made_by(release) is not Made.CURATOR:
        return [], []
    if provenance is None:
        return [], [_SILENT]
    if provenance.charge is None:
        return [], [NOT_RECORDED]
    return [f"{provenance.sentences()[-1]} No ledger was given to check that."], []


def _on_refuted(release: Release, refuted: list[str]) -> tuple[str, str]:
    own = [subject for subject in refuted if _rests_on(release, subject)]
    head, what = "Do not rely on this release: a claim is false", "what it rests on"
    if not own:
        head, what = "Look into this first: a claim of the program is false", "another part"
    return head, f"An audit refuted {what}: {', '.join(own or refuted)}. See below."


# A guarantee is partial if the best guess may be right more often than this: above epsilon 2.2, at
# delta 0. It is the largest share that `web/js/page/privacy.js` calls fair. Chosen by hand.
_MOST_RIGHT = 0.9


def _weaknesses(guarantee: Guarantee) -> list[str]:
    """What makes a guarantee weak, or partial."""
    epsilon, delta = guarantee.epsilon, guarantee.delta
    right = best_guess(epsilon, delta)
    guesses = (
        f"guesses between two equally likely cases may be right {percent_up(right)} of the time."
    )
    said = []
    if epsilon > WEAK_EPSILON:
        said.append(
            f"An epsilon above {WEAK_EPSILON:g} promises little on its own: an outcome may become "
            f"{spell_factor(epsilon)} times as likely, and {guesses}"
        )
    elif right > _MOST_RIGHT:
        said.append(f"It protects a {_whom(guarantee.unit)} only in part: {guesses}")
    if epsilon <= WEAK_EPSILON and guarantee.unit is not Unit.USER:
        said += _on_people(guarantee)
    if math.isinf(odds_factor(0.0, delta)[0]):
        said.append(
            f"A delta of {number_up(delta)} is not small: with that probability the guarantee may "
            "fail altogether."
        )
    return said


def _on_people(guarantee: Guarantee) -> list[str]:
    """What a guarantee of less than a person leaves open: it is people who are to be protected."""
    unit, epsilon = guarantee.unit, guarantee.per(Unit.USER)
    what = f"single {unit.period}s of a person" if unit.is_period else "single ratings"
    if epsilon is None:
        return [
            f"It protects {what}, not people: nothing bounds what it reveals about a person's "
            "ratings together."
        ]
    if epsilon > WEAK_EPSILON:
        return [
            f"It protects {what} but hardly protects people: for all ratings of a person "
            f"together, the factor is {spell_factor(epsilon)}."
        ]
    return []


def _on_history(guarantee: Guarantee) -> list[str]:
    """What a guarantee per rating means for a person."""
    if guarantee.unit is Unit.USER:
        return []
    epsilon = guarantee.per(Unit.USER)
    bound = "no bound" if epsilon is None else f"epsilon {number_up(epsilon)}"
    return [f"A person's whole history: {bound}."]


# What was published.


def _published(path: Path, sha256: str, release: Release) -> list[Html]:
    found = path.stat()
    date = datetime.datetime.fromtimestamp(found.st_mtime, datetime.UTC)
    catalog = release.catalog
    kind = "interactions, without ratings" if release.scale.presence else release.scale
    facts = [
        ("file", path.name),
        ("last changed on disk", f"{date:%Y-%m-%d %H:%M:%S} UTC"),
        ("size", f"{found.st_size:,} bytes"),
        ("SHA-256 of the file", sha256),
        ("method", _METHODS.get(release.method, release.method)),
        ("made", made_by(release).value),
        ("items", f"{len(catalog):,}; the catalogue is {_ORIGINS[catalog.origin]}"),
        ("digest of the catalogue", catalog.digest()),
        *_origin(release),
        ("scale of ratings", kind),
        ("what was learnt", " ".join(release.learnt.sentences())),
    ]
    arrays = [
        (name, array.dtype.name, " x ".join(f"{n:,}" for n in array.shape))
        for name, array in release.arrays.items()
    ]
    return [_html.table((), facts), _html.table(("array", "type", "shape"), arrays)]


def _origin(release: Release) -> list[tuple[str, str]]:
    """Where a release says that it comes from."""
    provenance, series = release.guarantee.provenance, release.guarantee.series
    if provenance is None:
        return [("charge", "this file does not say whether a ledger was charged for it")]
    charge = provenance.charge
    paid = [("charge", "not recorded in any ledger")]
    if charge is not None:
        paid = [
            ("charge", f"{charge.number:,} in the ledger of '{charge.population}'"),
            ("fingerprint of that ledger", charge.ledger),
            ("digest of that charge", charge.digest),
        ]
    bad_rows = {"refuse": "refused", "skip": "skipped", None: "not stated"}
    most = provenance.most_ratings
    return [
        ("digest of the release", release.digest()),
        ("made by", f"discreet {provenance.version}"),
        ("made from", provenance.part or (series.data if series else "all of the data")),
        ("bad rows", bad_rows[provenance.bad_rows]),
        ("most ratings per person", "no bound" if most is None else f"{most:,}"),
        ("digest of the configuration", provenance.configuration),
        *paid,
    ]


# What is guaranteed.

# Beliefs beforehand that the table of beliefs begins with. Chosen by hand.
_PRIORS = (0.001, 0.01, 0.1, 0.5)
_HOW_TO_READ = (
    "How to read this: an attacker who knows everything else about everybody, and studies this "
    "release for as long as they like, can raise the odds of a suspicion by at most this factor. "
    "When they guess between two equally likely cases, where chance alone is right 50 % of the "
    "time, they are right at most this often."
)
_ANOTHER_HISTORY = (
    " Changing a person's history counts as removing the old one and adding the new one: twice."
)


def _guaranteed(release: Release) -> list[Html]:
    """Epsilons for a rating, a changed one, a person and their history, and what they mean."""
    guarantee = release.guarantee
    if not guarantee.is_private:
        return [_html.paragraph("There is no differential privacy guarantee.")]
    rows = [(what, *_figures(each, guarantee.delta)) for what, each in _protected(release)]
    odds = f"odds grow at most{_except(guarantee.delta)}"
    heads = ("what is protected", "epsilon", "delta", odds, "best guess is right")
    changed = "" if made_by(release) is Made.LOCAL else _ANOTHER_HISTORY
    return [
        _html.table(heads, rows),
        _html.paragraph(_HOW_TO_READ + changed),
        *(_html.paragraph(sentence) for sentence in guarantee.sentences()),
        _beliefs(guarantee),
    ]


def _protected(release: Release) -> list[tuple[str, float | None]]:
    """What may be protected, and by which epsilon; None if nothing bounds it.

    A server counts the reports it gets, so reports do not hide who sent one.
    """
    guarantee = release.guarantee
    in_data = [("whether a person is in the data", guarantee.per(Unit.USER))]
    if made_by(release) is Made.LOCAL:
        in_data = []
    history = history_epsilon(guarantee, len(release.catalog))
    if release.scale.presence:
        return [
            ("the presence of one record", guarantee.per(Unit.RATING)),
            *in_data,
            ("which records a person has who is known to be in the data", history),
        ]
    return [
        ("the presence of one rating", guarantee.per(Unit.RATING)),
        ("the value of one rating", guarantee.changed_rating),
        *in_data,
        ("what a person has rated who is known to be in the data", history),
    ]


def history_epsilon(guarantee: Guarantee, items: int) -> float | None:
    """The epsilon between any two histories of a person in the data; None without a bound.

    Args:
        guarantee: What the release guarantees.
        items: How many items a person can rate.
    """
    if guarantee.series is not None:
        terms = guarantee.series.terms
        life = terms.cost_of_life(terms.most_periods or guarantee.series.periods)
        if math.isinf(life.pure):
            return None
        # One history less and another one more: a group of two.
        return Totals(2 * life.pure, 4 * life.mu_squared).epsilon(guarantee.delta)
    seen = [_of_history(event, items) for event in guarantee.events]
    bounded = [event for event in seen if event is not None]
    if len(bounded) < len(seen):
        return None
    return compose(bounded).epsilon(guarantee.delta)


def _of_history(event: Event, items: int) -> Event | None:
    """The event for a changed history.

    That is one user less and one more; or, per rating, all ratings of one history less and all of
    the other more. A bound that covers changed ratings counts each item once.
    """
    if event.unit is Unit.USER:
        return event.scaled(2)
    if event.ratings_per_user is None:
        return None
    ratings = 2 * event.ratings_per_user
    return event.scaled(min(ratings, items) if event.covers_change else ratings)


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


def _except(delta: float) -> str:
    """The probability with which a bound on odds may fail, for a heading."""
    _, chance = odds_factor(1.0, delta)
    return f" (except with probability {one_in(chance)})" if chance else ""


def _whom(unit: Unit) -> str:
    if unit.is_period:
        return f"person's {unit.period}"
    return "person" if unit is Unit.USER else "rating"


def _beliefs(guarantee: Guarantee) -> Html:
    factor, _ = odds_factor(guarantee.epsilon, guarantee.delta)
    whom = _whom(guarantee.unit)
    rows = [
        (percent_up(prior), "no bound" if math.isinf(factor) else percent_up(after(prior, factor)))
        for prior in _PRIORS
    ]
    heads = (
        f"belief beforehand that the {whom} is in the data",
        f"belief afterwards, at most{_except(guarantee.delta)}",
    )
    return _html.table(heads, rows)


# What is not guaranteed.

_NEVER_COVERED = (
    "What is known already: side information stays as true as it was, and what the release says "
    "about people in general can be applied to anybody, whether they are in the data or not.",
    "Other releases: every further release about the same people adds to what this one reveals. A "
    "ledger keeps account; without one nobody does.",
    "The operator's own machines, backups and logs, and whatever people reveal about their "
    "recommendations themselves.",
)
_NOT_COVERED = (
    "Groups: what a family or a group does together can be learned from several of its members. "
    "The guarantee is about one person, and weakens with each additional one.",
    "People who are not in the data: their absence is protected as well as the presence of others, "
    "but what is learned about people like them applies to them too.",
    *_NEVER_COVERED,
)
_NOBODY_COVERED = (
    "Anybody who took part, alone or with others: nothing limits what can be found out about them.",
    *_NEVER_COVERED,
)


def _not_guaranteed(release: Release) -> Html:
    guarantee = release.guarantee
    said = [f"There is no guarantee: {reason}." for reason in guarantee.not_private]
    if guarantee.is_private and guarantee.per(Unit.USER) is None:
        said.append(
            "A person's whole history is not protected: nothing limits how many ratings it has."
        )
    series = guarantee.series
    if guarantee.is_private and series and series.terms.most_periods is None:
        said.append(
            "A person's whole history in periods to come is not protected as a whole: every "
            "further period in which somebody is active adds to what the series reveals about them."
        )
    if guarantee.is_private and made_by(release) is Made.LOCAL:
        said.append("Sending a report is not protected: the number of reports is published.")
    said += [f"The guarantee holds only if {clause}." for clause in guarantee.assumes]
    return _html.bullets([*said, *(_NOT_COVERED if guarantee.is_private else _NOBODY_COVERED)])


# What was spent and what is left.

# The latest charges of a ledger that are shown. Chosen by hand, so that a page stays a page.
_SHOWN_CHARGES = 20


def noise_ratio(event: Event) -> str:
    """The noise relative to the sensitivity, rounded down; or the epsilon, rounded up."""
    known = event.to_dict()
    size = known.get("sigma", known.get("scale"))
    if size is None:
        return f"epsilon {number_up(known['epsilon'])}"
    return number_down(size / known["sensitivity"])


def _spending(release: Release, ledger: Ledger | None, pairing: Pairing | None) -> list[Html]:
    """Every event of a release, and the totals of a ledger if there is one."""
    events = release.guarantee.events
    rows = [(event.label, event.kind, noise_ratio(event), f"{event.count:,}") for event in events]
    heads = ("statistic", "noise", "noise size / effect of one unit", "times")
    spent = _html.paragraph("It spent nothing that a ledger records.")
    if rows:
        spent = _html.table(heads, rows)
    if ledger is None or pairing is None:
        unknown = (
            "No ledger was given: this page cannot say what other releases about the same people "
            "have spent, or what is left."
        )
        return [spent, _html.paragraph(unknown)]
    history = ledger.history()
    count = f"{len(history):,} charge{'s' * (len(history) != 1)}"
    about = f"The ledger of '{ledger.population}': {count} since {ledger.created:%Y-%m-%d} (UTC)."
    totals = ("per", "spent (epsilon)", "limit", "delta", "left: Gaussian", "or pure")
    own = pairing.charge
    shown = [e for e in history if e.number == own or e.number > len(history) - _SHOWN_CHARGES]
    charges = [_charge(entry, is_own=entry.number == own) for entry in shown]
    return [
        spent,
        _html.paragraph(about),
        _html.table(totals, [_totals(ledger, unit) for unit in ledger.units]),
        _html.paragraph(_on_payment(release.guarantee, pairing)),
        *([_html.table(("charge", "time (UTC)", "purpose", ""), charges)] if charges else []),
    ]


def _on_payment(guarantee: Guarantee, pairing: Pairing) -> str:
    """Whether a charge paid for the release, in words."""
    if not guarantee.events:
        return "This release spent nothing that a ledger records, so none of the charges is for it."
    said = " ".join(pairing.sentences())
    if pairing.is_paid:
        return said
    return (
        f"{said} No charge of this ledger is known to have paid for this file. If the two are "
        "about the same people, they cost more together than the table says."
    )


def _charge(entry: Entry, *, is_own: bool) -> tuple[str, ...]:
    marks = [*(["paid for this file"] if is_own else []), *([] if entry.is_private else ["seeded"])]
    time = f"{entry.time:%Y-%m-%d %H:%M}"
    return f"{entry.number:,}", time, entry.purpose, ", ".join(marks)


def _totals(ledger: Ledger, unit: Unit) -> tuple[str, ...]:
    own = ledger.limit(unit)
    limit = own or ledger.limits[0]
    spent = limit.spent_epsilon(ledger.spent(unit))
    shown = "no bound" if math.isinf(spent) else number_up(spent)
    if own is None:
        return str(unit), shown, "none", f"{limit.delta:g}", "", ""
    room = ledger.remaining(unit)
    return (
        str(unit), shown, f"{own.epsilon:g}", f"{own.delta:g}", number_down(room.epsilon),
        number_down(room.pure),
    )  # fmt: skip


# Audits of the claims.

# The subject of an audit of one release by its canaries; others are parts of the program.
_THE_RELEASE = "release"
# How the names of subjects call the noise, by the kind of an event.
_NOISES = {"gaussian": "gaussian", "geometric": "laplace"}
_AUDIT_HEADS = (
    "subject", "claimed epsilon", "audited, at least", "runs could show", "delta", "confidence",
    "runs", "",
)  # fmt: skip
_NO_AUDIT = (
    "No audit was attached. discreet audit --json writes one: lower bounds on epsilon from "
    "attacks, to compare with the claimed epsilons."
)
_OF_PARTS = (
    "None of these audits is of this file: each is of a part of the program, on data made for the "
    "test. discreet plant-canaries makes a release that can be audited itself."
)
_OF_THIS = (
    "The subject release is this file; any other is a part of the program, on data made for the "
    "test."
)
_ON_CANARIES = (
    "The ratings of this release were mixed with synthetic users, the canaries, and the audit "
    "guessed which of them were included. Such a release is meant for an audit, not for "
    "predictions."
)


def _check_audits(path: Path, sha256: str, audits: Sequence[AuditFinding]) -> None:
    """Refuse an audit of another release, or one that does not identify its release.

    Raises:
        InputError: There is one.
    """
    for one in audits:
        if one.subject == _THE_RELEASE and one.release_sha256 is None:
            where = None if one.file is None else Path(one.file.name)
            raise InputError(
                "does not say which release was audited: it has no release_sha256; make it again "
                "with discreet audit --release --canaries --json",
                path=where,
            )
        if one.release_sha256 not in (None, sha256):
            raise InputError(
                f"this is not the release that was audited, whose SHA-256 is {one.release_sha256}",
                path=path,
            )


def _rests_on(release: Release, subject: str) -> bool:
    """Whether an audit's subject is this release, or a fit with its method, unit and noise.

    Reports that were randomised on people's devices have subjects of their own.
    """
    parts = set(subject.split("/"))
    if made_by(release) is Made.LOCAL:
        return subject == _THE_RELEASE or "local-reports" in parts
    noises = {_NOISES.get(event.kind) for event in release.guarantee.events}
    is_alike = {release.method, str(release.guarantee.unit)} <= parts and bool(noises & parts)
    return subject == _THE_RELEASE or is_alike


def _audited(guarantee: Guarantee, audits: Sequence[AuditFinding]) -> list[Html]:
    """Every finding, what it can mean, and what was counted on this very file."""
    if not audits:
        return [_html.paragraph(_NO_AUDIT)]
    claimed = "no epsilon"
    if guarantee.is_private:
        claimed = f"epsilon {number_up(guarantee.epsilon)} at delta {number_up(guarantee.delta)}"
        claimed += f", per {guarantee.unit}"
    own = [one for one in audits if one.subject == _THE_RELEASE]
    said = (
        f"This release claims {claimed}. An audited epsilon is a lower bound from attacks: at the "
        "confidence stated, it is not above the true one. Below the claim it proves nothing; above "
        f"it the claim is false. {_OF_THIS if own else _OF_PARTS}"
    )
    parts = [_html.paragraph(said), _html.table(_AUDIT_HEADS, [_finding(one) for one in audits])]
    if own:
        counted = [f"{one.seen}." for one in own if one.seen]
        parts.append(_html.paragraph(" ".join([_ON_CANARIES, *counted])))
    parts += [_html.paragraph(f"The audit notes: {note}", "small") for note in _audit_notes(audits)]
    files = dict.fromkeys(one.file for one in audits if one.file is not None)
    return [*parts, *(part for file in files for part in _audit_file(file))]


def _finding(one: AuditFinding) -> tuple[str, ...]:
    verdict = "not refuted" if one.can_refute else "too few runs to refute"
    if one.violated:
        verdict = "CLAIM REFUTED"
    return (
        one.subject,
        "none" if one.claimed_epsilon is None else number_up(one.claimed_epsilon),
        number_down(one.audited_epsilon),
        "" if one.most is None else number_down(one.most),
        number_up(one.delta),
        f"{100 * one.confidence:.7g} %",
        f"{one.runs:,}",
        verdict,
    )


def _audit_notes(audits: Sequence[AuditFinding]) -> list[str]:
    """Each note once, without those that another note contains."""
    notes = {one.note for one in audits} - {""}
    return sorted(one for one in notes if not any(one in more for more in notes - {one}))


def _audit_file(file: AuditFile) -> list[Html]:
    """Where findings come from, so that whoever checks the page can find them again."""
    facts = [
        ("audit file", file.name),
        ("its SHA-256", file.sha256),
        ("made by", f"discreet {file.version}" if file.version else "not stated"),
        ("made at", file.time or "not stated"),
        ("seed", "not stated" if file.seed is None else file.seed),
        ("command", file.command or "not stated"),
    ]
    parts = [_html.table((), facts)]
    if file.version != __version__:
        which = f"by discreet {file.version}" if file.version else "by an unknown version"
        parts.append(
            _html.paragraph(
                f"Warning: {file.name} was made {which}, and this page by {__version__}. The "
                "audited program may be a different one; make the audit again."
            )
        )
    return parts


# Who can do what with it.

_Rows = list[tuple[str, str, str]]


def _who_can(release: Release) -> _Rows:
    """What each kind of reader can do, and what they cannot."""
    made = made_by(release)
    if made in (Made.OPEN, Made.CLOSED):
        return _who_can_with_clusters(made)
    unit = _whom(release.guarantee.unit)
    is_private = release.guarantee.is_private
    cannot = (
        f"tell whether any one {unit} is in the data, beyond the odds above"
        if is_private
        else "nothing is ruled out: without a guarantee, single ratings may be readable from it"
    )
    return [
        (
            "the public",
            "predict and recommend from the file and their own ratings on their own devices, as "
            "often as they like and at no further cost; learn what people like in general",
            cannot,
        ),
        _operator(made),
        (
            "another user",
            "the same as the public; take part with fake ratings or many accounts, and so "
            "influence the release as much as that many people do",
            f"learn more about somebody else that way; {cannot}" if is_private else cannot,
        ),
        (
            "somebody with side information",
            "combine what they know already, up to all other people's ratings, with what the "
            "release says about people in general, to guess about one person",
            f"{cannot}, whatever they know" if is_private else cannot,
        ),
    ]


def _operator(made: Made) -> tuple[str, str, str]:
    if made is Made.LOCAL:
        return (
            "the operator",
            "read the randomised reports, see who sends one and from where, and build other "
            "releases from the same reports at no further cost to anybody",
            "see true ratings: noise was drawn before anything was sent, if the client is the one "
            "that people checked",
        )
    return (
        "the operator",
        "do anything with the true ratings, which it holds: this release does not protect against "
        "it",
        "publish again without paying, where its ledger is kept",
    )


def _who_can_with_clusters(made: Made) -> _Rows:
    read = "; hash the mean of a cluster's uploads, which nearly always gives its hash value"
    hidden = "see the hash values of honest members from their tags alone"
    if made is Made.OPEN:
        read = ""
        hidden = (
            "be sure that an item of an upload is true, unless it is popular or in other uploads"
        )
    return [
        (
            "the public",
            "predict on their own devices from the averages of buckets; given the sums of a bucket "
            "in which they control all members but one, read that member's upload as it was sent",
            "tell true ratings from fake ones in such an upload with certainty; no epsilon bounds "
            "how well they can guess",
        ),
        (
            "the operator",
            "read every upload, which contains the true ratings; see who shares a bucket or "
            f"cluster while a release is built{read}",
            hidden,
        ),
        (
            "another user",
            "join with several accounts, and subtract their own uploads from what is published",
            "see other people's uploads in buckets of five honest people or more",
        ),
        (
            "somebody with side information",
            "compare uploads with a public profile, or two uploads of one person with each other: "
            "what is in both, or is popular, is most likely true",
            "nothing is ruled out: this is deniability, not a guarantee",
        ),
    ]
