"""The browser's protocol clients beside Python: golden cases, and each other's messages."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.domain import OwnRatings, Scale
from discreet.privacy import Randomness
from discreet.protocols.common import StateFile
from discreet.protocols.local_reports import messages as local
from discreet.protocols.local_reports.client import LocalClient
from discreet.protocols.open_clusters import messages as open_
from discreet.protocols.open_clusters.client import OpenClient
from vectors import make_protocols
from vectors.make_protocols import catalog_of

CLIENT = Path(__file__).with_name("_client.mjs")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is absent")


class Never(Randomness):
    """For clients that have no reason to draw."""

    is_private = False

    def fill(self, buffer: memoryview) -> None:
        raise AssertionError("something was drawn")


def run(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the browser's clients send and remember, with the system's randomness."""
    whole = [{"memory": {}, "options": {}} | job for job in jobs]
    done = subprocess.run(
        ["node", str(CLIENT)],
        input=json.dumps(whole),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def ratings(items: int, count: int, scale: Scale, seed: int = 0) -> list[list[float]]:
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(items, count, replace=False))
    values = scale.nearest(rng.uniform(scale.lo, scale.hi, count))
    return [chosen.tolist(), values.tolist()]


def own_of(columns: list[list[float]]) -> OwnRatings:
    return OwnRatings(np.array(columns[0], np.int32), np.array(columns[1], np.float64))


def test_python_says_what_the_vectors_say() -> None:
    told = json.loads(make_protocols.FILE.read_text("utf-8"))
    made = json.loads(json.dumps(make_protocols.make()))
    assert made.keys() == told.keys()
    for part, cases in made.items():
        assert len(cases) == len(told[part]) > 0
        for number, case in enumerate(cases):
            assert case == told[part][number], f"{part} {number}"


LOCAL = [
    (items, scale, mechanism, epsilon)
    for items, scale in ((1, "1..5"), (333, "0.5..5/0.5"), (2_000, "1..9/2.0"))
    for mechanism in local.Mechanism
    for epsilon in (0.01, 1.0, 4.5)
] + [(500, "-10..10/continuous", local.Mechanism.MODIFIED_LAPLACE, 0.125)]


@needs_node
def test_reports_of_the_browser_are_taken_and_frozen_for_python_too(tmp_path: Path) -> None:
    collections = [
        local.Collection(catalog_of(items), Scale.parse(scale), mechanism, epsilon, epoch=3)
        for items, scale, mechanism, epsilon in LOCAL
    ]
    owns = [ratings(len(c.catalog), len(c.catalog) // 4, c.scale) for c in collections]
    jobs = [
        {"items": len(c.catalog), "collection": c.as_json(), "own": own}
        for c, own in zip(collections, owns, strict=True)
    ]
    for number, (collection, made) in enumerate(zip(collections, run(jobs), strict=True)):
        message = made["message"]
        report = local.Report.from_json(message, collection)
        share = len(report.values) / len(collection.catalog)
        assert len(collection.catalog) == 1 or 0 < share < 1
        # What the browser remembers, Python's client goes on with: no second draw, one spend.
        path = tmp_path / str(number)
        StateFile(path, local.PROTOCOL).write(made["memory"])
        client = LocalClient(collection, path, randomness=Never())
        assert client.report({}).as_json() == message
        assert client.spent.events == (collection.event,)


@needs_node
def test_what_python_has_answered_the_browser_repeats(tmp_path: Path) -> None:
    collection = local.Collection(catalog_of(300), Scale(1, 5), local.Mechanism.MODIFIED_LAPLACE, 1)
    client = LocalClient(collection, tmp_path / "state")
    told = client.report({"3": 5.0}).as_json()
    memory = StateFile(tmp_path / "state", local.PROTOCOL).read()
    job = {"items": 300, "collection": collection.as_json(), "memory": memory}
    made = run([job | {"own": ratings(300, 60, collection.scale)}])[0]
    assert made == {"message": told, "memory": memory}


OPEN: list[tuple[int, str, dict[str, Any], dict[str, Any]]] = [
    (1_000, "1..5", {}, {}),
    (100, "1..5", {"bits": 3, "fake_percent": 0, "least": 0}, {}),
    (500, "0.5..5/0.5", {"fakes": "uniform", "suppress_percent": 40}, {"batch": 1}),
    (500, "-10..10/continuous", {"hash_on": "obfuscated", "beacon": "ä ☂"}, {}),
    (500, "1..5", {"fakes": "popular", "fake_percent": 300, "least": 200}, {}),
    (700, "1..5", {"fakes": "same-hash", "bits": 12, "fake_percent": 150}, {}),
    (500, "1..5", {"bit_epsilon_thousandths": 500, "hash": "lsh", "epoch": 4}, {}),
]


@needs_node
def test_uploads_of_the_browser_are_taken_and_python_keeps_their_fakes(tmp_path: Path) -> None:
    collections = [
        open_.Collection(catalog_of(items), Scale.parse(scale), **told)
        for items, scale, told, _ in OPEN
    ]
    owns = [ratings(len(c.catalog), len(c.catalog) // 5, c.scale) for c in collections]
    jobs = [
        {"items": len(c.catalog), "collection": c.as_json(), "own": own, "options": case[3]}
        for c, own, case in zip(collections, owns, OPEN, strict=True)
    ]
    for number, made in enumerate(run(jobs)):
        collection, own = collections[number], own_of(owns[number])
        upload = open_.Upload.from_json(made["message"], collection)
        assert upload.ratings == "obfuscated"
        hidden = np.count_nonzero(~np.isin(own.items, upload.items))
        assert (hidden > 0) == bool(collection.suppress_percent)
        path = tmp_path / str(number)
        StateFile(path, open_.PROTOCOL).write(made["memory"])
        popularity = np.arange(len(collection.catalog), dtype=np.float64)
        client = OpenClient(collection, path, popularity=popularity, randomness=Never())
        assert client.report(own).as_json() == made["message"]
        standing = client.standing()
        assert standing.true + standing.fakes == len(upload.items)


@needs_node
def test_the_browser_goes_on_with_the_fakes_of_python(tmp_path: Path) -> None:
    collection = open_.Collection(catalog_of(1_000), Scale(1, 5))
    columns = ratings(1_000, 100, collection.scale)
    first = OpenClient(collection, tmp_path / "state").report(own_of([c[:60] for c in columns]))
    memory = StateFile(tmp_path / "state", open_.PROTOCOL).read()
    job = {"items": 1_000, "collection": collection.as_json(), "memory": memory}
    same, more = run([job | {"own": [c[:60] for c in columns]}, job | {"own": columns}])
    assert same == {"message": first.as_json(), "memory": memory}
    later = open_.Upload.from_json(more["message"], collection)
    assert np.isin(first.items, later.items).all() and np.isin(columns[0], later.items).all()
    codes = dict(zip(later.items.tolist(), later.codes.tolist(), strict=True))
    kept = [codes[int(item)] for item in first.items]
    assert kept == first.codes.tolist()
    assert len(later.items) >= 200
