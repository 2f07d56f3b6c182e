"""What a release cost, and what its people's ledger has left."""

from __future__ import annotations

import math

from discreet.domain import InputError
from discreet.privacy import Event, Guarantee, Unit
from discreet.privacy.ledger import Ledger
from discreet.release import Release
from discreet.report import _html
from discreet.report._html import Html
from discreet.report._odds import number_down, number_up

_SHOWN_CHARGES = 20


def spending(release: Release, ledger: Ledger | None) -> list[Html]:
    """Every event of a release, and the totals of a ledger if there is one."""
    events = release.guarantee.events
    rows = [(event.label, event.kind, _size(event), f"{event.count:,}") for event in events]
    heads = ("what was measured", "noise", "its size / what one unit moves", "times")
    parts = (
        [_html.table(heads, rows)]
        if rows
        else [_html.paragraph("Nothing was spent on it that a ledger counts.")]
    )
    if ledger is None:
        return [
            *parts,
            _html.paragraph(
                "No ledger was given: what other releases about the same people have spent, and "
                "what is left, is not known to this page."
            ),
        ]
    return [*parts, *_ledger(release, ledger)]


def _size(event: Event) -> str:
    """A cost rounded up, noise rounded down."""
    known = event.to_dict()
    size = known.get("sigma", known.get("scale"))
    return (
        f"epsilon {number_up(known['epsilon'])}"
        if size is None
        else number_down(size / known["sensitivity"])
    )


def _ledger(release: Release, ledger: Ledger) -> list[Html]:
    history = ledger.history()
    since = f"{ledger.created:%Y-%m-%d}"
    count = f"{len(history):,} charge{'s' * (len(history) != 1)}"
    parts = [_html.paragraph(f"The ledger of '{ledger.population}': {count} since {since} (UTC).")]
    rows = [_unit(ledger, unit) for unit in Unit]
    heads = ("per", "spent (epsilon)", "limit", "delta", "left: Gaussian", "or pure")
    parts.append(_html.table(heads, rows))
    if not _may_have_paid(release.guarantee, ledger):
        parts.append(
            _html.paragraph(
                "This ledger has spent less than this release cost: it was not charged here. What "
                "the two cost together is more than the table says."
            )
        )
    last = [
        (f"{e.number:,}", f"{e.time:%Y-%m-%d %H:%M}", e.purpose, "" if e.is_private else "seeded")
        for e in history[-_SHOWN_CHARGES:]
    ]
    if last:
        parts.append(_html.table(("charge", "time (UTC)", "purpose", ""), last))
    return parts


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


def _may_have_paid(guarantee: Guarantee, ledger: Ledger) -> bool:
    """Whether the ledger has spent at least what the release cost its own unit."""
    if not guarantee.is_private:
        return True
    spent = ledger.spent(guarantee.unit)
    if math.isinf(spent.pure) or (spent.mu_squared and guarantee.delta == 0):
        return True
    try:
        return spent.epsilon(guarantee.delta) >= guarantee.epsilon * (1 - 1e-6)
    except InputError:
        return True
