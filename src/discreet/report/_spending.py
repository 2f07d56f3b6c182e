"""What a release cost, and what its people's ledger has left."""

from __future__ import annotations

import math

from discreet.privacy import Event, Guarantee, Unit
from discreet.privacy.ledger import Entry, Ledger, Pairing
from discreet.release import Release
from discreet.report import _html
from discreet.report._html import Html
from discreet.report._odds import number_down, number_up

_SHOWN_CHARGES = 20
"""The latest charges, so that a page stays a page. Chosen."""


def spending(release: Release, ledger: Ledger | None, pairing: Pairing | None) -> list[Html]:
    """Every event of a release, and the totals of a ledger if there is one.

    Args:
        release: Of the file.
        ledger: That was given with it.
        pairing: Whether the two belong together.
    """
    events = release.guarantee.events
    rows = [(event.label, event.kind, _size(event), f"{event.count:,}") for event in events]
    heads = ("what was measured", "noise", "its size / what one unit moves", "times")
    parts = (
        [_html.table(heads, rows)]
        if rows
        else [_html.paragraph("Nothing was spent on it that a ledger counts.")]
    )
    if ledger is None or pairing is None:
        return [
            *parts,
            _html.paragraph(
                "No ledger was given: what other releases about the same people have spent, and "
                "what is left, is not known to this page."
            ),
        ]
    return [*parts, *_ledger(release, ledger, pairing)]


def _size(event: Event) -> str:
    """A cost rounded up, noise rounded down."""
    known = event.to_dict()
    size = known.get("sigma", known.get("scale"))
    return (
        f"epsilon {number_up(known['epsilon'])}"
        if size is None
        else number_down(size / known["sensitivity"])
    )


def origin(release: Release) -> list[tuple[str, str]]:
    """Where a release says it comes from, as rows of a table; nothing if it does not say."""
    provenance = release.guarantee.provenance
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
        ("made from", provenance.part or "all of the data"),
        ("bad rows", bad_rows[provenance.bad_rows]),
        ("most ratings kept of a person", "no bound" if most is None else f"{most:,}"),
        ("digest of the configuration", provenance.configuration),
        *paid,
    ]


def _ledger(release: Release, ledger: Ledger, pairing: Pairing) -> list[Html]:
    history = ledger.history()
    since = f"{ledger.created:%Y-%m-%d}"
    count = f"{len(history):,} charge{'s' * (len(history) != 1)}"
    parts = [_html.paragraph(f"The ledger of '{ledger.population}': {count} since {since} (UTC).")]
    totals = [_unit(ledger, unit) for unit in Unit]
    heads = ("per", "spent (epsilon)", "limit", "delta", "left: Gaussian", "or pure")
    parts.append(_html.table(heads, totals))
    parts.append(_html.paragraph(_paid(release.guarantee, pairing)))
    own = pairing.charge
    shown = [e for e in history if e.number == own or e.number > len(history) - _SHOWN_CHARGES]
    rows = [_charge(entry, is_own=entry.number == own) for entry in shown]
    if rows:
        parts.append(_html.table(("charge", "time (UTC)", "purpose", ""), rows))
    return parts


def _paid(guarantee: Guarantee, pairing: Pairing) -> str:
    """Whether a charge paid for the release, in words."""
    if not guarantee.events:
        return "This release spent nothing that a ledger counts, so none of its charges is for it."
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


def _unit(ledger: Ledger, unit: Unit) -> tuple[str, ...]:
    own = ledger.limit(unit)
    limit = own or ledger.limits[0]
    spent = limit.spent_epsilon(ledger.spent(unit))
    said = "no bound" if math.isinf(spent) else number_up(spent)
    if own is None:
        return str(unit), said, "none", f"{limit.delta:g}", "", ""
    room = ledger.remaining(unit)
    return (
        str(unit), said, f"{own.epsilon:g}", f"{own.delta:g}", number_down(room.epsilon),
        number_down(room.pure),
    )  # fmt: skip
