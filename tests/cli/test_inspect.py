"""`discreet inspect`: what is shown of a release."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cli._calling import call, call_alone
from discreet.domain import Catalog, CatalogOrigin
from release._making import make_release, random_release, spent


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "m.discreet"
    random_release(d=9, k=3, m=4, guarantee=spent()).save(path)
    return path


def test_people_see_the_promise_and_what_was_spent(path: Path) -> None:
    said = call_alone("inspect", path)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"{spent()}\n\n")
    lines = [line.split() for line in said.out.splitlines()]
    assert ["items", "9,", "given", "as", "public"] in lines
    assert ["sums", "gaussian", "4.5", "1"] in lines  # sigma 9 against sensitivity 2
    assert ["choice", "pure", "epsilon", "0.25", "1"] in lines
    assert ["factors", "float32", "9", "x", "3"] in lines


def test_small_files_and_what_was_not_told(tmp_path: Path) -> None:
    told = {"settings": {"rank": 20, "head": None, "reach": None}, "nothing": None}
    make_release(np.zeros((300, 1)), guarantee=spent(), **told).save(tmp_path / "m")
    lines = [line.split() for line in call("inspect", tmp_path / "m").out.splitlines()]
    assert ["settings", "rank", "20"] in lines
    assert ["arrays", "6.0", "kB"] in lines
    assert not any(line[:1] == ["nothing"] for line in lines)


def test_scripts_see_everything(path: Path) -> None:
    told = call("inspect", path, "--json").json()
    assert (told["path"], told["method"], told["items"]) == (str(path), "covariance", 9)
    assert (told["private"], told["protect"], told["delta"]) == (True, "rating", 1e-6)
    assert told["epsilon"] == pytest.approx(spent().epsilon)
    assert told["scale"] == "1..5"
    assert told["guarantee"]["words"] == " ".join(spent().sentences())
    assert told["arrays"]["covariance"] == {"type": "float32", "shape": [10]}


def test_what_is_not_private_says_so(tmp_path: Path) -> None:
    catalog = Catalog(["1", "2"], origin=CatalogOrigin.FROM_DATA)
    make_release(np.zeros((2, 1)), catalog=catalog).save(tmp_path / "m")
    shown = call("inspect", tmp_path / "m").out
    assert "Not private: no noise was added." in shown
    assert "read off the private ratings" in shown
    told = call("inspect", tmp_path / "m", "--json").json()
    assert (told["private"], told["epsilon"], told["catalog"]) == (False, None, "from-data")


def test_a_damaged_file_is_a_line(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    assert f"{path}: is damaged" in call("inspect", path).complaint()
