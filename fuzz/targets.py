"""The parsers, each as a function of bytes, with valid inputs to begin from.

A parser may refuse with a `DiscreetError` or a refused request; whatever else it raises is a bug.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import math
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import discreet.predict  # noqa: F401  (predictors are known once it is imported)
from discreet.domain import Catalog, OwnRatings, Scale
from discreet.domain.errors import DiscreetError
from discreet.methods import fit
from discreet.privacy import PureEvent, SeededRandomness, Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.protocols.closed_clusters.messages import Directory, TagUpload
from discreet.protocols.local_reports.client import draw_report
from discreet.protocols.local_reports.messages import Collection, Mechanism
from discreet.protocols.local_reports.server import LocalReports
from discreet.protocols.open_clusters.messages import Collection as OpenCollection
from discreet.protocols.open_clusters.server import OpenClusters
from discreet.protocols.servers import Protocol
from discreet.ratings import make_ratings, read_ratings
from discreet.ratings.readers import read_catalog
from discreet.release import Release, _codec, load
from discreet.serve._requests import Refused, parse_json
from fuzz._outcome import quick_folder

_METHODS = ("refined", "lists", "slope-one", "cosine", "covariance")
_FOLDER = Path(tempfile.mkdtemp(prefix="discreet-fuzz.", dir=quick_folder()))
atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)
ALLOWED = (DiscreetError, Refused)


@dataclass(frozen=True)
class Target:
    """A parser.

    Attributes:
        run: Parses bytes.
        seeds: Valid inputs.
    """

    run: Callable[[bytes], Any]
    seeds: Callable[[], list[bytes]]


def _file(name: str, content: bytes) -> Path:
    path = _FOLDER / name
    path.write_bytes(content)
    return path


@cache
def _collection() -> Collection:
    catalog = Catalog([f"i{n}" for n in range(12)])
    return Collection(catalog, Scale(1, 5), Mechanism.ROUNDED_RESPONSE, 2.0)


@cache
def _protocols() -> tuple[Protocol, Protocol]:
    return LocalReports(_collection()), OpenClusters(
        OpenCollection(_collection().catalog, Scale(1, 5), bits=4, least=0)
    )


def _reports() -> Iterator[Any]:
    for seed in range(3):
        own = OwnRatings(np.arange(4, dtype=np.int32), np.array([5.0, 1.0, 3.0, 2.0]))
        yield draw_report(_collection(), own, SeededRandomness(seed))


def _message(content: bytes) -> None:
    parsed = parse_json(content)
    for protocol in _protocols():
        try:
            protocol.check(parsed)
        except ALLOWED:
            continue


def _message_seeds() -> list[bytes]:
    terms = [protocol.announce() for protocol in _protocols()]
    upload = {
        "protocol": "open-clusters", "version": 1, "collection": _protocols()[1].public_digest,
        "hash": 3, "ratings": "none",
    }  # fmt: skip
    made = [*(report.as_json() for report in _reports()), *terms, upload]
    return [json.dumps(each).encode() for each in made]


def _terms(content: bytes) -> None:
    parsed = parse_json(content)
    for kind in (Collection, OpenCollection):
        try:
            kind.from_json(parsed, _collection().catalog)
        except ALLOWED:
            continue


def _release(content: bytes) -> None:
    release = load(_file("fuzzed.discreet", content), verify=True)
    if len(release.catalog):
        release.predictor().recommend({release.catalog.ids[0]: release.scale.hi}, 3)


def _release_seeds() -> list[bytes]:
    table = make_ratings("ml-100k", ratings=60, seed=1)
    made = [LocalReports(_collection()).build(list(_reports()))]
    made += [fit(table, method=each, epsilon=math.inf) for each in _METHODS]
    path = _FOLDER / "seed.discreet"
    return [_saved(release, path) for release in made]


def _saved(release: Release, path: Path) -> bytes:
    release.save(path, overwrite=True)
    return path.read_bytes()


def _stamped(content: bytes) -> None:
    """A release whose digests are right, as somebody makes it who means harm: from JSON."""
    try:
        parsed = json.loads(content)
        fields, entries, data = dict(parsed["metadata"]), {}, bytearray()
        for name, (dtype, shape, numbers) in parsed["arrays"].items():
            raw = bytes.fromhex(numbers)
            places = [len(data), len(data) + len(raw)]
            entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": places}
            data += raw
            fields["tensors"][name]["sha256"] = hashlib.sha256(raw).hexdigest()
        texts = {k: v if isinstance(v, str) else json.dumps(v) for k, v in fields.items()}
        header = json.dumps(entries | {"__metadata__": texts | {"digest": _codec._digest(texts)}})
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return
    head = header.encode()
    _release(len(head).to_bytes(8, "little") + head + data)


def _stamped_seeds() -> list[bytes]:
    return [_unpacked(content) for content in _release_seeds()]


def _unpacked(content: bytes) -> bytes:
    begin = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:begin])
    fields = {k: _json_or(v) for k, v in header.pop("__metadata__").items() if k != "digest"}
    arrays = {
        name: [at["dtype"], at["shape"], content[begin:][slice(*at["data_offsets"])].hex()]
        for name, at in header.items()
    }
    return json.dumps({"metadata": fields, "arrays": arrays}).encode()


def _json_or(text: str) -> Any:
    return json.loads(text) if text.startswith(("{", "[")) else text


def _ledger(content: bytes) -> None:
    found = Ledger.open(_file("fuzzed.ledger", content))
    found.history()
    found.spent(Unit.USER)


def _ledger_seeds() -> list[bytes]:
    path = _FOLDER / "seed.ledger"
    path.unlink(missing_ok=True)
    ledger = Ledger.create(path, "people", [Limit(Unit.USER, 9.0, 0.0)])
    ledger.charge([PureEvent(unit=Unit.USER, label="x", epsilon=0.1, mechanism="rr")], "a")
    return [path.read_bytes()]


def _binary(content: bytes) -> None:
    for kind in (Directory, TagUpload):
        try:
            kind.from_bytes(content)
        except ALLOWED:
            continue


def _binary_seeds() -> list[bytes]:
    tags = TagUpload(1, 0, 0, bytes(32), bytes(16)).as_bytes()
    none = Directory(
        1, 1, bytes(32), 4, 1, np.empty(0, np.uint32), bytes(32), bytes(64), 0,
        np.ones((1, 32), np.uint8),
    )  # fmt: skip
    return [tags, none.as_bytes()]


def _csv(content: bytes) -> None:
    read_ratings(_file("fuzzed.csv", content), scale=Scale(1, 5))


_TABLES = [
    b"user,item,rating\n1,a,5\n2,b,3\n",
    b'user;item;rating;title\n1;a;5;"x, y"\n2;"b ";3;"q""q"\n',
    b"1::2::3::4\n5::6::4::8\n",
    b"\xef\xbb\xbfuser\titem\trating\n1\t2\t3.5\n",
    b"userId,movieId,rating,timestamp\n1,31,2.5,1260759144\n7,31,4.0,1260759179\n",
]

TARGETS = {
    "messages": Target(_message, _message_seeds),
    "terms": Target(_terms, _message_seeds),
    "directory": Target(_binary, _binary_seeds),
    "release": Target(_release, _release_seeds),
    "stamped release": Target(_stamped, _stamped_seeds),
    "ledger": Target(_ledger, _ledger_seeds),
    "csv": Target(_csv, lambda: _TABLES),
    "catalogue": Target(
        lambda content: read_catalog(_file("fuzzed-items.csv", content)),
        lambda: [b'id,title\n1,Alien\n2,"B, c"\n', b"1|Alien|x\n2|Heat|y\n"],
    ),
}
