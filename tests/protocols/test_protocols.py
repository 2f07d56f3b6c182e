"""Every protocol, through the battery; and that the battery can fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.domain import Catalog, InputError, OwnRatings, Scale
from discreet.privacy import SeededRandomness
from discreet.protocols import clients, servers
from discreet.protocols.closed_clusters.authority import Authority
from discreet.protocols.closed_clusters.client import ClosedClient
from discreet.protocols.closed_clusters.server import ClosedClusters
from discreet.protocols.clusters_common.messages import Obfuscation
from discreet.protocols.local_reports.client import LocalClient
from discreet.protocols.local_reports.server import LocalReports
from discreet.protocols.open_clusters.client import OpenClient
from discreet.protocols.open_clusters.server import OpenClusters
from protocols.battery import PEOPLE, ProtocolBattery, Town

CATALOG = Catalog([f"i{n}" for n in range(100)])
FIVE_STARS = Scale(1, 5)


def own(person: int) -> OwnRatings:
    rng = np.random.default_rng(person)
    items = np.sort(rng.choice(100, 30, replace=False)).astype(np.int32)
    return OwnRatings(items, rng.integers(1, 6, 30).astype(np.float64))


class TestLocalReports(ProtocolBattery):
    mechanism = "modified-laplace"

    def town(self, folder: Path, epoch: int) -> Town:
        terms = {"mechanism": self.mechanism, "epsilon": 2, "epoch": epoch}
        protocol = LocalReports.from_terms(CATALOG, FIVE_STARS, terms)
        messages = []
        for person in range(PEOPLE):
            randomness = SeededRandomness(f"{person}")
            client = LocalClient(
                protocol.collection, folder / f"{person}.state", randomness=randomness
            )
            messages.append(client.report(own(person)).as_json())
        return Town(protocol, messages)


class TestLocalReportsByRandomizedResponse(TestLocalReports):
    mechanism = "randomized-response"


class TestOpenClusters(ProtocolBattery):
    def town(self, folder: Path, epoch: int) -> Town:
        terms = {"bits": 1, "epoch": epoch}
        protocol = OpenClusters.from_terms(CATALOG, FIVE_STARS, terms)
        messages = []
        for person in range(PEOPLE):
            randomness = SeededRandomness(f"{person}")
            client = OpenClient(
                protocol.collection, folder / f"{person}.state", randomness=randomness
            )
            messages.append(client.report(own(person)).as_json())
        return Town(protocol, messages)


class TestClosedClusters(ProtocolBattery):
    def town(self, folder: Path, epoch: int) -> Town:
        hashed = Obfuscation(CATALOG, FIVE_STARS, bits=1)
        authority = Authority(folder / "authority")
        for _ in range(epoch):
            authority.begin_epoch(hashed.hash_digest, hashed.bits)
        key = authority.public_key
        members = [ClosedClient(folder / f"{n}.state", key) for n in range(PEOPLE)]
        directory = authority.change(join=b"".join(each.public_key for each in members))
        (folder / "directory").write_bytes(directory.as_bytes())
        protocol = ClosedClusters.from_terms(
            CATALOG, FIVE_STARS, {"authority": key.hex(), "bits": 1},
            directory=folder / "directory", server_key=folder / "key",
        )  # fmt: skip
        reports = [
            each.report(protocol.collection, directory, own(person))
            for person, each in enumerate(members)
        ]
        # They leave only what was there before they came.
        for path in folder.iterdir():
            path.unlink()
        return Town(protocol, [report.as_json() for report in reports])


def test_every_protocol_is_registered_on_both_sides() -> None:
    assert servers.NAMES == clients.NAMES
    assert [servers.find(name).name for name in servers.NAMES] == list(servers.NAMES)
    with pytest.raises(InputError, match="there is no protocol 'postal'; there are closed-"):
        servers.find("postal")


class Gossip(LocalReports):
    """Repeats what was sent."""

    def read(self, content: Any) -> Any:
        try:
            return super().read(content)
        except InputError as error:
            raise InputError(f"{error.reason}: {content}") from None


class Believer(LocalReports):
    """Takes anything."""

    def check(self, content: Any) -> None:
        pass


@pytest.mark.parametrize("broken", [Gossip, Believer])
def test_the_battery_finds_a_planted_bug(broken: type[LocalReports], tmp_path: Path) -> None:
    good = TestLocalReports().town(tmp_path, 1)
    TestLocalReports().test_a_wrong_missing_or_further_field_is_refused(good)
    bad = Town(broken(good.protocol.collection), good.messages)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        TestLocalReports().test_a_wrong_missing_or_further_field_is_refused(bad)
