"""A file that is not what a release should be is refused in one line, never believed."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save, save_file

from discreet.domain import Catalog, InputError
from discreet.release import _codec, _release, load
from release._making import assert_same, make_release, random_lists, random_release, spent


def refused(path: Path, reason: str, **options: Any) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        load(path, **options)
    said = str(caught.value)
    assert said.startswith(f"{path}: ") and "\n" not in said
    assert caught.value.path == str(path)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "r.discreet"
    random_release(d=4, k=2, m=2, guarantee=spent()).save(path)
    return path


@pytest.fixture(params=[random_release, random_lists])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file with a head of pairs, and one with lists, whose rows are bytes."""
    path = tmp_path / "r.discreet"
    request.param(d=4, k=2, guarantee=spent()).save(path)
    return path


def test_damaged_bytes_are_noticed_wherever_they_are(either: Path) -> None:
    """A bit of every third byte flips: the file is refused, or still means exactly the same."""
    saved = either
    good, release = saved.read_bytes(), load(saved)
    rng = np.random.default_rng(3)
    places = range(0, len(good), 3)
    refusals = 0
    for place, bit in zip(places, rng.integers(8, size=len(places)), strict=True):
        bad = bytearray(good)
        bad[place] ^= 1 << int(bit)
        saved.write_bytes(bad)
        try:
            loaded = load(saved)
        except InputError as error:
            refusals += 1
            assert "\n" not in str(error)
        else:
            assert_same(loaded, release)
    assert refusals > 0.99 * len(places)


def test_every_truncation_is_noticed(either: Path) -> None:
    saved = either
    good = saved.read_bytes()
    for length in (*range(0, len(good), 41), len(good) - 1):
        saved.write_bytes(good[:length])
        with pytest.raises(InputError):
            load(saved)


def test_cut_short_and_continued_files_say_so(saved: Path) -> None:
    good = saved.read_bytes()
    saved.write_bytes(good[:-3])
    refused(saved, "is cut short: 3 bytes are missing")
    saved.write_bytes(good + b"more")
    refused(saved, "4 bytes follow its end")
    saved.write_bytes(good[:100])
    refused(saved, "ends inside its header")


def test_what_is_no_file(tmp_path: Path) -> None:
    refused(tmp_path, "is a folder")
    refused(tmp_path / "absent", "cannot be read: No such file")
    (tmp_path / "empty").touch()
    refused(tmp_path / "empty", "is empty")


@pytest.mark.parametrize(
    "content",
    [
        b"user,item,rating\n1,2,3\n",
        b"\x00" * 64,
        b"\xff" * 64,
        b"{}",
        pickle.dumps({"a": 1}),
        (2).to_bytes(8, "little") + b"[]",
        (4).to_bytes(8, "little") + b"{nul",
        (200_000).to_bytes(8, "little") + b'{"a":' * 40_000,
        (2**63).to_bytes(8, "little") + b"{}",
    ],
)
def test_what_is_no_safetensors_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    refused(tmp_path / "x", "not a release file|is damaged")


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [-1, -1], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [1.0], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [True], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]},
        {"dtype": "F32", "shape": [2**62, 4], "data_offsets": [0, 0]},
        {"dtype": "Q4", "shape": [1], "data_offsets": [0, 4]},
        {"dtype": ["F32"], "shape": [1], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [1], "data_offsets": 4},
        {"dtype": "F32", "shape": [1]},
        7,
    ],
)
def test_headers_that_lie_about_an_array(tmp_path: Path, entry: Any) -> None:
    header = json.dumps({"a": entry}).encode()
    (tmp_path / "x").write_bytes(len(header).to_bytes(8, "little") + header + b"\x00" * 4)
    refused(tmp_path / "x", "is damaged")


def test_foreign_safetensors_files(tmp_path: Path) -> None:
    save_file({"a": np.zeros(2)}, tmp_path / "x")
    refused(tmp_path / "x", "not a release")
    save_file({"a": np.zeros(2)}, tmp_path / "y", metadata={"format": "pt"})
    refused(tmp_path / "y", "not a release")


Tensors = dict[str, np.ndarray]
Metadata = dict[str, Any]


def forge(path: Path, change: Callable[[Metadata, Tensors], object], **made: Any) -> None:
    """A file with changed content whose digests are right: damage it is not."""
    release = random_release(d=4, k=2, m=2, guarantee=spent(), **made)
    tensors = dict(release.arrays) | _codec.encode_catalog(release.catalog)
    stored = _codec._metadata(release, tensors)
    texts = (_codec._MARK, "method")
    metadata = {n: v if n in texts else json.loads(v) for n, v in stored.items()}
    change(metadata, tensors)
    if "tensors" in metadata:
        metadata["tensors"] = {n: _codec._tensor_entry(a) for n, a in tensors.items()}
    written = {n: v if n in texts else json.dumps(v) for n, v in metadata.items()}
    written["digest"] = _codec._digest(written)
    path.write_bytes(save(tensors, metadata=written))


def test_forging_without_a_change_is_accepted(tmp_path: Path) -> None:
    forge(tmp_path / "x", lambda metadata, tensors: None)
    assert load(tmp_path / "x", verify=True).method == "covariance"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda m, t: m.update(discreet_release="2"), "has format 2, which is newer"),
        (lambda m, t: m.update(discreet_release="0"), "version is not a number"),
        (lambda m, t: m.update(discreet_release="one"), "version is not a number"),
        (lambda m, t: m.update(method="magic"), "'magic' is not a method"),
        (lambda m, t: m.pop("method"), "'' is not a method"),
        (lambda m, t: m.pop("guarantee"), "guarantee cannot be read"),
        (lambda m, t: m.update(parameters=[]), "parameters cannot be read"),
        (lambda m, t: m.pop("tensors"), "tensors cannot be read"),
        (lambda m, t: m["scale"].pop("lo"), "scale or catalogue has wrong fields"),
        (lambda m, t: m["scale"].update(hi=0), "finite lo < hi"),
        (lambda m, t: m["scale"].update(hi=10**400), "scale or catalogue has wrong fields"),
        (lambda m, t: m["scale"].update(presence=True), "0..1 in steps of 1"),
        (lambda m, t: m["scale"].update(presence="no"), "presence is True or False"),
        (lambda m, t: m["scale"].update(absence=True), "scale or catalogue has wrong fields"),
        (lambda m, t: m["catalog"].update(items=5), "does not have as many items"),
        (lambda m, t: m["catalog"].update(columns="kind"), "columns cannot be read"),
        (lambda m, t: m["catalog"].update(columns=[1]), "columns cannot be read"),
        (lambda m, t: m["catalog"].update(columns=["a", "a"]), "do not have a name each"),
        (lambda m, t: m["catalog"].update(columns=[""]), "do not have a name each"),
        (lambda m, t: m["catalog"].update(columns=["a\nb"]), "do not have a name each"),
        (lambda m, t: m["catalog"].update(columns=["a"]), "'catalog_column_0' is missing"),
        (lambda m, t: t.update(catalog_column_0=np.zeros(3, "u1")), "does not belong"),
        (
            lambda m, t: (
                m["catalog"].update(columns=["a"]),
                t.update(
                    catalog_column_0=np.zeros(3, "u1"), catalog_column_0_ends=np.zeros(3, "u4")
                ),
            ),
            "as many titles as items",
        ),
        (
            lambda m, t: m["parameters"].update(global_mean=10**400),
            "'global_mean' must be a finite",
        ),
        (lambda m, t: m.update(discreet_release="9" * 5000), "version is not a number"),
        (lambda m, t: m["catalog"].update(origin="magic"), "scale or catalogue has wrong"),
        (lambda m, t: m["parameters"].pop("global_mean"), "'global_mean' must be a number"),
        (lambda m, t: t.pop("factors"), "array 'factors' is missing"),
        (lambda m, t: t.pop("weights"), "belong together"),
        (lambda m, t: t.pop("catalog_ids"), "array 'catalog_ids' is missing"),
        (lambda m, t: t.pop("catalog_id_ends"), "array 'catalog_id_ends' is missing"),
        (lambda m, t: t.pop("catalog_title_ends"), "'catalog_title_ends' is missing"),
        (lambda m, t: t.update(catalog_titles=np.zeros(3)), "must be a list of uint8"),
        (lambda m, t: t.update(catalog_title_ends=np.zeros(3, "u4")), "as many titles as items"),
        (lambda m, t: t.update(factors=np.zeros((4, 2))), "type float64, not float32"),
        (lambda m, t: t.update(factors=np.zeros((5, 2), "f4")), "length 5 where 4"),
        (lambda m, t: t.update(factors=np.full((4, 2), np.nan, "f4")), "not a finite number"),
        (lambda m, t: t.update(extra=np.zeros(4, "f4")), "'extra' does not belong"),
    ],
)
def test_forged_content_is_refused(
    tmp_path: Path, change: Callable[[Metadata, Tensors], object], reason: str
) -> None:
    forge(tmp_path / "x", change)
    refused(tmp_path / "x", reason)


@pytest.mark.parametrize(
    "change",
    [
        lambda g: g.update(epsilon=g["epsilon"] / 2),
        lambda g: g.update(epsilon=None),
        lambda g: g.pop("epsilon"),
        lambda g: g.update(epsilon=True),
        lambda g: g.update(epsilon=10**400),
        lambda g: g.update(epsilon=str(g["epsilon"])),
        lambda g: g.update(changed_rating_epsilon=0.1),
        lambda g: g["per"].update(rating=0.1),
        lambda g: g["per"].update(user=5.0),
        lambda g: g.update(per=None),
        lambda g: g.update(per=[]),
        lambda g: g.update(delta=1e-9),
        lambda g: g["events"].pop(),
        lambda g: g.update(not_private=["no noise was added"]),
    ],
)
def test_an_epsilon_that_does_not_follow_from_the_events_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    forge(tmp_path / "x", lambda metadata, tensors: change(metadata["guarantee"]))
    refused(tmp_path / "x", "states an epsilon that does not follow")


def test_a_spend_of_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    forge(tmp_path / "x", lambda m, t: m["guarantee"]["events"][0].update(kind="quantum"))
    refused(tmp_path / "x", "'quantum' is not a kind of spend")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda t: t.update(catalog_ids=np.array([0xFF] * 4, "u1")), "not UTF-8"),
        (lambda t: t["catalog_id_ends"].__setitem__(0, 3), "do not end where"),
        (lambda t: t["catalog_id_ends"].__setitem__(3, 3), "do not end where"),
        (lambda t: t.update(catalog_ids=np.frombuffer("é12".encode(), "u1")), "do not end where"),
        (lambda t: t.update(catalog_ids=np.frombuffer(b"0012", "u1")), "more than once"),
    ],
)
def test_a_forged_catalogue_is_refused_when_it_is_used(
    tmp_path: Path, change: Callable[[Tensors], object], reason: str
) -> None:
    forge(tmp_path / "x", lambda metadata, tensors: change(tensors))
    with pytest.raises(InputError, match=reason):
        len(load(tmp_path / "x").catalog.ids)
    refused(tmp_path / "x", reason, verify=True)


def test_a_large_array_is_checked_on_request(tmp_path: Path, monkeypatch: Any) -> None:
    """Above the limit a changed value is found by `verify`, below it always."""
    path = tmp_path / "r"
    random_release(d=30, k=2).save(path)
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 0x40
    path.write_bytes(raw)
    refused(path, "does not match its digest")
    monkeypatch.setattr(_codec, "SMALL", 1)
    assert math.isfinite(load(path).parameters["global_mean"])
    refused(path, "does not match its digest", verify=True)


def test_indices_are_checked_in_arrays_of_any_size(monkeypatch: Any) -> None:
    monkeypatch.setattr(_release, "SMALL", 1)
    arrays = dict(random_lists(d=30, h=12, k=5).arrays)
    arrays["list_head"] = np.arange(20, 32, dtype=np.int32)
    with pytest.raises(InputError, match="'list_head' points past the catalogue of 30 items"):
        dataclasses.replace(random_lists(d=30, h=12, k=5), arrays=arrays)


def test_a_header_without_padding_is_read(tmp_path: Path) -> None:
    """Other writers may leave numbers at odd addresses."""
    release = make_release(np.arange(6).reshape(3, 2), catalog=Catalog(["a", "b", "c"]))
    release.save(tmp_path / "r")
    raw = (tmp_path / "r").read_bytes()
    end = 8 + int.from_bytes(raw[:8], "little")
    header = raw[8:end].rstrip() + b" "
    header += b" " * (len(header) % 2 == 0)
    (tmp_path / "r").write_bytes(len(header).to_bytes(8, "little") + header + raw[end:])
    loaded = load(tmp_path / "r")
    assert_same(release, loaded)
    assert all(array.flags.aligned for array in loaded.arrays.values())
