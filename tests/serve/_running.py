"""A service on a real socket, and the least that it takes to talk to it."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from starlette.concurrency import run_in_threadpool

from discreet.domain import Catalog, OwnRatings, Scale
from discreet.privacy import SystemRandomness
from discreet.protocols.local_reports.client import draw_report
from discreet.protocols.local_reports.messages import Collection, Mechanism
from discreet.protocols.local_reports.server import LocalReports
from discreet.serve import Rate, Server, Settings
from discreet.serve._build_worker import build
from discreet.serve._builder import Builder

ITEMS = 60
TOKEN = "an administrator's token".replace(" ", "-")
UNLIMITED = Rate(0, 1)
FREE: dict[str, Any] = {
    "per_address": UNLIMITED,
    "per_capability": UNLIMITED,
    "enrolments": UNLIMITED,
    "least_people": 1,
}


def until(happens: Callable[[], object]) -> None:
    """Wait until something happens, for a minute at least."""
    for _ in range(6000):
        if happens():
            return
        time.sleep(0.01)
    raise AssertionError("it does not happen")


def make_catalog(items: int = ITEMS) -> Catalog:
    return Catalog([f"i{n}" for n in range(items)], [f"Title {n} é" for n in range(items)])


_IDLE_SECONDS = 1.0


def make_collection(epoch: int = 1) -> Collection:
    return Collection(make_catalog(), Scale(1, 5), Mechanism.ROUNDED_RESPONSE, 2.0, epoch)


def make_settings(folder: Path, db: str | None = None, **told: Any) -> Settings:
    """Collects local reports into SQLite, without rate limits, unless told otherwise."""
    protocol = LocalReports(told.pop("collection", None) or make_collection())
    told = FREE | {"admin_token": TOKEN} | told
    return Settings(folder / "made.discreet", protocol, db or str(folder / "reports.db"), **told)


def make_report(seed: int = 0, collection: Collection | None = None) -> dict[str, Any]:
    collection = collection or make_collection()
    rng = np.random.default_rng(seed)
    items = np.sort(rng.choice(len(collection.catalog), 20, replace=False)).astype(np.int32)
    own = OwnRatings(items, rng.integers(1, 6, 20).astype(np.float64))
    return draw_report(collection, own, SystemRandomness()).as_json()


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def reason(self) -> str:
        told = self.json()
        assert set(told) == {"reason"}, told
        return str(told["reason"])


class Talk:
    """One keep-alive connection while it is in use: the service closes idle ones after 5 s."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._used = time.monotonic()
        self._connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)

    def ask(
        self, method: str, path: str, body: Any = None, secret: str | None = None, **headers: str
    ) -> Answer:
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        if secret is not None:
            told["Authorization"] = f"Bearer {secret}"
        sent = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        if time.monotonic() - self._used > _IDLE_SECONDS:
            self._connection.close()  # the next request opens another
        self._connection.request(method, path, sent, told)
        answer = self._connection.getresponse()
        named = {name.lower(): value for name, value in answer.getheaders()}
        found = Answer(answer.status, named, answer.read())
        self._used = time.monotonic()
        return found

    def enrol(self) -> str:
        answer = self.ask("POST", "/v1/enrolments")
        assert answer.status == 201, answer
        return str(answer.json()["capability"])

    def send(self, capability: str, report: Any) -> Answer:
        return self.ask("PUT", "/v1/report", report, capability)

    def statistics(self) -> dict[str, Any]:
        answer = self.ask("GET", "/v1/admin/statistics", secret=TOKEN)
        assert answer.status == 200, answer
        return dict(answer.json())

    def rebuild(self) -> dict[str, Any]:
        """Build a release and wait for it."""
        assert self.ask("POST", "/v1/admin/rebuild", secret=TOKEN).status == 202
        return self.built()

    def built(self) -> dict[str, Any]:
        """How the build that is under way ends."""
        for _ in range(2400):
            build = self.statistics()["build"]
            if build["state"] != "running":
                return dict(build)
            time.sleep(0.05)
        raise AssertionError("the build does not end")

    def close(self) -> None:
        self._connection.close()


async def _work_here(_: Builder, order: dict[str, Any]) -> dict[str, Any]:
    """What a build's process does, through the same JSON."""
    return await run_in_threadpool(build, json.loads(json.dumps(order)))


@contextmanager
def running(
    settings: Settings,
    url: str = "http://127.0.0.1:0",
    proxies: str | None = None,
    *,
    own_process: bool = False,
) -> Iterator[Talk]:
    """The service in a thread of this process; builds too, unless they shall have their own."""
    with contextlib.ExitStack() as patches:
        if not own_process:
            patches.enter_context(mock.patch.object(Builder, "_work", _work_here))
        with _running(settings, url, proxies) as talk:
            yield talk


@contextmanager
def _running(settings: Settings, url: str, proxies: str | None) -> Iterator[Talk]:
    server = Server(settings, "127.0.0.1", int(url.rpartition(":")[2]), proxies=proxies)
    thread = threading.Thread(target=server.run)
    thread.start()
    talk = Talk(server.url)
    try:
        yield talk
    finally:
        talk.close()
        server.stop()
        thread.join()
