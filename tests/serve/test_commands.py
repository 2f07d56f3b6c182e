"""`discreet serve` and `discreet client`, as a person would call them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli._calling import call
from discreet.domain import Scale
from discreet.serve import Collector, Settings
from release._making import random_release
from serve._running import FREE, TOKEN, Talk, make_catalog, make_settings, running


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    folder = tmp_path_factory.mktemp("commands")
    random_release(60, 3, catalog=make_catalog()).save(folder / "made.discreet")
    with running(make_settings(folder)) as talk:
        yield talk


@pytest.fixture
def told(talk: Talk, tmp_path: Path) -> list[str]:
    return ["--server", talk.url, "--state", str(tmp_path / "me.state")]


@pytest.fixture
def mine(tmp_path: Path) -> list[str]:
    path = tmp_path / "mine.csv"
    path.write_text("title,rating\nTitle 1 é,5\ni2,4\nUnheard of,3\n", encoding="utf-8")
    return ["--ratings", str(path)]


def test_taking_part_from_the_command_line(told: list[str], mine: list[str]) -> None:
    assert "not enrolled yet" in call("client", "report", *told, *mine).complaint()
    assert "enrolled;" in call("client", "enroll", *told).err
    assert "already" in call("client", "enroll", *told).err
    first = call("client", "report", *told, *mine)
    assert first.code == 0
    assert "1 report drawn: epsilon 2 for each rating" in first.err
    assert "'Unheard of'" in first.err
    assert "frozen" in call("client", "report", *told, *mine).err
    sent = call("client", "show", *told).json()
    assert sent["protocol"] == "local-reports"
    shown = call("client", "recommend", *told, *mine, "-n", "3", "--json").json()
    assert len(shown["recommendations"]) == 3
    assert "deleted" in call("client", "delete", *told).err
    assert "not enrolled" in call("client", "show", *told).complaint()


def test_a_limit_on_what_all_reports_may_cost(told: list[str], mine: list[str]) -> None:
    call("client", "enroll", *told)
    refused = call("client", "report", *told, *mine, "--limit", "1")
    assert refused.code == 2
    assert "past your limit" in refused.err
    assert "404" in call("client", "show", *told).complaint()
    assert call("client", "report", *told, *mine, "--limit", "2").code == 0


def test_open_clusters_from_enrolment_to_release(tmp_path: Path, mine: list[str]) -> None:
    collector = Collector.make("open", make_catalog(120), Scale(1, 5), {"bits": 1})
    db = str(tmp_path / "x.db")
    settings = Settings(tmp_path / "made", collector, db, TOKEN, **FREE)
    with running(settings) as talk:
        for n in range(6):
            told = ["--server", talk.url, "--state", str(tmp_path / f"s{n}")]
            assert call("client", "enroll", *told).code == 0
            said = call("client", "report", *told, *mine).err
            assert "plausible deniability, not differential privacy" in said
        assert call("client", "show", *told).json()["protocol"] == "open-clusters"
        assert "no epsilon" in call("client", "report", *told, *mine, "--limit", "1").complaint()
        assert talk.rebuild()["reports"] == 6
        assert talk.ask("GET", "/v1/release").status == 200


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        (["absent.discreet"], "no release here"),
        (["wrong"], "no safetensors file"),
        (["absent.discreet", "--collect", "local", "--db", "x.db"], "both --catalog and --scale"),
        (["good", "--collect", "local", "--term", "epsilon=1"], "needs a database"),
        (["good", "--collect", "postal", "--db", "x.db"], "no protocol; there are local, open"),
        (["good", "--collect", "local", "--db", "x.db"], "term of 'local' is missing"),
        (["good", "--collect", "local", "--db", "x.db", "--term", "colour=1"], "no term 'colour'"),
        (["good", "--collect", "local", "--db", "x.db", "--term", "epsilon"], "epsilon=1"),
        (["good", "--collect", "local", "--db", "x.db", "--term", "epsilon=99"], "epsilon is from"),
        (["good", "--term", "epsilon=1"], "are for --collect"),
        (["good", "--admin-token-file", "absent"], "token cannot be read"),
        (["good", "--admin-token-file", "wrong"], "visible ASCII"),
        (["good", "--host", "192.0.2.77"], "cannot listen at 192.0.2.77"),
        (["good", "--port", "99999"], "a port is"),
        (["good", "--per-address", "-1"], "a rate"),
    ],
)
def test_what_cannot_be_served_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], about: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISCREET_DATABASE", raising=False)
    random_release(60, 3).save("good")
    Path("wrong").write_text("too short")
    assert about in call("serve", *arguments).complaint()
    assert not list(tmp_path.glob("*.db-wal"))


def test_the_state_is_of_use_to_no_other_protocol(told: list[str], tmp_path: Path) -> None:
    state = tmp_path / "me.state"
    state.touch(0o600)
    state.write_text(json.dumps({"version": 1, "kind": "open-clusters", "state": {}}))
    assert "no state of a 'local-reports' client" in call("client", "enroll", *told).complaint()
