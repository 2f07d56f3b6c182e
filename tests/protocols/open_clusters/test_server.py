"""The server: averages by bucket told by hand, what is held back, and what a release admits."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet.predict  # noqa: F401
from discreet.domain import InputError
from discreet.protocols.clusters_common import server as totals_module
from discreet.protocols.clusters_common.messages import SentRatings
from discreet.protocols.clusters_common.server import Placed, Totals, report
from discreet.protocols.open_clusters.messages import Collection, Upload
from discreet.protocols.open_clusters.server import OpenClusters
from discreet.release import load
from protocols.open_clusters._terms import obfuscated, revealed, terms
from release._making import assert_same, random_release


def upload(collection: Collection, value: int, ratings: dict[int, int]) -> Upload:
    """Revealed ratings in any bucket: what the server does with a hash, not whether it fits."""
    items = np.array(sorted(ratings), np.int32)
    codes = np.array([ratings[i] for i in items.tolist()], np.uint8)
    return Upload(collection.digest, value, SentRatings("revealed", items, codes))


def small() -> tuple[Collection, list[Upload]]:
    told = terms(6, bits=2, least=0)
    return told, [
        upload(told, 0, {0: 4, 1: 2}),  # mean 3: +1 -1
        upload(told, 0, {0: 3, 1: 0, 2: 0}),  # mean 1: +2 -1 -1
        upload(told, 3, {0: 0, 5: 4}),  # mean 2: -2 +2
    ]


def test_sums_and_counts_by_hand() -> None:
    told, uploads = small()
    release = OpenClusters(told).build(uploads, least_people=1)
    arrays = release.arrays
    assert release.method == "open-clusters"
    assert arrays["bucket_sizes"].tolist() == [2, 0, 0, 1]
    assert arrays["bucket_ends"].tolist() == [3, 3, 3, 5]
    assert arrays["bucket_items"].tolist() == [0, 1, 2, 0, 5]
    assert arrays["bucket_counts"].tolist() == [2, 2, 1, 1, 1]
    np.testing.assert_allclose(arrays["bucket_sums"], [3, -2, -1, -2, 2], atol=1e-3)
    np.testing.assert_allclose(
        arrays["item_effects"], [1 / 8, -2 / 7, -1 / 6, 0, 0, 2 / 6], atol=1e-4
    )
    assert arrays["item_counts"].tolist() == [3, 2, 1, 0, 0, 1]
    assert release.parameters["global_mean"] == pytest.approx(1 + (3 + 1 + 2) / 3)
    assert not arrays["bucket_fakes"].any()  # nobody sent any


def test_order_and_blocks_of_uploads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    told = terms(300, bits=3)
    uploads = [obfuscated(told, 40 + seed, seed) for seed in range(40)]
    whole = OpenClusters(told).build(iter(uploads), least_people=1)
    monkeypatch.setattr(totals_module, "_BLOCK", 300)
    assert_same(whole, OpenClusters(told).build(iter(uploads[::-1]), least_people=1))


def test_uploads_for_other_terms_are_refused() -> None:
    uploads = small()[1]
    with pytest.raises(InputError, match="for other terms"):
        OpenClusters(terms(6, bits=2, least=0, epoch=1)).build(uploads, least_people=1)


def test_a_release_goes_to_a_file_and_back(tmp_path: Path) -> None:
    told = terms(300, bits=3, beacon="ä")
    release = OpenClusters(told).build([obfuscated(told, 50, seed) for seed in range(30)])
    release.save(tmp_path / "r")
    again = load(tmp_path / "r", verify=True)
    assert_same(release, again)
    own = {"title 4": 5.0, "title 9": 2.0, "title 77": 3.0}
    assert again.predictor().predict(own).tolist() == release.predictor().predict(own).tolist()


def test_the_guarantee_says_that_it_is_none() -> None:
    told, uploads = small()
    guarantee = OpenClusters(told).build(uploads, least_people=1).guarantee
    assert not guarantee.is_private and guarantee.epsilon == np.inf
    said = str(guarantee)
    assert said.startswith("no guarantee\nNot private: ")
    assert "plausible deniability and not differential privacy" in said
    assert "randomized" not in said
    told = terms(6, bits=2, least=0, bit_epsilon_thousandths=500)
    guarantee = OpenClusters(told).build([upload(told, 1, {0: 1})], least_people=1).guarantee
    assert "covers the hash alone, with an epsilon of 1 for one rating" in str(guarantee)
    assert "in 12 periods the epsilon is 12; in the one so far, 1)" in str(guarantee)
    assert not guarantee.is_private and guarantee.events[0].label == "hash bits"


def test_small_buckets_are_published_by_size_alone() -> None:
    told = terms(6, bits=2, least=0)
    crowd = [upload(told, 0, {0: 4, 1: 0}) for _ in range(5)]
    alone = [upload(told, 3, {4: 4, 5: 0})]
    shown = OpenClusters(told).build(crowd + alone)
    assert shown.arrays["bucket_sizes"].tolist() == [5, 0, 0, 1]
    assert shown.arrays["bucket_ends"].tolist() == [2, 2, 2, 2]
    # One person's ratings would be everybody's less the crowd's.
    assert shown.arrays["item_counts"].tolist() == [5, 5, 0, 0, 0, 0]
    assert report(shown).withheld == 1
    scattered = [upload(told, value, {4: 4, 5: 0}) for value in (1, 1, 2, 2, 3)]
    shown = OpenClusters(told).build(crowd + scattered)
    assert shown.arrays["bucket_ends"].tolist() == [2, 2, 2, 2]
    assert shown.arrays["item_counts"].tolist() == [5, 5, 0, 0, 5, 5]


def test_the_hash_alone_counts_in_sizes() -> None:
    told, uploads = small()
    bare = Upload(told.digest, 2, SentRatings.none())
    release = OpenClusters(told).build([*uploads, bare, bare], least_people=1)
    assert release.arrays["bucket_sizes"].tolist() == [2, 0, 2, 1]
    assert release.arrays["bucket_raters"].tolist() == [2, 0, 0, 1]
    assert release.parameters["uploads"] == {"obfuscated": 0, "revealed": 3, "none": 2}
    assert release.parameters["global_mean"] == pytest.approx(3.0)
    with pytest.raises(InputError, match="no upload has ratings"):
        OpenClusters(told).build([bare])
    with pytest.raises(InputError, match="no upload has ratings"):
        OpenClusters(told).build([])
    with pytest.raises(InputError, match="too few to publish"):
        OpenClusters(told).build(uploads)


@pytest.mark.parametrize("told", [{"thin": -1}, {"thin": np.nan}, {"least_people": 0}])
def test_arguments_that_make_no_sense_are_refused(told: dict[str, Any]) -> None:
    terms, uploads = small()
    with pytest.raises(InputError, match="thin is 0 or above"):
        OpenClusters(terms).build(uploads, **told)


@pytest.mark.parametrize(("kind", "mean"), [("around-mean", 0.0), ("uniform", -0.3)])
def test_what_fakes_add_is_expected_as_it_is(kind: str, mean: float) -> None:
    told = terms(500, bits=1, fakes=kind, fake_percent=100)
    uploads = [obfuscated(told, 100, seed) for seed in range(300)]
    release = OpenClusters(told).build(uploads)
    fakes, means = release.arrays["bucket_fakes"], release.arrays["bucket_fake_means"]
    # 300 people send 100 fakes each over 500 items.
    assert fakes.sum() == pytest.approx(60, rel=1e-6)
    assert means.tolist() == pytest.approx([mean, mean], abs=0.05)
    plain = OpenClusters(told).build(uploads, allow_for_fakes=False)
    assert not plain.arrays["bucket_fakes"].any() and not plain.arrays["bucket_fake_means"].any()


def test_popular_fakes_are_a_share_of_every_count() -> None:
    told = terms(500, bits=1, fakes="popular", fake_percent=300)
    popularity = np.arange(500.0)
    uploads = [obfuscated(told, 100, seed, popularity=popularity) for seed in range(6)]
    release = OpenClusters(told).build(uploads, least_people=1)
    assert release.parameters["popular_share"] == pytest.approx(0.75)
    true = [revealed(told, u.items, u.codes) for u in uploads]
    both = OpenClusters(told).build(uploads + true, least_people=1)
    assert both.parameters["popular_share"] == pytest.approx(0.375)


def test_a_bucket_that_is_not_shown_changes_nothing_but_its_size() -> None:
    """Else the share of fakes, say, would tell how much the one person in it has sent."""
    told = terms(500, bits=1, fakes="popular", fake_percent=300)
    many = [obfuscated(told, 100, seed, popularity=np.arange(500.0)) for seed in range(7)]
    shown = [replace(one, hash=0) for one in many[:6]]
    alone = [replace(many[6], hash=1), replace(revealed(told, [3, 7], [4, 0]), hash=1)]
    found = [OpenClusters(told).build([*shown, one]) for one in alone]
    for name, array in found[0].arrays.items():
        np.testing.assert_array_equal(array, found[1].arrays[name])
    differ = {n for n, v in found[0].parameters.items() if found[1].parameters[n] != v}
    assert differ == {"uploads"}  # of what kind they were


def test_statistics_by_hand() -> None:
    told = terms(10, bits=1, least=0)
    people = [{0: 4, 1: 0}, {0: 3, 2: 1}, {0: 3, 1: 1}, {1: 2, 3: 2}]
    uploads = [upload(told, 0, one) for one in people] + [upload(told, 1, {9: 4})]
    found = report(OpenClusters(told).build(uploads, least_people=1))
    assert (found.people, found.revealed, found.obfuscated, found.hash_only) == (5, 5, 0, 0)
    assert (found.smallest, found.largest, found.mean_size, found.size_variance) == (
        1,
        4,
        2.5,
        2.25,
    )
    assert (found.buckets, found.empty, found.withheld) == (2, 0, 0)
    # Bucket 0: c of items 0 and 1 is 3/1, of 2 and 3 it is 1/3. In bucket 1 everybody has item 9.
    assert found.c_largest == (pytest.approx(3.0), None)
    assert sum(found.c_histogram) == 20 and found.c_histogram[0] == 6 + 9
    assert found.c_histogram[3] == 2 and found.c_histogram[-1] == 3
    assert found.c_largest_histogram[-1] == 2 == sum(found.c_largest_histogram)
    assert found.c_typical[0] == 6 and sum(found.c_typical) == 10
    assert found.share_true == 0.5
    assert found.as_json()["words"][0] == (
        "This is plausible deniability and not differential privacy."
    )
    assert "nobody there can deny" in found.sentences()[-1]
    some = report(OpenClusters(told).build(uploads[:4], least_people=1))
    assert "in 75% of its bucket's uploads" in some.sentences()[-1]


def test_statistics_of_another_method_are_refused() -> None:
    with pytest.raises(InputError, match="of clusters, not of"):
        report(random_release())


def placed(collection: Collection, uploads: Iterable[Upload]) -> Totals:
    people = (Placed(upload.hash, upload.sent) for upload in uploads)
    return Totals.of(collection, 1 << collection.bits, people)


def many(collection: Collection, people: int, each: int) -> Iterator[Upload]:
    rng = np.random.default_rng(0)
    d = len(collection.catalog)
    for _ in range(people):
        items = np.flatnonzero(rng.random(d) < each / d).astype(np.int32)
        codes = rng.integers(0, 5, len(items)).astype(np.uint8)
        value = int(rng.integers(2**collection.bits))
        yield Upload(collection.digest, value, SentRatings("obfuscated", items, codes))


def test_uploads_are_added_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    told = terms(2_000)
    uploads = list(many(told, 4_000, 200))
    totals = placed(told, uploads)
    assert totals.counts.sum() == sum(len(one.items) for one in uploads)
    del uploads
    monkeypatch.setattr(totals_module, "_BLOCK", 1 << 14)
    few = terms(100, bits=1)
    tracemalloc.start()
    placed(few, many(few, 5_000, 50))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6e6  # all uploads together take twice that
