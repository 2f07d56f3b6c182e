"""Every attack works without protection; with it, it is near guessing or within epsilon's bound."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from audit.battery import AttackBattery
from discreet.audit.attacks import ATTACKS, AttackResult, Outcome, run_attack, run_attacks
from discreet.domain import InputError
from discreet.ratings import Ratings, find_shape, make_ratings

Attacked = Callable[[str], AttackResult]


@pytest.fixture(scope="module")
def small() -> Ratings:
    return make_ratings(find_shape("ml-100k").scaled(ratings=20_000), seed=5)


@pytest.fixture(scope="module")
def result(small: Ratings) -> AttackResult:
    return run_attack("popular-items", small, seed=3)


class TestTwoReleases(AttackBattery):
    attack = "two-releases"
    near_guessing = ("with noise, epsilon 10", "with noise, epsilon 1")


class TestMembership(AttackBattery):
    attack = "membership"
    near_guessing = (
        *("ideal, epsilon 1", "ideal, epsilon 0.1"),
        *("with a sample, epsilon 1", "with a sample, epsilon 0.1"),
    )


class TestFakeProfiles(AttackBattery):
    attack = "fake-profiles"
    near_guessing = ("release, epsilon 1", "release, epsilon 0.1")


class TestLinkage(AttackBattery):
    attack = "linkage"
    near_guessing = ("local reports, epsilon 1 a rating", "local reports, epsilon 0.5 a rating")


class TestPopularItems(AttackBattery):
    attack = "popular-items"


class TestSubsets(AttackBattery):
    attack = "subsets"
    near_guessing = ("80 items, hash under epsilon 1",)

    def test_a_floor_of_items_and_one_hash_say_less(self, result: AttackResult) -> None:
        few, many, floor, covered = result.outcomes
        assert min(few.success, many.success) - 0.1 > floor.success > covered.success


class TestSybils(AttackBattery):
    attack = "sybils"
    near_guessing = ("3 uploads of 4, no fakes",)


class TestHashRecovery(AttackBattery):
    attack = "hash-recovery"
    near_guessing = ("local reports, epsilon 0.5 a rating",)

    def test_tags_alone_give_a_hash_away_by_the_size_of_its_cluster_at_most(
        self, result: AttackResult
    ) -> None:
        tags = result.against("tags alone")
        assert tags.band[1] < 0.3 and tags.baseline == pytest.approx(1 / 16, abs=0.01)


class TestQuotient(AttackBattery):
    attack = "quotient"
    near_guessing = ("keyed tags",)


class TestRepeatedReports(AttackBattery):
    attack = "repeated-reports"

    def test_epochs_cost_what_they_add_up_to(self, result: AttackResult) -> None:
        """One answer reveals a little, and more with each epoch; never past the sum."""
        forgetful, frozen, epochs = result.outcomes
        assert frozen.band[1] < epochs.band[0] and epochs.band[1] < forgetful.band[0]
        for outcome in (frozen, epochs):
            assert outcome.bound is not None and outcome.baseline < outcome.success < outcome.bound


class TestLiars(AttackBattery):
    attack = "liars"
    near_guessing = ("randomized-response, epsilon 2", "rounded-response, epsilon 2")


class TestReconstruction(AttackBattery):
    attack = "reconstruction"
    near_guessing = ("epsilon 100", "epsilon 10", "epsilon 1")


def test_every_attack_has_its_battery(attacked: Attacked) -> None:
    assert {each.attack for each in AttackBattery.__subclasses__()} == set(ATTACKS)
    bounded = [each for name in ATTACKS for each in attacked(name).outcomes if each.bound]
    assert len(bounded) > 12


def test_fakes_give_deniability_and_no_more(attacked: Attacked) -> None:
    """What open clusters do not promise: see the page on protocols."""
    anywhere, popular = (
        attacked("popular-items").against(f"100 fakes for 100 ratings, {where}")
        for where in ("anywhere", "on popular items")
    )
    assert (
        anywhere.success > 0.7 > popular.success > popular.baseline == pytest.approx(0.5, abs=0.01)
    )
    filled = attacked("sybils").against("4 uploads of 5, 100 fakes for 100 ratings")
    assert filled.success == pytest.approx(0.5, abs=0.01)
    linked = attacked("linkage").against("uploads with 100 fakes for 100 ratings")
    assert linked.band[0] > 0.2
    for percent in (100, 200):
        recovered = attacked("hash-recovery").against(
            f"uploads with {percent} fakes for 100 ratings"
        )
        assert recovered.band[0] > 0.85


def test_a_seed_repeats_an_attack_and_another_does_not(
    small: Ratings, result: AttackResult
) -> None:
    again, other = (run_attack("popular-items", small, seed=seed) for seed in (3, 4))
    assert result == again != other


def test_a_result_is_plain_data(result: AttackResult) -> None:
    told = json.loads(json.dumps(result.as_json(), allow_nan=False))
    assert told["name"] == "popular-items"
    assert told["outcomes"][1]["within_bound"] is None
    assert told["outcomes"][1]["success"] == pytest.approx(result.outcomes[1].success)
    assert isinstance(result.outcomes[0], Outcome)


def test_progress_names_every_attack_and_the_attacked_data_is_left_as_it_was(
    small: Ratings,
) -> None:
    heard: list[tuple[str, int, int]] = []
    items, codes = small.items.copy(), small.codes.copy()
    names = ["popular-items", "two-releases"]
    run_attacks(names, small, seed=2, progress=lambda *told: heard.append(told))
    assert heard == [("popular-items", 0, 2), ("two-releases", 1, 2)]
    assert np.array_equal(items, small.items) and np.array_equal(codes, small.codes)


def test_what_cannot_be_attacked_is_refused() -> None:
    with pytest.raises(InputError, match="unknown attack 'nothing'; there are two-releases"):
        run_attack("nothing")
    with pytest.raises(InputError, match="a seed is an integer of at least 0, not -1"):
        run_attack("sybils", seed=-1)


PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "attacks.md"


def printed() -> dict[tuple[str, str], list[str]]:
    """The rows of the page's table of results, by attack and target."""
    found, attack = {}, ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 7 and cells[2].replace(".", "").isdigit():
            attack = cells[0].strip("`") or attack
            found[attack, cells[1]] = cells[2:]
    return found


def test_the_page_has_every_result(attacked: Attacked) -> None:
    """To within what another draw of the noise may change."""
    page = printed()
    targets = {(name, o.against) for name in ATTACKS for o in attacked(name).outcomes}
    assert page.keys() == targets
    for (name, target), (success, guessing, most, *_) in page.items():
        outcome = attacked(name).against(target)
        assert float(success) / 100 == pytest.approx(outcome.success, abs=0.08), (name, target)
        assert float(guessing) / 100 == pytest.approx(outcome.baseline, abs=0.03), (name, target)
        bound = float("nan") if outcome.bound is None else outcome.bound
        shown = float(most or "nan") / 100
        assert outcome.bound is None or shown >= outcome.bound - 1e-9, (name, target)
        assert shown == pytest.approx(bound, abs=0.03, nan_ok=True), (name, target)


def test_the_page_introduces_every_attack() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in ATTACKS if text.count(f"| `{name}`") != 2] == []
