"""What is said where Spark cannot run: one clear line, and before anything is read."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from cli._calling import call, write_sample
from discreet.domain import InputError
from discreet.measure.engines.spark import _session
from discreet.measure.engines.spark._session import check_java
from discreet.spark import start_session

needs_pyspark = pytest.mark.skipif(
    importlib.util.find_spec("pyspark") is None, reason="pyspark is absent"
)


def test_without_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(InputError, match=r"pip install '.\[spark\]'"):
        start_session()


def fake_java(home: Path, says: str) -> None:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    program.chmod(0o755)


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        ('openjdk version "11.0.2" 2019-01-15', "is Java 11"),
        ('java version "1.8.0_292"', "is Java 8"),
        ("Killed", "does not say which it is"),
    ],
)
def test_java_that_is_too_old(
    says: str, reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake_java(tmp_path, says)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(InputError, match=f"Spark needs Java 17 or newer: .*{reason}") as said:
        check_java()
    assert "\n" not in str(said.value)
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    with pytest.raises(InputError, match=reason):
        check_java()


def test_java_that_is_new_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_java(tmp_path, 'openjdk version "25" 2025-09-16')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    check_java()


def test_a_wrong_home_of_java_counts_though_there_is_one_on_the_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Spark starts the one of JAVA_HOME, and no other."""
    fake_java(tmp_path / "good", 'openjdk version "17.0.1"')
    monkeypatch.setenv("PATH", str(tmp_path / "good" / "bin"), prepend=os.pathsep)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match=r"JAVA_HOME is .*nowhere"):
        check_java()


@needs_pyspark
def test_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sample = write_sample(tmp_path, 100)
    monkeypatch.setattr(_session, "is_running", lambda: False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(InputError, match="there is no java on the PATH"):
        start_session()
    told = ("fit", "--no-ledger", *sample, "--engine", "spark", "-o", tmp_path / "x.discreet")
    assert "Spark needs Java 17 or newer" in call(*told).complaint()


@needs_pyspark
def test_what_can_be_seen_to_be_wrong_is_said_before_spark_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def start(*_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(_session, "_started", start)
    ratings, *public = write_sample(tmp_path, 100)
    told = ("--no-ledger", "--engine", "spark", "-o", tmp_path / "x.discreet")
    absent = tmp_path / "absent.csv"
    assert f"{absent}: no such file" in call("fit", absent, *public, *told).complaint()
    unlisted = call("fit", ratings, "--scale", "1..5", "--catalog", absent, *told)
    assert f"{absent}: no such file" in unlisted.complaint()
    assert "list of items" in call("fit", ratings, "--scale", "1..5", *told).complaint()
    assert "scale" in call("fit", ratings, "--catalog", absent, *told).complaint()


def test_options_that_belong_to_the_other_engine() -> None:
    told = ("fit", "--no-ledger", "ratings.csv", "-o", "x.discreet")
    assert "--engine spark" in call(*told, "--master", "local").complaint()
    spark = call(*told, "--engine", "spark", "--layout", "netflix").complaint()
    assert "--engine local" in spark


def test_an_engine_that_there_is_not() -> None:
    said = call("fit", "ratings.csv", "-o", "x.discreet", "--engine", "hadoop").complaint()
    assert said == (
        "discreet: invalid value for '--engine': 'hadoop' is not one of 'local', 'disk', 'spark'; "
        "see discreet fit --help\n"
    )
