"""Closed clusters through the service: a directory out, tags and ratings in, a release of them."""

from __future__ import annotations

import base64
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli._calling import call
from discreet.domain import Catalog, InputError, Scale
from discreet.protocols.closed_clusters.authority import Authority
from discreet.protocols.closed_clusters.client import ClosedClient, pair_tags
from discreet.protocols.closed_clusters.messages import Collection, Directory, Report, TagUpload
from discreet.protocols.closed_clusters.server import ClosedClusters
from discreet.protocols.clusters_common.messages import Obfuscation, SentRatings
from discreet.protocols.common.http import ServiceClient
from discreet.release import load
from discreet.serve import Settings
from serve._running import FREE, TOKEN, Answer, Talk, make_settings, running

MEMBERS = 12
BUCKETS = ("sizes", "raters", "fakes", "fake_means", "ends")
CATALOG = Catalog([f"i{n}" for n in range(100)], [f"Title {n}" for n in range(100)])
TERMS = Obfuscation(CATALOG, Scale(1, 5), bits=3)


class Town:
    """An authority, its members, and the files that the service's operator has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = Authority(folder / "authority")
        self.authority.begin_epoch(TERMS.hash_digest, TERMS.bits)
        key = self.authority.public_key
        self.clients = [ClosedClient(folder / f"client{n}", key) for n in range(MEMBERS)]
        self.publish(join=b"".join(client.public_key for client in self.clients))

    def publish(self, **change: Any) -> None:
        (self.folder / "directory").write_bytes(self.authority.change(**change).as_bytes())

    def settings(self) -> Settings:
        terms = {"authority": self.authority.public_key.hex(), "bits": TERMS.bits}
        protocol = ClosedClusters.from_terms(
            TERMS.catalog, TERMS.scale, terms,
            directory=self.folder / "directory", server_key=self.folder / "key",
        )  # fmt: skip
        db = str(self.folder / "tags.db")
        return Settings(self.folder / "made.discreet", protocol, db, TOKEN, **FREE)

    def own(self, number: int) -> dict[str, float]:
        rated = np.random.default_rng(number).choice(100, 30, replace=False)
        return {f"i{i}": 5.0 if (i + number) % 2 else 1.0 for i in rated}


@pytest.fixture
def town(tmp_path: Path) -> Town:
    return Town(tmp_path)


def asked(talk: Talk) -> tuple[Collection, Directory]:
    with ServiceClient(talk.url) as service:
        collection = Collection.from_json(service.collection(), service.catalog())
        return collection, Directory.from_bytes(service.directory())


def upload(talk: Talk, town: Town, number: int) -> None:
    made = town.clients[number].report(*asked(talk), town.own(number))
    with ServiceClient(talk.url, town.folder / f"client{number}") as service:
        service.enroll()
        service.report(made.as_json())
        assert service.sent() == made.as_json()


def people(town: Town) -> int:
    return int(load(town.folder / "made.discreet").parameters["people"])


def lie(talk: Talk, town: Town, capability: str, number: int, value: int) -> Answer:
    """Tags that say what one likes, made with the right keys."""
    collection, directory = asked(talk)
    client = town.clients[number]
    tags = pair_tags(client._private, directory, value)
    made = client._sealed(collection, TagUpload(directory.epoch, number, 0, tags, bytes(16)))
    report = client._sealed_report(collection, Report(made, SentRatings.none()))
    return talk.send(capability, report.as_json())


def test_members_send_tags_and_ratings_and_a_release_comes_of_them(town: Town) -> None:
    with running(town.settings(), own_process=True) as talk:
        assert talk.ask("GET", "/v1/release").status == 404
        for number in range(MEMBERS):
            upload(talk, town, number)
        assert talk.rebuild()["reports"] == MEMBERS
        assert talk.ask("GET", "/v1/release").status == 200
        about = talk.ask("GET", "/v1/release/about").json()
        assert about["method"] == "closed-clusters" and "deniability" in about["promise"]
        assert people(town) == MEMBERS
        with ServiceClient(talk.url, town.folder / "client2") as leaver:
            leaver.delete()
        assert talk.rebuild()["state"] == "built"
        assert people(town) == MEMBERS - 1
    assert stat.S_IMODE((town.folder / "key").stat().st_mode) == 0o600


def test_nobody_is_told_who_is_together(town: Town) -> None:
    with running(town.settings()) as talk:
        own = town.own(0)
        town.own = lambda number: own  # type: ignore[method-assign]
        for number in range(MEMBERS):
            upload(talk, town, number)
        assert talk.rebuild()["state"] == "built"
        paths = talk.ask("GET", "/openapi.json").json()["paths"]
        assert not [path for path in paths if "cluster" in path]
        assert talk.ask("GET", "/v1/clusters", secret=TOKEN).status == 404
        told = talk.statistics()
        assert set(told) == {
            *("enrolled", "reports", "reports_of_collection", "collection", "stored_since_start"),
            *("commits_since_start", "least_people", "served", "build", "ledger"),
        }
        build = {"state", "reports", "people", "building_seconds", "seconds"}
        assert set(told["build"]) == build
        assert set(told["served"]) == {"method", "sha256", "built"}
    release = load(town.folder / "made.discreet")
    entries = release.arrays["bucket_items"].shape
    assert len(CATALOG) != MEMBERS != entries[0]
    assert {name: array.shape for name, array in release.arrays.items()} == {
        **dict.fromkeys(("item_effects", "item_counts"), (len(CATALOG),)),
        **dict.fromkeys((f"bucket_{n}" for n in BUCKETS), (1,)),
        **dict.fromkeys(("bucket_items", "bucket_counts", "bucket_sums"), entries),
    }


def test_one_value_an_epoch_whatever_a_liar_deletes_or_enrols(town: Town) -> None:
    with running(town.settings()) as talk:
        me = talk.enrol()
        assert lie(talk, town, me, 0, 5).status == 204
        assert lie(talk, town, me, 0, 5).status == 204
        for value in (1, 2, 3):
            answer = lie(talk, town, me, 0, value)
            assert answer.status == 409
            assert "first ones stay" in answer.reason
        assert talk.ask("DELETE", "/v1/report", secret=me).status == 204
        assert lie(talk, town, me, 0, 3).status == 409
        assert talk.ask("DELETE", "/v1/enrolment", secret=me).status == 204
        other = talk.enrol()
        assert lie(talk, town, other, 0, 3).status == 409
        assert talk.ask("GET", "/v1/report", secret=other).status == 404
        assert lie(talk, town, other, 0, 5).status == 204
    with running(town.settings(), talk.url) as talk:
        assert lie(talk, town, other, 0, 3).status == 409
        assert lie(talk, town, other, 1, 3).status == 204


def test_somebody_may_leave_and_another_join_and_the_tags_of_before_still_bind(town: Town) -> None:
    with running(town.settings()) as talk:
        me = talk.enrol()
        assert lie(talk, town, me, 0, 3).status == 204
        joined = ClosedClient(town.folder / "late", town.authority.public_key)
        town.publish(join=joined.public_key, leave=(4,))
        assert reload(talk) == {"reloaded": True}
        assert lie(talk, town, me, 0, 2).status == 409
        assert lie(talk, town, me, 0, 3).status == 204
        assert lie(talk, town, me, 0, 2).status == 409


def reload(talk: Talk) -> Any:
    return talk.ask("POST", "/v1/admin/reload", secret=TOKEN).json()


def test_a_newer_directory_is_taken_while_the_service_runs(town: Town) -> None:
    with running(town.settings()) as talk:
        assert reload(talk) == {"reloaded": False}
        for number in range(MEMBERS):
            upload(talk, town, number)
        assert talk.rebuild()["state"] == "built"
        town.clients.append(
            ClosedClient(town.folder / f"client{MEMBERS}", town.authority.public_key)
        )
        town.publish(join=town.clients[-1].public_key)
        with pytest.raises(InputError, match="not in the directory"):
            upload(talk, town, MEMBERS)
        for secret, status in ((None, 401), (talk.enrol(), 401)):
            assert talk.ask("POST", "/v1/admin/reload", secret=secret).status == status
        assert reload(talk) == {"reloaded": True}
        upload(talk, town, MEMBERS)
        assert talk.rebuild()["state"] == "built"
        assert people(town) == MEMBERS + 1
        # One who came before and now sends for the newcomer too.
        upload(talk, town, 0)
        assert talk.rebuild()["state"] == "built"
        (town.folder / "directory").write_bytes(b"discreet")
        assert "should start with" in reload(talk)["reason"]
        town.authority.begin_epoch(TERMS.hash_digest, TERMS.bits)
        town.publish(join=b"")
        assert "another period" in reload(talk)["reason"]
        upload(talk, town, 1)


def test_reload_is_for_closed_clusters(tmp_path: Path) -> None:
    with running(make_settings(tmp_path)) as talk:
        answer = talk.ask("POST", "/v1/admin/reload", secret=TOKEN)
        assert answer.status == 404 and "directory" in answer.reason


def test_tags_of_somebody_else_are_refused(town: Town) -> None:
    with running(town.settings()) as talk:
        made = town.clients[0].report(*asked(talk), town.own(0))
        thief = talk.enrol()
        wrong = bytearray(made.tags.as_bytes())
        wrong[40] ^= 1  # the sender's slot
        message = made.as_json() | {"upload": base64.b64encode(bytes(wrong)).decode()}
        answer = talk.send(thief, message)
        assert answer.status == 422
        assert "owner of the slot" in answer.reason
        # Tags count once for each slot, however often their owner enrolled.
        for _ in range(2):
            assert talk.send(talk.enrol(), made.as_json()).status == 204
        for number in range(1, MEMBERS):
            upload(talk, town, number)
        assert talk.rebuild()["state"] == "built"
        assert people(town) == MEMBERS


def test_what_the_operator_needs_is_said_in_one_line(town: Town) -> None:
    items = town.folder / "items.csv"
    items.write_text("id,title\n" + "".join(f"i{n},Title {n}\n" for n in range(100)))
    made = town.folder / "made.discreet"
    told = ["serve", made, "--collect", "closed-clusters", "--db", town.folder / "x.db"]
    told += ["--catalog", items, "--scale", "1..5"]
    assert "--server-key" in call(*told).complaint()
    files = ["--directory", town.folder / "directory", "--server-key", town.folder / "key"]
    assert "hexadecimal" in call(*told, *files, "--term", "authority=xy").complaint()
    other = Authority(town.folder / "other").public_key.hex()
    told += [*files, "--term", "bits=3"]
    assert "not signed" in call(*told, "--term", f"authority={other}").complaint()
    right = f"authority={town.authority.public_key.hex()}"
    wrong = call(*told, "--term", right, "--term", "beacon=x").complaint()
    assert "the authority signed another hash" in wrong
    assert "no term 'colour'" in call(*told, "--term", right, "--term", "colour=1").complaint()
