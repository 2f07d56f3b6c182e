"""Closed clusters: one report a slot, directories swapped whole, tags that go with a build."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from sqlalchemy.exc import OperationalError

from discreet.domain import InputError
from discreet.protocols.closed_clusters.client import ClosedClient
from discreet.protocols.closed_clusters.messages import Directory, Report
from discreet.protocols.closed_clusters.server import ClosedClusters, Matching
from discreet.protocols.closed_clusters.server import _matching as matching
from discreet.protocols.closed_clusters.server._clusters import group
from discreet.protocols.clusters_common.messages import SentRatings
from discreet.protocols.common import capability_digest
from discreet.serve import Server, Settings
from discreet.serve._store import Put, Store
from serve._running import TOKEN, running
from serve.test_closed import MEMBERS, Town, asked, people, reload, upload


@pytest.fixture
def town(tmp_path: Path) -> Town:
    return Town(tmp_path)


def demanding(town: Town, least_people: int) -> Settings:
    told = town.settings()
    return Settings(
        told.release, told.protocol, told.database, TOKEN,
        per_address=told.per_address, per_capability=told.per_capability,
        enrolments=told.enrolments, least_people=least_people,
    )  # fmt: skip


def test_the_newest_report_of_a_slot_counts_whichever_capability_it_came_with(town: Town) -> None:
    with running(town.settings()) as talk:
        terms = asked(talk)
        made = town.clients[0].report(*terms, town.own(0))
        first = made.as_json()
        second = town.clients[0].report(*terms, town.own(0), tags_only=True).as_json()
        liar = talk.enrol()
        # Who has seen a message cannot send other ratings beside its tags.
        for forged in (
            Report(made.tags, SentRatings.none()),
            Report(made.tags, SentRatings.none(), made.seal),
            Report(made.tags, SentRatings(made.sent.kind, made.sent.items, 4 - made.sent.codes)),
            replace(made, sent=replace(made.sent, codes=4 - made.sent.codes)),
            replace(made, sent=replace(made.sent, kind="revealed")),
        ):
            refused = talk.send(liar, forged.as_json())
            assert refused.status == 422
            assert "'seal'" in refused.json()["reason"] or "as it is" in refused.json()["reason"]
        one, other = talk.enrol(), talk.enrol()
        assert talk.send(one, first).status == 204
        assert talk.send(other, second).status == 204
        assert talk.ask("GET", "/v1/report", secret=one).status == 404
        assert talk.ask("GET", "/v1/report", secret=other).json() == second
        assert talk.send(one, first).status == 204
        assert talk.ask("GET", "/v1/report", secret=one).json() == first
        assert talk.ask("GET", "/v1/report", secret=other).status == 404
        told = talk.statistics()
        assert (told["enrolled"], told["reports_of_collection"]) == (3, 1)


def test_copies_of_a_report_are_not_more_people(town: Town) -> None:
    with running(demanding(town, MEMBERS + 1)) as talk:
        for number in range(MEMBERS):
            upload(talk, town, number)
        copier = talk.enrol()
        copy = town.clients[0].report(*asked(talk), town.own(0)).as_json()
        assert talk.send(copier, copy).status == 204
        assert talk.statistics()["reports_of_collection"] == MEMBERS
        store = Store(str(town.folder / "tags.db"))
        # As the first version of the tables had them: without a slot.
        protocol = town.settings().protocol
        content = store.read(capability_digest(copier))
        assert content is not None and protocol is not None
        put = Put(capability_digest(talk.enrol()), protocol.digest, content)
        assert store.submit([put]).result(10) == [True]
        store.close()
        assert talk.statistics()["reports_of_collection"] == MEMBERS + 1
        build = talk.rebuild()
        assert build["state"] == "failed"
        assert f"fewer than the {MEMBERS + 1} that a release needs" in build["reason"]
    with running(demanding(town, MEMBERS)) as talk:
        build = talk.rebuild()
        assert (build["reports"], build["people"]) == (MEMBERS + 1, MEMBERS)
        assert people(town) == MEMBERS


def test_tags_wait_beside_what_is_built_and_nowhere_else(
    town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "build"
    elsewhere.mkdir()
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    seen: list[tuple[list[str], list[str]]] = []

    def looking(*told: Any) -> Any:
        found = [path.name for path in folder.rglob("*.tags")]
        seen.append((found, [path.name for path in elsewhere.iterdir()]))
        return grouping(*told)

    grouping = group
    with running(town.settings()) as talk:
        for number in range(MEMBERS - 1):
            upload(talk, town, number)
        protocol = town.settings().protocol
        assert isinstance(protocol, ClosedClusters)
        store = Store(str(town.folder / "tags.db"))
        with mock.patch.object(matching, "group", looking):
            sent = [protocol.read(json.loads(each)) for each in store.contents(protocol.digest)]
            release = protocol.build(sent, folder=folder)
        store.close()
    assert release.parameters["people"] == MEMBERS - 1
    assert seen == [(["0.tags"], [])]
    assert list(folder.iterdir()) == []
    assert list(elsewhere.iterdir()) == []


def test_a_reload_that_the_database_stopped_is_made_good_by_the_next(town: Town) -> None:
    failing = OperationalError("insert", {}, Exception("gone"))
    with running(town.settings()) as talk:
        before = talk.ask("GET", "/v1/directory").body
        town.publish(join=ClosedClient(town.folder / "late", town.authority.public_key).public_key)
        with mock.patch.object(Store, "add_collection", side_effect=failing):
            answer = talk.ask("POST", "/v1/admin/reload", secret=TOKEN)
            assert (answer.status, answer.headers["retry-after"]) == (503, "5")
        assert talk.ask("GET", "/v1/directory").body == before
        assert reload(talk) == {"reloaded": True}
        assert talk.ask("GET", "/v1/directory").body == (town.folder / "directory").read_bytes()
        assert reload(talk) == {"reloaded": False}


def test_what_checks_uploads_never_changes_under_them(town: Town) -> None:
    protocol = town.settings().protocol
    assert isinstance(protocol, ClosedClusters)
    used = protocol._checking
    town.publish(join=ClosedClient(town.folder / "late", town.authority.public_key).public_key)
    with mock.patch.object(Matching, "update", autospec=True, side_effect=Matching.update) as took:
        assert protocol.reload()
    assert all(each.args[0] is not used for each in took.mock_calls)
    assert used.directory.slots == MEMBERS
    assert protocol.directory.slots == MEMBERS + 1


def test_an_older_epoch_asks_for_another_directory(town: Town) -> None:
    first = (town.folder / "directory").read_bytes()
    held = Directory.from_bytes(first)
    town.authority.begin_epoch(held.hash_digest, held.bits)
    town.publish(join=b"")
    with running(town.settings()) as talk:
        upload(talk, town, 0)
    (town.folder / "directory").write_bytes(first)
    advice = "go on with a directory of period 2, which the authority signs, or go back with"
    with pytest.raises(InputError, match=advice):
        Server(town.settings(), "127.0.0.1", 0)
