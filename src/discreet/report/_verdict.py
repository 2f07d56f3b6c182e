"""What is to be seen first: the promise, and what should make a reader careful with it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from discreet.privacy import NOT_RECORDED, Guarantee, Unit
from discreet.privacy.ledger import Pairing
from discreet.release import Release
from discreet.report import _html
from discreet.report._audit import AuditFinding
from discreet.report._audited import THE_RELEASE, rests_on
from discreet.report._html import Html
from discreet.report._odds import best_guess, number_up, odds_factor, percent_up
from discreet.report._readers import Made, made_by

_WEAK = 10.0
"""A larger epsilon promises little, as a guarantee's own words say."""
_SILENT = (
    "This file does not say whether its privacy cost was recorded in a ledger: discreet 0.1.0, "
    "which made it, did not note that."
)
_CANARIES = (
    "Canaries were planted in its ratings: it is for the audit, and not for predictions. Some of "
    "its ratings nobody gave."
)


def verdict(
    release: Release, audits: Sequence[AuditFinding], pairing: Pairing | None = None
) -> Html:
    """Green for a promise that a ledger counts, amber for a weak or uncounted one, red for none.

    Amber too: ratings that were planted, and a ledger of others. Red too: a ledger that denies
    what the file says of it.
    """
    guarantee = release.guarantee
    lines = str(guarantee).splitlines()
    canaries = [_CANARIES] * any(one.subject == THE_RELEASE for one in audits)
    if not guarantee.is_private:
        head = "Not private: there is no guarantee"
        return _html.box([head, *lines[1:], *canaries], "no")
    paid, uncounted = _on_charge(release, pairing)
    warned = [*_weak(guarantee), *canaries, *uncounted]
    besides = [*_on_history(guarantee), *paid, *warned]
    refuted = [one.subject for one in audits if one.violated]
    if refuted:
        return _html.box([*_refuted(release, refuted), f"It claims: {lines[0]}", *besides], "no")
    if pairing is not None and pairing.is_contradiction:
        head = "Look into this first: this file and this ledger do not belong together"
        return _html.box([head, f"The file claims: {lines[0]}", *besides], "no")
    head = "Differentially private, with a warning" if warned else "Differentially private"
    return _html.box([f"{head}: {lines[0]}", lines[1], *besides], "weak" if warned else "")


def _on_charge(release: Release, pairing: Pairing | None) -> tuple[list[str], list[str]]:
    """What is known of the charge that paid for it, and what is missing of that.

    People who draw noise at home pay for it at home: no ledger counts their reports.
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


def _refuted(release: Release, refuted: list[str]) -> tuple[str, str]:
    own = [subject for subject in refuted if rests_on(release, subject)]
    head, what = "Not to be relied on: a claim is false", "what this rests on"
    if not own:
        head, what = "Look into this first: the program broke a claim", "a part of the program"
    return head, f"An audit refuted {what}: {', '.join(own or refuted)}. See below."


def _weak(guarantee: Guarantee) -> list[str]:
    """What makes a promise worth little."""
    epsilon, delta = guarantee.epsilon, guarantee.delta
    said = []
    if epsilon > _WEAK:
        right = percent_up(best_guess(epsilon, delta))
        said.append(
            f"An epsilon above {_WEAK:g} promises little on its own: whoever guesses between two "
            f"cases that were equally likely may be right in {right} of all guesses."
        )
    if math.isinf(odds_factor(0.0, delta)[0]):
        said.append(
            f"A delta of {number_up(delta)} is not small: so often the promise may fail altogether."
        )
    return said


def _on_history(guarantee: Guarantee) -> list[str]:
    """What a promise about single ratings is for a person."""
    if guarantee.unit is Unit.USER:
        return []
    epsilon = guarantee.per(Unit.USER)
    bound = "no bound" if epsilon is None else f"epsilon {number_up(epsilon)}"
    return [f"A person's whole history: {bound}."]
