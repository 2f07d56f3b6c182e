"""What every attack, every audited subject and every planted bug must pass.

A new one's test is a class of a few lines that inherits its battery and says what is special. The
runs themselves are made once a session and shared (`conftest.py`): tests judge the same counts at
the confidence they need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatch
from typing import ClassVar

import pytest

from discreet.audit._registry import Entry
from discreet.audit.attacks import AttackResult
from discreet.audit.lower_bound import Auditable, Evidence, Finding, StatisticSubject

# The probability that a right subject is flagged, at most: of one test, for whatever seed. All 160
# together are wrong with probability 1.6e-4 at most.
FALSE_ALARM = 1e-6
SURE = 1 - FALSE_ALARM
# At which planted bugs must be caught, as docs/explanation/audit.md says.
CAUGHT = 1 - 1e-4

# Runs of slow subjects in tests, by how their names match; the command makes more. They are hardly
# more than enough to refute the claims at the confidence above, which the battery checks: n tested
# runs prove at most p/(1 - p) with p = (FALSE_ALARM/4)^(1/n), and a quarter (of a learnt score,
# half) of the runs is left for training.
RUNS = {
    # Enough to find some of the claim as well (`test_fits.py`).
    "pipeline/effects/user/laplace": 300,
    "pipeline/*/release": 126,
    "pipeline/*/gaussian": 84,
    "pipeline/*/laplace": 165,
    "thin-noise/pipeline/gaussian": 200,
    "thin-noise/pipeline/laplace": 260,
    "thin-noise/whole-fit/laplace": 300,
    "thin-noise/whole-fit/gaussian": 200,
    "local-reports/modified-laplace/whole": 500,
    "local-reports/randomized-response/whole": 500,
    "open-clusters/hash-bits": 800,
    "open-clusters/hash": 300,
    "closed-clusters/tags": 1000,
}

Observed = Callable[[str], tuple[Auditable, Evidence]]


def runs_of(name: str) -> int | None:
    """How many runs a test makes; None for the subject's own number."""
    return next((runs for pattern, runs in RUNS.items() if fnmatch(name, pattern)), None)


class SubjectBattery:
    """Right subjects: none is refuted, though each could be.

    Attributes:
        subjects: The registry.
        left_to_command: Names that are too slow for as many runs as could refute them.
        loose: Of statistics whose bounds no neighbours that we know come near to, which share they
            reach.
        tight: Where the worst case is known, so that nearly all of the claim must be found.
    """

    subjects: ClassVar[Mapping[str, Entry[Auditable]]]
    left_to_command: ClassVar[tuple[str, ...]] = ()
    loose: ClassVar[dict[str, float]] = {}
    tight: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def names(cls) -> list[str]:
        """Of all that are tested."""
        return [name for name in cls.subjects if name not in cls.left_to_command]

    def test_nothing_right_is_refuted(self, name: str, observed: Observed) -> None:
        subject, evidence = observed(name)
        entry = self.subjects[name]
        assert (subject.name, subject.about) == (name, entry.about) and entry.about
        assert entry.can_search == isinstance(subject, StatisticSubject)
        found = evidence.finding(SURE)
        assert found.can_refute, "otherwise nothing could fail"
        assert not found.is_violated, found.seen
        assert found.subject == name and found.confidence == SURE
        if isinstance(subject, StatisticSubject):
            # Without any run: a bound that is a fifth too small would be seen.
            assert self.loose.get(name, 0.85) < subject.moved <= 1
        if name in self.tight:
            assert 0.8 < found.reached <= 1, "not being flagged is not for want of looking"


class PlantedBattery(SubjectBattery):
    """Planted bugs: each is caught."""

    test_nothing_right_is_refuted = None

    def test_the_audit_catches_it(self, name: str, observed: Observed) -> None:
        subject, evidence = observed(name)
        assert (subject.name, subject.about) == (name, self.subjects[name].about)
        found = evidence.finding(CAUGHT)
        assert found.is_violated, found.seen
        assert found.refuted > found.claim.size


class AttackBattery:
    """One attack: it works without protection, and epsilon's bound holds.

    Attributes:
        attack: Its name.
        bare: Its success without protection, at least.
        near_guessing: Targets against which it is no better than guessing.
    """

    attack: ClassVar[str]
    bare: ClassVar[float] = 0.6
    near_guessing: ClassVar[tuple[str, ...]] = ()

    @pytest.fixture
    def result(self, attacked: Callable[[str], AttackResult]) -> AttackResult:
        """At the size that the command line has."""
        return attacked(self.attack)

    def test_it_says_what_the_attacker_knows_and_wants(self, result: AttackResult) -> None:
        assert result.name == self.attack
        assert all((result.knows, result.tries_to, result.counts, result.remark))
        assert not result.outcomes[0].is_protected and result.outcomes[-1].is_protected
        names = [outcome.against for outcome in result.outcomes]
        assert len(set(names)) == len(names)

    def test_without_protection_it_works(self, result: AttackResult) -> None:
        bare = result.outcomes[0]
        assert bare.success > self.bare
        if bare.baseline < 1:
            assert bare.band[0] > bare.baseline_band[1] + 0.1

    def test_intervals_and_bounds_hold(self, result: AttackResult) -> None:
        for outcome in result.outcomes:
            assert 0 <= outcome.band[0] <= outcome.success <= outcome.band[1] <= 1
            low, high = outcome.baseline_band
            assert 0 <= low <= outcome.baseline <= high <= 1
            assert outcome.bound is None or outcome.bound >= outcome.baseline, outcome
            assert outcome.is_within_bound, outcome
        assert result.is_within_bounds

    def test_with_protection_it_is_near_guessing(self, result: AttackResult) -> None:
        for target in self.near_guessing:
            outcome = result.against(target)
            assert outcome.is_protected and outcome.is_near_guessing, outcome


def table_finding(evidence: Evidence, rows: int) -> Finding:
    """As the command finds it in a table of so many rows: each has its part of the 5 %."""
    return evidence.finding(1 - 0.05 / rows)
