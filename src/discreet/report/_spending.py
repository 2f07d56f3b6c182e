"""What a release cost, and what its people's ledger has left."""

from __future__ import annotations

import math

from discreet.privacy import Event, Guarantee, Unit
from discreet.privacy.accounting import FilterAccountant
from discreet.privacy.ledger import Entry, Ledger
from discreet.release import Release
from discreet.report import _html
from discreet.report._html import Html
from discreet.report._odds import number_down, number_up

_SHOWN_CHARGES = 20
_SAME = 1e-6
"""How far apart, relatively, two costs may be that are taken for one."""
_COSTS = FilterAccountant()


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
    totals = [_unit(ledger, unit) for unit in Unit]
    heads = ("per", "spent (epsilon)", "limit", "delta", "left: Gaussian", "or pure")
    parts.append(_html.table(heads, totals))
    own = [entry.number for entry in history if _is_like(entry, release)]
    parts.append(_html.paragraph(_paid(release.guarantee, own)))
    shown = [e for e in history if e.number in own or e.number > len(history) - _SHOWN_CHARGES]
    rows = [_charge(entry, is_own=entry.number in own) for entry in shown]
    if rows:
        parts.append(_html.table(("charge", "time (UTC)", "purpose", ""), rows))
    return parts


def _is_like(entry: Entry, release: Release) -> bool:
    """Whether a charge may be for a release: it is of its method, unit and cost.

    A fit books one event for all of its statistics, which has the method's name.
    """
    guarantee = release.guarantee
    known = {f"{release.method} release", *(event.label for event in guarantee.events)}
    if not all(e.label in known and e.unit is guarantee.unit for e in entry.events):
        return False
    booked, spent = (_COSTS.totals(events) for events in (entry.events, guarantee.events))
    return math.isclose(booked.pure, spent.pure, rel_tol=_SAME) and math.isclose(
        booked.mu_squared, spent.mu_squared, rel_tol=_SAME
    )


def _paid(guarantee: Guarantee, own: list[int]) -> str:
    """Which charges may be for the release, in words."""
    if not guarantee.events:
        return "This release spent nothing that a ledger counts, so none of its charges is for it."
    if not own:
        return (
            "No charge of this ledger is for this release: none is of its method and of what it "
            "cost. It was paid for elsewhere or not at all, or the ledger is of other people. What "
            "the two cost together is more than the table says."
        )
    numbers = ", ".join(f"{number:,}" for number in own)
    which = f"Charge {numbers} is" if len(own) == 1 else f"Charges {numbers} are each"
    return (
        f"{which} of this release's method and cost; a ledger cannot tell whether one is for this "
        "very file."
    )


def _charge(entry: Entry, *, is_own: bool) -> tuple[str, ...]:
    marks = [*(["like this release"] if is_own else []), *([] if entry.is_private else ["seeded"])]
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
