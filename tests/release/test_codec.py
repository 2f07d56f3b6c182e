"""Release files: what goes in comes out, by this reader and by the format's own."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open
from safetensors.numpy import save_file

from discreet.domain import PRESENCE, Catalog, CatalogOrigin, InputError, Scale
from discreet.privacy import ChargeRecord, Guarantee, Provenance, PureEvent, Unit
from discreet.release import Release, _release, load
from discreet.release._codec import _digest
from release._making import (
    assert_same,
    make_release,
    random_lists,
    random_refined,
    random_release,
    spent,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def releases(draw: st.DrawFn) -> Release:
    ids = draw(st.lists(TEXTS, min_size=1, max_size=6, unique=True))
    d, k = len(ids), draw(st.integers(0, 3))
    titles = draw(st.none() | st.lists(TEXTS, min_size=d, max_size=d))
    catalog = Catalog(ids, titles, draw(st.sampled_from(CatalogOrigin)))

    def array(*shape: int, least: float | None = None) -> np.ndarray:
        elements = FLOATS if least is None else FLOATS.map(abs)
        return draw(hnp.arrays(np.float32, shape, elements=elements))

    return Release(
        "covariance",
        draw(st.sampled_from([Scale(1, 5), Scale(0.5, 5, 0.5), Scale(-10, 10, None), PRESENCE])),
        catalog,
        spent(),
        {
            "global_mean": draw(st.floats(-10, 10)), "user_variance": 0.2, "rating_variance": 0.72,
            "note": draw(TEXTS), "nested": {"list": [1, None, True, "é"]},
        },
        {
            "item_effects": array(d), "item_effect_variances": array(d, least=0),
            "item_counts": array(d, least=0), "factors": array(d, k),
            "factor_variances": array(d, least=0),
        },
    )  # fmt: skip


@given(release=releases())
def test_round_trip(release: Release, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("round") / "r.discreet"
    release.save(path)
    assert_same(release, load(path))
    assert_same(release, load(path, verify=True))


def test_round_trip_with_a_head(tmp_path: Path) -> None:
    release = random_release(m=5, guarantee=spent())
    release.save(tmp_path / "r")
    assert_same(release, load(tmp_path / "r", verify=True))


@pytest.mark.parametrize(("h", "k"), [(0, 0), (0, 2), (3, 0), (4, 3)])
def test_round_trip_with_lists(tmp_path: Path, h: int, k: int) -> None:
    for release in (random_lists(h=h, k=k, guarantee=spent()), random_refined(h=h)):
        release.save(tmp_path / "r", overwrite=True)
        assert_same(release, load(tmp_path / "r", verify=True))


def test_columns_of_the_catalogue_are_kept(tmp_path: Path) -> None:
    columns = {"genres": ["Comedy|Drama", "", "é"], "year": ["1979", "", ""]}
    catalog = Catalog(["a", "b", "c"], ["A", "B", "C"], columns=columns)
    release, plain = (
        make_release(np.ones((3, 1)), catalog=each)
        for each in (catalog, Catalog(["a", "b", "c"], ["A", "B", "C"]))
    )
    release.save(tmp_path / "r")
    loaded = load(tmp_path / "r", verify=True)
    assert_same(release, loaded)
    assert loaded.catalog.columns == {name: tuple(each) for name, each in columns.items()}
    assert loaded.digest() == release.digest() != plain.digest()
    plain.save(tmp_path / "plain")
    with safe_open(tmp_path / "plain", framework="np") as file:
        assert "columns" not in json.loads(file.metadata()["catalog"])
        assert not any(name.startswith("catalog_column") for name in file.keys())  # noqa: SIM118
    assert load(tmp_path / "plain").catalog.columns == {}


def stored_scale(release: Release, path: Path) -> dict[str, Any]:
    release.save(path)
    with safe_open(path, framework="np") as file:
        scale: dict[str, Any] = json.loads(file.metadata()["scale"])
    return scale


def test_presence_is_kept_and_nothing_is_added_to_other_scales(tmp_path: Path) -> None:
    release = random_release()
    assert stored_scale(release, tmp_path / "r") == {"lo": 1, "hi": 5, "step": 1}
    assert load(tmp_path / "r").scale.presence is False
    of_presence = dataclasses.replace(release, scale=PRESENCE)
    stored = {"lo": 0, "hi": 1, "step": 1, "presence": True}
    assert stored_scale(of_presence, tmp_path / "p") == stored
    assert load(tmp_path / "p").scale == PRESENCE


def test_whole_numbers_in_a_guarantee_come_back(tmp_path: Path) -> None:
    event = PureEvent(unit=Unit.USER, label="choice", epsilon=1, mechanism="gumbel")
    release = random_release(guarantee=Guarantee(Unit.USER, (event,), 0))
    release.save(tmp_path / "r")
    assert load(tmp_path / "r").guarantee.epsilon == 1


def test_a_loaded_release_can_be_saved_over_itself(tmp_path: Path) -> None:
    release = random_release()
    release.save(tmp_path / "r")
    loaded = load(tmp_path / "r")
    with pytest.raises(InputError, match="exists; choose another name, or give overwrite=True"):
        loaded.save(tmp_path / "r")
    loaded.save(tmp_path / "r", overwrite=True)
    assert_same(release, loaded)
    assert_same(release, load(tmp_path / "r"))


def test_loaded_arrays_are_mapped_and_read_only(tmp_path: Path) -> None:
    random_release().save(tmp_path / "r")
    factors = load(tmp_path / "r").arrays["factors"]
    root: Any = factors
    while isinstance(root, np.ndarray) and root.base is not None:
        root = root.base
    assert type(root).__name__ == "mmap"
    assert not factors.flags.writeable
    assert factors.flags.aligned


def test_the_formats_own_reader_agrees(tmp_path: Path) -> None:
    release = random_release(m=4)
    release.save(tmp_path / "r")
    with safe_open(tmp_path / "r", framework="np") as file:
        metadata = file.metadata()
        for name, array in release.arrays.items():
            np.testing.assert_array_equal(file.get_tensor(name), array)
        ends = file.get_tensor("catalog_title_ends").tolist()
        titles = file.get_tensor("catalog_titles").tobytes()
    assert json.loads(metadata["parameters"])["covariance_noise"] == 0.5
    assert titles[ends[0] : ends[1]].decode() == "title 1"


def test_digests_are_those_the_documentation_specifies(tmp_path: Path) -> None:
    """Recomputed here from the document alone, without the codec."""
    release = random_release()
    release.save(tmp_path / "r")
    with safe_open(tmp_path / "r", framework="np") as file:
        metadata = file.metadata()
    stated = json.loads(metadata["tensors"])["factors"]["sha256"]
    assert stated == hashlib.sha256(release.arrays["factors"].tobytes()).hexdigest()
    stream = b""
    for name in sorted(set(metadata) - {"digest"}):
        for text in (name, metadata[name]):
            stream += len(text.encode()).to_bytes(8, "little") + text.encode()
    assert metadata["digest"] == hashlib.sha256(stream).hexdigest()


def test_titles_that_are_ids_take_no_room(tmp_path: Path) -> None:
    release = make_release(np.ones((2, 1)), catalog=Catalog(["a", "é"]))
    release.save(tmp_path / "r")
    with safe_open(tmp_path / "r", framework="np") as file:
        assert "catalog_titles" not in set(file.keys())
    assert load(tmp_path / "r").catalog.titles == ("a", "é")


def test_nothing_that_is_not_finite_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An array too large to be looked at when a release is made is looked at when it is saved."""
    monkeypatch.setattr(_release, "SMALL", 8)
    release = make_release(np.zeros((4, 1)), effects=[0, 0, np.nan, 0])
    with pytest.raises(InputError, match="'item_effects' holds a value that is not a finite"):
        release.save(tmp_path / "r")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        random_release().save(tmp_path / "nowhere" / "r")


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    random_release(seed=1).save(tmp_path / "r")
    before = (tmp_path / "r").read_bytes()
    program = f"""
import resource, sys
sys.path[:0] = {sys.path!r}
from discreet.domain import InputError
from release._making import random_release
release = random_release(d=400, seed=2)
resource.setrlimit(resource.RLIMIT_FSIZE, ({len(before)}, {resource.RLIM_INFINITY}))
try:
    release.save({os.fspath(tmp_path / "r")!r}, overwrite=True)
except InputError as error:
    print(error)
"""
    said = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert "cannot be written" in said.stdout
    assert (tmp_path / "r").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


PROVENANCE = Provenance(
    version="0.2.0",
    bad_rows="refuse",
    catalog=CatalogOrigin.GIVEN,
    configuration="1" * 64,
    charge=ChargeRecord("2" * 64, "customers", 3, "4" * 64),
)


def test_a_file_says_which_charge_paid_for_it(tmp_path: Path) -> None:
    promise = dataclasses.replace(spent(), provenance=PROVENANCE)
    random_release(guarantee=promise).save(tmp_path / "r")
    assert load(tmp_path / "r", verify=True).guarantee == promise
    with safe_open(tmp_path / "r", framework="np") as file:
        metadata = file.metadata()
    assert metadata["discreet_release"] == "1"
    assert json.loads(metadata["guarantee"])["provenance"] == PROVENANCE.to_dict()


def test_a_file_of_the_first_version_opens_and_says_nothing_of_its_charge(tmp_path: Path) -> None:
    """Its guarantee has these fields and no others."""
    random_release(guarantee=spent()).save(tmp_path / "r")
    with safe_open(tmp_path / "r", framework="np") as file:
        stored = json.loads(file.metadata()["guarantee"])
    assert list(stored) == [
        "unit", "epsilon", "delta", "changed_rating_epsilon", "per", "events", "assumes",
        "not_private", "words",
    ]  # fmt: skip
    assert load(tmp_path / "r", verify=True).guarantee.provenance is None


def test_a_damaged_charge_is_refused(tmp_path: Path) -> None:
    promise = dataclasses.replace(spent(), provenance=PROVENANCE)
    random_release(guarantee=promise).save(tmp_path / "r")
    lies = {"charge": PROVENANCE.to_dict()["charge"] | {"number": -3}}
    edit(tmp_path / "r", "guarantee", {"provenance": PROVENANCE.to_dict() | lies})
    with pytest.raises(InputError, match="a charge's number is a whole number"):
        load(tmp_path / "r")


def edit(path: Path, entry: str, fields: dict[str, Any]) -> None:
    """Change fields of a metadata entry, and compute the file's digest again."""
    with safe_open(path, framework="np") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    metadata[entry] = json.dumps(json.loads(metadata[entry]) | fields)
    metadata["digest"] = _digest(metadata)
    save_file(tensors, path, metadata=metadata)


def test_a_release_knows_its_digest_before_it_is_a_file(tmp_path: Path) -> None:
    release = random_release(m=4, guarantee=spent())
    release.save(tmp_path / "r")
    with safe_open(tmp_path / "r", framework="np") as file:
        stated = file.metadata()["digest"]
    loaded = load(tmp_path / "r")
    assert release.digest() == loaded.digest() == stated
    changed = dataclasses.replace(loaded, parameters=dict(loaded.parameters) | {"more": 1})
    assert changed.digest() != stated, "a changed copy does not keep the file's digest"
    loaded.save(tmp_path / "again")
    assert load(tmp_path / "again").digest() == stated
