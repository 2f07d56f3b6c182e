"""`discreet client`, as a person would call it."""

from __future__ import annotations

import base64
import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cli._calling import call
from discreet.domain import Scale
from discreet.protocols.open_clusters.server import OpenClusters
from discreet.serve import Settings
from release._making import random_release
from serve._running import FREE, TOKEN, Talk, make_catalog, make_collection, make_settings, running


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
    assert "nothing from you" in call("client", "show", *told).out
    assert "404" in call("client", "show", *told, "--json").complaint()
    first = call("client", "report", *told, *mine)
    assert first.code == 0
    assert "1 report drawn: epsilon 2 for each rating" in first.err
    assert "no limit is set" in first.err
    assert re.search(r"^sent to http://127.0.0.1:\d+, \d+ bytes$", first.err, re.MULTILINE)
    assert "'Unheard of'" in first.err
    assert "frozen" in call("client", "report", *told, *mine).err
    assert call("client", "show", *told, "--json").json()["protocol"] == "local-reports"
    shown = call("client", "show", *told)
    assert "your answers of period 1" in shown.out
    assert "of 60 items" in shown.out
    assert "1 report drawn" in shown.out
    assert "{" not in shown.out
    recommended = call("client", "recommend", *told, *mine, "-n", "3", "--json").json()
    assert len(recommended["recommendations"]) == 3
    assert "deleted" in call("client", "delete", *told).err
    gone = call("client", "show", *told).complaint()
    assert "not enrolled any more" in gone
    assert "yet" not in gone


def test_the_terms_are_told_to_anybody_and_in_words(talk: Talk, tmp_path: Path) -> None:
    said = call("client", "terms", "--server", talk.url)
    assert said.code == 0
    for part in (
        "local reports", "epsilon 2 for each rating", "120 for everything", "Period: 1",
        "Items: 60", "1..5", "rounded-response", "What leaves your device",
        "more than 7.39 times as likely", "differential privacy",
        "costs as much again: for somebody who takes part in 12 periods the epsilon is 24; in the "
        "one so far, 2.",
    ):  # fmt: skip
        assert part in said.out, part
    assert said.err == ""
    assert call("client", "terms", "--server", talk.url, "--json").json()["items"] == 60


def test_a_dry_run_says_what_it_would_cost_and_leaves_no_trace(
    told: list[str], mine: list[str], tmp_path: Path, talk: Talk
) -> None:
    stored = talk.statistics()["reports"]
    said = call("client", "report", *told, *mine, "--dry-run")
    assert said.code == 0
    assert "on all 60 items, of which you rated 2" in said.out
    assert "epsilon 2 for each rating, 120 for all" in said.out
    assert "bytes" in said.out
    assert said.out.endswith("Nothing was drawn, written or sent.\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.csv"]
    call("client", "enroll", *told)
    state = tmp_path / "me.state"
    before = state.read_bytes()
    limited = call("client", "report", *told, *mine, "--dry-run", "--limit", "1")
    assert limited.code == 2
    assert "your limit is 1\nThat would pass your limit" in limited.out
    assert state.read_bytes() == before
    call("client", "report", *told, *mine)
    again = call("client", "report", *told, *mine, "--dry-run").out
    assert "sent again as they are" in again
    assert "Cost: nothing more" in again
    assert talk.statistics()["reports"] == stored + 1


def test_a_limit_on_what_all_reports_may_cost_is_remembered(
    told: list[str], mine: list[str]
) -> None:
    call("client", "enroll", *told)
    refused = call("client", "report", *told, *mine, "--limit", "1")
    assert refused.code == 2
    assert "past your limit of 1; nothing was drawn or sent" in refused.err
    assert "past your limit of 1" in call("client", "report", *told, *mine).err
    assert "nothing from you" in call("client", "show", *told).out
    assert "your limit is 2" in call("client", "report", *told, *mine, "--limit", "2").err
    assert "your limit is 2" in call("client", "show", *told).out


@pytest.mark.parametrize(
    ("content", "about"),
    [
        ("title,rating\nA,5\nB,4\nC,4\nD,1\n", "none of its items ('A', 'B', 'C', ...) is among"),
        ("title,rating\nA,5\n", "none of its items ('A') is among the 60"),
        ("title,rating\n", "no ratings"),
    ],
)
def test_a_file_of_which_nothing_is_known_spends_no_epoch(
    told: list[str], tmp_path: Path, content: str, about: str
) -> None:
    wrong = tmp_path / "wrong.csv"
    wrong.write_text(content, encoding="utf-8")
    call("client", "enroll", *told)
    before = (tmp_path / "me.state").read_bytes()
    complaint = call("client", "report", *told, "--ratings", wrong).complaint()
    assert about in complaint
    assert "--anyway" in complaint
    assert "which the service can see" in complaint
    assert (tmp_path / "me.state").read_bytes() == before
    sent = call("client", "report", *told, "--ratings", wrong, "--anyway")
    assert sent.code == 0
    assert "1 report drawn" in sent.err


@pytest.mark.parametrize(
    ("content", "about"),
    [
        ("i1,5\ni2,9\n", "the rating of 'i2' is not on the scale 1..5"),
        ("i1,0\ni2,9\ni3,2.5\ni4,7\n", "the 4 ratings of 'i1', 'i2', 'i3', ... are not on the"),
    ],
)
def test_ratings_off_the_scale_are_not_sent_as_others_without_a_word(
    told: list[str], tmp_path: Path, content: str, about: str
) -> None:
    wrong = tmp_path / "wrong.csv"
    wrong.write_text(f"{content}Unheard of,77\n", encoding="utf-8")
    call("client", "enroll", *told)
    before = (tmp_path / "me.state").read_bytes()
    for dry in ([], ["--dry-run"]):
        complaint = call("client", "report", *told, "--ratings", wrong, *dry).complaint()
        assert f"{wrong}: {about}" in complaint
        assert "which the service can see; --anyway sends the nearest that are" in complaint
        assert "Unheard of" not in complaint
    assert (tmp_path / "me.state").read_bytes() == before
    sent = call("client", "report", *told, "--ratings", wrong, "--anyway")
    assert sent.code == 0
    assert f"warning: {wrong}: {about}" in sent.err
    assert "1 report drawn" in sent.err


def test_no_capability_is_asked_for_that_cannot_be_kept(talk: Talk, tmp_path: Path) -> None:
    enrolled = talk.statistics()["enrolled"]
    (tmp_path / "folder").mkdir()
    for state in ("nofolder/me.state", "folder"):
        told = ["--server", talk.url, "--state", tmp_path / state]
        assert (
            str(tmp_path / state.partition("/")[0]) in call("client", "enroll", *told).complaint()
        )
    assert talk.statistics()["enrolled"] == enrolled


def test_a_void_capability_is_renewed_by_enrolling(
    told: list[str], mine: list[str], talk: Talk, tmp_path: Path
) -> None:
    call("client", "enroll", *told)
    call("client", "report", *told, *mine)
    state = json.loads((tmp_path / "me.state").read_text())["state"]
    talk.ask("DELETE", "/v1/enrolment", secret=state["service"][talk.url])
    assert "client enroll gets a new one" in call("client", "show", *told).complaint()
    said = call("client", "enroll", *told).err
    assert "no longer knew your capability" in said
    assert "enrolled;" in said
    assert "frozen" in call("client", "report", *told, *mine).err


def test_recommending_needs_no_state(talk: Talk, mine: list[str], tmp_path: Path) -> None:
    told = ["client", "recommend", "--server", talk.url, *mine, "-n", "3", "--json"]
    once = call(*told)
    assert len(once.json()["recommendations"]) == 3
    assert "was not stored; --release FILE" in once.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.csv"]
    file = tmp_path / "movies.discreet"
    kept = call(*told, "--release", file)
    assert kept.json() == once.json()
    assert f"the release is in {file}" in kept.err
    assert stat.S_IMODE(file.stat().st_mode) & 0o444
    beside = call(*told, "--state", tmp_path / "me.state")
    assert f"{tmp_path / 'me.state'}.release" in beside.err
    assert not (tmp_path / "me.state").exists()


def test_a_kept_release_does_where_nobody_answers(
    told: list[str], mine: list[str], tmp_path: Path
) -> None:
    arguments = [*mine, "-n", "3", "--json"]
    state = ["--state", tmp_path / "me.state"]
    nobody = ["client", "recommend", "--server", "http://127.0.0.1:9", *arguments]
    assert "does not answer" in call(*nobody, *state).complaint()
    found = call("client", "recommend", *told, *arguments).json()
    kept = call(*nobody, *state)
    assert kept.json() == found
    assert "does not answer: Connection refused; using the stored release" in kept.err
    assert "does not answer" in call(*nobody).complaint()


def test_a_release_takes_the_place_of_nothing_else(
    told: list[str], mine: list[str], tmp_path: Path
) -> None:
    call("client", "enroll", *told)
    (tmp_path / "notes.txt").write_text("not to be lost")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for name, about in (
        ("mine.csv", "is your ratings file"),
        ("me.state", "is your state file"),
        ("notes.txt", "exists and is not a release; choose another name"),
    ):
        target = ["--release", tmp_path / name]
        complaint = call("client", "recommend", *told, *mine, *target).complaint()
        assert f"{tmp_path / name}: {about}" in complaint
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_open_clusters_from_enrolment_to_release(tmp_path: Path, mine: list[str]) -> None:
    protocol = OpenClusters.from_terms(make_catalog(120), Scale(1, 5), {"bits": 1})
    db = str(tmp_path / "x.db")
    settings = Settings(tmp_path / "made", protocol, db, TOKEN, **FREE)
    with running(settings) as talk:
        told = ["--server", talk.url, "--state", str(tmp_path / "s0")]
        said = call("client", "report", *told, *mine, "--dry-run").out
        assert "2 true ratings would be sent among 78 made-up ones or more" in said
        assert "1 bit of your true ratings, sent as it is: nothing protects it" in said
        assert not (tmp_path / "s0").exists()
        for n in range(6):
            told = ["--server", talk.url, "--state", str(tmp_path / f"s{n}")]
            assert call("client", "enroll", *told).code == 0
            said = call("client", "report", *told, *mine).err
            assert "plausible deniability, not differential privacy" in said
        assert call("client", "show", *told, "--json").json()["protocol"] == "open-clusters"
        shown = call("client", "show", *told).out
        assert "as the value of your hash (1 bit), and 80 items with a rating each. --json" in shown
        again = call("client", "report", *told, *mine, "--dry-run").out
        assert "The same 80 items with a rating each as before would be sent again" in again
        assert "Something was sent before" in again
        limited = call("client", "report", *told, *mine, "--limit", "1").complaint()
        assert "--limit bounds an epsilon, and this collection has none" in limited
        assert talk.rebuild()["reports"] == 6
        assert talk.ask("GET", "/v1/release").status == 200


def test_new_ratings_that_wait_for_a_batch_are_counted(tmp_path: Path) -> None:
    protocol = OpenClusters.from_terms(make_catalog(120), Scale(1, 5), {"bits": 1})
    path = tmp_path / "mine.csv"
    with running(Settings(tmp_path / "made", protocol, str(tmp_path / "x.db"), **FREE)) as talk:
        told = ["--server", talk.url, "--state", str(tmp_path / "me"), "--ratings", str(path)]
        path.write_text("i0,5\n")
        foreseen = call("client", "report", *told, "--dry-run").out
        assert "1 true rating would be sent among 79" in foreseen
        call("client", "enroll", *told[:4])
        first = call("client", "report", *told).err
        assert "Of 80 items that look rated, 1 is." in first
        assert "needed for a batch" not in first
        items = json.loads(call("client", "show", *told[:4], "--json").out)["items"]
        sent = set(np.frombuffer(base64.b64decode(items), np.int32).tolist())
        rest = [item for item in range(120) if item not in sent]
        for count, about in (
            (1, "1 new rating waits; 4 more are needed for a batch before it is sent"),
            (4, "4 new ratings wait; 1 more is needed for a batch before any of them is sent"),
        ):
            path.write_text("i0,5\n" + "".join(f"i{item},4\n" for item in rest[:count]))
            foreseen = call("client", "report", *told, "--dry-run").out
            assert about in foreseen
            assert "The same 80 items" in foreseen
            assert about in call("client", "report", *told).err
        path.write_text("i0,5\n" + "".join(f"i{item},4\n" for item in rest[:5]))
        assert "6 true ratings would be sent" in call("client", "report", *told, "--dry-run").out
        assert "Of 90 items that look rated, 6 are." in call("client", "report", *told).err


def test_a_dry_run_past_the_limit_of_open_clusters_says_so(tmp_path: Path, mine: list[str]) -> None:
    terms = {"bits": 1, "bit_epsilon": "2"}
    protocol = OpenClusters.from_terms(make_catalog(120), Scale(1, 5), terms)
    with running(Settings(tmp_path / "made", protocol, str(tmp_path / "x.db"), **FREE)) as talk:
        told = ["--server", talk.url, "--state", str(tmp_path / "me"), *mine, "--dry-run"]
        assert call("client", "report", *told, "--limit", "2").code == 0
        beyond = call("client", "report", *told, "--limit", "1")
        assert beyond.code == 2
        assert "That would pass your limit" in beyond.out


@pytest.mark.parametrize(
    ("terms", "about"),
    [
        ({}, "8 bits of your true ratings, sent as it is: nothing protects it"),
        ({"bit_epsilon": "0.5"}, "That costs epsilon 4, for one rating and for all alike"),
        ({"hash_on": "obfuscated"}, "tells nothing beyond those"),
    ],
)
def test_the_terms_of_open_clusters_say_what_of_the_hash_is_protected(
    tmp_path: Path, terms: dict[str, str], about: str
) -> None:
    protocol = OpenClusters.from_terms(make_catalog(120), Scale(1, 5), terms)
    with running(Settings(tmp_path / "made", protocol, str(tmp_path / "x.db"), **FREE)) as talk:
        said = call("client", "terms", "--server", talk.url).out
    assert about in said
    assert "Epsilon of the ratings: none" in said
    assert "100 ratings or more for every hundred true ones" in said
    assert "80 items or more look rated" in said


def test_what_was_sent_under_other_terms_is_said_to_be_unused(
    tmp_path: Path, mine: list[str]
) -> None:
    with running(make_settings(tmp_path)) as talk:
        told = ["--server", talk.url, "--state", str(tmp_path / "me.state")]
        call("client", "enroll", *told)
        assert call("client", "report", *told, *mine).code == 0
    later = make_settings(tmp_path, collection=make_collection(epoch=2))
    with running(later, talk.url):
        said = call("client", "show", *told).out
        assert "under other terms than its present ones" in said
        assert "1 report drawn" in said


def test_the_state_is_of_use_to_no_other_protocol(told: list[str], tmp_path: Path) -> None:
    state = tmp_path / "me.state"
    state.touch(0o600)
    state.write_text(json.dumps({"version": 1, "kind": "open-clusters", "state": {}}))
    assert (
        "another protocol's client, not of 'local-reports'"
        in call("client", "enroll", *told).complaint()
    )
