"""Closed clusters through the service: a directory goes out, tags come in, clusters come of it."""

from __future__ import annotations

import base64
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cli._calling import call
from discreet.domain import InputError
from discreet.protocols.closed_clusters.client import Authority, Client, pair_tags
from discreet.protocols.closed_clusters.messages import Collection, Directory, TagUpload
from discreet.protocols.common.http import ServiceClient
from discreet.serve import ClosedCollector, Settings
from serve._running import FREE, TOKEN, Answer, Talk, running

VALUES = (3, 1, 3, 2, 1, 3)


class Town:
    """An authority, its members, and the files that the service's operator has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = Authority(folder / "authority")
        self.authority.begin_epoch(bytes(32), 4)
        key = self.authority.public_key
        self.clients = [Client(folder / f"client{n}", key) for n in range(len(VALUES))]
        signed = self.authority.change(b"".join(client.public_key for client in self.clients))
        (folder / "directory").write_bytes(signed.as_bytes())

    def settings(self) -> Settings:
        key = self.authority.public_key.hex()
        files = (self.folder / "directory", self.folder / "key")
        collector = ClosedCollector.from_files(key, *files)
        db = str(self.folder / "tags.db")
        return Settings(self.folder / "clusters", collector, db, TOKEN, **FREE)


@pytest.fixture
def town(tmp_path: Path) -> Town:
    return Town(tmp_path)


def upload(talk: Talk, town: Town, number: int, since: int | None = None) -> None:
    with ServiceClient(talk.url, town.folder / f"client{number}") as service:
        collection = Collection.from_json(service.collection())
        directory = Directory.from_bytes(service.directory())
        made = town.clients[number].upload(collection, directory, VALUES[number], since=since)
        service.enroll()
        service.report(made.as_json())
        assert service.sent() == made.as_json()


def labels(talk: Talk) -> list[int]:
    answer = talk.ask("GET", "/v1/clusters", secret=TOKEN)
    assert answer.headers["cache-control"] == "no-store"
    return list(np.frombuffer(base64.b64decode(answer.json()["labels"]), "<i4"))


def lie(talk: Talk, town: Town, capability: str, number: int, value: int) -> Answer:
    """Tags that say what one likes, made with the right keys."""
    with ServiceClient(talk.url) as service:
        collection = Collection.from_json(service.collection())
        directory = Directory.from_bytes(service.directory())
    client = town.clients[number]
    tags = pair_tags(client._private, directory, value)
    made = TagUpload(directory.epoch, number, 0, tags, bytes(16))
    return talk.send(capability, client._sealed(collection, made).as_json())


def test_members_send_tags_and_the_administrator_learns_who_is_together(town: Town) -> None:
    with running(town.settings()) as talk:
        assert talk.ask("GET", "/v1/clusters", secret=TOKEN).status == 404
        assert talk.ask("GET", "/v1/catalog").status == 404
        for number in range(len(VALUES)):
            upload(talk, town, number)
        assert talk.rebuild()["reports"] == len(VALUES)
        assert labels(talk) == [0, 1, 0, 2, 1, 0]
        with ServiceClient(talk.url, town.folder / "client2") as leaver:
            leaver.delete()
        assert talk.rebuild()["state"] == "built"
        assert labels(talk) == [0, 1, -1, 2, 1, 0]
    for secret in ("key", "clusters"):
        assert stat.S_IMODE((town.folder / secret).stat().st_mode) == 0o600


def test_clusters_are_for_the_administrator_alone(town: Town) -> None:
    with running(town.settings()) as talk:
        upload(talk, town, 0)
        assert talk.rebuild()["state"] == "built"
        for secret in (None, talk.enrol()):
            assert talk.ask("GET", "/v1/clusters", secret=secret).status == 401
        assert talk.ask("HEAD", "/v1/clusters").status in (401, 405)
    with running(replace(town.settings(), admin_token=None)) as talk:
        assert talk.ask("GET", "/v1/clusters").status == 403


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
    joined = Client(town.folder / "late", town.authority.public_key)
    signed = town.authority.change(joined.public_key, (4,))
    (town.folder / "directory").write_bytes(signed.as_bytes())
    with running(town.settings(), talk.url) as talk:
        assert lie(talk, town, me, 0, 2).status == 409
        assert lie(talk, town, me, 0, 3).status == 204
        assert lie(talk, town, me, 0, 2).status == 409


def test_a_larger_directory_asks_for_all_tags_anew(town: Town) -> None:
    with running(town.settings()) as talk:
        for number in range(len(VALUES)):
            upload(talk, town, number)
    joined = Client(town.folder / "late", town.authority.public_key)
    (town.folder / "directory").write_bytes(town.authority.change(joined.public_key).as_bytes())
    with running(town.settings(), talk.url) as talk:
        with pytest.raises(InputError, match="from slot 0"):
            upload(talk, town, 0)
        upload(talk, town, 0, since=0)
        assert talk.rebuild()["state"] == "built"
        assert labels(talk)[:6] == [0, 1, 0, 2, 1, 0]


def test_tags_of_somebody_else_are_refused(town: Town) -> None:
    with running(town.settings()) as talk, ServiceClient(talk.url) as service:
        collection = Collection.from_json(service.collection())
        made = town.clients[0].upload(collection, Directory.from_bytes(service.directory()), 3)
        thief = talk.enrol()
        wrong = bytearray(made.as_bytes())
        wrong[40] ^= 1  # the sender's slot
        message = made.as_json() | {"upload": base64.b64encode(bytes(wrong)).decode()}
        answer = talk.send(thief, message)
        assert answer.status == 422
        assert "owner of the slot" in answer.reason
        # Tags count once for each slot, however often their owner enrolled.
        for _ in range(2):
            assert talk.send(talk.enrol(), made.as_json()).status == 204
        assert talk.rebuild()["state"] == "built"


def test_what_the_operator_needs_is_said_in_one_line(town: Town) -> None:
    told = ["serve", "clusters", "--collect", "closed", "--db", str(town.folder / "x.db")]
    assert "--server-key" in call(*told).complaint()
    files = ["--directory", town.folder / "directory", "--server-key", town.folder / "key"]
    assert "hexadecimal" in call(*told, *files, "--term", "authority=xy").complaint()
    other = Authority(town.folder / "other").public_key.hex()
    assert "not signed" in call(*told, *files, "--term", f"authority={other}").complaint()
