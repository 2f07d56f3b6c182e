"""Closed clusters from the command line: an authority, an operator and members."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cli._calling import call
from discreet.protocols.closed_clusters.server import ClosedClusters
from discreet.serve import Settings
from release._making import random_release
from serve._running import FREE, TOKEN, make_catalog, running

ITEMS, MEMBERS = 90, 8


def mine(folder: Path, number: int) -> Path:
    path = folder / f"mine{number}.csv"
    rng = np.random.default_rng(number)
    rows = [f"i{i},{rng.integers(1, 6)}" for i in rng.choice(ITEMS, 20, replace=False)]
    path.write_text("\n".join(["item,rating", *rows]) + "\n", "utf-8")
    return path


@pytest.fixture
def files(tmp_path: Path) -> Path:
    random_release(ITEMS, 3, catalog=make_catalog(ITEMS)).save(tmp_path / "items.discreet")
    return tmp_path


def begin(files: Path) -> str:
    told = ("--state", files / "authority", "-o", files / "directory")
    said = call("authority", "begin", *told, "--release", files / "items.discreet", "--bits", "2")
    assert said.code == 0, said.err
    return said.out.strip()


def settings(files: Path, authority: str) -> Settings:
    release = random_release(ITEMS, 3, catalog=make_catalog(ITEMS))
    protocol = ClosedClusters.from_terms(
        release.catalog, release.scale, {"authority": authority, "bits": 2},
        directory=files / "directory", server_key=files / "key",
    )  # fmt: skip
    return Settings(files / "made.discreet", protocol, str(files / "db"), TOKEN, **FREE)


def test_from_an_authority_to_recommendations(files: Path) -> None:
    authority = begin(files)
    with running(settings(files, authority)) as talk:
        keys = []
        for number in range(MEMBERS):
            told = ["--server", talk.url, "--state", files / f"me{number}"]
            if number == 0:
                missing = call("client", "enroll", *told).complaint()
                assert "--authority" in missing
            said = call("client", "enroll", *told, "--authority", authority)
            keys.append(said.out.strip())
            assert len(bytes.fromhex(keys[-1])) == 32 and "authority" in said.err
        early = call("client", "report", *told, "--ratings", mine(files, 0)).complaint()
        assert f"not in the directory: give {keys[-1]} to the authority" in early
        admitted = [part for key in keys for part in ("--key", key)]
        change = ["--state", files / "authority", "-o", files / "directory"]
        assert call("authority", "admit", *change, *admitted).code == 0
        assert talk.ask("POST", "/v1/admin/reload", secret=TOKEN).status == 200
        for number in range(MEMBERS):
            told = ["--server", talk.url, "--state", files / f"me{number}"]
            ratings = ["--ratings", mine(files, number)]
            foreseen = call("client", "report", *told, *ratings, "--dry-run")
            assert f"Tags for {MEMBERS} members" in foreseen.out, foreseen
            assert "about 20 of your 20 ratings among about 60 made-up ones" in foreseen.out
            assert "No obfuscated ratings were sent" not in foreseen.out
            sent = call("client", "report", *told, *ratings)
            assert sent.code == 0 and "not differential privacy" in sent.err
            told_size = sent.err.splitlines()[0].rpartition(", ")[2]
            assert f"about {told_size} in all" in foreseen.out
        again = call("client", "report", *told, *ratings, "--dry-run").out
        assert "and the same 80 items with a rating each as before" in again
        shown = call("client", "show", *told)
        assert f"your tags for {MEMBERS} members" in shown.out
        assert call("client", "show", *told, "--json").json()["protocol"] == "closed-clusters"
        said = call("client", "terms", "--server", talk.url)
        assert authority in said.out and "closed clusters" in said.out
        assert "so that 80 items or more look rated" in said.out
        assert talk.rebuild()["state"] == "built"
        found = call("client", "recommend", *told, *ratings, "-n", "3", "--json").json()
        assert len(found["recommendations"]) == 3
        assert call("client", "delete", *told).code == 0
        assert talk.rebuild()["reports"] == MEMBERS - 1


def test_a_member_never_takes_another_authority(files: Path) -> None:
    authority = begin(files)
    with running(settings(files, authority)) as talk:
        told = ["--server", talk.url, "--state", files / "me"]
        assert call("client", "enroll", *told, "--authority", authority).code == 0
        other = "ab" * 32
        pinned = call("client", "enroll", *told, "--authority", other).complaint()
        assert f"pins another authority, {authority}" in pinned
        assert f"with {other} name another file with --state" in pinned
        told[-1] = files / "new"
        enrolled = talk.statistics()["enrolled"]
        announced = call("client", "enroll", *told, "--authority", other).complaint()
        assert f"announces the authority {authority}, and --authority is {other}" in announced
        assert "ask the authority itself" in announced
        assert not (files / "new").exists()
        assert talk.statistics()["enrolled"] == enrolled
        told[-1] = files / "me"
        wrong = call("client", "enroll", *told, "--authority", "xyz").complaint()
        assert "64 hexadecimal digits" in wrong
        again = call("client", "enroll", *told)
        assert again.code == 0 and len(again.out.strip()) == 64


def test_the_authoritys_own_commands(files: Path) -> None:
    state, output = ["--state", files / "authority"], ["-o", files / "directory"]
    assert "no such file" in call("authority", "show", *state).complaint()
    assert (
        "no such file" in call("authority", "admit", *state, *output, "--key", "1" * 64).complaint()
    )
    assert not (files / "authority").exists()
    assert "--release" in call("authority", "begin", *state, *output).complaint()
    key = begin(files)
    told = call("authority", "show", *state).json()
    assert told == {"public_key": key, "epoch": 1, "version": 1, "bits": 2, "members": 0}
    nowhere = ["-o", files / "nofolder" / "directory"]
    one, two = "09" + "00" * 31, "07" + "00" * 31
    assert (
        "no such folder" in call("authority", "admit", *state, *nowhere, "--key", one).complaint()
    )
    assert call("authority", "show", *state).json()["members"] == 0
    assert "period 1, 1 member\n" in call("authority", "admit", *state, *output, "--key", one).err
    written = (files / "directory").read_bytes()
    (files / "directory").unlink()
    assert call("authority", "export", *state, *output).code == 0
    assert (files / "directory").read_bytes() == written
    twice = call("authority", "admit", *state, *output, "--key", one).complaint()
    assert twice == f"discreet: {one} is in already, in slot 0\n"
    pair = ["--key", two, "--key", two]
    both = call("authority", "admit", *state, *output, *pair).complaint()
    assert both == "discreet: the public key in slot 2 is listed already, in slot 1\n"
    assert "64 hexadecimal" in call("authority", "admit", *state, *output, "--key", "5").complaint()
    assert "no member" in call("authority", "remove", *state, *output, "--key", two).complaint()
    assert call("authority", "remove", *state, *output, "--key", one).code == 0
    assert call("authority", "show", *state).json()["members"] == 0
    csv = files / "items.csv"
    csv.write_text("id,title\n" + "".join(f"i{n},Title {n} é\n" for n in range(ITEMS)), "utf-8")
    by_csv = call(
        "authority", "begin", *state, *output, "--catalog", csv, "--scale", "1..5", "--bits", "2"
    )
    assert by_csv.out.strip() == key
    assert json.loads(call("authority", "show", *state).out)["epoch"] == 2
