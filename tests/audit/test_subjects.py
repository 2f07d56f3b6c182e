"""Nothing real is refuted, every planted bug is, and the page on audits has what is found."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from audit.battery import (
    CAUGHT,
    RUNS,
    SURE,
    Observed,
    PlantedBattery,
    SubjectBattery,
    runs_of,
    table_finding,
)
from cli._calling import call
from discreet.audit._intervals import at_least, at_most
from discreet.audit._registry import Entry
from discreet.audit.lower_bound import (
    PLANTED,
    SUBJECTS,
    Auditable,
    Neighbours,
    StatisticSubject,
    audit,
    matching,
)
from discreet.audit.lower_bound._canaries import ONE_RUN
from discreet.audit.lower_bound._fits import FITS, FitSubject, spent
from discreet.audit.lower_bound._mechanisms import (
    MECHANISMS,
    SELECTIONS,
    Selection,
    lists_for_people,
    selection,
)
from discreet.audit.lower_bound._planted import movements, root_weights
from discreet.audit.lower_bound._protocols import PROTOCOLS, half_alike, true_hash, whole_hash
from discreet.audit.lower_bound._series import SERIES
from discreet.methods import MethodName
from discreet.privacy import FIT_UNITS, Noise, Randomness, unbooked
from discreet.privacy.mechanisms import Moves, RandomizedResponse
from discreet.protocols.open_clusters.messages import Collection

Subjects = dict[str, Entry[Auditable]]


class TestMechanisms(SubjectBattery):
    subjects = MECHANISMS
    tight = (
        *(f"{noise}/{kind}" for noise in Noise for kind in ("step-1", "step-1048576", "vector")),
        "randomized-response",
        "modified-laplace/presence",
        "modified-laplace/value",
        "ledger/pure",
    )


class TestStatistics(SubjectBattery):
    subjects: ClassVar[Subjects] = {n: each for n, each in SUBJECTS.items() if each.can_search}
    loose: ClassVar[dict[str, float]] = {
        "refinement-moments/rating/gaussian": 0.55,
        "refinement-weight/rating/gaussian": 0.7,
        "covariance-diagonal/rating/laplace": 0.6,
    }
    tight = (
        *(f"item-counts/{unit}/{noise}" for unit in FIT_UNITS for noise in Noise),
        *(f"head-counts/{unit}/{noise}" for unit in FIT_UNITS for noise in Noise),
        *(f"level/{unit}/{noise}" for unit in FIT_UNITS for noise in Noise),
        *(f"agreement/{unit}/{noise}" for unit in FIT_UNITS for noise in Noise),
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
    )

    def test_a_search_finds_nothing_that_moves_further(self, name: str, observed: Observed) -> None:
        """From the corner, where released levels are so extreme that few values matter.

        From ordinary levels: see `test_search.py`.
        """
        subject, _ = observed(name)
        assert isinstance(subject, StatisticSubject)
        worse = subject.worse(12, np.random.default_rng(3))
        assert worse.moved <= 1
        assert worse.neighbours.unit is subject.neighbours.unit


class TestProtocols(SubjectBattery):
    subjects = PROTOCOLS
    tight = ("local-reports/modified-laplace/presence", "local-reports/randomized-response/value")


class TestFits(SubjectBattery):
    """Every method, and every unit and noise with some; others are left to the command.

    How far apart the outputs of neighbours are is compared with the claim for all of them, without
    runs, in `test_fits.py`. What runs add is that noise is really drawn, which is one code.
    """

    subjects = FITS
    left_to_command = tuple(
        name
        for name in FITS
        if "/effects/" not in name
        and name
        not in (
            "pipeline/covariance/rating/laplace",
            "pipeline/covariance/user/gaussian",
            "pipeline/refined/user/gaussian",
            "pipeline/refined/user/gaussian/release",
            "pipeline/lists/rating/gaussian",
            "pipeline/lists/user/laplace",
            "pipeline/lists/presence/user/gaussian",
            "pipeline/slope-one/rating/laplace",
            "pipeline/slope-one/user/gaussian",
            "pipeline/cosine/rating/gaussian",
            "pipeline/cosine/user/laplace",
            "pipeline/cosine/presence/rating/gaussian",
        )
    )


class TestSeries(SubjectBattery):
    subjects = SERIES
    tight = tuple(name for name in SERIES if name != "series/factorised/one-period")


class TestOneRun(SubjectBattery):
    subjects = ONE_RUN


class TestPlanted(PlantedBattery):
    subjects = PLANTED


def test_every_kind_of_thing_has_a_subject() -> None:
    for method in MethodName:
        for unit in FIT_UNITS:
            for noise in Noise:
                assert f"pipeline/{method}/{unit}/{noise}" in SUBJECTS
    groups = {name.split("/")[0] for name in SUBJECTS}
    assert groups >= {
        "gaussian", "laplace", "randomized-response", "modified-laplace", "k-subset", "gumbel",
        "private-sets", "ledger", "local-reports", "open-clusters", "closed-clusters", "one-run",
        "item-counts", "head-counts", "item-sums", "centred-sums", "user-votes", "level",
        "probe-error",
        "agreement", "covariance-triangle", "weights-triangle", "slope-one-differences",
        "cosine-products", "refinement-rows", "answers-slope-one", "answers-cosine",
        "presence-pairs", "head-weights-records", "period-counts", "recent-counts", "history-pairs",
        "series",
    }  # fmt: skip
    assert sum(
        map(len, (MECHANISMS, TestStatistics.subjects, PROTOCOLS, FITS, ONE_RUN, SERIES))
    ) == len(SUBJECTS)


def test_every_bug_that_was_asked_for_is_planted(observed: Observed) -> None:
    kinds = {name.split("/")[0] for name in PLANTED}
    assert kinds >= {
        "half-noise", "thin-noise", "forgotten-clip", "no-corner", "coarse-grid", "reused-seed",
        "forgetful-ledger", "dropped-candidates", "memoised-answers", "paper-000", "paper-002",
        "forgotten-range",
        "paper-003", "wrong-unit", "one-period", "series-bug",
    }  # fmt: skip
    theorems = {"paper-000/theorem-3", "paper-000/theorem-4", "paper-002/quotient"}
    assert theorems <= PLANTED.keys()
    assert {f"paper-003/{what}" for what in ("slope-one", "cosine", "sets")} <= PLANTED.keys()
    for noise in Noise:
        whole, _ = observed(f"thin-noise/whole-fit/{noise}")
        assert isinstance(whole, FitSubject) and not whole.fit.effects_only
        assert spent(whole.claim, 1.0) == whole.claim.epsilon < spent(whole.claim, 2.0) / 1.5


@pytest.mark.parametrize("name", [n for n in SUBJECTS if not n.startswith("one-run/")])
def test_the_command_makes_runs_enough_to_refute_each_claim(name: str, observed: Observed) -> None:
    """With every run of one world against none of the other, half of them left to train on."""
    if name in TestFits.left_to_command:
        subject = SUBJECTS[name].make()  # builds little: the ratings of forty people
    else:
        subject, _ = observed(name)
    tested, miss = subject.runs // 2, 0.05 / len(SUBJECTS) / 4
    rates = at_least(tested, tested, miss), at_most(0, tested, miss)
    assert subject.claim.is_refuted_by(float(subject.claim.refuted(*rates)))


@pytest.mark.parametrize("kind", SELECTIONS)
def test_with_all_candidates_the_same_selection_is_not_flagged(kind: Selection) -> None:
    """Under the bug's own neighbours: what is flagged is what was dropped."""
    right = selection("right", "", kind, Moves.ONE)
    assert not audit(right, runs=4000, confidence=SURE, seed=1).is_violated


@pytest.mark.parametrize("moves", Moves)
@pytest.mark.parametrize("kind", SELECTIONS)
def test_lists_that_cost_twice_what_they_say_are_caught(kind: Selection, moves: Moves) -> None:
    thin = lists_for_people("thin", "", kind, moves, drawn=0.5)
    assert audit(thin, confidence=CAUGHT, seed=1).is_violated


def test_bits_that_one_coin_turns_round_are_caught_in_whole_messages() -> None:
    """Each bit by itself is as it should be."""

    def one_coin(
        collection: Collection, values: np.ndarray, count: int, randomness: Randomness
    ) -> np.ndarray:
        mechanism = RandomizedResponse(2, collection.bit_epsilon_thousandths / 1000)
        event = mechanism.event("audit", count)
        zeros = np.zeros(count, np.int64)
        turned = mechanism.release(zeros, event, unbooked([event], randomness))
        true = true_hash(collection, values) >> np.arange(collection.bits) & 1
        alike = [true_hash(collection, each) for each in half_alike(collection)]
        assert (alike[0] ^ alike[1]).bit_count() == 2
        return np.asarray(true ^ turned[:, None])

    found = audit(whole_hash("one-coin", "", one_coin), confidence=CAUGHT, seed=1)
    assert found.is_violated and found.runs == 500, "a message is a run"


@pytest.mark.parametrize("name", ["no-corner/weights", "coarse-grid/weights", "paper-003/cosine"])
def test_with_a_bound_as_large_as_the_movement_it_is_not_flagged(
    name: str, observed: Observed
) -> None:
    bug, _ = observed(name)
    assert isinstance(bug, StatisticSubject) and bug.moved > 1.2
    right = bug.at(bug.neighbours, bug.pair.sensitivity * bug.moved)
    assert not audit(right, confidence=SURE, seed=1).is_violated


def test_the_corner_and_the_grid_are_what_is_missing() -> None:
    exact = root_weights(17_770)
    assert movements(exact).max() < 1.5
    assert movements(root_weights(2), corner=False).max() < 0.8 < movements(root_weights(2)).max()


def test_a_search_finds_bad_neighbours_where_none_are_given(observed: Observed) -> None:
    """From a rating that the clip would leave alone to one that it is there for."""
    bug, _ = observed("forgotten-clip/level")
    assert isinstance(bug, StatisticSubject)
    harmless = bug.at(Neighbours.by_rating(3, {0: 1.0}, (1, 2.0)))
    assert harmless.moved <= 0.5
    assert not audit(harmless, runs=4000, confidence=SURE, seed=1).is_violated
    found = harmless.worse(60, np.random.default_rng(1))
    assert found.moved == pytest.approx(2.0)
    assert audit(found, runs=4000, confidence=SURE, seed=1).is_violated


PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "audit.md"
# What another draw of the noise may change.
NEAR = 0.03


def table(heading: str) -> list[list[str]]:
    """The rows of the first table under a heading."""
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in text.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]


def rows_with_names() -> list[tuple[list[str], list[str]]]:
    """Every row and its subjects: each counts in the first row that names it.

    A name in backticks is how others begin; what follows an ellipsis is in them too.
    """
    found, left = [], dict.fromkeys(SUBJECTS)
    for row in table("What is audited"):
        names: list[str] = []
        for start in re.findall(r"`([^`]+)`", row[0]):
            begin, _, part = start.partition("/…")
            names += [n for n in matching(begin, SUBJECTS) if n in left and f"{part}/" in f"{n}/"]
        left = {name: None for name in left if name not in names}
        found.append((row, names))
    assert not left, "every subject is in the table"
    return found


ROWS = rows_with_names()


def test_the_rows_count_every_subject_once() -> None:
    assert all(int(row[1]) == len(names) > 0 for row, names in ROWS)
    total = sum(len(names) for _, names in ROWS)
    assert total == len(SUBJECTS)
    assert f"Of {total} claims" in PAGE.read_text(encoding="utf-8")


def is_run_in_full(name: str) -> bool:
    """Whether tests make as many runs as the command; one-run varies too much with the noise."""
    return runs_of(name) is None and not name.startswith("one-run/")


@pytest.mark.parametrize(
    ("row", "names"),
    [(row, names) for row, names in ROWS if all(map(is_run_in_full, names))],
    ids=lambda value: value[0].partition("`")[2].partition("`")[0] if len(value) == 4 else "",
)
def test_the_table_has_what_the_command_finds(
    row: list[str], names: list[str], observed: Observed
) -> None:
    findings = [table_finding(observed(name)[1], len(SUBJECTS)) for name in names]
    shares = [each.reached for each in findings]
    least, most = (int(part) / 100 for part in row[3].removesuffix(" %").split(" to "))
    assert (min(shares), max(shares)) == pytest.approx((least, most), abs=NEAR)
    claims = {f"{each.claim.epsilon:.3g}" for each in findings}
    assert claims == {part.split(" at ")[0] for part in row[2].split(", ")}


def test_the_table_of_planted_bugs_has_what_the_command_finds(observed: Observed) -> None:
    rows = table("Planted bugs")
    assert sorted(row[0].strip("`") for row in rows) == sorted(PLANTED)
    for name, _, claimed, audited in rows:
        subject, evidence = observed(name.strip("`"))
        assert float(claimed.split(" at ")[0]) == pytest.approx(subject.claim.epsilon, rel=0.01)
        assert float(audited) > subject.claim.epsilon
        if is_run_in_full(subject.name) and "one-run" not in name:
            found = table_finding(evidence, len(PLANTED))
            assert float(audited) == pytest.approx(found.epsilon, rel=NEAR), name


def test_the_example_is_what_is_printed() -> None:
    block = PAGE.read_text(encoding="utf-8").split("```\n$ discreet ")[1].split("```")[0]
    command, head, *lines = block.splitlines()
    said = call(*command.split()).out.splitlines()
    assert said[0] == head
    for line, again in zip(lines, said[1:], strict=False):
        (name, claimed, delta, audited), told = line.split()[:4], again.split()
        assert told[:3] == [name, claimed, delta] and told[-2:] == line.split()[-2:]
        assert float(told[3]) == pytest.approx(float(audited), rel=NEAR)


def test_slow_subjects_are_among_those_that_exist() -> None:
    assert {runs_of(name) for name in {**SUBJECTS, **PLANTED}} == {None, *RUNS.values()}
