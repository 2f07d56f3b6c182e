"""The client: what it sends, what it remembers, and that changes do not tell true from made-up."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet.domain import InputError
from discreet.privacy import SeededRandomness
from discreet.protocols.clusters_common.client import History, Terms
from discreet.protocols.open_clusters.client import OpenClient
from discreet.protocols.open_clusters.messages import Collection, Upload
from protocols.open_clusters._clients import client, own, sent_codes
from protocols.open_clusters._terms import person, terms


def shared(folder: Path, collection: Collection) -> dict[str, Any]:
    """The history in the state file."""
    state = json.loads((folder / "state").read_text())["state"]
    told = state["obfuscation"]
    places = [collection.catalog.index(name) for name, _ in told["names"]]
    return {
        name: [places[i] for i in column] if "codes" not in name else column
        for name, column in told["history"].items()
    }


def test_a_first_upload_holds_the_truth_among_as_many_fakes(tmp_path: Path) -> None:
    told = terms()
    items, codes = person(1_000, 120)
    made = client(tmp_path, told)
    upload = made.report(own(items, codes))
    assert Upload.from_json(upload.as_json(), told).hash == told.cluster_hash.value(items, codes)
    found = sent_codes(upload)
    assert len(found) == 240
    assert all(found[i] == c for i, c in zip(items.tolist(), codes.tolist(), strict=True))
    standing = made.standing()
    assert (standing.true, standing.fakes, standing.suppressed) == (120, 120, 0)
    assert standing.share == 0.5 and standing.hash_epsilon == 0
    assert "not differential privacy" in standing.sentences()[0]
    assert "50%" in standing.sentences()[2]


def test_at_least_eighty_items_look_rated(tmp_path: Path) -> None:
    told = terms(fake_percent=0)
    upload = client(tmp_path, told).report({"title 3": 5, "title 9": 1})
    assert len(upload.items) == 80
    assert sent_codes(upload)[3] == 4 and sent_codes(upload)[9] == 0


def test_real_randomness_differs_between_people(tmp_path: Path) -> None:
    told = terms()
    ratings = own(*person(1_000, 50))
    uploads = [OpenClient(told, tmp_path / name).report(ratings) for name in "ab"]
    assert uploads[0].items.tolist() != uploads[1].items.tolist()


def test_the_file_is_private_and_fakes_outlive_the_client(tmp_path: Path) -> None:
    told = terms()
    ratings = own(*person(1_000, 100))
    first = client(tmp_path, told).report(ratings)
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o600
    again = client(tmp_path, told, randomness=SeededRandomness(2)).report(ratings)
    assert again.as_json() == first.as_json()


def test_few_changes_wait_for_a_batch(tmp_path: Path) -> None:
    told = terms()
    items, codes = person(1_000, 100)
    free = np.setdiff1d(np.arange(1_000), items)
    made = client(tmp_path, told, batch=5)
    first = made.report(own(items[:90], codes[:90]))
    assert made.report(own(items[:94], codes[:94])).as_json() == first.as_json()
    later = made.report(own(items[:95], codes[:95]))
    assert len(later.items) >= len(first.items) + 5
    with pytest.raises(InputError, match="at least 1 change"):
        client(tmp_path, told, batch=0)
    assert len(free) == 900


@pytest.mark.parametrize("percent", [50, 100, 200])
def test_later_batches_keep_the_ratio_and_the_fakes(tmp_path: Path, percent: int) -> None:
    told = terms(5_000, fake_percent=percent, least=800)
    items, codes = person(5_000, 300)
    order = np.random.default_rng(1).permutation(300)
    made = client(tmp_path, told, batch=1)
    before: dict[int, int] = {}
    rated: set[int] = set()
    for many in (20, 60, 61, 160, 300):
        now = np.sort(order[:many])
        upload = made.report(own(items[now], codes[now]))
        found = sent_codes(upload)
        assert before.keys() <= found.keys()
        assert all(found[i] == code for i, code in before.items())
        joined = found.keys() - before.keys()
        new = set(items[now].tolist()) - rated
        if before:
            # Of the items that join, no larger a share is true than the terms say: neither by the
            # floor's many fakes of the first batch nor by items that were made up before.
            true = len(joined & new)
            assert true > 0
            assert len(joined) - true >= percent / 100 * true
            met = len(new & before.keys())
            assert len(joined) - true <= percent / 100 * len(new) + 1 + met
        else:
            assert len(found) == 800
        before, rated = found, rated | new


def test_a_fake_that_is_rated_later_stays_as_it_was(tmp_path: Path) -> None:
    told = terms()
    items, codes = person(1_000, 50)
    made = client(tmp_path, told, batch=1)
    first = sent_codes(made.report(own(items, codes)))
    fake = next(i for i in first if i not in items)
    both = np.sort(np.append(items, fake))
    value = (first[fake] + 1) % 5
    mixed = np.insert(codes, np.searchsorted(items, fake), value)
    upload = made.report(own(both, mixed))
    second = sent_codes(upload)
    assert second[fake] == first[fake]
    # One item more is true and one fake fewer is a fake, so two are made up.
    assert len(second) == len(first) + 2
    assert upload.hash == told.cluster_hash.value(both, mixed)
    assert made.standing().true == 51 and made.standing().fakes == 51


def test_what_is_taken_back_stays_as_a_fake(tmp_path: Path) -> None:
    told = terms()
    items, codes = person(1_000, 50)
    made = client(tmp_path, told, batch=1)
    first = sent_codes(made.report(own(items, codes)))
    second = sent_codes(made.report(own(items[10:], codes[10:])))
    assert second == first
    standing = made.standing()
    assert standing.true == 40 and standing.taken_back == 10
    assert f"{standing.taken_back} more were when they were sent" in standing.sentences()[1]


def test_what_was_sent_stays_whatever_its_rating_becomes(tmp_path: Path) -> None:
    """Items that change again and again would be the true ones."""
    told = terms(fake_percent=200)
    items, codes = person(1_000, 50)
    made = client(tmp_path, told, batch=1)
    first = sent_codes(made.report(own(items, codes)))
    for _ in range(3):
        codes = (codes + 1) % 5
        assert sent_codes(made.report(own(items, codes))) == first


def test_a_share_is_suppressed_for_good(tmp_path: Path) -> None:
    told = terms(5_000, suppress_percent=30, least=0)
    items, codes = person(5_000, 1_000)
    made = client(tmp_path, told, batch=1)
    upload = made.report(own(items[:800], codes[:800]))
    assert upload.hash == told.cluster_hash.value(items[:800], codes[:800])
    history = shared(tmp_path, told)
    suppressed = np.array(history["suppressed"])
    assert stats.binomtest(len(suppressed), 800, 0.3).pvalue > 1e-4
    assert len(upload.items) == 2 * (800 - len(suppressed))
    made.report(own(items, codes))
    later = shared(tmp_path, told)
    assert np.isin(suppressed, later["suppressed"]).all()
    assert not np.isin(suppressed, later["true_items"]).any()


def test_suppressed_items_are_faked_like_any_other(tmp_path: Path) -> None:
    told = terms(2_000, suppress_percent=50)
    items, codes = person(2_000, 1_000)
    made = client(tmp_path, told)
    upload = made.report(own(items, codes))
    history = shared(tmp_path, told)
    hidden = np.array(history["suppressed"])
    unrated = np.setdiff1d(np.arange(2_000), items)
    faked = [int(np.isin(where, upload.items).sum()) for where in (hidden, unrated)]
    table = [faked, [len(hidden) - faked[0], len(unrated) - faked[1]]]
    assert stats.chi2_contingency(table).pvalue > 1e-4
    standing = made.standing()
    assert standing.true == 1_000 - len(hidden) + faked[0]
    assert (standing.fakes, standing.suppressed) == (faked[1], len(hidden) - faked[0])
    made_up = dict(zip(history["fake_items"], history["fake_codes"], strict=True))
    true = dict(zip(items.tolist(), codes.tolist(), strict=True))
    assert any(made_up[i] != true[i] for i in made_up.keys() & true.keys())
    assert made.report(own(items, codes)).as_json() == upload.as_json()


def test_where_fakes_are_everywhere_nothing_absent_is_rated(tmp_path: Path) -> None:
    told = terms(100, suppress_percent=10)
    upload = client(tmp_path, told).report(own(*person(100, 70)))
    assert shared(tmp_path, told)["suppressed"]
    assert upload.items.tolist() == list(range(100))


@pytest.mark.parametrize(
    "changed", [{"epoch": 1}, {"beacon": "new"}, {"bits": 4}, {"fakes": "uniform"}]
)
def test_other_terms_do_not_draw_new_fakes(tmp_path: Path, changed: dict[str, Any]) -> None:
    ratings = own(*person(1_000, 100))
    first = client(tmp_path, terms()).report(ratings)
    other = terms(**changed)
    second = client(tmp_path, other, randomness=SeededRandomness(2)).report(ratings)
    assert Upload.from_json(second.as_json(), other).collection != first.collection
    assert sent_codes(second) == sent_codes(first)
    assert client(tmp_path, terms()).report(ratings).as_json() == first.as_json()


def test_terms_with_more_fakes_count_for_later_batches(tmp_path: Path) -> None:
    items, codes = person(1_000, 100)
    ratings = own(items[:80], codes[:80])
    first = sent_codes(client(tmp_path, terms(fake_percent=100)).report(ratings))
    assert len(first) == 160
    for percent in (200, 60):
        same = client(tmp_path, terms(fake_percent=percent)).report(ratings)
        assert sent_codes(same) == first
    made = client(tmp_path, terms(fake_percent=200))
    later = sent_codes(made.report(own(items, codes)))
    met = len(set(items[80:].tolist()) & first.keys())
    assert len(later) == 160 + 20 - met + 40 + met  # a fake that was met is made up for
    assert made.standing().late == 0


def test_fakes_that_come_by_themselves_are_not_counted_as_protection(tmp_path: Path) -> None:
    ratings = own(*person(1_000, 100))
    before = client(tmp_path, terms())
    first = sent_codes(before.report(ratings))
    assert before.standing().share == 0.5
    made = client(tmp_path, terms(least=500))
    floor = sent_codes(made.report(ratings))
    assert len(floor) == 500 and first.items() <= floor.items()
    told = made.standing()
    assert (told.late, told.fakes, told.share) == (300, 400, 0.5)
    assert "300 of the others came by themselves" in told.sentences()[1]


def test_what_one_collection_heard_the_others_hear_too(tmp_path: Path) -> None:
    items, codes = person(1_000, 100)
    one, two = (client(tmp_path, terms(epoch=epoch)) for epoch in (0, 1))
    one.report(own(items[:50], codes[:50]))
    early = two.report(own(items[:52], codes[:52]))  # too few changes for a batch
    assert not np.isin(items[50:52], shared(tmp_path, two.collection)["true_items"]).any()
    later = one.report(own(items, codes))
    now = two.report(own(items, codes))
    assert sent_codes(now) == sent_codes(later) != sent_codes(early)
    assert sent_codes(early).keys() <= sent_codes(now).keys()
    assert now.hash == two.collection.cluster_hash.value(items, codes)


def test_a_client_has_floors_of_its_own(tmp_path: Path) -> None:
    weak = terms(fake_percent=0, least=0)
    items, codes = person(1_000, 200)
    assert len(OpenClient(weak, tmp_path / "a").report(own(items, codes)).items) == 300
    assert len(OpenClient(weak, tmp_path / "b").report(own(items[:5], codes[:5])).items) == 80
    small = terms(30, bits=4, fake_percent=0, least=0)
    assert len(OpenClient(small, tmp_path / "c").report({"title 3": 5}).items) == 30
    bare = OpenClient(weak, tmp_path / "d", accept_less=True).report(own(items, codes))
    assert bare.items.tolist() == items.tolist()
    # What would be added by itself could be told: more fakes come with more ratings.
    assert len(OpenClient(weak, tmp_path / "d").report(own(items, codes)).items) == 200
    with pytest.raises(InputError, match="fake_percent is at least 50, not 20"):
        OpenClient(weak, tmp_path / "e", fake_percent=20)
    assert OpenClient(weak, tmp_path / "e", fake_percent=20, accept_less=True).terms.least == 0


def test_nothing_rated_is_nothing_to_report(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing to report"):
        client(tmp_path, terms()).report({"unknown": 3})
    assert not (tmp_path / "state").exists()
    # Off the announced scale: brought onto it, since an objection would tell of it.
    assert 1 in client(tmp_path, terms()).report({"title 1": 9}).items


def test_a_damaged_state_is_refused(tmp_path: Path) -> None:
    told = terms()
    client(tmp_path, told).report(own(*person(1_000, 50)))
    path = tmp_path / "state"
    content = json.loads(path.read_text())
    del content["state"]["obfuscation"]["history"]["fake_items"]
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="no usable history"):
        client(tmp_path, told).report(own(*person(1_000, 50)))


def test_nothing_private_is_in_a_repr() -> None:
    told = terms()
    history = History().advance(*person(1_000, 50), told, Terms.of(told), SeededRandomness(1))
    assert repr(history) == "History(private)"
