"""Closed clusters through the service: a directory goes out, tags come in, clusters come of it."""

from __future__ import annotations

import base64
import stat
from pathlib import Path

import numpy as np
import pytest

from cli._calling import call
from discreet.domain import InputError
from discreet.protocols.closed_clusters.client import Authority, Client
from discreet.protocols.closed_clusters.messages import Collection, Directory
from discreet.protocols.common.http import ServiceClient
from discreet.serve import ClosedCollector, Settings
from serve._running import FREE, TOKEN, Talk, running

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


def labels(service: ServiceClient) -> list[int]:
    told = base64.b64decode(service.clusters()["labels"])
    return list(np.frombuffer(told, "<i4"))


def test_members_send_tags_and_learn_who_is_together(town: Town) -> None:
    with running(town.settings()) as talk, ServiceClient(talk.url) as service:
        assert talk.ask("GET", "/v1/clusters").status == 404
        assert talk.ask("GET", "/v1/catalog").status == 404
        for number in range(len(VALUES)):
            upload(talk, town, number)
        assert talk.rebuild()["reports"] == len(VALUES)
        assert labels(service) == [0, 1, 0, 2, 1, 0]
        with ServiceClient(talk.url, town.folder / "client2") as leaver:
            leaver.delete()
        assert talk.rebuild()["state"] == "built"
        assert labels(service) == [0, 1, -1, 2, 1, 0]
    assert stat.S_IMODE((town.folder / "key").stat().st_mode) == 0o600


def test_a_larger_directory_asks_for_all_tags_anew(town: Town) -> None:
    with running(town.settings()) as talk:
        for number in range(len(VALUES)):
            upload(talk, town, number)
    joined = Client(town.folder / "late", town.authority.public_key)
    (town.folder / "directory").write_bytes(town.authority.change(joined.public_key).as_bytes())
    with running(town.settings(), talk.url) as talk, ServiceClient(talk.url) as service:
        with pytest.raises(InputError, match="from slot 0"):
            upload(talk, town, 0)
        upload(talk, town, 0, since=0)
        assert talk.rebuild()["state"] == "built"
        assert labels(service)[:6] == [0, 1, 0, 2, 1, 0]


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
        assert "owner of slot" in answer.reason
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
