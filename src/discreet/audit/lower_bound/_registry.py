"""All subjects by name, and audits of several at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import numpy as np

from discreet.audit.lower_bound._canaries import one_run_subjects
from discreet.audit.lower_bound._engine import Finding, Progress, Subject, audit, check
from discreet.audit.lower_bound._mechanisms import mechanisms
from discreet.audit.lower_bound._noisy import StatisticSubject
from discreet.audit.lower_bound._pipelines import pipelines
from discreet.audit.lower_bound._protocols import protocols
from discreet.audit.lower_bound._statistics import item_statistics
from discreet.audit.lower_bound._statistics_pairs import pair_statistics
from discreet.domain import InputError

Makers = Mapping[str, Callable[[], Subject]]
"""What makes each subject."""

_ALL = (mechanisms, item_statistics, pair_statistics, protocols, pipelines, one_run_subjects)

SUBJECTS: Makers = MappingProxyType({name: make for group in _ALL for name, make in group()})
"""Everything real: mechanisms, statistics, protocols, whole fits."""


def find_subjects(names: Iterable[str], among: Makers = SUBJECTS) -> list[str]:
    """The full names: `all` of them, or those that are called so or begin so ("pipeline/refined").

    Raises:
        InputError: Nothing is called so.
    """
    found: dict[str, None] = {}
    for name in names:
        fits = matching(name, among)
        if not fits:
            raise InputError(f"there is no subject '{name}'")
        found |= dict.fromkeys(fits)
    return list(found)


def matching(name: str, among: Makers) -> list[str]:
    """The full names that a name stands for; none if nothing is called so."""
    return [each for each in among if name in ("all", each) or each.startswith(f"{name}/")]


def audit_all(
    names: Iterable[str],
    among: Makers = SUBJECTS,
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
        names: As for `find_subjects`.
        among: Where they are looked for.
        runs: In each world; every subject's own number if not told.
        confidence: Of the whole table.
        search: How many steps to climb from a statistic's neighbours to worse ones.
        seed: Makes it repeatable.
        progress: Called before each subject.

    Raises:
        InputError: Nothing is called so, the numbers cannot be used, or nothing can be searched.
    """
    chosen = find_subjects(names, among)
    check(runs, confidence)
    _check_search(search, chosen, among)
    each = 1 - (1 - confidence) / max(len(chosen), 1)
    found = []
    for done, name in enumerate(chosen):
        if progress is not None:
            progress("audit", done, len(chosen))
        subject = among[name]()
        if search and isinstance(subject, StatisticSubject):
            subject = subject.worse(search, np.random.default_rng(seed))
        found.append(audit(subject, runs=runs, confidence=each, seed=seed))
    return found


def _check_search(steps: int, chosen: list[str], among: Makers) -> None:
    """Refuse one that cannot be made."""
    if steps < 0:
        raise InputError(f"a search takes a number of steps from 0 on, not {steps}")
    if steps and not any(isinstance(among[name](), StatisticSubject) for name in chosen):
        raise InputError(
            "a search looks for worse neighbours of a statistic, like covariance-triangle, and "
            "nothing that was named is one; leave it out"
        )
