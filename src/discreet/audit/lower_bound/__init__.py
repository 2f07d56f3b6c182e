"""Audits: lower bounds on epsilon, proved by distinguishing two worlds. See PROOF.md.

A lower bound above the claimed epsilon proves that the claim is false, at its confidence. A lower
bound below it proves nothing: an audit can find a bug, it can never show that there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import numpy as np

from discreet.audit._neighbours import Neighbours, search
from discreet.audit._registry import Entry, find, matching
from discreet.audit.lower_bound._canaries import (
    ONE_RUN,
    Canaries,
    audit_release,
    insert_canaries,
    score_release,
)
from discreet.audit.lower_bound._engine import (
    Auditable,
    Claim,
    Evidence,
    Finding,
    Subject,
    audit,
    check,
    observe,
)
from discreet.audit.lower_bound._fits import FITS
from discreet.audit.lower_bound._mechanisms import MECHANISMS
from discreet.audit.lower_bound._noisy import NoisyPair, StatisticSubject
from discreet.audit.lower_bound._planted import BUGS
from discreet.audit.lower_bound._planted_papers import PAPER_BUGS, PAPER_STATISTICS
from discreet.audit.lower_bound._protocols import PROTOCOLS
from discreet.audit.lower_bound._series import SERIES
from discreet.audit.lower_bound._statistics import STATISTICS
from discreet.domain import InputError

__all__ = [
    "PLANTED",
    "SUBJECTS",
    "Auditable",
    "Canaries",
    "Claim",
    "Entry",
    "Evidence",
    "Finding",
    "Neighbours",
    "NoisyPair",
    "StatisticSubject",
    "Subject",
    "Subjects",
    "audit",
    "audit_all",
    "audit_release",
    "find",
    "insert_canaries",
    "matching",
    "observe",
    "score_release",
    "search",
]

Subjects = Mapping[str, Entry[Auditable]]

SUBJECTS: Subjects = MappingProxyType(
    MECHANISMS | STATISTICS | PAPER_STATISTICS | PROTOCOLS | FITS | ONE_RUN | SERIES
)
"""Everything real: mechanisms, statistics, protocols, whole fits, series. Nothing is built yet."""

PLANTED: Subjects = MappingProxyType(BUGS | PAPER_BUGS)
"""Bugs planted on purpose."""

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, how many subjects are done and how many there are."""


def audit_all(
    names: Iterable[str],
    among: Subjects = SUBJECTS,
    *,
    runs: int | None = None,
    confidence: float = 0.95,
    search: int = 0,
    seed: int | None = None,
    progress: Progress | None = None,
) -> list[Finding]:
    """Audit several subjects; `confidence` is that of all findings together.

    So each of them is made at 1 - (1 - confidence)/n: a table of a hundred right mechanisms raises
    one false alarm or more with probability 1 - confidence at most.

    Args:
        names: Exact names, their beginnings, or `all`.
        among: Where they are looked up.
        runs: In each world; every subject's own number by default.
        confidence: Of the whole table.
        search: How many steps to climb from a statistic's neighbours to worse ones.
        seed: Makes it repeatable.
        progress: Called before each subject.

    Raises:
        InputError: A name is unknown, a number is impossible, or nothing can be searched.
    """
    chosen = find(names, among)
    check(runs, confidence)
    if search < 0:
        raise InputError(f"a search takes a number of steps from 0 on, not {search}")
    if search and not any(among[name].can_search for name in chosen):
        raise InputError(
            "a search looks for worse neighbours of a statistic, like covariance-triangle, and "
            "none of these subjects is one; leave it out"
        )
    each = 1 - (1 - confidence) / max(len(chosen), 1)
    found = []
    for done, name in enumerate(chosen):
        if progress is not None:
            progress("audit", done, len(chosen))
        subject = among[name].make()
        if search and isinstance(subject, StatisticSubject):
            subject = subject.worse(search, np.random.default_rng(seed))
        found.append(audit(subject, runs=runs, confidence=each, seed=seed))
    return found
