"""`discreet inspect`: what is shown of a release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli._calling import call, write_sample
from discreet.domain import Catalog, CatalogOrigin
from discreet.privacy import Unit
from discreet.privacy.ledger import Ledger, Limit
from release._making import make_release, random_release, spent


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "m.discreet"
    random_release(d=9, k=3, m=4, guarantee=spent()).save(path)
    return path


def test_people_see_the_promise_and_what_was_spent(path: Path) -> None:
    short, said = call("inspect", path), call("inspect", path, "--details")
    assert (said.code, said.err) == (0, "")
    items = ["items", "9,", "given", "as", "public"]
    for shown in (short, said):
        assert shown.out.startswith(f"{spent()}\n\n")
        assert items in [line.split() for line in shown.out.splitlines()]
    assert short.out.endswith("--details shows parameters, what was spent, and arrays.\n")
    assert "gaussian" not in short.out and "float32" not in short.out
    lines = [line.split() for line in said.out.splitlines()]
    assert ["sums", "gaussian", "4.5", "1"] in lines  # sigma 9 against sensitivity 2
    assert ["choice", "pure", "epsilon", "0.25", "1"] in lines
    assert ["factors", "float32", "9", "x", "3"] in lines


def test_small_files_and_what_was_not_told(tmp_path: Path) -> None:
    told: dict[str, Any] = {"settings": {"rank": 20, "head": None, "reach": None}, "nothing": None}
    make_release(np.zeros((300, 1)), guarantee=spent(), **told).save(tmp_path / "m")
    said = call("inspect", tmp_path / "m", "--details").out
    lines = [line.split() for line in said.splitlines()]
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
    assert "taken from the private ratings" in shown
    told = call("inspect", tmp_path / "m", "--json").json()
    assert (told["private"], told["epsilon"], told["catalog"]) == (False, None, "from-data")


def test_a_damaged_file_is_a_line(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    assert f"{path}: is damaged" in call("inspect", path).complaint()


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Ledger]:
    """A file, and the ledger that paid for it."""
    ledger = Ledger.create(tmp_path / "shop.ledger", "customers", [Limit(Unit.USER, 9.0, 1e-6)])
    sample = write_sample(tmp_path)
    for name in ("other", "m"):
        call("fit", *sample, "-o", tmp_path / f"{name}.discreet", "--ledger", ledger.path)
    return tmp_path / "m.discreet", ledger


def test_a_file_and_the_ledger_that_paid_for_it(pair: tuple[Path, Ledger]) -> None:
    path, ledger = pair
    for arguments in (("inspect", path, "--ledger", ledger.path),
                      ("ledger", "history", ledger.path, "--release", path)):  # fmt: skip
        said = call(*arguments)
        assert said.code == 0, said.err
        assert "Charge 2 of this ledger paid for this file." in said.out
    shown = call("inspect", path, "--ledger", ledger.path, "--json").json()
    assert shown["ledger"]["paid"] and shown["ledger"]["charge"] == 2
    assert shown["ledger"]["fingerprint"] == ledger.fingerprint
    assert shown["digest"] == ledger.history()[1].published
    assert shown["guarantee"]["provenance"]["charge"]["number"] == 2
    told = call("ledger", "history", ledger.path, "--release", path, "--json").json()
    assert told["release"] == shown["ledger"]
    assert told["charges"][1]["published"] == shown["digest"]
    text = call("inspect", path).out
    assert f"of ledger {ledger.fingerprint[:12]}..." in text
    assert f"{shown['digest'][:12]}..." in text
    assert "Its privacy cost is recorded as charge 2 in the ledger of 'customers'." in text


def test_a_file_and_a_ledger_that_do_not_belong_together(
    pair: tuple[Path, Ledger], tmp_path: Path
) -> None:
    path, ledger = pair
    other = Ledger.create(tmp_path / "b", "staff", [Limit(Unit.USER, 9.0, 1e-6)])
    old = tmp_path / "old.discreet"
    make_release(np.zeros((3, 1)), guarantee=spent()).save(old)
    for file, book, why in (
        (path, other, "names another ledger: that of 'customers'"),
        (old, ledger, "does not say which ledger paid for it"),
    ):
        for arguments in (("inspect", file, "--ledger", book.path),
                          ("ledger", "history", book.path, "--release", file)):  # fmt: skip
            said = call(*arguments)
            assert (said.code, said.err) == (1, "")
            assert "The file and the ledger do not belong together:" in said.out
            assert why in said.out
    said = call("inspect", path, "--ledger", other.path, "--json")
    assert said.code == 1
    shown = json.loads(said.out)["ledger"]
    assert (shown["paid"], shown["charge"], len(shown["problems"])) == (False, None, 1)
    assert "this file does not say" in call("inspect", old).out
