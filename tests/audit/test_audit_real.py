"""Nothing real is flagged, at a confidence that makes a false alarm a matter of one in 10,000."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.audit._bands import at_least, at_most
from discreet.audit.lower_bound import SUBJECTS, StatisticSubject, audit
from discreet.methods import MethodName
from discreet.privacy import Noise, Unit

CONFIDENCE = 1 - 1e-4
FEWER = {
    "pipeline/effects": 120,
    "pipeline/refined": 100,
    "pipeline": 150,
    "local-reports/modified-laplace/whole": 500,
    "local-reports/randomized-response/whole": 500,
    "open-clusters/hash-bits": 800,
    "open-clusters/hash": 300,
    "closed-clusters": 1000,
}
"""Runs of what is slow; the command makes more. They are enough to refute the claims."""
SLOW = [
    name
    for name in SUBJECTS
    if name.startswith(("pipeline/refined/", "pipeline/covariance/"))
    and name
    not in (
        "pipeline/covariance/rating/laplace",
        "pipeline/covariance/user/gaussian",
        "pipeline/refined/user/gaussian",
        "pipeline/refined/user/gaussian/release",
    )
]
"""Left to the command: fits like those that are tested, and too slow for as many runs as tell."""


LOOSE = {
    "refinement-moments/rating/gaussian": 0.55,
    "refinement-moments/presence/rating/gaussian": 0.65,
    "refinement-weight/rating/gaussian": 0.7,
    "covariance-diagonal/rating/laplace": 0.6,
}
"""Statistics whose bounds no neighbours that we know come near to; all others move by most of
theirs, so that a bound which is a fifth too small would be seen."""


def runs_of(name: str) -> int | None:
    return next((runs for start, runs in FEWER.items() if name.startswith(start)), None)


@pytest.mark.parametrize("name", [name for name in SUBJECTS if name not in SLOW])
def test_the_audit_refutes_nothing_that_is_right(name: str) -> None:
    subject = SUBJECTS[name]()
    assert subject.name == name and subject.about
    found = audit(subject, runs=runs_of(name), confidence=CONFIDENCE, seed=1)
    assert found.can_refute, "otherwise nothing could fail"
    assert not found.is_violated, found.seen
    assert found.confidence == CONFIDENCE and found.subject == name
    if isinstance(subject, StatisticSubject):
        assert LOOSE.get(name, 0.85) < subject.moved <= 1, "without any run"


@pytest.mark.parametrize("name", [n for n in SUBJECTS if not n.startswith("one-run/")])
def test_the_command_makes_runs_enough_to_refute_each_claim(name: str) -> None:
    """With every run of one world against none of the other, half of them left to train on."""
    subject, miss = SUBJECTS[name](), 0.05 / len(SUBJECTS) / 4
    tested = subject.runs // 2
    rates = at_least(tested, tested, miss), at_most(0, tested, miss)
    assert subject.claim.is_broken_by(float(subject.claim.refuted(*rates)))


TIGHT = [
    *(f"{noise}/{kind}" for noise in Noise for kind in ("step-1", "step-1048576", "vector")),
    "randomized-response",
    "modified-laplace/presence",
    "modified-laplace/value",
    "ledger/pure",
    *(f"item-counts/{unit}/{noise}" for unit in Unit for noise in Noise),
    *(f"level/{unit}/{noise}" for unit in Unit for noise in Noise),
    *(f"agreement/{unit}/{noise}" for unit in Unit for noise in Noise),
    "item-sums/rating/laplace",
    "centred-sums/rating/gaussian",
    "covariance-triangle/rating/gaussian",
    "covariance-diagonal/user/laplace",
    "slope-one-differences/rating/laplace",
    "cosine-products/rating/gaussian",
    "refinement-rows/user/gaussian",
    "answers-slope-one/others/rating/laplace",
    "answers-slope-one/own/rating/laplace",
    "answers-cosine/others/rating/laplace",
    "local-reports/modified-laplace/presence",
    "local-reports/randomized-response/value",
]


@pytest.mark.parametrize("name", TIGHT)
def test_where_the_worst_case_is_known_nearly_all_of_the_claim_is_found(name: str) -> None:
    """So that not being flagged is not for want of looking."""
    found = audit(SUBJECTS[name](), confidence=CONFIDENCE, seed=2)
    assert 0.8 < found.reached <= 1


def test_every_kind_of_thing_has_a_subject() -> None:
    for method in MethodName:
        for unit in Unit:
            for noise in Noise:
                assert f"pipeline/{method}/{unit}/{noise}" in SUBJECTS
    groups = {name.split("/")[0] for name in SUBJECTS}
    assert groups >= {
        "gaussian", "laplace", "randomized-response", "modified-laplace", "k-subset", "gumbel",
        "private-sets", "ledger", "local-reports", "open-clusters", "closed-clusters", "one-run",
        "item-counts", "item-sums", "centred-sums", "user-votes", "level", "probe-error",
        "agreement", "covariance-triangle", "weights-triangle", "slope-one-differences",
        "cosine-products", "refinement-rows", "answers-slope-one", "answers-cosine",
    }  # fmt: skip


SEARCHED = [n for n in SUBJECTS if isinstance(SUBJECTS[n](), StatisticSubject)]


@pytest.mark.parametrize("name", SEARCHED)
def test_a_search_finds_no_neighbours_that_move_further_than_booked(name: str) -> None:
    """From the corner, where released levels are so extreme that few values matter.

    From ordinary levels: see `test_audit_search.py`.
    """
    subject = SUBJECTS[name]()
    assert isinstance(subject, StatisticSubject)
    worse = subject.worse(12, np.random.default_rng(3))
    assert worse.moved <= 1
    assert worse.neighbours.unit is subject.neighbours.unit
