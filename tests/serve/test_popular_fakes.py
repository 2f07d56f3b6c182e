"""A collection that asks for made-up ratings of popular items, joined from the command line."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cli._calling import call
from discreet.domain import Scale
from discreet.protocols.open_clusters.server import OpenClusters
from discreet.serve import Settings
from release._making import random_release
from serve._running import FREE, TOKEN, make_catalog, running

ITEMS, POPULAR = 400, 100


def settings(folder: Path) -> Settings:
    terms = {"bits": 1, "fakes": "popular"}
    protocol = OpenClusters.from_terms(make_catalog(ITEMS), Scale(1, 5), terms)
    return Settings(folder / "made", protocol, str(folder / "x.db"), TOKEN, **FREE)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.csv"
    path.write_text("item,rating\n" + "".join(f"i{i},4\n" for i in range(0, 40, 2)))
    return path


def test_fakes_go_where_the_release_says_that_ratings_are(tmp_path: Path, mine: Path) -> None:
    release = random_release(ITEMS, 3, catalog=make_catalog(ITEMS))
    counts = np.where(np.arange(ITEMS) < POPULAR, 1_000, 0).astype(np.float32)
    replace(release, arrays=dict(release.arrays) | {"item_counts": counts}).save(tmp_path / "made")
    with running(settings(tmp_path)) as talk:
        told = ["--server", talk.url, "--state", str(tmp_path / "me")]
        assert "plausible deniability" in call("client", "terms", "--server", talk.url).out
        assert call("client", "enroll", *told).code == 0
        foreseen = call("client", "report", *told, "--ratings", mine, "--dry-run").out
        assert "20 true ratings would be sent among 60 made-up ones or more" in foreseen
        said = call("client", "report", *told, "--ratings", mine)
        assert said.code == 0, said.err
        message = call("client", "show", *told, "--json").json()
        sent = np.frombuffer(base64.b64decode(message["items"]), np.int32)
        assert len(sent) == 80
        assert "items with a rating each" in call("client", "show", *told).out
    # About 72 (twenty of them true), give or take 2; about 33, give or take 3, were fakes anywhere.
    assert (sent < POPULAR).sum() >= 52


@pytest.mark.parametrize("has_release", [False, True])
def test_no_counts_is_one_line(tmp_path: Path, mine: Path, has_release: bool) -> None:
    if has_release:
        random_release(60, 3, catalog=make_catalog(60)).save(tmp_path / "made")
    with running(settings(tmp_path)) as talk:
        told = ["--server", talk.url, "--state", str(tmp_path / "me")]
        assert call("client", "enroll", *told).code == 0
        before = (tmp_path / "me").read_bytes()
        said = call("client", "report", *told, "--ratings", mine).complaint()
        assert "asks for made-up ratings of popular items" in said
        assert (tmp_path / "me").read_bytes() == before
