"""Every attack works without protection; with it, it is near guessing or within epsilon's bound."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from discreet.audit.attacks import ATTACKS, AttackResult, Outcome, run_attack, run_attacks
from discreet.domain import InputError
from discreet.ratings import Ratings, find_shape, make_ratings

Results = dict[str, AttackResult]


@pytest.fixture(scope="module")
def results() -> Results:
    """All attacks at the size that the command line has."""
    return {result.name: result for result in run_attacks(["all"], seed=0)}


def small() -> Ratings:
    return make_ratings(find_shape("ml-100k").scaled(ratings=20_000), seed=5)


def test_every_attack_says_who_knows_what(results: Results) -> None:
    assert list(results) == list(ATTACKS)
    for result in results.values():
        assert all((result.knows, result.tries_to, result.counts, result.remark)), result.name
        assert not result.outcomes[0].is_protected and result.outcomes[-1].is_protected
        names = [outcome.against for outcome in result.outcomes]
        assert len(set(names)) == len(names)


def test_bands_hold_what_they_are_bands_of(results: Results) -> None:
    for result in results.values():
        for outcome in result.outcomes:
            assert 0 <= outcome.band[0] <= outcome.success <= outcome.band[1] <= 1
            low, high = outcome.baseline_band
            assert 0 <= low <= outcome.baseline <= high <= 1


@pytest.mark.parametrize("name", [name for name in ATTACKS if name != "popular-items"])
def test_without_protection_the_attack_works(results: Results, name: str) -> None:
    bare = results[name].outcomes[0]
    assert bare.band[0] > bare.baseline_band[1] + 0.1
    assert bare.success > 0.6


def test_no_attack_passes_the_bound_of_an_epsilon(results: Results) -> None:
    bounded = [each for result in results.values() for each in result.outcomes if each.bound]
    assert len(bounded) > 15
    assert [each for each in bounded if not each.is_within_bound] == []


def test_no_bound_is_below_what_guessing_reaches(results: Results) -> None:
    for result in results.values():
        for outcome in result.outcomes:
            assert outcome.bound is None or outcome.bound >= outcome.baseline, outcome


GUESSING = {
    "two-releases": ["with noise, epsilon 10", "with noise, epsilon 1"],
    "membership": [
        *("ideal, epsilon 1", "ideal, epsilon 0.1"),
        *("with a sample, epsilon 1", "with a sample, epsilon 0.1"),
    ],
    "fake-profiles": ["release, epsilon 1", "release, epsilon 0.1"],
    "linkage": ["local reports, epsilon 1 a rating", "local reports, epsilon 0.5 a rating"],
    "subsets": ["80 items, hash under epsilon 1"],
    "sybils": ["3 uploads of 4, no fakes"],
    "hash-recovery": ["local reports, epsilon 0.5 a rating"],
    "quotient": ["keyed tags"],
    "reconstruction": ["epsilon 100", "epsilon 10", "epsilon 1"],
}


@pytest.mark.parametrize("name", GUESSING)
def test_with_protection_it_is_near_guessing(results: Results, name: str) -> None:
    for target in GUESSING[name]:
        outcome = results[name].against(target)
        assert outcome.is_protected
        assert outcome.is_near_guessing, outcome


def test_epochs_cost_what_they_add_up_to(results: Results) -> None:
    """One answer tells a little, and so much the more with each epoch; never past the sum."""
    forgetful, frozen, epochs = results["repeated-reports"].outcomes
    assert frozen.band[1] < epochs.band[0] and epochs.band[1] < forgetful.band[0]
    for outcome in (frozen, epochs):
        assert outcome.bound is not None and outcome.baseline < outcome.success < outcome.bound


def test_fakes_give_deniability_and_no_more(results: Results) -> None:
    """What open clusters do not promise: see the page on protocols."""
    anywhere, popular = (
        results["popular-items"].against(f"100 fakes for 100 ratings, {where}")
        for where in ("anywhere", "on popular items")
    )
    assert (
        anywhere.success > 0.7 > popular.success > popular.baseline == pytest.approx(0.5, abs=0.01)
    )
    filled = results["sybils"].against("4 uploads of 5, 100 fakes for 100 ratings")
    assert filled.success == pytest.approx(0.5, abs=0.01)
    linked = results["linkage"].against("uploads with 100 fakes for 100 ratings")
    assert linked.band[0] > 0.2
    for percent in (100, 200):
        recovered = results["hash-recovery"].against(
            f"uploads with {percent} fakes for 100 ratings"
        )
        assert recovered.band[0] > 0.85


def test_tags_alone_tell_a_hash_by_the_size_of_its_cluster_at_most(results: Results) -> None:
    tags = results["hash-recovery"].against("tags alone")
    assert tags.band[1] < 0.3 and tags.baseline == pytest.approx(1 / 16, abs=0.01)


def test_a_floor_of_items_and_one_hash_say_less(results: Results) -> None:
    few, many, floor, covered = results["subsets"].outcomes
    assert min(few.success, many.success) - 0.1 > floor.success > covered.success


def test_a_seed_repeats_an_attack_and_another_does_not() -> None:
    data = small()
    first, again, other = (run_attack("popular-items", data, seed=seed) for seed in (3, 3, 4))
    assert first == again != other


def test_a_result_is_plain_data() -> None:
    result = run_attack("popular-items", small(), seed=1)
    told = json.loads(json.dumps(result.as_json(), allow_nan=False))
    assert told["name"] == "popular-items"
    assert told["outcomes"][1]["within_bound"] is None
    assert told["outcomes"][1]["success"] == pytest.approx(result.outcomes[1].success)
    assert isinstance(result.outcomes[0], Outcome)


def test_progress_names_every_attack() -> None:
    heard: list[tuple[str, int, int]] = []
    names = ["popular-items", "sybils"]
    run_attacks(names, small(), progress=lambda *told: heard.append(told))
    assert heard == [("popular-items", 0, 2), ("sybils", 1, 2)]


def test_the_attacked_data_is_left_as_it_was() -> None:
    data = small()
    items, codes = data.items.copy(), data.codes.copy()
    run_attacks(["two-releases", "popular-items"], data, seed=2)
    assert np.array_equal(items, data.items) and np.array_equal(codes, data.codes)


def test_what_cannot_be_attacked_is_refused() -> None:
    with pytest.raises(InputError, match="'nothing' is no attack; there are two-releases"):
        run_attack("nothing")
    with pytest.raises(InputError, match="a seed is a whole number from 0 on, not -1"):
        run_attack("sybils", seed=-1)


PAGE = Path(__file__).resolve().parents[2] / "docs" / "attacks.md"


def printed() -> dict[tuple[str, str], list[str]]:
    """The rows of the page's table of results, by attack and target."""
    found, attack = {}, ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 7 and cells[2].replace(".", "").isdigit():
            attack = cells[0].strip("`") or attack
            found[attack, cells[1]] = cells[2:]
    return found


def test_the_page_has_every_result(results: Results) -> None:
    """To within what another draw of the noise may change."""
    page = printed()
    targets = {(r.name, o.against) for r in results.values() for o in r.outcomes}
    assert page.keys() == targets
    for (name, target), (success, guessing, most, *_) in page.items():
        outcome = results[name].against(target)
        assert float(success) / 100 == pytest.approx(outcome.success, abs=0.08), (name, target)
        assert float(guessing) / 100 == pytest.approx(outcome.baseline, abs=0.03), (name, target)
        bound = float("nan") if outcome.bound is None else outcome.bound
        shown = float(most or "nan") / 100
        assert outcome.bound is None or shown >= outcome.bound - 1e-9, (name, target)
        assert shown == pytest.approx(bound, abs=0.03, nan_ok=True), (name, target)


def test_the_page_introduces_every_attack() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in ATTACKS if text.count(f"| `{name}`") != 2] == []
