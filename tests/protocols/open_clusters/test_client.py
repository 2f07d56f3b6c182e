"""The client: what it sends, what it remembers, and that changes do not tell true from made-up."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet.domain import InputError, OwnRatings
from discreet.domain.cluster_hash import from_grid
from discreet.privacy import SeededRandomness
from discreet.protocols.open_clusters.client import History, OpenClient, Terms
from discreet.protocols.open_clusters.messages import Collection, Upload
from discreet.protocols.open_clusters.server import read_upload
from protocols.open_clusters._terms import FIVE_STARS, person, terms


def own(items: Any, codes: Any) -> OwnRatings:
    return OwnRatings(np.asarray(items, np.int32), from_grid(FIVE_STARS, np.asarray(codes)))


def client(folder: Path, collection: Collection, **told: Any) -> OpenClient:
    told = {"randomness": SeededRandomness(1)} | told
    return OpenClient(collection, folder / "state", **told)


def sent_codes(upload: Upload) -> dict[int, int]:
    return dict(zip(upload.items.tolist(), upload.codes.tolist(), strict=True))


def test_a_first_upload_holds_the_truth_among_as_many_fakes(tmp_path: Path) -> None:
    told = terms()
    items, codes = person(1_000, 120)
    made = client(tmp_path, told)
    upload = made.report(own(items, codes))
    assert read_upload(told, upload.as_json()).hash == told.cluster_hash.value(items, codes)
    found = sent_codes(upload)
    assert len(found) == 240
    assert all(found[i] == c for i, c in zip(items.tolist(), codes.tolist(), strict=True))
    standing = made.standing()
    assert (standing.true, standing.fakes, standing.suppressed) == (120, 120, 0)
    assert standing.share == 0.5 and standing.hash_epsilon == 0
    assert "not differential privacy" in standing.sentences()[0]
    assert "50%" in standing.sentences()[1]


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
            assert len(joined) - true <= percent / 100 * len(new) + 1
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
    assert len(second) == len(first) + 1  # one item more is true, so one more is made up
    assert upload.hash == told.cluster_hash.value(both, mixed)
    assert made.standing().true == 51 and made.standing().fakes == 50


def test_what_is_taken_back_stays_as_a_fake(tmp_path: Path) -> None:
    told = terms()
    items, codes = person(1_000, 50)
    made = client(tmp_path, told, batch=1)
    first = sent_codes(made.report(own(items, codes)))
    second = sent_codes(made.report(own(items[10:], codes[10:])))
    assert second == first
    assert made.standing().true == 40


def test_changed_ratings_take_fakes_along(tmp_path: Path) -> None:
    told = terms(fake_percent=200)
    items, codes = person(1_000, 50)
    made = client(tmp_path, told, batch=1)
    first = sent_codes(made.report(own(items, codes)))
    changed = codes.copy()
    changed[:10] = 4 - changed[:10]
    changed[:10][changed[:10] == 2] = 3
    assert (changed[:10] != codes[:10]).all()
    second = sent_codes(made.report(own(items, changed)))
    assert second.keys() == first.keys()
    moved = {i for i in first if first[i] != second[i]}
    assert moved & set(items.tolist()) == set(items[:10].tolist())
    assert len(moved) == 30


def test_a_share_is_suppressed_for_good(tmp_path: Path) -> None:
    told = terms(5_000, suppress_percent=30, least=0)
    items, codes = person(5_000, 1_000)
    made = client(tmp_path, told, batch=1)
    upload = made.report(own(items[:800], codes[:800]))
    true = np.isin(items[:800], upload.items)
    hidden = 800 - int(true.sum())
    assert stats.binomtest(hidden, 800, 0.3).pvalue > 1e-4
    assert len(upload.items) == 2 * (800 - hidden)
    later = made.report(own(items, codes))
    assert (np.isin(items[:800], later.items) == true).all()
    assert not set(items[:800][~true].tolist()) & set(later.items.tolist())
    assert upload.hash == told.cluster_hash.value(items[:800], codes[:800])


def test_the_hash_of_what_is_sent(tmp_path: Path) -> None:
    told = terms(hash_on="obfuscated")
    upload = client(tmp_path, told).report(own(*person(1_000, 100)))
    assert upload.hash == told.cluster_hash.value(upload.items, upload.codes)
    assert read_upload(told, upload.as_json()).ratings == "obfuscated"
    with pytest.raises(InputError, match="the hash alone is not taken"):
        client(tmp_path, told, hash_only=True)


def test_some_reveal_and_some_send_the_hash_alone(tmp_path: Path) -> None:
    told = terms()
    items, codes = person(1_000, 30)
    value = told.cluster_hash.value(items, codes)
    shown = client(tmp_path, told, reveal=True).report(own(items, codes))
    assert (shown.ratings, shown.hash, len(shown.items)) == ("revealed", value, 30)
    made = client(tmp_path, told, hash_only=True)
    bare = made.report(own(items, codes))
    assert (bare.ratings, bare.hash, len(bare.items)) == ("none", value, 0)
    assert made.standing().sentences() == ["No obfuscated ratings were sent."]
    with pytest.raises(InputError, match="not both"):
        client(tmp_path, told, reveal=True, hash_only=True)


def test_randomized_bits_are_answered_once_an_epoch_and_counted(tmp_path: Path) -> None:
    told = terms(bits=8, bit_epsilon_thousandths=250)
    made = client(tmp_path, told, batch=1, hash_only=True)
    values = {made.report(own(*person(1_000, 100, seed))).hash for seed in range(6)}
    assert len(values) == 1  # though the true hash changed
    assert made.standing().hash_epsilon == 2.0
    later = client(tmp_path, terms(bits=8, bit_epsilon_thousandths=250, epoch=1), hash_only=True)
    later.report(own(*person(1_000, 100)))
    assert later.standing().hash_epsilon == 4.0
    assert "epsilon of 4 in all" in later.standing().sentences()[-1]


def test_randomized_bits_keep_their_law(tmp_path: Path) -> None:
    items, codes = person(1_000, 100)
    kept = 0
    randomness = SeededRandomness(5)
    for number in range(150):
        told = terms(bits=16, bit_epsilon_thousandths=1_000, epoch=number)
        made = client(tmp_path, told, hash_only=True, randomness=randomness)
        wrong = made.report(own(items, codes)).hash ^ told.cluster_hash.value(items, codes)
        kept += 16 - wrong.bit_count()
    assert stats.binomtest(kept, 2_400, np.e / (1 + np.e)).pvalue > 1e-4


def test_nothing_rated_is_nothing_to_report(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing to report"):
        client(tmp_path, terms()).report({"unknown": 3})
    with pytest.raises(InputError, match="not on the scale"):
        client(tmp_path, terms()).report({"title 1": 9})
    assert not (tmp_path / "state").exists()


def test_a_damaged_state_is_refused(tmp_path: Path) -> None:
    told = terms()
    client(tmp_path, told).report(own(*person(1_000, 50)))
    path = tmp_path / "state"
    content = json.loads(path.read_text())
    del content["state"][told.digest]["history"]["fake_items"]
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="no usable history"):
        client(tmp_path, told).report(own(*person(1_000, 50)))


def test_nothing_private_is_in_a_repr() -> None:
    told = terms()
    history = History().advance(*person(1_000, 50), told, Terms.of(told), SeededRandomness(1))
    assert repr(history) == "History(private)"
