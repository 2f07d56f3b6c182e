"""From members' ratings to a release: the whole way, who counts, and what is not in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

import discreet.predict  # noqa: F401
from discreet.domain import Catalog, InputError, Scale
from discreet.protocols.closed_clusters.authority import Authority
from discreet.protocols.closed_clusters.client import ClosedClient
from discreet.protocols.closed_clusters.messages import Collection, Directory, Report
from discreet.protocols.closed_clusters.server import ClosedClusters, Matching
from discreet.protocols.clusters_common.messages import Obfuscation
from discreet.protocols.clusters_common.server import report as statistics
from discreet.release import Release, load

FIVE_STARS = Scale(1, 5)


def terms(**told: Any) -> Obfuscation:
    catalog = Catalog([f"i{n}" for n in range(120)], [f"title {n}" for n in range(120)])
    return Obfuscation(catalog, FIVE_STARS, **{"bits": 3, "least": 40} | told)


class Village:
    """Members with two tastes, an authority, a server."""

    def __init__(self, folder: Path, members: int = 24, **told: Any) -> None:
        self.terms = terms(**told)
        self.authority = Authority(folder / "authority")
        self.authority.begin_epoch(self.terms.hash_digest, self.terms.bits)
        key = self.authority.public_key
        self.clients = [ClosedClient(folder / f"client {n}", key) for n in range(members)]
        self.authority.change(join=b"".join(client.public_key for client in self.clients))
        self.server = X25519PrivateKey.generate()

    @property
    def directory(self) -> Directory:
        return self.authority.directory()

    @property
    def collection(self) -> Collection:
        now, server = self.directory, self.server.public_key().public_bytes_raw()
        key = self.authority.public_key
        return Collection(key, server, now.hash_digest, now.bits, now.epoch, self.terms)

    def own(self, member: int) -> dict[str, float]:
        """Half of the items, liked or not by a taste that two kinds of people have."""
        rng = np.random.default_rng(member)
        rated = rng.choice(120, 60, replace=False)
        liked = (rated % 2 == 0) == (member % 2 == 0)
        return {f"i{i}": 5.0 if like else 1.0 for i, like in zip(rated, liked, strict=True)}

    def report(self, member: int, **told: Any) -> Report:
        own = self.own(member)
        return self.clients[member].report(self.collection, self.directory, own, **told)

    def build(self, reports: list[Report], **told: Any) -> Release:
        return self.protocol.build(reports, **told)

    @property
    def protocol(self) -> ClosedClusters:
        private = self.server.private_bytes_raw()
        return ClosedClusters(self.authority.public_key, self.directory, private, self.terms)


@pytest.fixture
def village(tmp_path: Path) -> Village:
    return Village(tmp_path)


def through_json(village: Village, reports: list[Report]) -> list[Report]:
    protocol = village.protocol
    return [protocol.read(report.as_json()) for report in reports]


def test_ratings_become_a_release_that_predicts_their_tastes(
    village: Village, tmp_path: Path
) -> None:
    reports = through_json(village, [village.report(member) for member in range(24)])
    release = village.build(reports, thin=1.0)
    assert release.method == "closed-clusters" and release.parameters["people"] == 24
    release.save(tmp_path / "made.discreet")
    model = load(tmp_path / "made.discreet").predictor()
    assert len(release.arrays["bucket_sizes"]) > 0
    found = []
    for taste in (0, 1):
        stranger = {f"i{i}": 5.0 if i % 2 == taste else 1.0 for i in range(20)}
        expected = model.predict(stranger)
        found.append(expected[40::2].mean() - expected[41::2].mean())
    assert max(found) - min(found) > 1  # whoever fits a cluster is told what it likes
    assert "plausible deniability" in str(release.guarantee)
    assert "tell the hash value" in str(release.guarantee.to_dict())
    told = statistics(release)
    assert told.people == 24 and told.obfuscated == 24
    assert told.withheld == release.parameters["clusters"] - len(release.arrays["bucket_sizes"])


def test_who_is_together_by_tags_is_who_has_one_hash_value(village: Village) -> None:
    reports = [village.report(member, reveal=True) for member in range(24)]
    private = village.server.private_bytes_raw()
    release = village.build(reports, least_people=1)
    with Matching(village.collection, village.directory, private) as matching:
        matching.add(report.tags for report in reports)
        clusters = matching.clusters()
    values = [
        village.terms.cluster_hash.value(report.sent.items, report.sent.codes) for report in reports
    ]
    labels = clusters.labels.tolist()
    assert all(
        (values[a] == values[b]) == (labels[a] == labels[b]) for a in range(24) for b in range(24)
    )
    sizes = release.arrays["bucket_sizes"]
    assert sorted(sizes.tolist()) == sorted(np.bincount(labels).tolist())
    assert (np.diff(sizes) <= 0).all()  # the largest first, whoever came first


def test_small_clusters_count_in_everybodys_averages_and_are_not_shown(village: Village) -> None:
    reports = [village.report(member, reveal=True) for member in range(24)]
    whole = village.build(reports, least_people=1)
    some = village.build(reports, least_people=4)
    shown = whole.arrays["bucket_raters"] >= 4
    assert 0 < shown.sum() < len(shown)
    np.testing.assert_array_equal(
        some.arrays["bucket_raters"], whole.arrays["bucket_raters"][shown]
    )
    np.testing.assert_array_equal(some.arrays["item_counts"], whole.arrays["item_counts"])
    none = village.build(reports, least_people=20)
    assert len(none.arrays["bucket_sizes"]) == 0 and len(none.arrays["bucket_items"]) == 0
    told = statistics(none)
    assert (told.withheld, told.smallest, told.largest) == (len(shown), 0, 0)
    assert "on average" not in " ".join(told.sentences())
    assert np.isfinite(none.predictor().predict({"i1": 5.0})).all()
    with pytest.raises(InputError, match="fewer than 30 uploads"):
        village.build(reports, least_people=30)


def test_tags_alone_help_to_find_clusters_and_add_no_ratings(village: Village) -> None:
    bare = [village.report(member, tags_only=True) for member in range(4)]
    rest = [village.report(member) for member in range(4, 24)]
    release = village.build(through_json(village, bare + rest))
    assert release.parameters["uploads"] == {"obfuscated": 20, "revealed": 0, "none": 4}
    assert release.parameters["people"] == 24
    with pytest.raises(InputError, match="nothing to average"):
        village.build(bare)
    with pytest.raises(InputError, match="not both"):
        village.report(0, tags_only=True, reveal=True)


def test_a_slot_counts_once_and_who_left_does_not(village: Village) -> None:
    reports = [village.report(member) for member in range(24)]
    once = village.build(reports)
    twice = village.build([*reports, reports[0]])
    np.testing.assert_array_equal(once.arrays["item_counts"], twice.arrays["item_counts"])
    village.authority.change(leave=(3,))
    assert village.build(reports).parameters["people"] == 23


def test_the_hash_value_is_frozen_and_the_fakes_stay(village: Village) -> None:
    first = village.report(0)
    client = village.clients[0]
    turned = {name: 6 - rating for name, rating in village.own(0).items()}
    later = client.report(village.collection, village.directory, turned)
    assert later.tags == first.tags
    np.testing.assert_array_equal(later.sent.items, first.sent.items)
    np.testing.assert_array_equal(later.sent.codes, first.sent.codes)
    told = client.standing(village.collection)
    assert told.true == 60 and told.fakes == len(first.sent.items) - 60 and told.fakes >= 60


def test_a_server_that_announces_another_hash_than_the_authority_signed(village: Village) -> None:
    good = village.collection
    for changed in ({"beacon": "x"}, {"hash": "lsh"}, {"bits": 4}):
        with pytest.raises(InputError, match="the authority signed another hash"):
            Collection(
                good.authority, good.server, good.hash_digest, good.bits, good.epoch,
                terms(**changed),
            )  # fmt: skip
    message = good.as_json()
    message["ratings"] = message["ratings"] | {"scale": "0..10"}
    with pytest.raises(InputError, match="the authority signed another hash"):
        Collection.from_json(message, village.terms.catalog)
    other = Catalog([f"i{n}" for n in range(120)], [f"other {n}" for n in range(120)])
    with pytest.raises(InputError, match="not this catalogue's digest"):
        Collection.from_json(good.as_json(), other)
    with pytest.raises(InputError, match="no catalogue is given"):
        Collection.from_json(good.as_json())
    assert Collection.from_json(good.as_json(), village.terms.catalog) == good


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"ratings": "all"}, "'ratings' should be one of"),
        ({"items": ""}, "one entry a rating"),
        ({"ratings": "none"}, "without ratings there are no 'items'"),
        ({"extra": 1}, "a field that it does not have"),
        ({"upload": ""}, "should start with"),
        ({"version": 2}, "'version' should be"),
    ],
)
def test_bad_reports_are_refused(village: Village, change: dict[str, Any], complaint: str) -> None:
    good = village.report(0).as_json()
    assert village.protocol.read(good).sent.kind == "obfuscated"
    with pytest.raises(InputError, match=complaint) as refused:
        village.protocol.read(good | change)
    assert "\n" not in str(refused.value)


def test_a_collection_of_tags_alone_takes_no_ratings(village: Village) -> None:
    good = village.collection
    bare = Collection(good.authority, good.server, good.hash_digest, good.bits, good.epoch)
    made = village.report(0).as_json()
    with pytest.raises(InputError, match="takes no ratings"):
        Report.from_json(made, bare)
    with pytest.raises(InputError, match="tags alone"):
        village.clients[0].report(bare, village.directory, {"i1": 3.0})
