"""`discreet demo`: what it leaves behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli._calling import call
from discreet.cli import demo
from discreet.privacy import Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.release import load


def test_the_whole_road(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "demo"
    said = call("demo", "-o", folder, "--ratings", 20_000)
    assert said.code == 0, said.err
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["budgets.png", "films.discreet", "members.ledger"]
    assert load(folder / "films.discreet", verify=True).guarantee.is_private
    assert len(Ledger.open(folder / "members.ledger").history()) == 1
    assert str(folder / "members.ledger") in said.out


@pytest.mark.parametrize("was_there", [False, True])
def test_an_interrupt_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, was_there: bool
) -> None:
    folder = tmp_path / "demo"
    if was_there:
        folder.mkdir()
        (folder / "films.discreet").write_text("of an earlier demo")

    def interrupted(place: Path, _: int) -> None:
        (place / "films.discreet").write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "_show_all", interrupted)
    assert call("demo", "-o", folder).code == 130
    assert folder.exists() is was_there
    if was_there:
        assert [path.name for path in folder.iterdir()] == ["films.discreet"]
        assert (folder / "films.discreet").read_text() == "of an earlier demo"


def test_somebody_elses_ledger_stays(tmp_path: Path) -> None:
    path = tmp_path / "members.ledger"
    Ledger.create(path, "customers", [Limit(Unit.USER, epsilon=2.0, delta=1e-6)])
    before = path.read_bytes()
    assert "a ledger of something else" in call("demo", "-o", tmp_path).complaint()
    assert path.read_bytes() == before


def test_a_folder_that_cannot_be_made_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot be written to" in call("demo", "-o", tmp_path / "file" / "x").complaint()
